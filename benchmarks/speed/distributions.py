"""How fast two-sample tests and drift monitors are, beside re-indexing, hyppo, aeon, dtaidistance and geomloss.

    python -m benchmarks.speed.distributions
    python -m benchmarks.speed.distributions --only permutations --quick
    python -m benchmarks.speed.distributions --markdown benchmarks/results/distributions.md

The permutation test has 500 and 500 vectors of 20 numbers, an RBF kernel with the median of the distances for a width,
and 1,000 permutations: once with the matrix of similarities in hand, which everyone is given, and once from vectors to
p. *Re-indexing* takes K[p][:, p] for every permutation and sums its four blocks. Statistics must be the same, and
p-values near each other. Times are of the processor, all threads added up, of the fastest turn; peers that take long
have one turn. Memory is the peak of a process of its own beyond what it held before the call, with 20,000 and 20,000
vectors of 10 numbers, whose matrix would take 11.9 GiB; similarities come in blocks of 16 MiB, of which these are there
at a time:

- four while a kernel makes one: squared distances, their ratios to the width, the exponent, the similarities;
- in `mmd` the block before; in `TwoSample` the block before, once rounded and once of its pairs alone, and the sides of
  some permutations as numbers to multiply with: seven;
- what the C library keeps of arrays that are gone, for the next ones: seen to be up to three.

So 6 blocks are the bar of `mmd`, 10 and half of one that of `TwoSample`, which besides has a byte for each item and
permutation, three times: as drawn, as permuted, and of items.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import timelike as tl
from benchmarks.speed import lsgan, tangent
from benchmarks.speed.table import HEAD, Row, against, arguments, load, page, save, setting, shown
from benchmarks.speed.timing import Job, child, timed
from timelike import distributions as ds

N, FEATURES, PERMUTATIONS = 500, 20, 1000
POINTS, NUMBERS, FEW = 20_000, 10, 100  # vectors of a side, features of one, permutations of them
BLOCK = 16  # MiB
BLOCKS = {"mmd": 6.0, "TwoSample": 10.5}  # at a time, as said above
SEQUENCES, STEPS, CHANNELS = 200, 100, 3
BATCH, REFERENCE = 10, 500
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Effort:
    """How often, and whether sizes are small."""

    turns: int = 5
    quick: bool = False

    def size(self, usual: int) -> int:
        return max(20, usual // 10) if self.quick else usual


def fastest(job: Job, turns: int) -> tuple[float, Any]:
    """Seconds of the processor of the fastest turn, and the last answer; the first turn of several does not count."""
    runs = [timed(job) for _ in range(turns + 1 if turns > 1 else 1)]
    return min(run.busy for run in (runs[1:] or runs)), runs[-1].answer


# --- the permutation test


def samples(n: int) -> tuple[Floats, Floats]:
    """Two that hardly differ: p is neither the least nor the largest."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, FEATURES)), rng.standard_normal((n, FEATURES)) + 0.03


def similarities(x: Floats, y: Floats) -> Floats:
    """The matrix of all pairs, as the formula has it."""
    pooled = np.concatenate([x, y])
    own = (pooled**2).sum(axis=1)
    squares = np.maximum(own[:, None] + own - 2 * pooled @ pooled.T, 0)
    np.fill_diagonal(squares, 0)
    width = np.median(np.sqrt(squares[np.triu_indices(len(pooled), 1)]))
    return np.asarray(np.exp(-squares / (2 * width**2)))


def discrepancy(matrix: Floats, n: int) -> float:
    """The unbiased MMD² of the first n and the others."""
    m = len(matrix) - n
    xx, yy, xy = matrix[:n, :n], matrix[n:, n:], matrix[:n, n:]
    within = (xx.sum() - np.trace(xx)) / (n * (n - 1)) + (yy.sum() - np.trace(yy)) / (m * (m - 1))
    return float(within - 2 * xy.mean())


