"""Elastic distances: a dynamic program over all pairs of sequences, over one with its path, and nearest neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..machine import PackedSequences, ProgressCallback, kernels, refuse_mismatch, use_kernels
from .program import BAND_SHAPES, BandShape, Program, WarpingBand

__all__ = [
    "BAND_SHAPES",
    "BandShape",
    "Program",
    "WarpingBand",
    "matrix",
    "nearest_by_window",
    "pairwise",
    "path",
    "search",
    "squared_distances",
]

# Bytes of directions kept at once, two bits a cell: all of a pair up to 32 000 steps. A longer path costs the rows of
# the program twice.
MAX_PATH_BYTES = 1 << 28

_ONE_CELL = Program()  # of two sequences of one frame: the squared distance of the frames
_ONE_CELL_ARGUMENTS = _ONE_CELL.numbers(), _ONE_CELL.arrays(np.dtype(np.float64))


def pairwise(
    program: Program,
    x: PackedSequences,
    y: PackedSequences,
    *,
    symmetric: bool,
    threads: int,
    out: NDArray[Any],
    report: ProgressCallback,
) -> None:
    """The program over all pairs into `out`, in the one float dtype of x, y and out; `symmetric` says y is x."""
    refuse_mismatch(x, y)
    if out.shape != (len(x.lengths), len(y.lengths)):
        raise ValueError(f"out has shape {out.shape}: expected {(len(x.lengths), len(y.lengths))}")
    if use_kernels():
        given = (program.numbers(), *x, *y, *program.arrays(out.dtype))
        kernels.pairwise(*given, symmetric=symmetric, threads=threads, out=out, report=report)
    else:
        from . import fallback

        fallback.pairwise(program, x, y, symmetric=symmetric, out=out, report=report)


def squared_distances(
    x: NDArray[np.float64],
    y: NDArray[np.float64] | None,
    *,
    threads: int,
    out: NDArray[np.float64],
    report: ProgressCallback,
) -> None:
    """‖x_i − y_j‖² of vectors (item, feature) into `out`; y None for x with itself, exactly symmetric.

    Every pair is computed by itself: no number depends on the other items in the batch, or on the threads.
    """
    if not use_kernels():
        from . import fallback

        fallback.squared_distances(x, x if y is None else y, out=out, report=report)
        return
    first = _pack_vectors(x)
    second = first if y is None else _pack_vectors(y)
    numbers, arrays = _ONE_CELL_ARGUMENTS
    kernels.pairwise(numbers, *first, *second, *arrays, symmetric=y is None, threads=threads, out=out, report=report)


def _pack_vectors(vectors: NDArray[np.float64]) -> PackedSequences:
    """Vectors (item, feature) as sequences of one frame each."""
    values = np.ascontiguousarray(vectors, np.float64)
    return PackedSequences(values, np.arange(len(values), dtype=np.int64), np.ones(len(values), np.int64))


def search(
    program: Program,
    x: PackedSequences,
    y: PackedSequences,
    k: int,
    *,
    rooted: bool,
    threads: int,
    report: ProgressCallback,
) -> tuple[NDArray[np.int64], NDArray[Any]] | None:
    """Positions and distances of the k sequences of y nearest to each of x; None if there are no kernels for it.

    There is no fallback: without kernels, the caller computes all distances and sorts them.
    """
    if not use_kernels():
        return None
    refuse_mismatch(x, y)
    ids = np.empty((len(x.lengths), k), np.int64)
    distances = np.empty(ids.shape, x.values.dtype)
    given = (program.numbers(), *x, *y, *program.arrays(distances.dtype))
    kernels.search(*given, rooted=rooted, threads=threads, ids=ids, distances=distances, report=report)
    return ids, distances


def nearest_by_window(
    program: Program,
    x: PackedSequences,
    windows: list[WarpingBand],
    totals: NDArray[Any],
    *,
    rooted: bool,
    averaged: bool,
    threads: int,
    report: ProgressCallback,
) -> NDArray[np.int64] | None:
    """The nearest other of every sequence under every window, (window, item); None if there are no kernels for it.

    The windows are of one shape, each inside the next, and `totals` (item, item) are those under the last. Distances
    are totals, divided by the sum of both lengths if `averaged`, and then their roots if `rooted`. There is no
    fallback: without kernels all distances are computed under every window.
    """
    if not use_kernels():
        return None
    numbers = [window.numbers() for window in windows]
    bands = np.array([cells for _, cells, _ in numbers], np.int64), np.array([share for *_, share in numbers])
    out = np.empty((len(windows), len(x.lengths)), np.int64)
    given = (program.numbers(), *x, *bands, totals)
    kernels.nearest_by_window(*given, rooted=rooted, averaged=averaged, threads=threads, out=out, report=report)
    return out


def path(program: Program, x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.int64], float]:
    """Path (steps, 2) and total of one pair, x (n, channel), y (m, channel)."""
    refuse_mismatch(PackedSequences.from_sequence(x), PackedSequences.from_sequence(y))
    if use_kernels():
        return kernels.path(program.numbers(), x, y, *program.arrays(x.dtype), budget=MAX_PATH_BYTES)
    from . import fallback

    return fallback.path(program, x, y)


def matrix(program: Program, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """All cells of one pair's program, (n, m), inf outside the band."""
    refuse_mismatch(PackedSequences.from_sequence(x), PackedSequences.from_sequence(y))
    out = np.full((len(x), len(y)), np.inf, x.dtype)
    if use_kernels():
        kernels.matrix(program.numbers(), x, y, *program.arrays(x.dtype), out=out)
    else:
        from . import fallback

        fallback.matrix(program, x, y, out)
    return out
