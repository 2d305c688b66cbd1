"""Raw buffers → buffers: compiled kernels, and for each a twin in torch or NumPy that gives the same numbers.

One folder for each family, with its kernels, its door (`__init__.py`) and its `twin.py`: `elastic` distances, `soft`
-DTW, `warp`s in continuous time, entropic `transport`, `recurrent` networks, `coupled` GRUs, `convolve` (over tables of
pairs), `causal` networks, `rocket` (convolutions that are counted), `similarity` (a perceptron of pairs), `tangent`
(kernels of wide networks) and `stream` (a query in it). `machine` is what all of them stand on. The names here are
those of `elastic` and of `machine`.
"""

from __future__ import annotations

from .elastic import SHAPES, Program, Shape, Window, matrix, nearest_by_window, pairwise, path, search
from .machine import COSTS, Cost, Report, Steps, compiled, cores, isa, threads

__all__ = [
    "COSTS",
    "SHAPES",
    "Cost",
    "Program",
    "Report",
    "Shape",
    "Steps",
    "Window",
    "compiled",
    "cores",
    "isa",
    "matrix",
    "nearest_by_window",
    "pairwise",
    "path",
    "search",
    "threads",
]
