"""The mean of sequences under soft-DTW: its cost is smooth, so it is minimised by its gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..native import soft as executor
from ..sequences import Sequences
from .band import refuse_infeasible
from .elastic import steps
from .soft_dtw import SoftDTW


@dataclass
class _Objective:
    """Σ w_i d(average, x_i) and its gradient by the average, for averages of one shape."""

    metric: SoftDTW
    members: native.Steps
    weights: NDArray[np.float64]
    shape: tuple[int, ...]
    threads: int

    def __post_init__(self) -> None:
        self.own = self._with(self.members, self.members)[0] if self.metric.divergence else np.zeros(1)

    def __call__(self, flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        copies = _repeated(flat.reshape(self.shape[0], -1), len(self.weights))
        totals, by_average, _ = self._with(copies, self.members, self.weights)
        cost, gradient = float(self.weights @ (totals - self.own / 2)), by_average.sum(0)
        if self.metric.divergence:
            alone = _repeated(flat.reshape(self.shape[0], -1), 1)
            half = -self.weights.sum(keepdims=True) / 2
            own, first, second = self._with(alone, alone, half)
            cost += float(half[0] * own[0])
            gradient = gradient + (first + second)[0]
        return cost, gradient.reshape(-1)

    def _with(
        self, x: native.Steps, y: native.Steps, scales: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Totals and, where they are asked for, gradients; x's are (item, time, channel)."""
        items = np.arange(len(x.lengths))
        totals = executor.pairs(self.metric._soft, x, y, items, items, self.threads)
        if scales is None:
            return totals, totals, totals
        by_x, by_y = executor.gradients(self.metric._soft, x, y, scales, None, self.threads)
        assert by_x is not None
        assert by_y is not None
        return totals, by_x.reshape(len(items), self.shape[0], -1), by_y


def _repeated(sequence: NDArray[np.float64], times: int) -> native.Steps:
    length = len(sequence)
    return native.Steps(np.tile(sequence, (times, 1)), np.arange(times) * length, np.full(times, length))


def descended(
    metric: SoftDTW,
    start: NDArray[Any],
    sequences: Sequences,
    weights: NDArray[np.float64],
    *,
    max_iter: int,
    tolerance: float,
    told: Callable[[], object],
) -> tuple[NDArray[Any], list[float], bool]:
    """The best average that L-BFGS reached from `start`, the cost at every iteration, and whether it converged."""
    from scipy.optimize import minimize

    refuse_infeasible(metric._soft.window, np.array([len(start)]), sequences.lengths)
    objective = _Objective(metric, steps(sequences, np.dtype(np.float64)), weights, start.shape, native.cores())
    first, _ = objective(start.astype(np.float64).reshape(-1))
    scale = abs(first) or 1.0  # SciPy's tolerance is a share only of costs above 1
    costs = [first]

    def scaled(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        cost, gradient = objective(flat)
        return cost / scale, gradient / scale

    def heard(intermediate_result: Any) -> None:
        costs.append(float(intermediate_result.fun) * scale)
        told()

    found = minimize(
        scaled,
        start.astype(np.float64).reshape(-1),
        jac=True,
        method="L-BFGS-B",
        callback=heard,
        options={"maxiter": max_iter, "ftol": tolerance, "gtol": 0.0},
    )
    return found.x.reshape(start.shape).astype(start.dtype), costs, bool(found.success)
