"""How fast transport alignments are, beside a loop over POT's Sinkhorn.

    python -m benchmarks.speed.transport

All pairs of 64 and 64 sequences of 64 steps, one thread for both, the same costs and regularization, and each at its
default tolerance: POT stops when the norm of the columns' errors is 1e-9, ours when the errors of rows and columns,
added up, are 1e-12, which is stricter. POT's method is the one of `sinkhorn`, `sinkhorn_log` and `sinkhorn_stabilized`
that is fastest on the first pair among those whose answer is right to 1e-4. It is run on a sample of the pairs and its
time multiplied; `--pairs 4096` runs all of them. Seconds are of processor time, since both have one thread. The last
column is how far its costs are from ours, relative.
"""

from __future__ import annotations

import argparse
import platform
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
import ot
from numpy.typing import NDArray

from benchmarks.speed.timing import Timed, timed
from timelike import native
from timelike.align import OPW, Sinkhorn

METHODS = ("sinkhorn", "sinkhorn_stabilized", "sinkhorn_log")
SIDE, STEPS, CHANNELS = 64, 64, 3
BAR = 10
Floats = NDArray[np.float64]


def sequences(kind: str, rng: np.random.Generator, side: int) -> list[Floats]:
    """Noise, random walks, or sines of random frequency and phase."""
    if kind == "sines":
        shape = (side, 1, CHANNELS)
        t = np.linspace(0, 6, STEPS)[None, :, None]
        return list(np.sin(t * rng.uniform(0.8, 1.2, shape) + rng.uniform(0, 6, shape)))
    noise = rng.standard_normal((side, STEPS, CHANNELS))
    return list(noise if kind == "noise" else noise.cumsum(axis=1) / 4)


def pot(metric: Any, x: Floats, y: Floats, method: str) -> Timed:
    """POT's cost of one pair."""
    weights = np.full(STEPS, 1 / STEPS)

    def cost() -> float:
        frames = ot.dist(x, y)
        ground = frames + metric._solver_options().prior(len(x), len(y))
        plan = ot.sinkhorn(
            weights, weights, ground - ground.min(), metric.regularization, method, stopThr=1e-9, numItermax=100_000
        )
        return float((plan * frames).sum())

    return timed(cost)


def fastest(metric: Any, xs: list[Floats], ys: list[Floats], ours: Floats) -> str:
    """The quickest of POT's methods that is right."""
    times = {}
    for method in METHODS:
        run = pot(metric, xs[0], ys[0], method)
        times[method] = run.busy if abs(run.answer - ours[0, 0]) <= 1e-4 * ours[0, 0] else np.inf
    return min(times, key=lambda method: times[method])


def measured(
    metric: Any, kind: str, n_pairs: int, rng: np.random.Generator, side: int = SIDE
) -> tuple[float, float, str, float]:
    """POT's seconds, ours, POT's method, and how far its costs are from ours at most."""
    xs, ys = sequences(kind, rng, side), sequences(kind, rng, side)
    metric.pairwise(xs[:2], ys[:2])
    runs = [timed(lambda: metric.pairwise(xs, ys, n_jobs=1)) for _ in range(3)]
    ours = runs[-1].answer
    method = fastest(metric, xs, ys, ours)
    places = rng.permutation(side * side)[:n_pairs]
    found = [pot(metric, xs[p // side], ys[p % side], method) for p in places]
    theirs = sum(run.busy for run in found) / n_pairs * side * side
    apart = max(abs(run.answer - ours.flat[p]) / ours.flat[p] for p, run in zip(places, found, strict=True))
    return theirs, min(run.busy for run in runs), method, apart


def row(metric: Any, kind: str, n_pairs: int, rng: np.random.Generator, side: int) -> str:
    theirs, ours, method, apart = measured(metric, kind, n_pairs, rng, side)
    ratio = theirs / ours
    verdict = f"{ratio:.0f}×" if ratio >= BAR else f"{ratio:.1f}×, MISSED"
    return f"| {metric!r} | {kind} | {method} | {theirs:.1f} | {ours:.2f} | {verdict} | {apart:.0e} |"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--pairs", type=int, default=16, help="pairs that POT is run on")
    arguments.add_argument("--quick", action="store_true", help="one metric on few walks: does it run?")
    given = arguments.parse_args()
    side, n_pairs = (6, 1) if given.quick else (SIDE, given.pairs)
    warnings.simplefilter("ignore")  # POT warns of methods that do not converge; the last column says what came of it
    print(f"{platform.system()} {platform.machine()}, POT {version('pot')}, {native.isa()}, one thread\n")
    print("| metric | data | POT's method | POT, s | timelike, s | ratio | apart |\n|---|---|---|---:|---:|---:|---:|")
    rng = np.random.default_rng(0)
    for metric in (OPW(),) if given.quick else (Sinkhorn(), OPW(), Sinkhorn(regularization=1.0)):
        for kind in ("walks",) if given.quick else ("noise", "walks", "sines"):
            print(row(metric, kind, n_pairs, rng, side), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
