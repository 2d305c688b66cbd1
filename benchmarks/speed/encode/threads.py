"""Ours beside ours: two threads beside one, series of many lengths beside those of one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from benchmarks.speed.encode.series import Effort, kinds, series
from benchmarks.speed.encode.steps import BATCH, K, contrast, endless, our_step
from benchmarks.speed.table import Row, against, at_most
from benchmarks.speed.timing import timed

import timelike as tl
from timelike.train.torch_threads import torch_threads


def two_threads(name: str, effort: Effort) -> Iterator[Row]:
    """A training step and encoding with two threads beside one, in turns."""
    kind = kinds(effort.encoded)[name]
    encoder = tl.CausalEncoder.preset("thesis", max_steps=1, standardize=False, random_state=0).fit(kind.series)
    objective = contrast(kind.series, encoder.network_)
    adam, batches = objective.optimizers(), endless(objective)
    training, encoding = np.zeros(2), np.zeros(2)
    for turn in range(3 * effort.turns + 1):
        batch = next(batches)
        for threads in (1, 2):
            with torch_threads(threads):
                step = timed(partial(our_step, objective, adam, batch)).wall
            encoded = timed(partial(encoder.encode, kind.series, n_jobs=threads)).wall
            if turn:
                training[threads - 1] += step
                encoding[threads - 1] += encoded
    for work, spent in ((f"training, K = {K}, batch {BATCH}", training), ("encoding", encoding)):
        turns = 3 * effort.turns
        yield against(f"{work}, two threads: {kind.said}", "ours, one thread", spent[0] / turns, spent[1] / turns, 1.7)


def ragged_and_equal(effort: Effort) -> list[Row]:
    """Seconds per time step of a crop; equal lengths share one length in a batch, the others have one each."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(10, 201, effort.encoded).tolist()
    same = [round(float(np.mean(lengths)))] * len(lengths)
    sides = [contrast(series(rng, some, 1), tl.encode.CausalNetwork(1)) for some in (same, lengths)]
    flows = [endless(side) for side in sides]
    adams = [side.optimizers() for side in sides]
    spent, worked = [0.0, 0.0], [0, 0]
    for turn in range(8 * effort.turns + 1):
        for i in (0, 1):
            cutting, _, batch = timed(lambda: next(flows[i]))  # noqa: B023
            own = timed(lambda: our_step(sides[i], adams[i], batch)).wall  # noqa: B023
            if turn:
                spent[i] += cutting + own
                worked[i] += sum(int(batch[f"{name}_lengths"].sum()) for name in ("anchor", "positive", "negative"))
    equal, ragged = (1e6 * seconds / steps for seconds, steps in zip(spent, worked, strict=True))
    work = f"training on lengths 10 to 200 beside one length of {same[0]}, per time step of the crops"
    return [at_most(work, "ours, equal lengths", equal, ragged, 1.5, said=lambda number: f"{number:.3g} µs")]
