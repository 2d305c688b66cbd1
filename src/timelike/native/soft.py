"""Soft-DTW: totals, expected visits of every cell, and their derivatives, by the kernels or by torch.

Costs are (pair, n, m); `n` and `m` (pair,) say how much of each matrix counts, the rest is never read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _use_kernels
from .buffers import SHAPES, Steps, Window

try:
    from . import _kernels
except ImportError:  # a pure wheel: built without a compiler
    _kernels = None  # type: ignore[assignment]

BUDGET = 1 << 27  # bytes of totals in the backward pass, of all threads; beyond it diagonals are computed twice
KEPT = 1 << 27  # bytes of totals kept from the forward pass for the backward one; beyond it the latter begins anew
Lengths = NDArray[np.int64]


class Soft(NamedTuple):
    """How soft the minimum is, and which cells may be visited."""

    gamma: float
    window: Window = Window()

    def plan(self) -> tuple[Any, ...]:
        """The numbers of it, for the compiled kernels, which know no None."""
        cells = -1 if self.window.cells is None else self.window.cells
        share = -1.0 if self.window.share is None else float(self.window.share)
        return float(self.gamma), SHAPES.index(self.window.shape), cells, share


def costs(x: NDArray[Any], y: NDArray[Any], n: Lengths, m: Lengths, threads: int = 1) -> NDArray[Any]:
    """Squared distances of the frames of x (pair, n, channel) and y (pair, m, channel); 0 beyond the lengths."""
    if not _use_kernels():
        from . import soft_wavefront

        return soft_wavefront.on_arrays(soft_wavefront.costs, x, y)[0]
    out = np.zeros((len(x), x.shape[1], y.shape[1]), x.dtype)
    _kernels.soft_costs(x, y, n, m, out, threads)
    return out


def totals(soft: Soft, costs: NDArray[Any], n: Lengths, m: Lengths, threads: int = 1) -> NDArray[Any]:
    """Soft-DTW of every pair, (pair,)."""
    if not _use_kernels():
        from . import soft_wavefront

        return soft_wavefront.on_arrays(lambda given: soft_wavefront.totals(soft, given, n, m), costs)[0]
    out = np.empty(len(costs), costs.dtype)
    _kernels.soft_totals(soft.plan(), costs, n, m, out, threads)
    return out


def visits(
    soft: Soft, costs: NDArray[Any], n: Lengths, m: Lengths, threads: int = 1
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Soft-DTW (pair,) and its gradient by the costs (pair, n, m): how often each cell is visited in the mean."""
    if not _use_kernels():
        from . import soft_wavefront

        found = soft_wavefront.on_arrays(lambda given: soft_wavefront.visits(soft, given, n, m), costs)
        return found[0], found[1]
    totals, out = np.empty(len(costs), costs.dtype), np.zeros_like(costs)
    _kernels.soft_visits(soft.plan(), costs, n, m, totals, out, BUDGET, threads)
    return totals, out


def product(
    soft: Soft, costs: NDArray[Any], direction: NDArray[Any], n: Lengths, m: Lengths, threads: int = 1
) -> NDArray[Any]:
    """The Hessian by the costs times `direction`: how the visits change when the costs do."""
    if not _use_kernels():
        from . import soft_wavefront

        return soft_wavefront.on_arrays(lambda c, z: soft_wavefront.product(soft, c, z, n, m), costs, direction)[0]
    out = np.zeros_like(costs)
    _kernels.soft_product(soft.plan(), costs, direction, n, m, out, BUDGET, threads)
    return out


def pairs(soft: Soft, x: Steps, y: Steps, rows: Lengths, columns: Lengths, threads: int = 1) -> NDArray[Any]:
    """Soft-DTW of the sequences x[rows[p]] and y[columns[p]], (pair,), without a matrix of costs."""
    if not _use_kernels():
        from . import soft_wavefront

        return soft_wavefront.pairs(soft, x, y, rows, columns)
    out = np.empty(len(rows), x.values.dtype)
    _kernels.soft_pairs(soft.plan(), *x, *y, rows, columns, out, threads)
    return out


def keep(soft: Soft, x: Steps, y: Steps, threads: int = 1) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Soft-DTW of the p-th of x and of y, and what `gradients` need not compute again, if it is small. Kernels only."""
    out = np.empty(len(x.lengths), x.values.dtype)
    return out, _kernels.soft_keep(soft.plan(), *x, *y, out, KEPT, threads)


def gradients(
    soft: Soft,
    x: Steps,
    y: Steps,
    scales: NDArray[Any],
    tables: NDArray[Any] | None = None,
    threads: int = 1,
    *,
    wanted: tuple[bool, bool] = (True, True),
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """The gradient of Σ scales · soft-DTW by the values of x and of y, shaped as these; sequences must not overlap.

    `tables` are those of `keep` with the same sequences and threads; what is not `wanted` is None.
    """
    if not _use_kernels():
        from . import soft_wavefront

        return soft_wavefront.gradients(soft, x, y, scales)
    first, second = (np.zeros_like(s.values) if asked else None for s, asked in zip((x, y), wanted, strict=True))
    _kernels.soft_gradients(soft.plan(), *x, *y, scales, tables, first, second, BUDGET, threads)
    return first, second