def reindexed(matrix: Floats, n: int, permutations: int, seed: int = 0) -> tuple[float, float]:
    """MMD² and its p-value, with a matrix of its own for every permutation."""
    rng, observed = np.random.default_rng(seed), discrepancy(matrix, n)
    orders = (rng.permutation(len(matrix)) for _ in range(permutations))
    above = sum(discrepancy(matrix[np.ix_(order, order)], n) >= observed for order in orders)
    return observed, (1 + above) / (1 + permutations)


def ours_given(matrix: Floats, n: int, permutations: int) -> tuple[float, float]:
    """Ours, where items are numbers of rows of a matrix."""

    def looked_up(x: Floats, y: Floats) -> Floats:
        rows, columns = (np.asarray(side, np.int64).ravel() for side in (x, y))
        return np.asarray(matrix[np.ix_(rows, columns)])

    places = np.arange(len(matrix), dtype=float)[:, None]
    found = ds.TwoSample(looked_up, n_permutations=permutations, random_state=0).test(places[:n], places[n:])
    return found.statistic, found.p_value


def ours_whole(x: Floats, y: Floats, permutations: int) -> tuple[float, float]:
    found = ds.TwoSample(ds.RBF(), n_permutations=permutations, random_state=0).test(x, y)
    return found.statistic, found.p_value


def hyppo_given(matrix: Floats, x: Floats, y: Floats, permutations: int) -> tuple[float, float]:
    """hyppo with a kernel that is the matrix; it also asks for that of the labels, which are one number each."""
    from hyppo.ksample import MMD

    def known(z: Floats, **_: Any) -> Floats:
        return matrix if z.shape[1] == x.shape[1] else np.exp(-((z - z.T) ** 2))

    found = MMD(compute_kernel=known).test(x, y, reps=permutations, workers=1, auto=False)
    return float(found[0]), float(found[1])


def hyppo_whole(x: Floats, y: Floats, permutations: int) -> tuple[float, float]:
    from hyppo.ksample import MMD

    found = MMD().test(x, y, reps=permutations, workers=1, auto=False)
    return float(found[0]), float(found[1])


def permutations_of(effort: Effort) -> Iterator[Row]:
    """Once from the matrix of similarities, once from vectors."""
    n, times = effort.size(N), effort.size(PERMUTATIONS)
    x, y = samples(n)
    matrix = similarities(x, y)
    said = f"{n} + {n} vectors, {times:,} permutations"
    jobs: dict[str, tuple[Job, Job, Job]] = {
        "matrix given": (
            partial(ours_given, matrix, n, times),
            partial(reindexed, matrix, n, times),
            partial(hyppo_given, matrix, x, y, times),
        ),
        "from vectors to p": (
            partial(ours_whole, x, y, times),
            lambda: reindexed(similarities(x, y), n, times),
            partial(hyppo_whole, x, y, times),
        ),
    }
    for name, (ours, naive, hyppo) in jobs.items():
        taken, (statistic, p_value) = fastest(ours, effort.turns)
        other, (theirs, p_theirs) = fastest(naive, 1)
        assert np.isclose(statistic, theirs, rtol=1e-6, atol=1e-9), f"{statistic} is not {theirs}: nothing is compared"
        assert abs(p_value - p_theirs) < 3 / np.sqrt(times), f"p is {p_value} and {p_theirs}: nothing is compared"
        yield against(f"{said}, {name}", "re-indexing, NumPy", other, taken, 50.0)
        if installed("hyppo"):
            hyppo_time, (_, p_hyppo) = fastest(hyppo, 1)
            assert abs(p_value - p_hyppo) < 3 / np.sqrt(times), f"p is {p_value} and {p_hyppo}: nothing is compared"
            yield against(f"{said}, {name}", "hyppo, `MMD`", hyppo_time, taken, 10.0)


def installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


# --- memory

