"""Compiled kernels on raw buffers, each with a fallback in torch or NumPy that returns the same numbers.

One folder for each family, with its kernels, its entry (`__init__.py`) and its `fallback.py`: `elastic` distances,
`soft`-DTW, `warp`s in continuous time, entropic `transport`, `recurrent` networks, `coupled` GRUs, `convolve` (over
tables of pairs), `causal` networks, `rocket` (convolutions that are counted), `similarity` (a perceptron of pairs),
`tangent` (kernels of wide networks) and `stream` (a query in a stream). All of them use `machine`. This package exports
the names of `elastic` and `machine`.
"""

from __future__ import annotations

from .elastic import BAND_SHAPES, BandShape, Program, WarpingBand, matrix, nearest_by_window, pairwise, path, search
from .machine import COSTS, Cost, PackedSequences, ProgressCallback, cpu_count, is_native_enabled, isa, thread_count

__all__ = [
    "BAND_SHAPES",
    "COSTS",
    "BandShape",
    "Cost",
    "PackedSequences",
    "Program",
    "ProgressCallback",
    "WarpingBand",
    "cpu_count",
    "is_native_enabled",
    "isa",
    "matrix",
    "nearest_by_window",
    "pairwise",
    "path",
    "search",
    "thread_count",
]
