"""How long the T-Loss table takes on one core: a few training steps of every row, and what they come to.

    python -m benchmarks.speed.tloss_table --data DIR
    python -m benchmarks.speed.tloss_table --data DIR --markdown benchmarks/results/tloss_projection.md

Of every data set and every K some training steps are timed, after two that do not count, with crops as they are drawn,
and the encoding of some series. The whole is their mean times the steps of the thesis, and all series.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import timelike as tl
from benchmarks.papers.clock import duration
from benchmarks.papers.markdown import table
from benchmarks.papers.tloss.data import BATCH, Known, Problem, known_sets, problem, shortest, steps
from benchmarks.speed.table import assemble, load, setting
from timelike.encode.objectives.crop_objectives import TLossObjective

BAR = 8 * 3600  # seconds
TIMED, ENCODED = 12, 60  # training steps, series


@dataclass(frozen=True)
class Projected:
    """Seconds for one data set: of a training step for every K, and of all that is to do."""

    known: Known
    step: tuple[float, ...]
    encoding: float

    @property
    def seconds(self) -> float:
        training = sum(steps(k) * one for k, one in zip(self.known.ks, self.step, strict=True))
        return training + len(self.step) * self.encoding


def projected(known: Known, given: Problem) -> Projected:
    torch.manual_seed(0)
    thesis = tl.CausalEncoder.preset("thesis", max_steps=1, standardize=given.standardize, random_state=0)
    encoder = thesis.fit(given.train)
    ready = encoder._standardize(given.train, "X")
    return Projected(known, tuple(step(encoder, ready, k) for k in known.ks), encoding(encoder, given))


def step(encoder: tl.CausalEncoder, ready: tl.Sequences, k: int) -> float:
    """The mean of some training steps; lengths of crops are drawn for each."""
    trainer = tl.Trainer(batch_size=BATCH, learning_rate=1e-3)
    objective = TLossObjective(encoder.network_, ready, trainer, tl.encode.TLoss(), n_negatives=k, is_low_memory=False)
    rng, adam = np.random.default_rng(k), objective.optimizers()
    batches = itertools.chain.from_iterable(objective.batches(0, rng) for _ in itertools.count())
    for turn in range(TIMED + 2):
        if turn == 2:
            began = time.perf_counter()
        adam.zero_grad()
        loss = objective.loss(next(batches))
        torch.autograd.backward(loss)
        adam.step()
    return (time.perf_counter() - began) / TIMED


def encoding(encoder: tl.CausalEncoder, given: Problem) -> float:
    """Of all series, from some of them."""
    some = given.train[np.arange(min(ENCODED, len(given.train)))]
    encoder.encode(some, n_jobs=1)
    began = time.perf_counter()
    encoder.encode(some, n_jobs=1)
    all_series = len(given.train) + len(given.test)
    return (time.perf_counter() - began) / len(some) * all_series


def found(data: Path) -> Iterator[Projected]:
    for known in known_sets(data):
        one = projected(known, problem(data, known))
        print(f"{known.name}: {duration(one.seconds)}", flush=True)
        yield one


def body(rows: list[Projected]) -> str:
    once = sum(row.seconds for row in rows)
    few = {known.name for known in shortest([row.known for row in rows])}
    again = 2 * sum(row.seconds for row in rows if row.known.name in few)
    cells = [
        [
            row.known.name,
            f"{row.known.mean_length:.0f}",
            ", ".join(f"{1000 * one:.0f}" for one in row.step),
            duration(row.encoding),
            duration(row.seconds),
        ]
        for row in rows
    ]
    head = ["data set", "mean length", "a step for every K, ms", "encoding all series", "together"]
    verdict = "met" if once <= BAR else "NOT met"
    return f"""**{duration(once)} for one seed of all {len(rows)} sets** (bar: ≤ {duration(BAR)}, {verdict});
two more seeds of the {len(few)} shortest: {duration(again)}. Without the heads, which take seconds to minutes a row.
K is 1, 2, 5, 10 (UCR) or 5, 10, 20 (UEA), with 1500 steps, from K = 10 on 2000, as in the thesis.

{table(head, cells)}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), metavar="DIR")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the page there")
    given = parser.parse_args()
    if given.data is None:  # among other speed programs it needs data that they do not
        print("left out: --data DIR or TIMELIKE_DATA names the folder with ucr/*.npz and uea/*.npz")
        return 0
    torch.set_num_threads(1)
    rows = list(found(Path(given.data)))
    words = f"{setting('timelike', 'torch', 'numpy')}; one thread; {load()}."
    command = "python -m benchmarks.speed.tloss_table --data DIR --markdown benchmarks/results/tloss_projection.md"
    result, projected = body(rows).split("\n\n", 1)
    said = assemble("How long the T-Loss table takes", result, [projected], command, words)
    print(said)
    if given.markdown:
        given.markdown.write_text(said)
    return 0 if sum(row.seconds for row in rows) <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
