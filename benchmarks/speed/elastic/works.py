"""Work for the elastic distances and their peers, row by row, and how much faster ours should be."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from benchmarks.speed.elastic import recordings
from benchmarks.speed.elastic.limit import OPERATIONS
from benchmarks.speed.elastic.peers import Settings, dtw_matrix, dtw_pair, dtw_search, edit_matrix, ragged_matrix
from benchmarks.speed.elastic.work import Work
from benchmarks.speed.random_walks import normalized_walks
from numpy.typing import NDArray


def ours(name: str, **options: Any) -> Any:
    """`tl.name(**options)`, or None while the library does not have it."""
    import timelike as tl

    kind = getattr(tl, name, None)
    if kind is None or any(option not in inspect.signature(kind).parameters for option in options):
        return None
    return kind(**options)


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
    x = normalized_walks(n, length, 0).astype(dtype)
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
    return sequences.load(name) if name in sequences.list_datasets() else None


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
    x = normalized_walks(n, length, 2)
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


def two_sides(s: Settings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n_train, n_test, length = (60, 10, 64) if s.quick else (1000, 200, 256)
    return normalized_walks(n_train, length, 3), normalized_walks(n_test, length, 4)


def search_walks(s: Settings) -> Work:
    return nearest("random walks", *two_sides(s), s)


def search_real(name: str, s: Settings) -> Work:
    found = named(name, s)
    if found is None:
        return absent(f"1-NN DTW search, 10% band, {name}", "≥ 20×", name)
    train, test = (np.asarray(part.pad()[0], dtype=np.float64)[:, :, 0] for part in found)
    return nearest(name, train[:60], test[:10], s) if s.quick else nearest(name, train, test, s)


def search_pruning(s: Settings) -> Work:
    """Ours against ours: what pruning is worth."""
    train, test = two_sides(s)
    metric = ours("DTW", window=0.1)
    return replace(
        search_walks(s),
        title="the same search on the walks, beside our own brute force",
        bar="≥ 3×",
        peers={"timelike pairwise": lambda: metric.pairwise(test, train, n_jobs=s.threads).argmin(axis=1)},
        least=3,
    )


def one_pair(s: Settings) -> Work:
    length = 256 if s.quick else 4096
    x, y = normalized_walks(2, length, 5)
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
    x = normalized_walks(n, length, 0)
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
    "window-selected": lambda s: recordings.selection(s, ragged=False),
    "window-selected-ragged": lambda s: recordings.selection(s, ragged=True),
    "window-dtw": lambda s: recordings.window("DTW", s),
    "window-msm": lambda s: recordings.window("MSM", s),
    "window-twe": lambda s: recordings.window("TWE", s),
    "missing": recordings.missing,
}
