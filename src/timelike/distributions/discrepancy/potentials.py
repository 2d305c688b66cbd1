"""Dual potentials of entropic transport between weighted points: annealed, updated on both sides at once, in tiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from ...native import transport
from ...native.machine import use_kernels

MAX_KEPT_COSTS = 2**24  # costs kept for all rounds, 128 MB; of larger problems every tile is made anew in every round
TILE_ENTRIES = 2**17  # entries of a plan that exist at one time, 1 MB: they stay in the cache
STRIP_COSTS = 2**22  # costs that are made at one time for the kernels, 32 MB: enough for several threads
_MIN_EXPONENT = -700.0  # the smallest exponent: results below the normal numbers make exp four times slower
_MAX_SAFE_LOG = 460.0  # sums between exp(−460) and exp(460) have lost nothing to underflow or overflow


class WeightedPoints(NamedTuple):
    """Different points (n, d) in ascending order, and their weights (n,): positive, with sum 1."""

    where: Tensor
    weights: Tensor


class DualSolution(NamedTuple):
    """Potentials f (n,) and g (m,) of the plan a_i b_j exp((f_i + g_j − C_ij)/ε) as the rounds left them, the same
    moved once more by the whole way, and the share of mass that the plan has in a wrong place.
    """

    f: Tensor
    g: Tensor
    extrapolated_f: Tensor
    extrapolated_g: Tensor
    marginal_error: float


class Annealing(NamedTuple):
    """The cost ‖x − y‖^p / p; ε = blur^p is approached from diameter^p; rounds are added until `tolerance`, if any."""

    power: int
    diameter: float
    blur: float
    scaling: float
    tolerance: float | None
    max_rounds: int

    @property
    def epsilon(self) -> float:
        """The last temperature."""
        return float(self.blur**self.power)

    def temperatures(self) -> Iterator[float]:
        """The first ε twice, for potentials that start from nothing; the last whether or not the factor meets it."""
        first, last, step = (self.power * math.log(size) for size in (self.diameter, self.blur, self.scaling))
        yield self.diameter**self.power
        for k in range(math.ceil((last - first) / step)):
            yield math.exp(first + k * step)
        yield self.epsilon


def solve_potentials(x: WeightedPoints, y: WeightedPoints, annealing: Annealing) -> DualSolution:
    """The potentials of x and y at the last temperature; f is g where y is x."""
    problem, start = _TransportProblem(x, y, annealing.power), annealing.diameter**annealing.power
    both = problem.log_shortfall(torch.zeros_like(problem.weights), start).mul_(start)
    for (
        warm
    ) in annealing.temperatures():  # half the way: both sides move at once, and by whole steps they would oscillate
        both.add_(problem.log_shortfall(both, warm), alpha=warm / 2)
    both, short = _refine_potentials(problem, both, annealing)
    return DualSolution(
        *problem.sides(both), *problem.sides(both + annealing.epsilon * short), problem.marginal_error(short)
    )


def _refine_potentials(problem: _TransportProblem, both: Tensor, annealing: Annealing) -> tuple[Tensor, Tensor]:
    """Potentials after the rounds at the last temperature, if any, and what they still lack.

    Rounds have momentum (Nesterov, 1983), given up when it leads down the dual (O'Donoghue and Candès, 2015).
    """
    here, steps, short = both, 0, problem.log_shortfall(both, annealing.epsilon)
    for _ in range(0 if annealing.tolerance is None else annealing.max_rounds):
        if problem.marginal_error(short) <= (annealing.tolerance or 0.0):
            break
        there = torch.add(both, short, alpha=annealing.epsilon / 2)
        way, here = there - here, there
        steps = steps + 1 if float((problem.weights * short) @ way) >= 0 else 0
        both = torch.add(there, way, alpha=steps / (steps + 3))
        short = problem.log_shortfall(both, annealing.epsilon)
    return both, short


def pairwise_costs(x: Tensor, y: Tensor, power: int) -> Tensor:
    """‖x − y‖^p / p, (n, m), from differences: products would cancel digits, and equal points be apart."""
    apart = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
    return apart if power == 1 else apart.square_().mul_(0.5)


def iterate_tiles(n: int, m: int, entries: int | None = None) -> Iterator[slice]:
    """The rows of an (n, m) matrix, as many at a time as fit into a tile, or into so many `entries`."""
    rows = max(1, (TILE_ENTRIES if entries is None else entries) // m)
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


class _PlanTile(NamedTuple):
    """Some rows of the plan from the column `first` on; the columns from `beyond` on count for the other side too."""

    rows: slice
    first: int
    beyond: int
    cost: Tensor | None


class _TransportProblem:
    """Two point sets and their potentials, f and g in one vector.

    Of a set with itself f is g, and only the entries on and to the right of the diagonal are visited: half of them.
    """

    def __init__(self, x: WeightedPoints, y: WeightedPoints, power: int) -> None:
        self.x, self.y, self.power = x, y, power
        self.weights = x.weights if x is y else torch.cat([x.weights, y.weights])
        n, m = len(x.where), len(y.where)
        self.uses_kernels = x.where.device.type == "cpu" and use_kernels()
        self.whole = self._pad_costs(slice(0, n), 0) if self.uses_kernels and n * m <= MAX_KEPT_COSTS else None
        self.buffer: Tensor | None = None
        self.tiles = [
            _PlanTile(rows, rows.start, rows.stop, None) if x is y else _PlanTile(rows, 0, 0, None)
            for rows in iterate_tiles(n, m)
        ]
        if self.whole is not None:
            self.tiles = [tile._replace(cost=self.whole[tile.rows, tile.first : m]) for tile in self.tiles]
        elif n * m <= MAX_KEPT_COSTS:
            self.tiles = [tile._replace(cost=self._tile_costs(tile)) for tile in self.tiles]

    def sides(self, both: Tensor) -> tuple[Tensor, Tensor]:
        """f and g."""
        return both[: len(self.x.where)], both if self.x is self.y else both[len(self.x.where) :]

    def marginal_error(self, short: Tensor) -> float:
        """The share of mass in a wrong place: half the L1 distance of the worse marginal."""
        return max(float(side.sum()) for side in self.sides(self.weights * short.neg().expm1().abs())) / 2

    def log_shortfall(self, both: Tensor, epsilon: float) -> Tensor:
        """−log Σ_j b_j exp((f_i + g_j − C_ij)/ε), and −log Σ_i a_i exp(…): what f/ε and g/ε lack, the other fixed."""
        sums = self._native_sums if self.uses_kernels else self._plan_sums
        short = sums(both / epsilon, epsilon).log_()
        if not float(short.abs().max()) < _MAX_SAFE_LOG:
            short = self._log_sums(both / epsilon, epsilon)
        return short.neg_()

    def _tile_costs(self, tile: _PlanTile) -> Tensor:
        return pairwise_costs(self.x.where[tile.rows], self.y.where[tile.first :], self.power)

    def _iterate_exponents(self, scaled: Tensor, epsilon: float) -> Iterator[tuple[_PlanTile, Tensor]]:
        """(f_i + g_j − C_ij)/ε of every tile, each in the place of the one before."""
        f, g = self.sides(scaled)
        if self.buffer is None:
            self.buffer = scaled.new_empty(max(1, TILE_ENTRIES // len(g)) * len(g))
        for tile in self.tiles:
            cost = self._tile_costs(tile) if tile.cost is None else tile.cost
            exponents = self.buffer[: cost.numel()].view(cost.shape)
            torch.add(f[tile.rows, None], cost, alpha=-1 / epsilon, out=exponents)
            yield tile, exponents.add_(g[tile.first :])

    def _plan_sums(self, scaled: Tensor, epsilon: float) -> Tensor:
        """The sums over columns and over rows: one exponential for both, and no search for a maximum."""
        sums = torch.zeros_like(scaled)
        by_row, by_column = self.sides(sums)
        for (rows, first, beyond, _), plan in self._iterate_exponents(scaled, epsilon):
            plan.clamp_(min=_MIN_EXPONENT).exp_()
            by_row[rows].addmv_(plan, self.y.weights[first:])
            by_column[beyond:].addmv_(plan[:, beyond - first :].T, self.x.weights[rows])
        return sums

    def _native_sums(self, scaled: Tensor, epsilon: float) -> Tensor:
        """The same by the kernels, which never write the plan."""
        sums = torch.zeros_like(scaled)
        (f, g), (by_row, by_column) = self.sides(scaled), self.sides(sums)
        same = self.x is self.y
        for rows in iterate_tiles(len(f), len(g), len(f) * len(g) if self.whole is not None else STRIP_COSTS):
            first = rows.start if same else 0
            transport.plan_sums(
                (self._pad_costs(rows, first) if self.whole is None else self.whole).numpy(),
                transport.Marginal(f[rows].numpy(), self.x.weights[rows].numpy(), by_row[rows].numpy()),
                transport.Marginal(g[first:].numpy(), self.y.weights[first:].numpy(), by_column[first:].numpy()),
                1 / epsilon,
                symmetric=same,
                threads=torch.get_num_threads(),
            )
        return sums

    def _pad_costs(self, rows: slice, first: int) -> Tensor:
        """Costs as the kernels read them: rows of whole registers, infinite where there is no point."""
        y = self.y.where[first:]
        found = y.new_full((rows.stop - rows.start, transport.padded_width(len(y))), math.inf)
        found[:, : len(y)] = pairwise_costs(self.x.where[rows], y, self.power)
        return found

    def _log_sums(self, scaled: Tensor, epsilon: float) -> Tensor:
        """The logarithms of `_sums` where the sums themselves are beyond all numbers."""
        logs = torch.full_like(scaled, -math.inf)
        by_row, by_column = self.sides(logs)
        a, b = self.x.weights.log(), self.y.weights.log()
        for (rows, first, beyond, _), plan in self._iterate_exponents(scaled, epsilon):
            by_row[rows] = torch.logaddexp(by_row[rows], (plan + b[first:]).logsumexp(1))
            other = (plan[:, beyond - first :] + a[rows, None]).logsumexp(0)
            by_column[beyond:] = torch.logaddexp(by_column[beyond:], other)
        return logs
