"""How fast a pattern is found in a long series, beside loops over dtaidistance and beside stumpy.

    python -m benchmarks.speed.subsequence

A random walk, and a query that is another one. *A loop* is what one would write with dtaidistance: every window brought
to mean 0 and deviation 1 by NumPy, its DTW distance by `distance_fast` with the best so far as `max_dist`. stumpy's
`mass` and `stump` are for the z-normalised Euclidean distance. Answers must be the same. A package that is not
installed is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

import timelike as tl
from benchmarks.speed.table import Row, against, arguments, page, save, setting, shown
from benchmarks.speed.timing import best, timed

SIZE, WINDOW = 128, 6
Floats = NDArray[np.float64]


def walk(length: int, seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(length).cumsum()


def loop(query: Floats, stream: Floats) -> tuple[int, float]:
    """The nearest window by dtaidistance, whose window counts the diagonal."""
    from dtaidistance import dtw

    cut = np.lib.stride_tricks.sliding_window_view(stream, len(query))
    windows = (cut - cut.mean(axis=1, keepdims=True)) / cut.std(axis=1, keepdims=True)
    pattern = (query - query.mean()) / query.std()
    start, least = 0, dtw.distance_fast(pattern, windows[0], window=WINDOW + 1)
    for place, one in enumerate(windows[1:], 1):
        found = dtw.distance_fast(pattern, np.ascontiguousarray(one), window=WINDOW + 1, max_dist=least)
        if found < least:
            start, least = place, found
    return start, float(least)


def loops(length: int) -> Iterator[Row]:
    query, stream = walk(SIZE, 1), walk(length, 0)
    theirs = timed(lambda: loop(query, stream))
    (found,) = tl.subsequence(query, stream, normalize=True, window=WINDOW)
    np.testing.assert_allclose((found.start, found.distance**0.5), theirs.answer, rtol=1e-9)
    ours = best(lambda: tl.subsequence(query, stream, normalize=True, window=WINDOW))
    yield against(f"DTW, window {WINDOW}: {SIZE} in {length:,}", "a loop over dtaidistance", theirs.wall, ours, 10)


def everything(length: int) -> Iterator[Row]:
    query, stream = walk(SIZE, 1), walk(length, 0)
    cut = np.lib.stride_tricks.sliding_window_view(stream, SIZE)

    def compared() -> float:
        windows = (cut - cut.mean(axis=1, keepdims=True)) / cut.std(axis=1, keepdims=True)
        return float(tl.DTW(window=WINDOW).pairwise([(query - query.mean()) / query.std()], windows, n_jobs=1).min())

    ours = best(lambda: tl.subsequence(query, stream, normalize=True, window=WINDOW))
    work = f"DTW, window {WINDOW}: {SIZE} in {length:,}"
    yield against(work, "all distances by `DTW.pairwise`", best(compared, 3), ours, 2)


def masses(length: int) -> Iterator[Row]:
    from stumpy import core

    query, stream = walk(SIZE, 1), walk(length, 0)
    (found,) = tl.subsequence(query, stream, normalize=True, metric="euclidean")
    np.testing.assert_allclose(found.distance, core.mass(query, stream).min(), rtol=1e-6)
    ours = best(lambda: tl.subsequence(query, stream, normalize=True, metric="euclidean"))
    work = f"Euclidean: {SIZE} in {length:,}"
    yield against(work, "stumpy `mass`, all distances", best(lambda: core.mass(query, stream)), ours, None)


def profiles(length: int) -> Iterator[Row]:
    import stumpy

    series = walk(length, 0)
    theirs, ours = stumpy.stump(series, 64), tl.matrix_profile(series, 64)
    np.testing.assert_allclose(ours.distances, theirs[:, 0].astype(float), atol=1e-6)
    times = best(lambda: stumpy.stump(series, 64), 2), best(lambda: tl.matrix_profile(series, 64), 2)
    yield against(f"matrix profile, 64 in {length:,}", "stumpy `stump`", *times, None)


JOBS = {"loop": (loops, 50_000), "all": (everything, 50_000), "mass": (masses, 500_000), "profile": (profiles, 10_000)}
NEEDED = {"loop": "dtaidistance", "mass": "stumpy", "profile": "stumpy"}


def main() -> int:
    parser = arguments(__doc__, JOBS, quick="a twentieth of the lengths")
    asked = parser.parse_args()
    chosen = [name for name in asked.only or JOBS if name not in NEEDED or find_spec(NEEDED[name]) is not None]
    share = 20 if asked.quick else 1
    rows = shown(row for name in chosen for row in JOBS[name][0](JOBS[name][1] // share))
    save(rows, asked.rows)
    if asked.markdown:
        where = setting("timelike", "dtaidistance", "stumpy", "numpy")
        words = f"{(__doc__ or '').split('    python', 1)[1].split(chr(10), 2)[2]}\nOne thread. {where}."
        command = "python -m benchmarks.speed.subsequence --markdown benchmarks/results/subsequence.md"
        asked.markdown.write_text(page("A pattern in a long series", command, words, rows), encoding="utf-8")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
