"""How fast Rocket encodes, beside aeon's MiniRocket with as many features in the same run.

    python -m benchmarks.speed.rocket
    python -m benchmarks.speed.rocket --only one-channel --quick
    python -m benchmarks.speed.rocket --markdown benchmarks/results/rocket.md

Both encode the same random walks into 9996 features, in float32 and on `--threads` threads each, and take turns, so
that what else the machine does meets both; a time is of the processor, of the fastest turn. A feature of theirs is a
share of steps; half of ours are, and half are longest runs. aeon compiles when it is first called, which a row shows
and no other row counts. Without aeon the rows have our times alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import timelike as tl
from benchmarks.speed.table import HEAD, Row, against, arguments, load, on_avx2, page, save, setting, shown, table
from benchmarks.speed.timing import timed

FEATURES = 9996  # what aeon makes of 10 000: a multiple of its 84 kernels
TURNS = 5


@dataclass(frozen=True)
class Work:
    """So many random walks of a length, and how many times theirs ours is to be fast."""

    said: str
    count: int
    length: int
    channels: int
    least: float

    def walks(self) -> np.ndarray[Any, Any]:
        steps = np.random.default_rng(0).standard_normal((self.count, self.length, self.channels))
        return steps.cumsum(axis=1).astype(np.float32)


WORKS = {
    "one-channel": Work("500 series of 500 steps", 500, 500, 1, 1.0),
    "long": Work("20 series of 10 000 steps", 20, 10_000, 1, 1.0),
    "two-channels": Work("300 series of 200 steps, 2 channels", 300, 200, 2, 3.0),
    "many-channels": Work("100 series of 300 steps, 12 channels", 100, 300, 12, 3.0),
}


def peer(x: np.ndarray[Any, Any], threads: int) -> tuple[Callable[[], Any] | None, float]:
    """What encodes with aeon, compiled already, and how long that took; nothing where aeon is not installed."""
    try:
        from aeon.transformations.collection.convolution_based import MiniRocket
    except ImportError:
        return None, 0.0
    turned = np.ascontiguousarray(x.transpose(0, 2, 1))
    began = time.perf_counter()
    model = MiniRocket(random_state=0, n_jobs=threads).fit(turned)
    model.transform(turned[:2])
    return (lambda: model.transform(turned)), time.perf_counter() - began


def compared(work: Work, turns: int, threads: int) -> Iterator[Row]:
    x = work.walks()
    tl.Rocket(n_features=1).fit(x[:2])  # imports
    began = time.perf_counter()
    encoder = tl.Rocket(n_features=FEATURES, random_state=0).fit(x)
    encoder.encode(x[:2], n_jobs=threads)
    ready = time.perf_counter() - began
    sequences = tl.Sequences(x)
    theirs, compiled = peer(x, threads)
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(turns):
        times["ours"].append(timed(lambda: encoder.encode(sequences, n_jobs=threads)).busy)
        if theirs is not None:
            times["theirs"].append(timed(theirs).busy)
    ours = min(times["ours"])
    rate = f"{work.count * FEATURES / ours / 1e6:.3g} million features/s"
    said = f"{work.said}: {rate}"
    if theirs is None:
        yield Row(said, "aeon is not installed", "–", f"{ours:.3g} s", "–", "–", True)
        return
    yield against(said, "aeon, MiniRocket", min(times["theirs"]), ours, work.least)
    yield against(f"{work.said}: fit and the first call", "aeon, MiniRocket", compiled, ready, None)


JOBS = {name: partial(compared, work) for name, work in WORKS.items()}


def main() -> int:
    options = arguments(__doc__, JOBS, quick="one turn").parse_args()
    turns = 1 if options.quick else TURNS
    print(HEAD)
    rows = shown(row for name in options.only or JOBS for row in JOBS[name](turns, options.threads))
    save(rows, options.rows)
    if options.markdown:
        command = "python -m benchmarks.speed.rocket --markdown benchmarks/results/rocket.md"
        words = f"""{setting("timelike", "aeon", "numba", "numpy")}; float32, {options.threads} thread(s) and {FEATURES}
features each; {load()}. Fastest of {turns} turns that alternate, processor time; the first call on the wall. aeon keeps
what it has compiled on disk, so that its first call is slow on the first day only. A feature of MiniRocket is a share
of steps; half of ours are, and half are longest runs, which cost about as much again."""
        avx2 = on_avx2("benchmarks.speed.rocket", *(["--quick"] if options.quick else []))
        also = f"The same with the kernels for AVX2 (`TIMELIKE_ISA=v3`):\n\n{table(avx2)}"
        options.markdown.write_text(page("Speed of Rocket", command, words, rows, also))
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
