"""All pairs over a cluster of machines: where joblib has been told of one, tiles of the matrix are its tasks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import native

if TYPE_CHECKING:
    from ..sequences import Sequences
    from .base import Metric

_LOCAL = ("LokyBackend", "ThreadingBackend", "SequentialBackend", "MultiprocessingBackend")
_SIDE = 512  # sequences along the side of a tile: some seconds of work, little to send


def over_cluster(metric: Metric, x: Sequences, y: Sequences | None, out: NDArray[Any]) -> bool:
    """Fill `out` through joblib if one of its distributed backends is active (`parallel_config(backend="dask")`).

    Gives False, having done nothing, where none is: on this machine the kernels' own threads are faster.
    """
    if out.size < _SIDE or "joblib" not in sys.modules:  # not worth sending, or nobody can have configured it
        return False
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    if type(get_active_backend()[0]).__name__ in _LOCAL:
        return False
    tiles = _tiles(len(x), None if y is None else len(y))
    other = x if y is None else y
    tasks = (delayed(_tile)(metric, x[rows], other[columns], out.dtype) for rows, columns in tiles)
    for (rows, columns), found in zip(tiles, Parallel()(tasks), strict=True):
        out[rows, columns] = found
        if y is None:
            out[columns, rows] = found.T
    return True


def _tile(metric: Metric, x: Sequences, y: Sequences, dtype: np.dtype[Any]) -> NDArray[Any]:
    """One tile where it arrived; `pairwise` would ask joblib again, and a worker's answer is the cluster again."""
    out = np.empty((len(x), len(y)), dtype)
    metric._fill(x, y, out, native.cores(), None)
    return out


def _tiles(n: int, m: int | None) -> list[tuple[slice, slice]]:
    """All tiles, or those on and above the diagonal where a collection is compared with itself."""
    rows = [slice(a, min(a + _SIDE, n)) for a in range(0, n, _SIDE)]
    columns = rows if m is None else [slice(a, min(a + _SIDE, m)) for a in range(0, m, _SIDE)]
    return [(r, c) for r in rows for c in columns if m is not None or c.start >= r.start]
