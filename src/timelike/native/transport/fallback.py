"""The fallback of the transport kernels in NumPy, one pair after the other, for installations without a compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..machine import PackedSequences, ProgressCallback

if TYPE_CHECKING:
    from . import SinkhornOptions

Floats = NDArray[np.float64]

_MIN_EXPONENT = -700.0  # exp of less is 0, as in the kernels
_MAX_SCALING = 1e30  # a scaling beyond it, or below its inverse, is absorbed
_SWEEPS_PER_ROUND = 8  # scalings in a round


def pairwise(
    how: SinkhornOptions,
    x: PackedSequences,
    y: PackedSequences,
    *,
    symmetric: bool,
    out: NDArray[Any],
    report: ProgressCallback,
) -> tuple[int, int, int, float]:
    """The costs of all pairs into `out`, and the plans that miss their marginals: count, and the worst's place."""
    worst = (0, 0, 0, 0.0)
    items = x.items(), y.items()
    for i, one in enumerate(items[0]):
        for j, two in enumerate(items[1][: i + 1] if symmetric else items[1]):
            out[i, j], _, deviation = solve_pair(how, one, two)
            if symmetric:
                out[j, i] = out[i, j]
            if deviation > how.tolerance:
                place = (i, j, deviation) if deviation > worst[3] else worst[1:]
                worst = (worst[0] + 1, *place)
        if report is not None:
            report(i + 1, len(items[0]))
    return worst


def solve_pair(how: SinkhornOptions, x: Floats, y: Floats) -> tuple[float, Floats, float]:
    """Cost, plan (n, m) and deviation; both orders of a pair are solved in the same one."""
    # a distance is symmetric to the last bit: the order of a pair is chosen by the content of the sequences
    if len(x) < len(y) or (len(x) == len(y) and y.ravel().tolist() < x.ravel().tolist()):
        cost, turned, deviation = solve_pair(how, y, x)
        return cost, np.ascontiguousarray(turned.T), deviation
    with np.errstate(over="ignore"):
        frames = frame_costs(how.cost, x, y)
        ground = frames + how.prior(len(x), len(y))
    if not np.abs(ground).max() < 1e290:  # also where it is not a number; beyond, potentials would overflow
        return np.inf, np.full(ground.shape, np.nan), 0.0
    plan, deviation = solve_plan(how, ground)
    return float((plan * (ground if how.counted else frames)).sum()), plan, deviation


def frame_costs(cost: str, x: Floats, y: Floats) -> Floats:
    """Costs of all frames, (n, m), one channel after the other as in the kernels."""
    total = np.zeros((len(x), len(y)))
    for one, two in zip(x.T, y.T, strict=True):
        apart = one[:, None] - two
        total += np.abs(apart) if cost == "manhattan" else apart * apart
    return np.sqrt(total) if cost == "euclidean" else total


def solve_plan(how: SinkhornOptions, costs: Floats) -> tuple[Floats, float]:
    """Plan and deviation of its marginals, Σ|rows − 1/n| + Σ|columns − 1/m|."""
    if costs.shape[0] < costs.shape[1]:
        transposed, deviation = solve_plan(how, costs.T)
        return np.ascontiguousarray(transposed.T), deviation
    return _SinkhornSolver(how, costs).run()


def add_plan_sums(
    costs: Floats,
    f: Floats,
    g: Floats,
    a: Floats,
    b: Floats,
    shrink: float,
    *,
    symmetric: bool,
    by_row: Floats,
    by_column: Floats,
) -> None:
    """The sums of a plan, added to those that are there."""
    with np.errstate(over="ignore"):
        plan = np.exp(f[:, None] + g - shrink * costs[:, : len(b)])
    column_sums = a @ plan
    if symmetric:
        column_sums[: len(a)] = 0  # all of it is in the sums of rows
    by_row += plan @ b
    by_column += column_sums


def project_gradient(found: Floats, gradient: Floats) -> Floats:
    """T ∘ (G − α − β), rows and columns summing to zero."""
    if found.shape[0] < found.shape[1]:
        return project_gradient(found.T, gradient.T).T
    n = len(found)
    rows = (found * gradient).sum(axis=1)
    columns = (found * (gradient - n * rows[:, None])).sum(axis=0)
    beta = _solve_potentials(found, found.sum(axis=0), columns)
    alpha = n * (rows - found @ beta)
    return np.asarray(found * (gradient - alpha[:, None] - beta))


