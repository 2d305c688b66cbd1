"""Entropic transport plans of pairs of sequences, or of costs already made, and the projection of their gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine import COSTS, Cost, PackedSequences, ProgressCallback, kernels, refuse_mismatch, use_kernels

_LANES = 16  # as in transport/table.hpp


@dataclass(frozen=True, kw_only=True)
class SinkhornOptions:
    """A ground cost and how its plan is regularised; r = i/n − j/m, positions counted from 1.

    C = D − similarity/(r² + 1) + spread r²/(1/n² + 1/m²) + weight |r|, with D the `cost` of two frames. `counted` says
    that a plan costs ⟨T, C⟩ and not ⟨T, D⟩. A round is eight scalings and, where these are slow, a step of Newton's.
    """

    cost: Cost = "sqeuclidean"
    epsilon: float
    tolerance: float
    rounds: int
    similarity: float = 0.0
    spread: float = 0.0
    weight: float = 0.0
    counted: bool = False

    def numbers(self) -> tuple[int, float, float, int, float, float, float, bool]:
        """As the kernels take them."""
        prior = (float(self.similarity), float(self.spread), float(self.weight), self.counted)
        return (COSTS.index(self.cost), float(self.epsilon), float(self.tolerance), self.rounds, *prior)

    def prior(self, n: int, m: int) -> NDArray[np.float64]:
        """C − D of lengths n and m, (n, m)."""
        r = np.arange(1, n + 1)[:, None] / n - np.arange(1, m + 1) / m
        square = r * r
        away = self.spread * (square / (1 / (n * n) + 1 / (m * m))) - self.similarity / (square + 1)
        return np.asarray(away + self.weight * np.abs(r))


class MarginalErrors(NamedTuple):
    """How many plans miss their marginals by more than the tolerance, and of the worst where it is and by how much."""

    number: int
    row: int
    column: int
    deviation: float


def pairwise(
    how: SinkhornOptions,
    x: PackedSequences,
    y: PackedSequences,
    *,
    symmetric: bool,
    threads: int,
    out: NDArray[Any],
    report: ProgressCallback,
) -> MarginalErrors:
    """The costs of the plans of all pairs into `out`; x and y are float64, and `symmetric` says that y is x."""
    refuse_mismatch(x, y)
    if not use_kernels():
        from . import fallback

        return MarginalErrors(*fallback.pairwise(how, x, y, symmetric=symmetric, out=out, report=report))
    given = (how.numbers(), *x, *y)
    return MarginalErrors(
        *kernels.transport_pairs(*given, symmetric=symmetric, threads=threads, out=out, plan=None, report=report)
    )


def align(
    how: SinkhornOptions, x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64], float]:
    """Cost, plan (n, m) and deviation of one pair, x (n, channel), y (m, channel)."""
    refuse_mismatch(PackedSequences.from_sequence(x), PackedSequences.from_sequence(y))
    if not use_kernels():
        from . import fallback

        return fallback.solve_pair(how, x, y)
    out, plan = np.empty((1, 1)), np.empty((len(x), len(y)))
    given = (how.numbers(), *PackedSequences.from_sequence(x), *PackedSequences.from_sequence(y))
    miss = kernels.transport_pairs(*given, symmetric=False, threads=1, out=out, plan=plan, report=None)
    return float(out[0, 0]), plan, miss[3]


def plans(
    how: SinkhornOptions, costs: NDArray[np.float64], n: NDArray[np.int64], m: NDArray[np.int64], threads: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Plans (item, n, m) and their deviations, from ground costs of which item b has n[b] rows and m[b] columns."""
    plan_stack, deviations = np.zeros_like(costs), np.zeros(len(costs))
    if use_kernels():
        kernels.transport_plans(how.numbers(), costs, n, m, threads=threads, plans=plan_stack, deviations=deviations)
        return plan_stack, deviations
    from . import fallback

    for b, (rows, columns) in enumerate(zip(n.tolist(), m.tolist(), strict=True)):
        plan_stack[b, :rows, :columns], deviations[b] = fallback.solve_plan(how, costs[b, :rows, :columns])
    return plan_stack, deviations


def padded_width(columns: int) -> int:
    """The numbers that a row of so many costs has for `bind_plan_sums`: whole registers."""
    return -(-columns // _LANES) * _LANES


def bind_plan_sums(*, symmetric: bool, threads: int) -> Callable[..., None]:
    """A function for the rounds of a loop: whether there are kernels is decided once, not in every round.

    `add(costs, f, g, a, b, shrink, by_row=…, by_column=…)` adds Σ_j b_j exp(f_i + g_j − shrink C_ij) to `by_row` and
    Σ_i a_i exp(…) to `by_column`, for potentials f, g in units of ε and weights a, b of the two sides, (point,).

    The costs (row, `padded_width`(column)) are infinite past the columns. `symmetric` says that the first columns are
    the rows themselves: an entry C_ij among these is read for C_ji too, and of such a point the sums of its row and of
    its column are to be added up, as they are where both have the same memory. A sum that is beyond all numbers is
    infinite or nan.
    """
    if use_kernels():
        return partial(kernels.transport_sums, symmetric=symmetric, threads=threads)
    from . import fallback

    return partial(fallback.add_plan_sums, symmetric=symmetric)


def project_gradients(
    plans: NDArray[np.float64], gradients: NDArray[np.float64], n: NDArray[np.int64], m: NDArray[np.int64], threads: int
) -> NDArray[np.float64]:
    """T ∘ (G − α − β) with α (row) and β (column) such that rows and columns sum to zero, all (item, n, m)."""
    out = np.zeros_like(plans)
    if use_kernels():
        kernels.transport_project(plans, gradients, n, m, threads=threads, out=out)
        return out
    from . import fallback

    for b, (rows, columns) in enumerate(zip(n.tolist(), m.tolist(), strict=True)):
        inside = slice(rows), slice(columns)
        out[b][inside] = fallback.project_gradient(plans[b][inside], gradients[b][inside])
    return out