MEMORY = """
import sys
import time
import numpy as np
import torch
from threadpoolctl import threadpool_limits
from benchmarks.memory import peak_memory, reset_peak
from timelike import distributions as ds
n, features, permutations, name, threads = *map(int, sys.argv[1:4]), sys.argv[4], int(sys.argv[5])
torch.set_num_threads(threads)
threadpool_limits(threads)
rng = np.random.default_rng(0)
x, y = rng.standard_normal((n, features)), rng.standard_normal((n, features))
kernel = ds.RBF()
job = {
    "TwoSample": lambda x, y: ds.TwoSample(kernel, n_permutations=permutations, random_state=0).test(x, y),
    "mmd": lambda x, y: ds.mmd(x, y, kernel),
}[name]
job(x[:20], y[:20])
reset_peak()
before, began = peak_memory(), time.process_time()
job(x, y)
print((peak_memory() - before) / 2**20, time.process_time() - began)
"""


def memory(effort: Effort) -> Iterator[Row]:
    n = max(3000, effort.size(POINTS))  # fewer have their matrix whole
    for name, permutations in (("mmd", 0), ("TwoSample", FEW), ("TwoSample", PERMUTATIONS)):
        found, seconds = map(float, child(MEMORY, n, NUMBERS, max(1, permutations), name, torch.get_num_threads()))
        whole, bar = 8 * (2 * n) ** 2 / 2**20, BLOCK * BLOCKS[name] + 3 * permutations * 2 * n / 2**20
        also = f", {permutations:,} permutations" if permutations else ""
        work = f"memory that `{name}` takes, {n:,} + {n:,} vectors of {NUMBERS}{also}, in {seconds:.0f} s"
        ratio, shown_bar = f"{whole / found:.3g}×", f"≤ {bar:.0f} MiB"
        yield Row(work, "the whole matrix", f"{whole:,.0f} MiB", f"{found:.0f} MiB", ratio, shown_bar, found <= bar)


# --- elastic kernels


def elastic(effort: Effort) -> Iterator[Row]:
    """exp(−γ d) of all pairs by DTW, γ from the median: native, and a loop over pairs of a peer's compiled distance."""
    n = effort.size(SEQUENCES)
    x = np.random.default_rng(0).standard_normal((n, STEPS, CHANNELS)).cumsum(axis=1)
    kernel, given = ds.ExponentialKernel("dtw"), tl.Sequences(x)
    ours, matrix = fastest(lambda: kernel(given), effort.turns)
    work = f"`ExponentialKernel('dtw')`, {n} sequences of {STEPS} × {CHANNELS}, all pairs"
    for name, distance in _distances(x).items():
        theirs, found = fastest(partial(_looped, distance, n), 1)
        assert np.allclose(found, matrix, rtol=1e-4, atol=1e-6), f"{name} has other similarities: nothing is compared"
        yield against(work, f"a loop over {name}", theirs, ours, None)


def _looped(distance: Callable[[int, int], float], n: int) -> Floats:
    distances = np.zeros((n, n))
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        distances[i, j] = distances[j, i] = distance(i, j)
    return np.asarray(np.exp(-distances / np.median(distances[np.triu_indices(n, 1)])))


def _distances(x: Floats) -> dict[str, Callable[[int, int], float]]:
    found: dict[str, Callable[[int, int], float]] = {}
    if installed("dtaidistance"):
        from dtaidistance import dtw_ndim

        found["dtaidistance"] = lambda i, j: float(dtw_ndim.distance_fast(x[i], x[j])) ** 2
    if installed("aeon"):
        from aeon.distances import dtw_distance

        flipped = np.ascontiguousarray(x.transpose(0, 2, 1))
        dtw_distance(flipped[0], flipped[1])  # compiled at the first call
        found["aeon"] = lambda i, j: float(dtw_distance(flipped[i], flipped[j]))
    return found


# --- Sinkhorn divergence and drift


def sinkhorn(effort: Effort) -> Iterator[Row]:
    for dimension in (2, 3):
        yield from _sinkhorn(effort, dimension)


