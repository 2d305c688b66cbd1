"""Soft-DTW: totals, expected visits of every cell, and their derivatives, by the kernels or in NumPy.

Costs are (pair, n, m); `n` and `m` (pair,) are the valid sizes of each matrix, and the rest is never read.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..elastic.program import WarpingBand
from ..machine import PackedSequences, kernels, refuse_mismatch, use_kernels

# bytes of totals in the backward pass, of all threads; beyond it diagonals are computed twice
MAX_BACKWARD_BYTES = 1 << 27
# bytes of totals kept from the forward pass for the backward one; beyond it the latter begins again
MAX_KEPT_BYTES = 1 << 27
Lengths = NDArray[np.int64]


class SoftMinimum(NamedTuple):
    """How soft the minimum is, and which cells may be visited."""

    gamma: float
    band: WarpingBand = WarpingBand()

    def numbers(self) -> tuple[float, int, int, float]:
        """As the kernels take them."""
        return float(self.gamma), *self.band.numbers()


def costs(x: NDArray[Any], y: NDArray[Any], n: Lengths, m: Lengths, threads: int = 1) -> NDArray[Any]:
    """Squared distances of the frames of x (pair, n, channel) and y (pair, m, channel); 0 beyond the lengths.

    Kernels only.
    """
    out = np.zeros((len(x), x.shape[1], y.shape[1]), x.dtype)
    kernels.soft_costs(x, y, n, m, out, threads)
    return out


def totals(soft: SoftMinimum, costs: NDArray[Any], n: Lengths, m: Lengths, threads: int = 1) -> NDArray[Any]:
    """Soft-DTW of every pair, (pair,). Kernels only."""
    out = np.empty(len(costs), costs.dtype)
    kernels.soft_totals(soft.numbers(), costs, n, m, out, threads)
    return out


def visits(
    soft: SoftMinimum, costs: NDArray[Any], n: Lengths, m: Lengths, threads: int = 1
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Soft-DTW (pair,) and its gradient with respect to the costs (pair, n, m): the expected visits of each cell.

    Kernels only.
    """
    totals, out = np.empty(len(costs), costs.dtype), np.zeros_like(costs)
    kernels.soft_visits(soft.numbers(), costs, n, m, totals, out, MAX_BACKWARD_BYTES, threads)
    return totals, out


def hessian_product(
    soft: SoftMinimum, costs: NDArray[Any], direction: NDArray[Any], n: Lengths, m: Lengths, threads: int = 1
) -> NDArray[Any]:
    """The Hessian with respect to the costs times `direction`: the change of the expected visits. Kernels only."""
    out = np.zeros_like(costs)
    kernels.soft_product(soft.numbers(), costs, direction, n, m, out, MAX_BACKWARD_BYTES, threads)
    return out


def expected_alignment(soft: SoftMinimum, x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Soft-DTW (1,) of one pair, x (n, channel) and y (m, channel), and the expected visits of its cells (n, m)."""
    refuse_mismatch(PackedSequences.from_sequence(x), PackedSequences.from_sequence(y))
    if not use_kernels():
        from . import fallback

        return fallback.expected_alignment(soft, x, y)
    sizes = np.array([len(x)]), np.array([len(y)])
    totals, out = visits(soft, costs(x[None], y[None], *sizes), *sizes)
    return totals, out[0]


def pair_totals(
    soft: SoftMinimum, x: PackedSequences, y: PackedSequences, rows: Lengths, columns: Lengths, threads: int = 1
) -> NDArray[Any]:
    """Soft-DTW of the sequences x[rows[p]] and y[columns[p]], (pair,), without a matrix of costs."""
    refuse_mismatch(x, y)
    if not use_kernels():
        from . import fallback

        return fallback.pair_totals(soft, x, y, rows, columns)
    out = np.empty(len(rows), x.values.dtype)
    kernels.soft_pairs(soft.numbers(), *x, *y, rows, columns, out, threads)
    return out


def totals_with_tables(
    soft: SoftMinimum, x: PackedSequences, y: PackedSequences, threads: int = 1
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Soft-DTW of the p-th of x and of y, and what `gradients` need not compute again, if it is small. Kernels only."""
    refuse_mismatch(x, y)
    out = np.empty(len(x.lengths), x.values.dtype)
    return out, kernels.soft_keep(soft.numbers(), *x, *y, out, MAX_KEPT_BYTES, threads)


def gradients(
    soft: SoftMinimum,
    x: PackedSequences,
    y: PackedSequences,
    scales: NDArray[Any],
    tables: NDArray[Any] | None = None,
    threads: int = 1,
    *,
    wanted: tuple[bool, bool] = (True, True),
) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """The gradient of Σ scales · soft-DTW by the values of x and of y, shaped as these; sequences must not overlap.

    `tables` come from `totals_with_tables` with the same sequences and threads; gradients that are not `wanted` are
    None.
    """
    if not use_kernels():
        from . import fallback

        both = fallback.gradients(soft, x, y, scales)
        return both[0] if wanted[0] else None, both[1] if wanted[1] else None
    first, second = (
        np.zeros_like(s.values) if is_wanted else None for s, is_wanted in zip((x, y), wanted, strict=True)
    )
    kernels.soft_gradients(soft.numbers(), *x, *y, scales, tables, first, second, MAX_BACKWARD_BYTES, threads)
    return first, second