def _solve_potentials(found: Floats, sums: Floats, wanted: Floats) -> Floats:
    """Potentials whose columns are `wanted`; a pivot that is zero but for rounding leaves its potential at 0."""
    matrix = np.diag(sums) - len(found) * (found.T @ found)
    kept = np.zeros(len(sums), bool)
    step = wanted.copy()
    for k in range(len(sums)):
        kept[k] = matrix[k, k] > 1e-13 * sums[k]
        if not kept[k]:
            matrix[k, k + 1 :] = 0
            continue
        matrix[k, k:] /= np.sqrt(matrix[k, k])
        matrix[k + 1 :, k + 1 :] -= np.multiply.outer(matrix[k, k + 1 :], matrix[k, k + 1 :])
        step[k] /= matrix[k, k]
        step[k + 1 :] -= matrix[k, k + 1 :] * step[k]
    for k in range(len(sums) - 1, -1, -1):
        step[k] = (step[k] - matrix[k, k + 1 :] @ step[k + 1 :]) / matrix[k, k] if kept[k] else 0.0
    return step


class _SinkhornSolver:
    """One pair with n ≥ m: column potentials g, and the plan u ∘ K ∘ v whose rows are exact."""

    def __init__(self, how: SinkhornOptions, costs: Floats) -> None:
        self.how, self.costs = how, costs - costs.min()
        self.a, self.b = 1 / costs.shape[0], 1 / costs.shape[1]
        self.g = np.zeros(costs.shape[1])  # in units of epsilon
        self.left, self.drift = how.rounds, 0.0

    def run(self) -> tuple[Floats, float]:
        width = float(self.costs.max())
        goal = max(self.how.epsilon, 1e-13 * width)  # smaller values cannot be distinguished from rounding
        soft = goal
        while width > 50 * soft:
            soft *= 4  # from a soft problem to the requested one: each starts from the previous solution
        while True:
            self.epsilon = max(soft, goal)
            self.rebuild()
            # on the way it is enough to be near; in the end, half the tolerance is for rounding
            self.converge(1e-4 if self.epsilon > goal else self.how.tolerance / 2)
            if self.epsilon == goal:
                break
            soft /= 4
            self.absorb()
            self.g *= self.epsilon / max(soft, goal)
        self.multiply_in()
        return self.K, float(np.abs(self.c - self.b).sum() + np.abs(self.K.sum(axis=1) - self.a).sum())

    def converge(self, tolerance: float) -> None:
        while self.left > 0:
            before = self.deviation()
            if before <= tolerance:
                return
            self.left -= 1
            if not self.run_scalings():
                continue
            after = self.deviation()
            if after <= tolerance:
                return
            # Newton's step costs about m/3 + 8 scalings, and three of them replace the rest
            if after >= before or _SWEEPS_PER_ROUND * np.log(after / tolerance) > (len(self.g) + 24) * np.log(
                before / after
            ):
                self.newton()

    def rebuild(self) -> None:
        """K from g with rows summing to 1/n, in the log domain."""
        z = self.g - self.costs / self.epsilon
        top = z.max(axis=1, keepdims=True)
        z -= top
        share = np.where(z < _MIN_EXPONENT, 0.0, np.exp(np.maximum(z, _MIN_EXPONENT)))
        factor = self.a / share.sum(axis=1, keepdims=True)
        self.K, self.f = factor * share, (np.log(factor) - top)[:, 0]
        self.u, self.v, self.c = np.ones(len(share)), np.ones(len(self.g)), self.K.sum(axis=0)
        self.drift = 0.0

    def deviation(self) -> float:
        return float(np.abs(self.v * self.c - self.b).sum())

    def run_scalings(self) -> bool:
        """Columns, then rows, eight times; False where the plan had to be made again."""
        for _ in range(_SWEEPS_PER_ROUND):
            lost = self.c < 1e-290
            if lost.any():
                self.absorb()
                z = (self.f + np.log(self.u))[:, None] - self.costs[:, lost] / self.epsilon
                top = z.max(axis=0)
                self.g[lost] = np.log(self.b / np.exp(z - top).sum(axis=0)) - top
                self.rebuild()
                return False
            self.v = self.b / self.c
            if self.v.max() > _MAX_SCALING or self.v.min() < 1 / _MAX_SCALING:
                self.absorb()
                self.rebuild()
                return False
            self.sweep()
        return True

    def sweep(self) -> None:
        self.u = self.a / (self.K @ self.v)
        self.c = self.u @ self.K

    def absorb(self) -> None:
        self.g += np.log(self.v)

    def multiply_in(self) -> None:
        self.drift += float(np.log(self.v.max() / self.v.min()))
        self.absorb()
        self.K *= self.u[:, None] * self.v
        self.f += np.log(self.u)
        self.u, self.v, self.c = np.ones(len(self.u)), np.ones(len(self.v)), self.K.sum(axis=0)

    def newton(self) -> None:
        """A step on g with the rows held exact; log(1 + range)/range of it never lowers the objective."""
        self.multiply_in()
        step = _solve_potentials(self.K, self.c, self.b - self.c)
        width = float(np.ptp(step))
        part = np.log1p(width) / width if width > 0 else 1.0
        self.drift += part * width
        self.v = np.exp(part * (step - step.min()))
        if part * width > 1 or self.drift > 100:
            self.absorb()
            self.rebuild()
        else:
            self.sweep()
