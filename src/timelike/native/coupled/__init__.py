"""Distances by coupled GRUs, and their gradients, on arrays.

`autograd` is the same for tensors, with gradients, and chooses between these kernels and `fallback`.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..machine import PackedSequences, ProgressCallback, kernels, refuse_mismatch, use_kernels

STATE_STRIDE: int = 1 if kernels is None else kernels.coupled_stretch
"""Steps between the states that are kept for gradients."""

_MAX_BYTES = 1 << 27  # bytes of sums in the making, for gradients by sequences that many pairs share
_BLOCK_PAIRS = 4096  # rolled out at once in torch: their states stay in the cache

Values = TypeVar("Values")
"""Arrays in this module, tensors in `autograd` and `fallback`."""


class CoupledWeights(NamedTuple, Generic[Values]):
    """The weights that act on states, in torch's order of gates: reset, update, new.

    `candidate` is the bias of the new state, inside its reset. The other biases are part of the inputs (step, 3
    hidden), which have the same dtype: everything that does not depend on states is computed once for all pairs.
    """

    recurrent: Values  # (3 hidden, hidden)
    coupling: Values  # (hidden, hidden)
    candidate: Values  # (hidden,)
    coupling_bias: Values  # (hidden,)


ArrayWeights = CoupledWeights[NDArray[Any]]


class CoupledRollout(NamedTuple, Generic[Values]):
    """The result of a rollout for every pair: the distance of the two GRUs, and their mean coupling.

    `gates` are means of c_t over the units and over the steps that both sequences have.
    """

    distances: Values
    gates: Values


def matrix(
    cell: ArrayWeights,
    x: PackedSequences,
    y: PackedSequences,
    *,
    mean: bool,
    symmetric: bool,
    threads: int,
    out: NDArray[Any],
    report: ProgressCallback = None,
) -> None:
    """The distances of all pairs into `out`, of the last states or in the `mean`; `symmetric` says that y is x."""
    if not out.size:
        return
    refuse_mismatch(x, y)
    if use_kernels():
        given = (*cell, mean, *x, *y)
        kernels.coupled_matrix(*given, symmetric=symmetric, threads=threads, out=out, report=report)
        return
    # blocks of whole rows if they fit, so that progress can be reported in rows
    columns = max(1, min(len(y.lengths), _BLOCK_PAIRS))
    rows = max(1, _BLOCK_PAIRS // columns)
    for i in range(0, len(x.lengths), rows):
        for j in range(0, len(y.lengths), columns):
            within = slice(i, i + rows), slice(j, j + columns)
            first, second = (np.arange(len(side.lengths))[cut] for side, cut in zip((x, y), within, strict=True))
            pairs = np.repeat(first, len(second)), np.tile(second, len(first))
            out[within] = _roll_out(cell, x, y, *pairs, mean=mean).distances.reshape(len(first), len(second))
        if report is not None:
            report(min(i + rows, len(x.lengths)), len(x.lengths))


def pair_rollouts(
    cell: ArrayWeights,
    x: PackedSequences,
    y: PackedSequences,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    *,
    mean: bool,
    threads: int,
    report: ProgressCallback = None,
) -> CoupledRollout[NDArray[Any]]:
    """The distances of x[first[p]] and y[second[p]], and their mean gates, (pair,)."""
    refuse_mismatch(x, y)
    out, gates = np.empty((2, len(first)), x.values.dtype)
    if len(out) and use_kernels():
        given = (*cell, mean, *x, *y, first, second)
        kernels.coupled_rows(*given, threads=threads, out=out, gates=gates, report=report)
        return CoupledRollout(out, gates)
    for p in range(0, len(first), _BLOCK_PAIRS):
        some = slice(p, p + _BLOCK_PAIRS)
        out[some], gates[some] = _roll_out(cell, x, y, first[some], second[some], mean=mean)
    return CoupledRollout(out, gates)


def pair_rollouts_with_states(
    cell: ArrayWeights,
    x: PackedSequences,
    y: PackedSequences,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    *,
    mean: bool,
    threads: int,
) -> tuple[CoupledRollout[NDArray[Any]], NDArray[Any]]:
    """As `pair_rollouts`, with the states for `gradients`. Kernels only."""
    out, gates = np.empty((2, len(first)), x.values.dtype)
    if not len(out):
        return CoupledRollout(out, gates), out
    given = (*cell, mean, *x, *y, first, second)
    kept = kernels.coupled_rows(*given, keep=True, threads=threads, out=out, gates=gates, report=None)
    return CoupledRollout(out, gates), np.asarray(kept)


def gradients(
    cell: ArrayWeights,
    x: PackedSequences,
    y: PackedSequences,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    scales: CoupledRollout[NDArray[Any]],
    kept: NDArray[Any],
    *,
    mean: bool,
    threads: int,
) -> tuple[NDArray[Any], NDArray[Any] | None, ArrayWeights]:
    """The gradient of Σ scales · (distances, gates) by the values of x and of y and by the cell, with what
    `pair_rollouts_with_states` kept.

    Where y is x, the gradient by both is the first, and the second None. Sequences must not overlap. Kernels only.
    """
    by_x, by_y = np.zeros_like(x.values), None if y is x else np.zeros_like(y.values)
    by_cell = CoupledWeights(*map(np.zeros_like, cell))
    if len(first):
        given = (*cell, mean, *x, *y, first, second, scales.distances, kept, by_x, by_y, *by_cell)
        kernels.coupled_gradients(*given, gate_scales=scales.gates, budget=_MAX_BYTES, threads=threads, report=None)
    return by_x, by_y, by_cell


def _roll_out(
    cell: ArrayWeights,
    x: PackedSequences,
    y: PackedSequences,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    *,
    mean: bool,
) -> CoupledRollout[NDArray[Any]]:
    import torch

    from . import fallback

    def side(steps: PackedSequences, chosen: NDArray[np.int64]) -> fallback.RolloutSide:
        items, pairs = np.unique(chosen, return_inverse=True)  # a sequence of many pairs is padded once
        parts = steps.pad_items(items), steps.lengths[items], pairs
        return fallback.RolloutSide(*map(torch.from_numpy, parts))

    weights = CoupledWeights(*map(torch.from_numpy, cell))
    with torch.no_grad():
        rollout = fallback.roll_out(weights, side(x, first), side(y, second), mean=mean)
    return CoupledRollout(*(part.numpy() for part in rollout))
