"""The fallback of the similarity kernels in NumPy, one block of pairs at a time: equal up to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import OutputLayer

_MAX_UNITS = 1 << 23  # hidden units of a block of pairs


def scores(left: NDArray[Any], right: NDArray[Any], layer: OutputLayer) -> NDArray[Any]:
    """S of every left and every right row, (left, right)."""
    out = np.empty((len(left), len(right)), left.dtype)
    columns = max(1, _MAX_UNITS // len(layer.weight))
    for begin in range(0, len(right), columns):
        some = right[begin : begin + columns]
        rows = max(1, columns // len(some))
        for first in range(0, len(left), rows):
            out[first : first + rows, begin : begin + columns] = _score_block(left[first : first + rows], some, layer)
    return out


def best_scores(
    left: NDArray[Any], right: NDArray[Any], layer: OutputLayer, k: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The k largest of every right row and whose they are, each (right, k)."""
    values, ids = np.empty((len(right), k), left.dtype), np.empty((len(right), k), np.int64)
    for part in _row_blocks(left, right):
        block = scores(left, right[part], layer).T
        block[np.isnan(block)] = -np.inf
        ids[part] = np.argsort(-block, axis=1, kind="stable")[:, :k]
        values[part] = np.take_along_axis(block, ids[part], 1)
    return values, ids


def group_maxima(
    left: NDArray[Any], right: NDArray[Any], layer: OutputLayer, starts: NDArray[np.int64]
) -> NDArray[Any]:
    """The largest of every right row in every group, (right, group)."""
    out = np.empty((len(right), len(starts)), left.dtype)
    for part in _row_blocks(left, right):
        out[part] = np.maximum.reduceat(scores(left, right[part], layer), starts, axis=0).T
    return out


def _score_block(left: NDArray[Any], right: NDArray[Any], layer: OutputLayer) -> NDArray[Any]:
    units = left[:, None] + right
    scaled = units * units.dtype.type(layer.slope)
    return np.asarray(np.where(units > 0, units, scaled) @ layer.weight + units.dtype.type(layer.constant))


def _row_blocks(left: NDArray[Any], right: NDArray[Any]) -> list[slice]:
    """Right rows whose numbers are not too many."""
    rows = max(1, _MAX_UNITS // max(1, len(left)))
    return [slice(begin, begin + rows) for begin in range(0, len(right), rows)]
