"""How long folders of recordings take to load, beside a loop of `pandas.read_csv` over the same files.

    python -m benchmarks.speed.loading

Processor seconds of all threads, the best of three, since a shared disk and machine disturb the clock on the wall,
which stands beside them. The loop of pandas reads numbers only; ours also finds the time, holds the files against each
other, and takes groups from their names. Both give the same numbers, to the last digit that pandas reads.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import timelike as tl
from benchmarks.speed.timing import Timed, timed

# files, steps, channels; in the last two ten times the columns should take ten times as long
FOLDERS = ((120, 2000, 4), (10_000, 50, 3), (1, 3, 3000), (1, 3, 30_000))
RUNS = 3


def written(folder: Path, files: int, steps: int, channels: int) -> None:
    """Recordings of noise with a clock, as text."""
    rng = np.random.default_rng(0)
    header = ",".join(["time", *(f"c{i}" for i in range(channels))])
    for number in range(files):
        rows = np.column_stack([np.arange(steps) / 100, rng.normal(size=(steps, channels))])
        np.savetxt(folder / f"s{number % 6}_{number:05}.csv", rows, "%.6f", ",", header=header, comments="")


def by_pandas(folder: Path) -> NDArray[np.float64]:
    tables = [pd.read_csv(path) for path in sorted(folder.iterdir())]
    return np.concatenate([table.to_numpy() for table in tables])


def by_timelike(folder: Path) -> NDArray[np.float64]:
    data = tl.load(folder, group=r"(s\d)_")
    assert data.times is not None
    return np.column_stack([data.times, data.values])


def quickest(runs: list[Timed]) -> Timed:
    return min(runs, key=lambda run: run.busy)


def main() -> None:
    """Print a row for every folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a hundredth of the files, once")
    quick = parser.parse_args().quick
    print("| files × steps × channels | pandas busy (wall) s | timelike busy (wall) s | ratio | same |")
    print("|---|---|---|---|---|")
    for files, steps, channels in FOLDERS:
        with tempfile.TemporaryDirectory() as name:
            n = -(-files // 100) if quick else files
            written(Path(name), n, steps, channels)
            runs = range(1 if quick else RUNS)
            theirs = quickest([timed(lambda name=name: by_pandas(Path(name))) for _ in runs])  # type: ignore[misc]
            ours = quickest([timed(lambda name=name: by_timelike(Path(name))) for _ in runs])  # type: ignore[misc]
        same = np.allclose(theirs.answer, ours.answer, rtol=1e-12)
        times = [f"{run.busy:.2f} ({run.wall:.2f})" for run in (theirs, ours)]
        print(f"| {n} × {steps} × {channels} | {' | '.join(times)} | {theirs.busy / ours.busy:.2f} | {same} |")


if __name__ == "__main__":
    main()
