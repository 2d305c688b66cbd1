"""The learned similarity of pairs (a perceptron), on arrays: all pairs, the best ones, or the largest of each group.

S_ij = Σ_h w_h φ(l_ih + r_jh) + c with φ(z) = s·z + (1 − s)·max(z, 0), of left rows l and right rows r that the first
layer has computed. No table (left, right, hidden) is allocated. Each pair is summed in one order, so its value depends
neither on the other rows nor on the threads, and is the same in all three functions. Instruction sets round
differently.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine import kernels, use_kernels


class OutputLayer(NamedTuple):
    """The activation and the layer after it."""

    weight: NDArray[Any]
    """(hidden,), of the dtype of both sides."""
    slope: float
    """Of the activation below 0."""
    constant: float


def scores(left: NDArray[Any], right: NDArray[Any], layer: OutputLayer, *, threads: int) -> NDArray[Any]:
    """S of every left row (left, hidden) and every right row (right, hidden), (left, right), in their dtype."""
    _validate_sides(left, right, layer)
    out = np.empty((len(left), len(right)), left.dtype)
    if use_kernels():
        kernels.similarity_scores(left, right, layer, threads=threads, out=out)
        return out
    from . import fallback

    return fallback.scores(left, right, layer)


def best_scores(
    left: NDArray[Any], right: NDArray[Any], layer: OutputLayer, k: int = 1, *, threads: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The k largest S of every right row and the positions of their left rows, each (right, k).

    The largest comes first, and the earlier row of equal ones; NaN counts as −∞.
    """
    _validate_sides(left, right, layer)
    if not 1 <= k <= len(left):
        raise ValueError(f"k={k}: expected at least 1 and at most {len(left)}, the number of left rows")
    if use_kernels():
        values, ids = np.empty((len(right), k), left.dtype), np.empty((len(right), k), np.int64)
        kernels.similarity_best(left, right, layer, threads=threads, values=values, ids=ids)
        return values, ids
    from . import fallback

    return fallback.best_scores(left, right, layer, k)


def group_maxima(
    left: NDArray[Any], right: NDArray[Any], layer: OutputLayer, starts: NDArray[np.int64], *, threads: int
) -> NDArray[Any]:
    """The largest S of every right row in every group, (right, group); group g begins at left row starts[g]."""
    _validate_sides(left, right, layer)
    rising = len(starts) > 0 and starts[0] == 0 and bool((np.diff(starts, append=len(left)) > 0).all())
    if not rising:
        raise ValueError(f"starts={starts}: expected numbers that rise from 0 and are below {len(left)}, the left rows")
    if use_kernels():
        out = np.empty((len(right), len(starts)), left.dtype)
        kernels.similarity_maxima(left, right, layer, starts, threads=threads, out=out)
        return out
    from . import fallback

    return fallback.group_maxima(left, right, layer, starts)


def _validate_sides(left: NDArray[Any], right: NDArray[Any], layer: OutputLayer) -> None:
    hidden = len(layer.weight)
    for side, name in ((left, "left"), (right, "right")):
        if side.ndim != 2 or side.shape[1] != hidden or not hidden:
            raise ValueError(f"{name} has shape {side.shape}: expected (row, {hidden}), as many numbers as weights")
        if side.dtype != layer.weight.dtype or side.dtype not in (np.float32, np.float64):
            raise ValueError(
                f"{name} is {side.dtype} and the weights {layer.weight.dtype}: expected float32 or float64"
            )
        if not side.flags.c_contiguous:
            raise ValueError(f"{name} is not contiguous: expected rows beside each other; np.ascontiguousarray({name})")
