"""How fast the elastic distances are, beside the fastest of aeon, tslearn, dtaidistance and tsdistances.

    python benchmarks/speed/elastic.py                      # one thread for everybody
    python benchmarks/speed/elastic.py --threads 2
    python benchmarks/speed/elastic.py --only dtw-64 --only path
    python benchmarks/speed/elastic.py --data DIR --markdown docs/benchmarks/elastic.md

Every library does the same work in the same run, in its fastest way: its matrix function where it has one, compiled,
with the same number of threads. Functions compiled on first use are called once before the clock starts. A time is the
best of three; a peer whose first run is a quarter slower than the fastest peer's is not run again. `--quick` makes
everything small: it shows that the program works, and its numbers mean nothing.

Real data come from `--data DIR` or `$TIMELIKE_DATA`, and from the aeon package; a row whose data are missing says so.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PEERS = ("aeon", "tslearn", "dtaidistance", "tsdistances")
REPEATS = 3
Job = Callable[[], Any]

# vector operations per cell of one channel, the cheapest way we know to write the recurrence
OPERATIONS = {"DTW": 4, "ERP": 7, "TWE": 9, "MSM": 15}
PER_CYCLE = 2  # full-width vector operations a current x86 core starts per cycle


@dataclass
class Work:
    """One line of the table: the same work for everybody."""

    title: str
    bar: str
    peers: dict[str, Job]
    ours: Job | None
    cells: float = 0  # of the dynamic program, without pruning
    operations: float = 0  # per cell; 0 where a share of the hardware limit means nothing
    itemsize: int = 8
    least: float | None = None  # the ratio to the fastest peer that is asked for
    notes: list[str] = field(default_factory=list)
    agree: Callable[[Any, Any], bool] | None = None  # (theirs, ours) → the same answer


@dataclass
class Settings:
    threads: int
    quick: bool
    data: Path | None


@dataclass
class Line:
    """What a work came to."""

    name: str
    title: str
    bar: str
    peer: str = "–"
    theirs: float | None = None
    ours: float | None = None
    ratio: str = "–"
    met: str = "not yet"
    speed: float | None = None  # Gcell/s
    share: float | None = None
    unit: str = "s"
    everyone: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


# --- the peers' fastest


def squares(matrix: Any) -> NDArray[Any]:
    """Of a library that takes roots, so that the answers can be compared."""
    return np.asarray(matrix) ** 2


def available(jobs: dict[str, Job]) -> dict[str, Job]:
    return {name: job for name, job in jobs.items() if find_spec(name.split()[0]) is not None}


def dtw_matrix(x: NDArray[Any], s: Settings, window: float | None = None) -> dict[str, Job]:
    """All pairs of equal lengths, x (item, time) or (item, time, channel)."""

    def aeon() -> Any:
        from aeon.distances import dtw_pairwise_distance

        return dtw_pairwise_distance(flipped, window=window, n_jobs=s.threads)

    def tslearn() -> Any:
        from tslearn.metrics import cdist_dtw

        limit = {} if radius is None else {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": radius}
        return squares(cdist_dtw(x, n_jobs=s.threads, **limit))

    def dtaidistance() -> Any:
        from dtaidistance import dtw, dtw_ndim

        limit = {} if radius is None else {"window": radius + 1}
        room = dtw if x.ndim == 2 else dtw_ndim
        return squares(room.distance_matrix_fast(wide, parallel=s.threads > 1, **limit))

    def tsdistances() -> Any:
        import tsdistances as tsd

        return tsd.dtw_distance(wide, band=1.0 if radius is None else radius / x.shape[1], par=s.threads > 1)

    radius = None if window is None else int(window * x.shape[1] + 1e-9)
    wide = x.astype(np.float64)
    flipped = wide if x.ndim == 2 else np.ascontiguousarray(wide.transpose(0, 2, 1))
    jobs: dict[str, Job] = {"aeon": aeon, "tslearn": tslearn, "dtaidistance": dtaidistance}
    if x.ndim == 2:
        jobs["tsdistances"] = tsdistances
    return available(jobs)


def ragged_matrix(sequences: list[NDArray[Any]], s: Settings) -> dict[str, Job]:
    def aeon() -> Any:
        from aeon.distances import dtw_pairwise_distance

        return dtw_pairwise_distance(flipped, n_jobs=s.threads)

    def tslearn() -> Any:
        from tslearn.metrics import cdist_dtw

        return squares(cdist_dtw(sequences, n_jobs=s.threads))

    def dtaidistance() -> Any:
        from dtaidistance import dtw_ndim

        return squares(dtw_ndim.distance_matrix_fast(sequences, parallel=s.threads > 1))

    flipped = [np.ascontiguousarray(sequence.T) for sequence in sequences]
    return available({"aeon": aeon, "tslearn": tslearn, "dtaidistance": dtaidistance})


def edit_matrix(name: str, x: NDArray[np.float64], s: Settings) -> dict[str, Job]:
    """MSM, TWE or ERP of all pairs, x (item, time)."""

    def aeon() -> Any:
        import aeon.distances

        return getattr(aeon.distances, f"{name.lower()}_pairwise_distance")(x, n_jobs=s.threads)

    def tsdistances() -> Any:
        import tsdistances as tsd

        gap = {"gap_penalty": 0.0} if name == "ERP" else {}
        return getattr(tsd, f"{name.lower()}_distance")(x, par=s.threads > 1, **gap)

    return available({"aeon": aeon, "tsdistances": tsdistances})


def dtw_search(train: NDArray[np.float64], test: NDArray[np.float64], s: Settings, window: float) -> dict[str, Job]:
    """The nearest of `train` for every row of `test`: ids."""
    radius = int(window * train.shape[1] + 1e-9)

    def aeon() -> Any:
        from aeon.distances import dtw_pairwise_distance

        return dtw_pairwise_distance(test, train, window=window, n_jobs=s.threads).argmin(axis=1)

    def tslearn() -> Any:
        from tslearn.metrics import cdist_dtw

        limit = {"global_constraint": "sakoe_chiba", "sakoe_chiba_radius": radius}
        return cdist_dtw(test, train, n_jobs=s.threads, **limit).argmin(axis=1)

    def matrix() -> Any:
        from dtaidistance import dtw

        block = ((0, len(test)), (len(test), len(test) + len(train)))
        found = dtw.distance_matrix_fast(
            np.concatenate([test, train]), block=block, window=radius + 1, parallel=s.threads > 1
        )
        return np.asarray(found)[: len(test), len(test) :].argmin(axis=1)

    def pruned() -> Any:
        from dtaidistance.subsequence.subsequencesearch import subsequence_search

        options = {"window": radius + 1, "use_c": True}
        found = [subsequence_search(query, rows, dists_options=dict(options)) for query in test]
        return np.array([search.kbest_matches_fast(k=1)[0].idx for search in found])

    def tsdistances() -> Any:
        import tsdistances as tsd

        return tsd.dtw_distance(test, train, band=radius / train.shape[1], par=s.threads > 1).argmin(axis=1)

    rows = list(train)
    jobs = {"aeon": aeon, "tslearn": tslearn, "dtaidistance matrix": matrix, "tsdistances": tsdistances}
    if s.threads == 1:  # its search has no threads of its own
        jobs["dtaidistance search"] = pruned
    return available(jobs)


def dtw_pair(x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, Job]:
    """One distance, as each gives it: two of the four take the root."""

    def aeon() -> Any:
        from aeon.distances import dtw_distance

        return dtw_distance(x, y)

    def tslearn() -> Any:
        from tslearn.metrics import dtw

        return dtw(x, y)

    def dtaidistance() -> Any:
        from dtaidistance import dtw

        return dtw.distance_fast(x, y)

    def tsdistances() -> Any:
        import tsdistances as tsd

        return tsd.dtw_distance(x, y, par=False)

    return available({"aeon": aeon, "tslearn": tslearn, "dtaidistance": dtaidistance, "tsdistances": tsdistances})


# --- the works


def ours(name: str, **options: Any) -> Any:
    """`tl.name(**options)`, or None while the library does not have it."""
    import timelike as tl

    kind = getattr(tl, name, None)
    if kind is None or any(option not in inspect.signature(kind).parameters for option in options):
        return None
    return kind(**options)


def walks(n: int, length: int, seed: int) -> NDArray[np.float64]:
    """z-normalised random walks (item, time)."""
    walk = np.cumsum(np.random.default_rng(seed).standard_normal((n, length)), axis=1)
    return np.asarray((walk - walk.mean(1, keepdims=True)) / walk.std(1, keepdims=True))


def close(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-3, atol=1e-3))


def pairs(n: int) -> float:
    return n * (n - 1) / 2


def banded(length: int, window: float | None) -> float:
    """Cells inside a Sakoe-Chiba band."""
    radius = length if window is None else int(window * length + 1e-9)
    return sum(min(length, i + radius + 1) - max(0, i - radius) for i in range(length))


def all_pairs(s: Settings, dtype: type[np.floating[Any]], window: float | None, least: float) -> Work:
    n, length = (20, 64) if s.quick else (256, 256)
    x = walks(n, length, 0).astype(dtype)
    metric = ours("DTW", window=window)
    band = "" if window is None else f", {window:.0%} band"
    work = Work(
        f"DTW, all pairs of {n} × length {length}, {np.dtype(dtype).name}{band}",
        f"≥ {least:g}×",
        dtw_matrix(x, s, window),
        None if metric is None else lambda: metric.pairwise(x, n_jobs=s.threads),
        cells=pairs(n) * banded(length, window),
        operations=OPERATIONS["DTW"],
        itemsize=np.dtype(dtype).itemsize,
        least=least,
        agree=close,
    )
    if dtype is np.float32:
        work.notes.append("the peers compute in float64 whatever they are given")
    return work


def channels(s: Settings) -> Work:
    n, length, width = (10, 32, 9) if s.quick else (200, 128, 9)
    x = np.random.default_rng(1).standard_normal((n, length, width))
    metric = ours("DTW")
    return Work(
        f"DTW, all pairs of {n} × length {length} × {width} channels, float64",
        "≥ 15×",
        dtw_matrix(x, s),
        lambda: metric.pairwise(x, n_jobs=s.threads),
        cells=pairs(n) * length**2,
        operations=2 * width + 2,
        least=15,
        agree=close,
    )


def named(name: str, s: Settings) -> Any:
    """(train, test), or None where the files are not."""
    from timelike import sequences

    folders = [] if s.data is None else [s.data, s.data / "ucr", s.data / "uea"]
    for folder in folders:
        if (folder / f"{name}.npz").exists():
            return sequences.load(folder / f"{name}.npz")
    return sequences.load(name) if name in sequences.available() else None


def absent(title: str, bar: str, name: str) -> Work:
    return Work(title, bar, {}, None, notes=[f"{name} is missing: give its folder with --data or $TIMELIKE_DATA"])


def ragged(s: Settings) -> Work:
    from timelike.sequences import Sequences, concat

    found = named("JapaneseVowels", s)
    if found is None:
        return absent("DTW, JapaneseVowels (ragged), all pairs", "≥ 10×", "JapaneseVowels")
    data = concat(found)
    data = data[:40] if s.quick else data
    sequences = [np.ascontiguousarray(sequence, np.float64) for sequence in data.to_list()]
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.float64)
    metric, given = ours("DTW"), Sequences(sequences)
    width = sequences[0].shape[1]
    return Work(
        f"DTW, JapaneseVowels (ragged, {len(sequences)} × {width} channels), all pairs, float64",
        "≥ 10×",
        ragged_matrix(sequences, s),
        lambda: metric.pairwise(given, n_jobs=s.threads),
        cells=float((lengths.sum() ** 2 - (lengths**2).sum()) / 2),
        operations=2 * width + 2,
        least=10,
        agree=close,
    )


def edit(name: str, s: Settings) -> Work:
    n, length = (10, 32) if s.quick else (128, 128)
    x = walks(n, length, 2)
    metric = ours(name)
    return Work(
        f"{name}, all pairs of {n} × length {length}, float64",
        "≥ 10×",
        edit_matrix(name, x, s),
        None if metric is None else lambda: metric.pairwise(x, n_jobs=s.threads),
        cells=pairs(n) * length**2,
        operations=OPERATIONS[name],
        least=10,
        agree=close,
    )


def nearest(title: str, train: NDArray[np.float64], test: NDArray[np.float64], s: Settings) -> Work:
    metric = ours("DTW", window=0.1)
    n_train, n_test, length = len(train), len(test), train.shape[1]
    return Work(
        f"1-NN DTW search, 10% band, {title}: {n_train} × {n_test} × length {length}",
        "≥ 20×",
        dtw_search(train, test, s, 0.1),
        lambda: metric.neighbors(train, test, k=1, n_jobs=s.threads).ids[:, 0],
        cells=n_train * n_test * banded(length, 0.1),
        least=20,
        agree=lambda theirs, mine: bool(np.array_equal(theirs, mine)),
    )


def search_walks(s: Settings) -> Work:
    n_train, n_test, length = (60, 10, 64) if s.quick else (1000, 200, 256)
    return nearest("random walks", walks(n_train, length, 3), walks(n_test, length, 4), s)


def search_real(name: str, s: Settings) -> Work:
    found = named(name, s)
    if found is None:
        return absent(f"1-NN DTW search, 10% band, {name}", "≥ 20×", name)
    train, test = (np.asarray(part.padded()[0], dtype=np.float64)[:, :, 0] for part in found)
    return nearest(name, train[:60], test[:10], s) if s.quick else nearest(name, train, test, s)


def search_pruning(s: Settings) -> Work:
    """Ours against ours: what pruning is worth."""
    n_train, n_test, length = (60, 10, 64) if s.quick else (1000, 200, 256)
    train, test = walks(n_train, length, 3), walks(n_test, length, 4)
    metric = ours("DTW", window=0.1)
    return Work(
        "the same search on the walks, beside our own brute force",
        "≥ 3×",
        {"timelike pairwise": lambda: metric.pairwise(test, train, n_jobs=s.threads).argmin(axis=1)},
        lambda: metric.neighbors(train, test, k=1, n_jobs=s.threads).ids[:, 0],
        cells=n_train * n_test * banded(length, 0.1),
        least=3,
        agree=lambda theirs, mine: bool(np.array_equal(theirs, mine)),
    )


def one_pair(s: Settings) -> Work:
    length = 256 if s.quick else 4096
    x, y = walks(2, length, 5)
    metric = ours("DTW")
    return Work(
        f"DTW of one pair of length {length}, float64",
        "≥ 5×",
        dtw_pair(x, y),
        lambda: metric.distance(x, y),
        cells=length**2,
        operations=OPERATIONS["DTW"],
        least=5,
        agree=lambda theirs, mine: close(theirs, mine) or close(theirs, mine**0.5),
    )


def threads_ratio(s: Settings) -> Work:
    n, length = (40, 64) if s.quick else (512, 256)
    x = walks(n, length, 0)
    metric = ours("DTW")
    return Work(
        f"DTW, all pairs of {n} × length {length}, float64: two threads beside one",
        "≥ 1.8×",
        {"timelike, 1 thread": lambda: metric.pairwise(x, n_jobs=1)},
        lambda: metric.pairwise(x, n_jobs=2),
        cells=pairs(n) * length**2,
        least=1.8,
        agree=lambda one, two: bool(np.array_equal(one, two)),
    )


WORKS: dict[str, Callable[[Settings], Work]] = {
    "dtw-64": lambda s: all_pairs(s, np.float64, None, 20),
    "dtw-32": lambda s: all_pairs(s, np.float32, None, 40),
    "band-64": lambda s: all_pairs(s, np.float64, 0.1, 15),
    "band-32": lambda s: all_pairs(s, np.float32, 0.1, 30),
    "channels": channels,
    "ragged": ragged,
    "msm": lambda s: edit("MSM", s),
    "twe": lambda s: edit("TWE", s),
    "erp": lambda s: edit("ERP", s),
    "search-walks": search_walks,
    "search-cricket": lambda s: search_real("CricketX", s),
    "search-leaf": lambda s: search_real("OSULeaf", s),
    "search-pruning": search_pruning,
    "pair": one_pair,
    "threads": threads_ratio,
}


# --- measurement


class Timed(NamedTuple):
    """One run: seconds on the wall, seconds of processor time of all threads, and the answer."""

    wall: float
    busy: float
    answer: Any


def timed(job: Job) -> Timed:
    busy, wall = time.process_time(), time.perf_counter()
    answer = job()
    return Timed(time.perf_counter() - wall, time.process_time() - busy, answer)


def again(job: Job, first: Timed) -> Timed:
    """The best of three, or of as many as fit into a second, at most 20: one rule for us and for the peers."""
    runs = max(REPEATS, min(20, int(1 / max(first.wall, 1e-6))))
    best = first
    for _ in range(runs - 1):
        run = timed(job)
        best = run if run.wall < best.wall else best
    return best


def fastest(jobs: dict[str, Job]) -> dict[str, Timed]:
    """The best run of each; the slow ones are run once only."""
    found = {name: timed(job) for name, job in jobs.items()}
    limit = 1.25 * min((run.wall for run in found.values()), default=0)
    return {name: again(jobs[name], run) if run.wall <= limit else run for name, run in found.items()}


def disturbed(name: str, run: Timed, threads: int) -> list[str]:
    """A single thread that waited: the machine did something else at the same time."""
    waited = 1 - run.busy / run.wall
    return (
        [f"{name} had to wait for {waited:.0%} of its time, the machine was busy"]
        if threads == 1 and waited > 0.05
        else []
    )


def measured(name: str, work: Work, limit: Callable[[int], float | None], threads: int) -> Line:
    line = Line(name, work.title, work.bar, notes=list(work.notes))
    times = fastest(work.peers)
    line.everyone = {peer: run.wall for peer, run in times.items()}
    if times:
        line.peer = min(line.everyone, key=lambda peer: line.everyone[peer])
        line.theirs = line.everyone[line.peer]
    if work.ours is None:
        line.met = "no data" if work.notes and not work.peers else "not yet"
        return line
    work.ours()
    mine = again(work.ours, timed(work.ours))
    line.ours = mine.wall
    line.notes += disagreements(work, times, mine.answer)
    if name != "threads":
        shown = {"timelike": mine} | ({line.peer: times[line.peer]} if times else {})
        line.notes += [note for who, run in shown.items() for note in disturbed(who, run, threads)]
    line.speed = work.cells / line.ours / 1e9
    top = limit(work.itemsize) if work.operations else None
    line.share = None if top is None else line.speed / (threads * top / work.operations)
    if line.share is not None and line.share > 1:
        line.notes.append("faster than the limit, so the estimate of the limit is wrong here")
    if line.theirs is None or work.least is None:
        line.met = "no peer"
        return line
    line.ratio = f"{line.theirs / line.ours:.3g}×"
    line.met = "yes" if line.theirs / line.ours >= work.least else "NO"
    return line


def disagreements(work: Work, times: dict[str, Timed], mine: Any) -> list[str]:
    agree = work.agree
    if agree is None:
        return []
    return [f"{peer} gives other numbers" for peer, run in times.items() if not agree(run.answer, mine)]


def warm(s: Settings, names: list[str]) -> None:
    """Everything compiled on first use is compiled before a clock runs: each work once, made small."""
    small = Settings(s.threads, True, s.data)
    for name in names:
        if name in WORKS:
            for job in WORKS[name](small).peers.values():
                job()


def overhead(s: Settings) -> Line:
    """One `distance` call at length 32, in microseconds: the median over batches."""
    x, y = walks(2, 32, 6)
    metric = ours("DTW")
    line = Line("overhead", "one distance call at length 32, µs", "≤ 30 µs", unit="µs")
    rounds = 20 if s.quick else 2000
    for peer, job in dtw_pair(x, y).items():
        line.everyone[peer] = microseconds(job, rounds)
    if line.everyone:
        line.peer = min(line.everyone, key=lambda peer: line.everyone[peer])
        line.theirs = line.everyone[line.peer]
    line.ours = microseconds(lambda: metric.distance(x, y), rounds)
    line.ratio = "–" if line.theirs is None else f"{line.theirs / line.ours:.3g}×"
    line.met = "yes" if line.ours <= 30 else "NO"
    return line


def microseconds(job: Job, rounds: int) -> float:
    for _ in range(10):
        job()
    batches = []
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(rounds // 5):
            job()
        batches.append((time.perf_counter() - began) / (rounds // 5))
    return min(batches) * 1e6


# On Linux ru_maxrss of a child begins at the peak of the parent that started it (exec keeps it), which would hide
# everything here; VmHWM belongs to the new process alone.
CHILD = """
import resource, sys, time
import numpy as np
import timelike as tl