def _sinkhorn(effort: Effort, dimension: int) -> Iterator[Row]:
    n = effort.size(N)
    x, y = (one[:, :dimension] for one in samples(n))
    options: dict[str, Any] = {"blur": 0.001, "scaling": 0.95}
    ours, value = fastest(lambda: ds.sinkhorn_divergence(x, y, power=2, **options), max(2, effort.turns // 2))
    work = f"Sinkhorn divergence, {n} + {n} points in {dimension} dimensions, blur 0.001, scaling 0.95"
    if not installed("geomloss"):
        yield Row(work, "–", "–", f"{ours:.3g} s", "–", "–", True)
        return
    from geomloss import SamplesLoss

    loss = SamplesLoss("sinkhorn", p=2, backend="tensorized", **options)
    theirs, other = fastest(lambda: float(loss(torch.from_numpy(x), torch.from_numpy(y))), max(2, effort.turns // 2))
    apart = abs(float(value) - other) / abs(other)
    yield against(work, f"geomloss, tensorized (values differ by {apart:.1e}, relative)", theirs, ours, 5.0)


def drift(effort: Effort) -> Iterator[Row]:
    """Updates of a monitor that has a reference, batch after batch; the past grows with every one."""
    rng, batches = np.random.default_rng(0), effort.size(100)
    reference = rng.standard_normal((effort.size(REFERENCE), FEATURES))
    stream = rng.standard_normal((batches, BATCH, FEATURES))

    def watched() -> None:
        monitor = ds.Drift(reference, kernel=ds.RBF(), random_state=0)
        for batch in stream:
            monitor.update(batch)

    taken = fastest(watched, max(2, effort.turns // 2))[0] / batches
    work = f"`Drift.update`, batches of {BATCH} vectors, reference of {len(reference)}, the mean of {batches}"
    yield Row(work, "–", "–", f"{1 / taken:,.0f}/s", "–", "–", True)


JOBS: dict[str, Callable[[Effort], Iterator[Row]]] = {
    "permutations": permutations_of,
    "elastic": elastic,
    "sinkhorn": sinkhorn,
    "drift": drift,
    "tangent": tangent.rows,
    "lsgan": lsgan.rows,
    "memory": memory,
}


def main() -> int:
    parser = arguments(__doc__, JOBS, quick="few turns, a tenth of the sizes")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    effort = Effort(2 if options.quick else 5, options.quick)
    warnings.filterwarnings("ignore", "The number of replications is low")  # hyppo, in a quick run
    print(HEAD)
    with threadpool_limits(options.threads):
        rows = shown(row for name in options.only or JOBS for row in JOBS[name](effort))
    save(rows, options.rows)
    if options.markdown:
        command = "python -m benchmarks.speed.distributions --markdown benchmarks/results/distributions.md"
        packages = ("timelike", "numpy", "torch", "hyppo", "aeon", "dtaidistance", "geomloss")
        words = f"""{setting(*packages)}; {options.threads} thread(s) each; {load()}.

Processor time of the fastest of {effort.turns} turns; re-indexing, hyppo and loops over pairs have one. The first rows
are given one matrix of similarities, and only permute; the others begin with vectors. hyppo's statistic is ours times a
factor of the pooled sample, and its p-values are counted as ours are; each draws permutations of its own. Memory is the
peak of a process of its own beyond what it held before the call: similarities come in blocks of 16 MiB, of which a
kernel needs four to make one. `mmd` is to hold no more than 6 at a time, and `TwoSample` 10.5, with what the C library
keeps of arrays that are gone, and a byte for each item and permutation, three times. Autograd through the plain
recursion has no right digits where points nearly coincide; in 784 dimensions two products of matrices, which both need,
take two thirds of our time, so that 5 times faster cannot be reached. LSGAN's values are held against `eigh`'s."""
        options.markdown.write_text(page("Speed of distributions", command, words, rows))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
