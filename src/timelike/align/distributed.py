"""Pairwise distances on a cluster of machines: if joblib is configured for one, tiles of the matrix are its tasks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import native

if TYPE_CHECKING:
    from ..sequences import Sequences
    from .base import Metric

_LOCAL_BACKENDS = ("LokyBackend", "ThreadingBackend", "SequentialBackend", "MultiprocessingBackend")
_TILE_SIZE = 512  # sequences along the side of a tile: some seconds of work, little to send


def fill_distributed(metric: Metric, x: Sequences, y: Sequences | None, out: NDArray[Any]) -> bool:
    """Fill `out` through joblib if one of its distributed backends is active (`parallel_config(backend="dask")`).

    Returns False and does nothing if none is active: on one machine, the kernels' own threads are faster.
    """
    if out.size < _TILE_SIZE or "joblib" not in sys.modules:  # not worth sending, or nobody can have configured it
        return False
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    if type(get_active_backend()[0]).__name__ in _LOCAL_BACKENDS:
        return False
    tiles = _split_tiles(len(x), None if y is None else len(y))
    other = x if y is None else y
    tasks = (delayed(_compute_tile)(metric, x[rows], other[columns], out.dtype) for rows, columns in tiles)
    for (rows, columns), tile in zip(tiles, Parallel()(tasks), strict=True):
        out[rows, columns] = tile
        if y is None:
            out[columns, rows] = tile.T
    return True


def _compute_tile(metric: Metric, x: Sequences, y: Sequences, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Compute one tile on a worker; `pairwise` would submit it to the cluster again."""
    out = np.empty((len(x), len(y)), dtype)
    metric._fill_matrix(x, y, out, native.cpu_count(), None)
    return out


def _split_tiles(n: int, m: int | None) -> list[tuple[slice, slice]]:
    """All tiles, or those on and above the diagonal if a collection is compared with itself."""
    rows = [slice(a, min(a + _TILE_SIZE, n)) for a in range(0, n, _TILE_SIZE)]
    columns = rows if m is None else [slice(a, min(a + _TILE_SIZE, m)) for a in range(0, m, _TILE_SIZE)]
    return [(r, c) for r in rows for c in columns if m is not None or c.start >= r.start]