def peak():
    if sys.platform == "linux":
        with open("/proc/self/status", encoding="ascii") as status:
            return 1024 * int(next(line for line in status if line.startswith("VmHWM")).split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

n = int(sys.argv[1])
x, y = np.cumsum(np.random.default_rng(7).standard_normal((2, n)), axis=1)
tl.DTW().align(x[:64], y[:64])
before = peak()
began = time.perf_counter()
found = tl.DTW().align(x, y)
spent, extra = time.perf_counter() - began, peak() - before
matched = float(((x[found.path[:, 0]] - y[found.path[:, 1]]) ** 2).sum())
assert abs(matched - found.cost) <= 1e-6 * found.cost, (matched, found.cost)
print(extra, spent)
"""


def path(s: Settings) -> Line:
    """Peak memory of a long alignment above that of the process before it, in a process of its own."""
    n = 2000 if s.quick else 20_000
    line = Line("path", f"alignment path of {n} × {n}, GB of memory above the start", "< 1 GB", unit="GB")
    line.notes.append(
        "the peers are not run: at 6000 × 6000 aeon, tslearn and dtaidistance took 8 to 9 bytes per cell, which would "
        f"be {8 * n * n / 1e9:.1f} GB or more"
    )
    done = subprocess.run([sys.executable, "-c", CHILD, str(n)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        line.met = "NO"
        line.notes.append(f"it failed: {(done.stderr.strip().splitlines() or [f'exit {done.returncode}'])[-1]}")
        return line
    extra, spent = map(float, done.stdout.split())
    line.ours = extra / 1e9
    line.speed = n * n / spent / 1e9
    line.met = "yes" if line.ours < 1 else "NO"
    line.notes.append(f"it took {spent:.2f} s; the path's cost is the distance")
    return line


# --- the hardware limit


def gigahertz() -> tuple[float | None, str]:
    """The clock of a busy core, by a chain of x·x + 1, which takes 4 cycles a turn on x86 (multiply 3, add 1)."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None, "not estimated: not an x86-64 processor"
    if find_spec("numba") is None:
        return None, "not estimated: the clock is measured with numba, which is not installed"

    def chain(turns: int, x: int) -> int:
        for _ in range(turns):
            x = x * x + 1
        return x

    compiled = importlib.import_module("numba").njit(chain)
    compiled(10, 3)
    turns = 500_000  # half a millisecond: some of the bursts are undisturbed even on a busy machine
    best = min(timed(lambda: compiled(turns, 3)).wall for _ in range(500))
    return 4 * turns / best / 1e9, f"{4 * turns / best / 1e9:.2f} GHz, measured by a chain of integer multiplications"


def hardware() -> tuple[Callable[[int], float | None], str]:
    """Vector operations per second and core by item size, in 1e9, and how that was estimated."""
    import timelike as tl

    widths = {"v4": 64, "v3": 32, "v2": 16}
    isa = tl.native.isa()
    clock, how = gigahertz()
    if clock is None or isa not in widths:
        return lambda itemsize: None, how if clock is None else f"not estimated for {isa}"
    words = (
        f"Hardware limit per core: {how}, × {PER_CYCLE} vector operations per cycle × {widths[isa]} bytes ({isa}), "
        f"÷ vector operations per cell: DTW {OPERATIONS['DTW']} (subtract, multiply-add, two minima; 2 more for each "
        f"further channel), ERP {OPERATIONS['ERP']}, TWE {OPERATIONS['TWE']}, MSM {OPERATIONS['MSM']}. Loads, stores "
        "and edges are not counted, so it cannot be reached."
    )
    return lambda itemsize: clock * PER_CYCLE * widths[isa] / itemsize, words


# --- the table


def number(value: float | None, unit: str = "s") -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" + (f" {unit}" if unit != "s" else "")


def row(line: Line) -> str:
    peer = line.peer if line.theirs is None else f"{line.peer} {number(line.theirs, line.unit)}"
    speed = "–" if line.speed is None else f"{line.speed:.3g}"
    share = "–" if line.share is None else f"{line.share:.0%}"
    mine = number(line.ours, line.unit)
    return f"| {line.title} | {peer} | {mine} | {line.ratio} | {line.bar} | {line.met} | {speed} | {share} |"


HEAD = """| work | fastest peer, s | ours, s | ratio | bar | met | Gcell/s | of the limit |
|---|---|---:|---:|---:|---|---:|---:|"""


def everyone(lines: list[Line]) -> Iterator[str]:
    peers = sorted({peer for line in lines for peer in line.everyone if not peer.startswith("timelike")})
    yield "| work | " + " | ".join(peers) + " |"
    yield "|---|" + "---:|" * len(peers)
    for line in lines:
        if any(peer in line.everyone for peer in peers):
            cells = (number(line.everyone.get(peer), line.unit) for peer in peers)
            yield f"| {line.title} | " + " | ".join(cells) + " |"


def versions() -> str:
    def of(name: str) -> str:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            return f"{name} (not installed)"

    return ", ".join(map(of, ("timelike", *PEERS, "numba", "numpy")))


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def load() -> str:
    """How busy the machine was, where that is known."""
    if not hasattr(os, "getloadavg"):
        return ""
    return f" Load average over the last 15 minutes, this program included: {os.getloadavg()[2]:.1f}."


def report(lines: list[Line], s: Settings, command: str, words: str) -> str:
    import timelike as tl

    notes = [f"- {line.title}: {note}." for line in lines for note in line.notes]
    threads = "one thread each" if s.threads == 1 else f"{s.threads} threads each"
    parts = [
        "# Speed of the elastic distances",
        f"```console\n{command}\n```",
        f"{processor()}, {os.cpu_count()} cores, kernels for {tl.native.isa()}, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}; {versions()}; {threads}, except the row that "
        f"compares two with one. Best of {REPEATS} or more runs after a first one that does not count. Cells are those "
        f"of the whole dynamic program, also for a search that skips most of them.{load()}",
        words,
        "\n".join([HEAD, *map(row, lines)]),
        "Every library, in seconds unless said otherwise:",
        "\n".join(everyone(lines)),
        "\n".join(notes),
    ]
    if s.quick:
        parts.insert(2, "**A smoke run with small sizes: these numbers mean nothing.**")
    return "\n\n".join(part for part in parts if part) + "\n"


def arguments() -> argparse.Namespace:
    names = [*WORKS, "overhead", "path"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1, help="for every library (default 1)")
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke run")
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help="folder of data sets")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="also write the page there")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a bar is missed")
    given = parser.parse_args()
    if given.threads < 1:
        parser.error(f"--threads {given.threads}: expected 1 or more")
    given.only = given.only or names
    return given


