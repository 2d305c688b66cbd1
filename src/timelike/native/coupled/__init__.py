"""Distances by coupled GRUs, and their gradients, of arrays.

`graded` is the same for tensors, with autograd's gradients, and chooses between these kernels and `twin`.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..machine import Report, Steps, kernels, refuse_mismatch, use_kernels

STRETCH: int = 1 if kernels is None else kernels.coupled_stretch
"""Steps between the states that are kept for gradients."""

_BUDGET = 1 << 27  # bytes of sums in the making, for gradients by sequences that many pairs share
_PAIRS = 4096  # rolled out at once in torch: their states stay in the cache

Values = TypeVar("Values")
"""Arrays at this door, tensors in `graded` and `twin`."""


class Cell(NamedTuple, Generic[Values]):
    """The weights that act on states, in torch's order of gates: reset, update, new.

    `candidate` is the bias of the new state, inside its reset. The other biases are part of the inputs, which are
    (step, 3 hidden) and of the same dtype: what does not depend on states is computed once for all pairs.
    """

    recurrent: Values  # (3 hidden, hidden)
    coupling: Values  # (hidden, hidden)
    candidate: Values  # (hidden,)
    coupling_bias: Values  # (hidden,)


Weights = Cell[NDArray[Any]]


class Rolled(NamedTuple, Generic[Values]):
    """What a rollout says of every pair: how far apart the twins are, and how much they were coupled.

    `gates` are means of c_t over the units and over the steps in which both twins run.
    """

    distances: Values
    gates: Values


def matrix(
    cell: Weights,
    x: Steps,
    y: Steps,
    *,
    mean: bool,
    symmetric: bool,
    threads: int,
    out: NDArray[Any],
    report: Report = None,
) -> None:
    """The distances of all pairs into `out`, of the last states or in the `mean`; `symmetric` says that y is x."""
    if not out.size:
        return
    refuse_mismatch(x, y)
    if use_kernels():
        given = (*cell, mean, *x, *y)
        kernels.coupled_matrix(*given, symmetric=symmetric, threads=threads, out=out, report=report)
        return
    # blocks of whole rows where they fit, so that progress can be told in rows
    columns = max(1, min(len(y.lengths), _PAIRS))
    rows = max(1, _PAIRS // columns)
    for i in range(0, len(x.lengths), rows):
        for j in range(0, len(y.lengths), columns):
            within = slice(i, i + rows), slice(j, j + columns)
            first, second = (np.arange(len(side.lengths))[cut] for side, cut in zip((x, y), within, strict=True))
            pairs = np.repeat(first, len(second)), np.tile(second, len(first))
            out[within] = _rolled(cell, x, y, *pairs, mean=mean).distances.reshape(len(first), len(second))
        if report is not None:
            report(min(i + rows, len(x.lengths)), len(x.lengths))


def rows(
    cell: Weights,
    x: Steps,
    y: Steps,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    *,
    mean: bool,
    threads: int,
    report: Report = None,
) -> Rolled[NDArray[Any]]:
    """The distances of x[first[p]] and y[second[p]], and their mean gates, (pair,)."""
    refuse_mismatch(x, y)
    out, gates = np.empty((2, len(first)), x.values.dtype)
    if len(out) and use_kernels():
        given = (*cell, mean, *x, *y, first, second)
        kernels.coupled_rows(*given, threads=threads, out=out, gates=gates, report=report)
        return Rolled(out, gates)
    for p in range(0, len(first), _PAIRS):
        some = slice(p, p + _PAIRS)
        out[some], gates[some] = _rolled(cell, x, y, first[some], second[some], mean=mean)
    return Rolled(out, gates)


def keep(
    cell: Weights, x: Steps, y: Steps, first: NDArray[np.int64], second: NDArray[np.int64], *, mean: bool, threads: int
) -> tuple[Rolled[NDArray[Any]], NDArray[Any]]:
    """As `rows`, and the states from which `gradients` begin. Kernels only."""
    out, gates = np.empty((2, len(first)), x.values.dtype)
    if not len(out):
        return Rolled(out, gates), out
    given = (*cell, mean, *x, *y, first, second)
    kept = kernels.coupled_rows(*given, keep=True, threads=threads, out=out, gates=gates, report=None)
    return Rolled(out, gates), np.asarray(kept)


def gradients(
    cell: Weights,
    x: Steps,
    y: Steps,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    scales: Rolled[NDArray[Any]],
    kept: NDArray[Any],
    *,
    mean: bool,
    threads: int,
) -> tuple[NDArray[Any], NDArray[Any] | None, Weights]:
    """The gradient of Σ scales · (distances, gates) by the values of x and of y and by the cell, with what `keep` kept.

    Where y is x, the gradient by both is the first, and the second None. Sequences must not overlap. Kernels only.
    """
    by_x, by_y = np.zeros_like(x.values), None if y is x else np.zeros_like(y.values)
    by_cell = Cell(*map(np.zeros_like, cell))
    if len(first):
        given = (*cell, mean, *x, *y, first, second, scales.distances, kept, by_x, by_y, *by_cell)
        kernels.coupled_gradients(*given, gate_scales=scales.gates, budget=_BUDGET, threads=threads, report=None)
    return by_x, by_y, by_cell


def _rolled(
    cell: Weights, x: Steps, y: Steps, first: NDArray[np.int64], second: NDArray[np.int64], *, mean: bool
) -> Rolled[NDArray[Any]]:
    import torch

    from . import twin

    def side(steps: Steps, chosen: NDArray[np.int64]) -> twin.Side:
        items, pairs = np.unique(chosen, return_inverse=True)  # a sequence of many pairs is padded once
        parts = steps.padded(items), steps.lengths[items], pairs
        return twin.Side(*map(torch.from_numpy, parts))

    weights = Cell(*map(torch.from_numpy, cell))
    with torch.no_grad():
        found = twin.rolled(weights, side(x, first), side(y, second), mean=mean)
    return Rolled(*(part.numpy() for part in found))
