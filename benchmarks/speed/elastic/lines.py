"""Times of each work of the elastic distances, and the memory of a long path."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.speed.elastic.peers import Settings, dtw_pair
from benchmarks.speed.elastic.work import Work
from benchmarks.speed.elastic.works import WORKS, ours
from benchmarks.speed.random_walks import normalized_walks
from benchmarks.speed.timing import Job, Timed, child, timed

REPEATS = 3


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
    line.speed = work.cells / line.ours / 1e9 if work.cells else None
    top = limit(work.itemsize) if work.operations else None
    line.share = None if top is None or line.speed is None else line.speed / (threads * top / work.operations)
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
    x, y = normalized_walks(2, 32, 6)
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


CHILD = """
import sys, time
import numpy as np
from benchmarks.memory import peak_memory
import timelike as tl

n = int(sys.argv[1])
x, y = np.cumsum(np.random.default_rng(7).standard_normal((2, n)), axis=1)
tl.DTW().align(x[:64], y[:64])
before = peak_memory()
began = time.perf_counter()
found = tl.DTW().align(x, y)
spent, extra = time.perf_counter() - began, peak_memory() - before
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
    try:
        extra, spent = map(float, child(CHILD, n))
    except subprocess.CalledProcessError as failed:
        line.met = "NO"
        line.notes.append(f"it failed: {(failed.stderr.strip().splitlines() or [f'exit {failed.returncode}'])[-1]}")
        return line
    line.ours = extra / 1e9
    line.speed = n * n / spent / 1e9
    line.met = "yes" if line.ours < 1 else "NO"
    line.notes.append(f"it took {spent:.2f} s; the path's cost is the distance")
    return line
