"""How fast SiameseGRU and RecurrentEncoder take a training step, beside torch's own GRUs and LSTMs in the same run.

    python -m benchmarks.speed.recurrent
    python -m benchmarks.speed.recurrent --only siamese --quick
    python -m benchmarks.speed.recurrent --markdown benchmarks/results/recurrent.md

A step is the loss of a batch, its gradients and the optimiser. The peer is the same step with torch's cells, packed
where lengths differ: what these networks were before they had kernels, and what they still are without. Both have the
same weights and are first seen to give the same loss and gradients. Each instruction set has a process of its own, in
which torch and ours take turns on one thread and on two; a time is the mean over some batches of the fastest turn, of
the processor where both have one thread, else on the wall, where others who use the machine are met too.
Operations are counted as the cells are written down: two for each weight and step, three times over with the gradients.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import timelike as tl
from benchmarks.speed.kernels_off import without_kernels
from benchmarks.speed.random_walks import float_walks
from benchmarks.speed.table import HEAD, Row, against, arguments, load, page, setting, shown
from benchmarks.speed.timing import timed
from timelike.encode.objectives.crop_objectives import TLossObjective
from timelike.encode.recurrent import RecurrentNetwork
from timelike.metric import SiameseNetwork

WORDS = """A step is the loss of a batch, its gradients and the optimiser. The peer is the same step with torch's cells,
packed where lengths differ; both have the same weights and are first seen to give the same loss and gradients. Each
instruction set has a process of its own, in which torch and ours take turns on one thread and, unless `--threads 1`
leaves them out, on two; a time is the mean over some batches of the fastest turn, of the processor where both have one
thread, else on the wall, where others who use the machine are met too. Where all lengths are equal, torch's cells train
at 60 to 80 GFLOP/s of the about 115 that a core here does at most, and nothing can be twice as fast as that. What two
threads share is the cells: they are about 1.5 of the 2.5 ms of a step of SiameseGRU."""

K, BATCH, CHANNELS, BATCHES = 10, 10, 9, 3
ISAS = ("v4", "v3")
LASTING = 6.0  # seconds of turns at least: the machine is not always quiet

Loss = Callable[[], Tensor]


@dataclass
class Work:
    """A network, the losses of some batches, and how many steps of sequences there are in each."""

    said: str
    network: nn.Module
    losses: Sequence[Loss]
    steps: list[int]

    def operations(self) -> float:
        cells = next(part for part in self.network.modules() if isinstance(part, nn.RNNBase))
        first, *later = (sum(part.numel() for part in layer if part.ndim == 2) for layer in cells.all_weights)
        unasked = cells.all_weights[0][0].numel()  # nobody takes the gradient by what is given
        return sum(self.steps) * (6.0 * (first + sum(later)) - 2.0 * unasked)


# --- the works


def siamese(cell: str, lengths: np.ndarray, said: str) -> Work:
    network = SiameseNetwork(CHANNELS, cell=cell)  # type: ignore[arg-type]
    x, own = float_walks(0, len(lengths), int(lengths.max()), CHANNELS), torch.from_numpy(lengths)

    def loss() -> Tensor:
        features = network.features(x, own)
        return network.distance_matrix(features, features).square().mean()

    return Work(f"SiameseGRU, {cell}, 36 sequences, {said}", network, [loss] * 10, [int(lengths.sum())] * 10)


def encoder(cell: str, lengths: np.ndarray, said: str) -> Work:
    rng = np.random.default_rng(0)
    given = tl.Sequences([rng.standard_normal((length, CHANNELS)).astype(np.float32) for length in lengths])
    network = RecurrentNetwork(CHANNELS, cell=cell)  # type: ignore[arg-type]
    objective = TLossObjective(
        network,
        given,
        tl.Trainer(batch_size=BATCH, learning_rate=1e-3),
        tl.encode.TLoss(),
        n_negatives=K,
        is_low_memory=False,
    )
    drawn = [next(objective.batches(0, rng)) for _ in range(BATCHES)]
    steps = [sum(int(batch[f"{side}_lengths"].sum()) for side in ("anchor", "positive", "negative")) for batch in drawn]
    losses = [partial(objective.loss, batch) for batch in drawn]
    name = f"RecurrentEncoder, {cell} 256 × 2, {BATCH} series with {K} negatives, {said}"
    return Work(name, network, losses, steps)


def works() -> dict[str, Callable[[], Work]]:
    rng = np.random.default_rng(1)
    equal, short = np.full(36, 128), rng.integers(20, 129, 36)
    series, ragged = np.full(100, 128), rng.integers(10, 201, 100)
    return {
        "siamese": lambda: siamese("gru", equal, "128 steps × 9"),
        "siamese-ragged": lambda: siamese("gru", short, "20 to 128 steps × 9"),
        "siamese-lstm": lambda: siamese("lstm", short, "20 to 128 steps × 9"),
        "encoder-ragged": lambda: encoder("lstm", ragged, "lengths 10 to 200 × 9"),
        "encoder-gru": lambda: encoder("gru", ragged, "lengths 10 to 200 × 9"),
        "encoder-gru-equal": lambda: encoder("gru", series, "length 128 × 9"),
        "encoder-equal": lambda: encoder("lstm", series, "length 128 × 9"),
    }


# --- one process


def gradients(work: Work, loss: Loss) -> list[Tensor]:
    found = loss()
    return [found.detach(), *torch.autograd.grad(found, list(work.network.parameters()))]


def agree(work: Work) -> None:
    ours = gradients(work, work.losses[0])
    with without_kernels():
        theirs = gradients(work, work.losses[0])
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4 * max(1.0, float(other.abs().max())))


def measured(name: str, turns: int, most_threads: int) -> dict[str, Any]:
    """Seconds of torch and of ours on one thread and maybe on two, on the wall and of processor time."""
    torch.manual_seed(0)
    work = works()[name]()
    agree(work)
    optimizer = torch.optim.Adam(work.network.parameters(), lr=1e-6)
    ways = [(who, threads) for threads in range(1, most_threads + 1) for who in ("torch", "ours")]
    fastest = {way: np.full((2, len(work.losses)), np.inf) for way in ways}

    def step(loss: Loss) -> None:
        optimizer.zero_grad()
        torch.autograd.backward(loss())
        optimizer.step()

    began, turn = time.perf_counter(), 0
    while turn <= turns or (time.perf_counter() - began < LASTING and turn < 300):
        for (who, threads), times in fastest.items():
            torch.set_num_threads(threads)
            time.sleep(0.01)  # torch's threads wait awake for a while, and count as ours
            with without_kernels() if who == "torch" else nullcontext():
                for k, loss in enumerate(work.losses):
                    spent = timed(partial(step, loss))
                    if turn:
                        times[:, k] = np.minimum(times[:, k], (spent.wall, spent.busy))
        turn += 1
    means = {f"{who}{threads}": times.mean(1).tolist() for (who, threads), times in fastest.items()}
    return {"said": work.said, "operations": work.operations() / len(work.losses), **means}


# --- the table


def rows(names: list[str], isas: list[str], turns: int, threads: int, patience: float) -> Iterator[Row]:
    yield most()
    for name in names:
        for isa in isas:
            yield from told_rows(undisturbed(partial(alone, name, isa, turns, threads), patience), isa)


def alone(name: str, isa: str, turns: int, threads: int) -> dict[str, Any]:
    program = [sys.executable, "-m", "benchmarks.speed.recurrent", "--alone"]
    call = [*program, f"--only={name}", f"--turns={turns}", f"--threads={threads}"]
    where = os.environ | {"TIMELIKE_ISA": isa, "OMP_NUM_THREADS": str(threads)}
    told = subprocess.run(call, stdout=subprocess.PIPE, check=True, env=where, cwd=Path(__file__).parents[2])
    found: dict[str, Any] = json.loads(told.stdout)
    return found


def undisturbed(job: Callable[[], dict[str, Any]], patience: float) -> dict[str, Any]:
    """What it says when nobody else uses the machine, or for so many seconds the least."""
    end = time.monotonic() + patience
    tries: list[tuple[float, dict[str, Any]]] = []
    while not tries or (tries[-1][0] > 0.1 and time.monotonic() < end):
        while time.monotonic() < end and others(time.sleep, 1.0)[0] > 0.1:
            pass
        tries.append(others(job))
        tries.sort(key=lambda tried: -tried[0])
    return tries[-1][1]


def others(job: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    """How many processors others had meanwhile, where that is known, and what the job gave."""

    def busy() -> float:
        ticks = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        own = os.times()
        everybody = sum(map(int, ticks[:3] + ticks[5:8])) / os.sysconf("SC_CLK_TCK")
        return everybody - own.user - own.system - own.children_user - own.children_system

    if not Path("/proc/stat").exists():
        return 0.0, job(*given)
    before, began = busy(), time.monotonic()
    found = job(*given)
    return (busy() - before) / (time.monotonic() - began), found


def most() -> Row:
    """About what one core can do at most, which bounds every ratio."""
    torch.set_num_threads(1)
    a, b = torch.randn(2, 1024, 1024)
    rate = f"{2 * 1024**3 / min(timed(lambda: a @ b).busy for _ in range(30)) / 1e9:.3g} GFLOP/s"
    return Row("a product of two matrices, 1024 × 1024", "torch, one thread", rate, "–", "–", "–", True)


def told_rows(told: dict[str, Any], isa: str) -> Iterator[Row]:
    def said(seconds: float) -> str:
        return f"{1000 * seconds:.3g} ms, {told['operations'] / seconds / 1e9:.3g} GFLOP/s"

    work, wall, busy = f"{told['said']}; {isa}", 0, 1
    yield against(work, "torch, one thread each", told["torch1"][busy], told["ours1"][busy], 2.0, said)
    if "ours2" not in told:
        return
    yield against(work, "torch, two threads each", told["torch2"][wall], told["ours2"][wall], None, said)
    yield against(f"{work}, two threads", "ours, one thread", told["ours1"][wall], told["ours2"][wall], 1.7, said)


def main() -> int:
    parser = arguments(__doc__, works(), quick="one turn")
    parser.set_defaults(threads=2)
    parser.add_argument("--isa", action="append", help="instruction sets (default v4 and v3, where they run)")
    parser.add_argument("--turns", type=int, default=5, help="at least, of which the fastest counts (default 5)")
    parser.add_argument("--patience", type=float, default=0.0, help="seconds to wait, each time, until others rest")
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measured(options.only[0], options.turns, options.threads)))
        return 0
    print(HEAD)
    turns = 1 if options.quick else options.turns
    chosen = options.only or list(works())
    found = shown(rows(chosen, options.isa or runnable(), turns, options.threads, options.patience))
    if options.markdown:
        command = f"python -m benchmarks.speed.recurrent --threads {options.threads} --markdown {options.markdown}"
        words = f"""{setting("timelike", "torch", "numpy", kernels=False)}; float32; {load()}.
{WORDS}"""
        options.markdown.write_text(page("Speed of recurrent networks", command, words, found))
    return 0 if all(row.met for row in found) else 1


def runnable() -> list[str]:
    from timelike.native.machine import kernels

    return [isa for isa in ISAS if isa in kernels.isas()]


if __name__ == "__main__":
    sys.exit(main())
