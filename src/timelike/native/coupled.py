"""Distances by coupled GRUs without gradients: compiled, or by the rollout in torch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import Report, _kernels, _use_kernels
from .buffers import Steps

_PAIRS = 4096  # rolled out at once in torch: their states stay in the cache


class Cell(NamedTuple):
    """The weights that act on states, in torch's order of gates: reset, update, new.

    `candidate` is the bias of the new state, inside its reset. The other biases are part of the inputs, which are
    (step, 3 hidden) and of the same dtype.
    """

    recurrent: NDArray[Any]  # (3 hidden, hidden)
    coupling: NDArray[Any]  # (hidden, hidden)
    candidate: NDArray[Any]  # (hidden,)
    coupling_bias: NDArray[Any]  # (hidden,)


def matrix(
    cell: Cell,
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
    if _use_kernels():
        how: Any = {"symmetric": symmetric, "threads": threads, "out": out, "report": report}
        _kernels.coupled_matrix(*cell, mean, *x, *y, **how)
        return
    columns = max(1, min(len(y.lengths), _PAIRS))
    rows = max(1, _PAIRS // columns)
    for i in range(0, len(x.lengths), rows):
        for j in range(0, len(y.lengths), columns):
            within = slice(i, i + rows), slice(j, j + columns)
            first, second = (np.arange(len(side.lengths))[cut] for side, cut in zip((x, y), within, strict=True))
            pairs = np.repeat(first, len(second)), np.tile(second, len(first))
            out[within] = _rolled(cell, x, y, *pairs, mean=mean).reshape(len(first), len(second))
        if report is not None:
            report(min(i + rows, len(x.lengths)), len(x.lengths))


def rows(
    cell: Cell,
    x: Steps,
    y: Steps,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    *,
    mean: bool,
    threads: int,
    report: Report = None,
) -> NDArray[Any]:
    """The distances of x[first[p]] and y[second[p]], (pair,)."""
    out = np.empty(len(first), x.values.dtype)
    if len(out) and _use_kernels():
        _kernels.coupled_rows(*cell, mean, *x, *y, first, second, threads=threads, out=out, report=report)
        return out
    for p in range(0, len(first), _PAIRS):
        out[p : p + _PAIRS] = _rolled(cell, x, y, first[p : p + _PAIRS], second[p : p + _PAIRS], mean=mean)
    return out


def _rolled(
    cell: Cell, x: Steps, y: Steps, first: NDArray[np.int64], second: NDArray[np.int64], *, mean: bool
) -> NDArray[Any]:
    import torch

    from . import coupled_rollout as torched

    def side(steps: Steps, chosen: NDArray[np.int64]) -> torched.Side:
        items, pairs = np.unique(chosen, return_inverse=True)
        lengths = steps.lengths[items]
        at = np.minimum(np.arange(lengths.max()), lengths[:, None] - 1)  # past an end, the last step again
        inputs = torch.from_numpy(steps.values[steps.starts[items, None] + at])
        return torched.Side(inputs, torch.from_numpy(lengths), torch.from_numpy(pairs))

    weights = torched.Cell(*map(torch.from_numpy, cell))
    with torch.no_grad():
        found = torched.distances(weights, side(x, first), side(y, second), mean=mean)
    return np.asarray(found.numpy())