def main() -> int:
    given = arguments()
    for variable in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS"):  # read by tsdistances and dtaidistance when imported
        os.environ[variable] = str(given.threads)
    warnings.filterwarnings("ignore", category=UserWarning)
    s = Settings(given.threads, given.quick, None if given.data is None else Path(given.data))
    limit, words = hardware()
    for peer in PEERS:
        if find_spec(peer) is None:
            print(f'{peer} is not installed and takes no part: pip install "timelike[bench,test]"', file=sys.stderr)
    if given.quick is False:
        warm(s, given.only)
    lines = []
    for name in given.only:
        print(f"{name} …", file=sys.stderr, flush=True)
        special = {"overhead": overhead, "path": path}.get(name)
        lines.append(special(s) if special else measured(name, WORKS[name](s), limit, s.threads))
        print(row(lines[-1]), file=sys.stderr, flush=True)  # a long run that is stopped has shown something
    flags = [
        argument if argument[:1] == "-" or "/" not in argument else Path(argument).name for argument in sys.argv[1:]
    ]
    page = report(lines, s, " ".join(["python", "benchmarks/speed/elastic.py", *flags]), words)
    print(page)
    if given.markdown is not None:
        given.markdown.write_text(page, encoding="utf-8")
    return 1 if given.strict and any(line.met == "NO" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
