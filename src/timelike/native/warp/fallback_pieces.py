"""A warp problem of the fallback: quadratic pieces of the signal, ties between neighbours, linear systems over them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

from . import Floats, WarpOptions, WarpProblems

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# these numbers are those of table.hpp and pieces.hpp: both executors hand the same state to the backward pass
TOUCHING = 1e-12  # warp values this near are one place
MOVES, AT_LEAST, AT_MOST, ON_KINK, AT_END, ON_CROSSING = range(6)  # why a warp value cannot move
LOOSE, SLOWEST, FASTEST = 0, -1, 1  # why the slope between two cannot change


class WarpProblem(NamedTuple):
    """One pair: x (m, channel), y (n, channel), numbers by knot or interval; a single value of y holds on [0, 1]."""

    x: Floats
    y: Floats
    t: Floats
    tau: Floats
    lambdas: Floats
    s_min: Floats
    s_max: Floats
    b_min: Floats
    b_max: Floats
    options: WarpOptions

    @staticmethod
    def from_problems(problems: WarpProblems, pair: int, options: WarpOptions) -> WarpProblem:
        """Number `pair` of the problems."""
        i, j = problems.x_ids[pair], problems.y_ids[pair]
        xs = slice(problems.x_starts[i], problems.x_starts[i] + problems.x_lengths[i])
        ys = slice(problems.y_starts[j], problems.y_starts[j] + problems.y_lengths[j])
        y, tau = problems.y[ys], problems.tau[ys]
        if len(y) == 1:
            y, tau = np.repeat(y, 2, axis=0), np.array([0.0, 1.0])
        at, m = problems.knots[pair], int(problems.x_lengths[i])
        lambdas, s_min, s_max = (
            numbers[at : at + m - 1] for numbers in (problems.lambdas, problems.s_min, problems.s_max)
        )
        b_min, b_max = (numbers[at : at + m] for numbers in (problems.b_min, problems.b_max))
        return WarpProblem(problems.x[xs], y, problems.t[xs], tau, lambdas, s_min, s_max, b_min, b_max, options)


class QuadraticPieces(NamedTuple):
    """By knot: slope·(φ − origin) + ½ curvature·(φ − origin)² between low and high, on a segment of y."""

    low: Floats
    high: Floats
    origin: Floats
    slope: Floats
    curvature: Floats
    segment: Ints

    def slope_at(self, place: Floats) -> Floats:
        """The slope, as if the piece went on beyond its ends."""
        return self.slope + self.curvature * (place - self.origin)

    def replace_at(self, knots: Ints, others: QuadraticPieces) -> None:
        """Exchange the pieces of these knots."""
        for mine, other in zip(self, others, strict=True):
            mine[knots] = other


class SignalTerm:
    """The signal's part of the objective; `knots` and places are arrays of one shape, or broadcast to one."""

    def __init__(self, problem: WarpProblem) -> None:
        self.problem = problem
        half = np.diff(problem.t) / 2
        # a single knot has no interval to be weighed by
        self.weights = np.append(half, 0.0) + np.append(0.0, half) if len(half) else np.ones(1)
        self.spans = np.diff(problem.tau)
        self.rises = np.diff(problem.y, axis=0)

    def segment(self, place: Floats) -> Ints:
        """The segments of y that begin at or before the places."""
        positions = np.searchsorted(self.problem.tau, place, side="right") - 1
        return np.clip(positions, 0, len(self.spans) - 1)

    def difference(self, knots: Ints, segment: Ints, place: Floats) -> Floats:
        """x − y by channel, y on the straight line through this segment."""
        share = (place - self.problem.tau[segment]) / self.spans[segment]
        # x − y first: a common offset of both must not cost digits
        return self.problem.x[knots] - self.problem.y[segment] - share[..., None] * self.rises[segment]

    def is_square(self, difference: Floats) -> Flags:
        """Where the penalty is the square."""
        options = self.problem.options
        if options.penalty == "huber":
            return np.abs(difference) <= options.delta
        return np.full(difference.shape, options.penalty == "squared")

    @property
    def linear_slope(self) -> float:
        """The slope of the penalty where it is not the square."""
        options = self.problem.options
        return 2 * options.delta if options.penalty == "huber" else 1.0

    def value(self, knots: Ints, place: Floats) -> Floats:
        """The weighted penalties, summed over channels."""
        d, options = self.difference(knots, self.segment(place), place), self.problem.options
        if options.penalty == "squared":
            penalties = d * d
        elif options.penalty == "absolute":
            penalties = np.abs(d)
        else:
            penalties = np.where(self.is_square(d), d * d, options.delta * (2 * np.abs(d) - options.delta))
        return np.asarray(self.weights[knots] * penalties.sum(-1))

    def pieces(self, knots: Ints, place: Floats, side: Any) -> QuadraticPieces:
        """The pieces on the right (side 1) or on the left (side −1) of the places."""
        inside = place + side * TOUCHING
        segment = self.segment(inside)
        low, high = self._ends(knots, segment, inside)
        rate = self.rises[segment] / self.spans[segment, None]
        first, second = self.derivatives(knots, segment, place, (low + high) / 2)
        w = self.weights[knots]
        return QuadraticPieces(
            low, high, place + 0.0, -w * (first * rate).sum(-1), w * (second * rate * rate).sum(-1), segment
        )

    def derivatives(self, knots: Ints, segment: Ints, place: Floats, middle: Floats) -> tuple[Floats, Floats]:
        """First and second derivative of the penalty by channel, by the rule that holds in the middle of the piece."""
        typical = self.difference(knots, segment, middle)
        square = self.is_square(typical)
        first = np.where(square, 2 * self.difference(knots, segment, place), self.linear_slope * np.sign(typical))
        return first, np.where(square, 2.0, 0.0)

    def _ends(self, knots: Ints, segment: Ints, inside: Floats) -> tuple[Floats, Floats]:
        """Where the pieces end: at y's times, or nearer where a penalty has its corners."""
        p, (low, high) = self.problem, (self.problem.tau[segment], self.problem.tau[segment + 1])
        if p.options.penalty == "squared":
            return low, high
        rate, zero = self.rises[segment] / self.spans[segment, None], p.x[knots] - p.y[segment]
        for turn in (-p.options.delta, p.options.delta) if p.options.penalty == "huber" else (0.0,):
            # where y is constant there is no corner, so it is moved out of range
            away = np.divide(zero + turn, rate, out=np.full(rate.shape, np.inf), where=rate != 0)
            corner = p.tau[segment, None] + away
            before = corner <= inside[:, None]
            low = np.maximum(low, np.where(before, corner, -np.inf).max(-1))
            high = np.minimum(high, np.where(before, np.inf, corner).min(-1))
        return low, high

    def crossing(self, knots: Ints, place: Floats) -> Ints:
        """The channels whose differences vanish there, for the absolute penalty: −1 for none.

        Of several the one in which y moves most. At a time of y it must go straight on there, or the place would move
        otherwise up than down.
        """
        before, after = self.segment(place - TOUCHING), self.segment(place + TOUCHING)
        rate, next_rate = (self.rises[k] / self.spans[k, None] for k in (before, after))
        size = np.abs(rate)
        vanishes = np.abs(self.difference(knots, before, place)) <= 1e-9 * size
        sizes = np.where(vanishes & (np.abs(rate - next_rate) <= 1e-9 * size), size, 0.0)
        return np.asarray(np.where(sizes.max(-1) > 0, sizes.argmax(-1), -1))


class StiffnessChain:
    """stiffness·½(φ_{i+1} − φ_i − span)², between least and most."""

    def __init__(self, span: Floats, stiffness: Floats, least: Floats, most: Floats) -> None:
        self.span, self.stiffness, self.least, self.most = span, stiffness, least, most
        self.rigid = most - least <= 1e-10

    @classmethod
    def from_problem(cls, problem: WarpProblem, instead: float = 0.0) -> StiffnessChain:
        """That of a problem's values; where λ is 0, `instead` takes its place."""
        span = np.diff(problem.t)
        lambdas = np.where(problem.lambdas > 0, problem.lambdas, instead)
        return cls(span, 2 * lambdas / span, problem.s_min * span, problem.s_max * span)

    def cost(self, phi: Floats) -> float:
        """The regularisation."""
        return float((self.stiffness * (np.diff(phi) - self.span) ** 2).sum() / 2)

    def gradient(self, phi: Floats) -> Floats:
        """Its gradient."""
        return transpose_diff(self.stiffness * (np.diff(phi) - self.span))


class RigidRuns:
    """Values whose differences are given, by slopes that may take one value only, are one unknown: the first."""

    def __init__(self, chain: StiffnessChain) -> None:
        starts = np.append(True, ~chain.rigid)
        self.run, self.first = np.cumsum(starts) - 1, np.flatnonzero(starts)
        places = np.append(0.0, np.where(chain.rigid, chain.least, 0.0)).cumsum()
        self.offset = places - places[self.first][self.run]
        self.joints = np.flatnonzero(~chain.rigid)
        last = self.offset[self.joints]
        between = chain.span, chain.stiffness, chain.least, chain.most
        span, stiffness, least, most = (side[self.joints] for side in between)
        self.chain = StiffnessChain(span + last, stiffness, least + last, most + last)

    def holder(self, limits: Floats, tightest: Floats) -> Ints:
        """The member of each run whose limit is the tightest."""
        holds = np.flatnonzero(limits == tightest[self.run])
        return np.asarray(holds[np.unique(self.run[holds], return_index=True)[1]])


def transpose_diff(force: Floats) -> Floats:
    """What forces on differences φ_{i+1} − φ_i do to the values: the transpose of `np.diff`."""
    return -np.diff(force, prepend=0.0, append=0.0)


def solve_tridiagonal(diagonal: Floats, link: Floats, values: Floats) -> Floats:
    """Of a symmetric system, `link` joins i and i + 1; NaN where it has no solution."""
    banded = np.array([np.append(0.0, link), diagonal, np.append(link, 0.0)])
    try:
        return np.asarray(solve_banded((1, 1), banded, values, overwrite_ab=True, check_finite=False))
    except np.linalg.LinAlgError:
        return np.full(len(values), np.nan)


class Blocks:
    """Values joined by active slope constraints move as one block; a block that is pinned does not move at all."""

    def __init__(self, pins: NDArray[np.int8], glues: NDArray[np.int8]) -> None:
        self.pins, self.glues = pins, glues
        self.first = np.append(0, 1 + np.flatnonzero(glues == LOOSE))
        self.size = np.diff(np.append(self.first, len(pins)))
        self.pinned = np.maximum.reduceat(pins != MOVES, self.first)

    def solve(self, chain: StiffnessChain, curvature: Floats, v: Floats) -> Floats:
        """u with Zᵀ(H Z u' − v) = 0, u = Z u', where Z moves each free block as one: of all solutions the shortest."""
        own, values = np.add.reduceat(curvature, self.first), np.add.reduceat(v, self.first)
        between, pinned = chain.stiffness[self.first[1:] - 1], self.pinned
        diagonal = own + np.append(0.0, between) + np.append(between, 0.0)
        held = own + np.append(0.0, between * pinned[:-1]) + np.append(between * pinned[1:], 0.0)
        link = np.where(pinned[:-1] | pinned[1:], 0.0, -between)
        run = np.cumsum(np.append(0, link == 0))  # blocks that pull at each other
        begin = np.flatnonzero(np.diff(run, prepend=-1))
        bound, members = np.maximum.reduceat(diagonal, begin), np.add.reduceat(self.size, begin)
        floats = np.add.reduceat(held, begin) <= 1e-13 * bound  # the run may be moved as a whole for nothing
        values = values - self.size * (floats * np.add.reduceat(values, begin) / members)[run]
        diagonal[begin] += floats * bound  # any pin works, because the right-hand side puts no force on it
        still = pinned | (diagonal == 0)
        moved = solve_tridiagonal(np.where(still, 1.0, diagonal), link, np.where(still, 0.0, values))
        moved -= (floats * np.add.reduceat(moved * self.size, begin) / members)[run]
        return np.repeat(np.where(still, 0.0, moved), self.size)

    def remove_drift(self, chain: StiffnessChain, curvature: Floats, moved: Floats) -> Floats:
        """`moved` without what moves runs of blocks as a whole that nothing anchors: signals would, by any amount."""
        own, between = np.add.reduceat(curvature, self.first), chain.stiffness[self.first[1:] - 1]
        held = own + np.append(0.0, between * self.pinned[:-1]) + np.append(between * self.pinned[1:], 0.0)
        run = np.cumsum(np.append(0, (between == 0) | self.pinned[:-1] | self.pinned[1:]))
        floats = (np.bincount(run, held) == 0)[run] & ~self.pinned
        values = moved[self.first]
        mean = (np.bincount(run, values * self.size) / np.bincount(run, self.size))[run]
        return np.repeat(values - np.where(floats, mean, 0.0), self.size)

    def distribute(self, worth: Floats, strength: Floats, t: Floats) -> tuple[Floats, Floats]:
        """What a small change of each active constraint is worth, when a change of φ_i is worth worth[i].

        Of the pins, and of the differences φ_{i+1} − φ_i that are glued; `strength` is by how much the objective's
        slope jumps at each value. A bound or an end holds its block, whatever kinks it lies on: where a bound that
        moves passes a kink one way and not the other there is no derivative. Without them the middle kink holds
        against slopes, and places where x and y agree take the block with them.
        """
        of_pins, of_differences = worth.copy(), np.zeros(len(worth) - 1)
        for begin, end in self._multi_member_blocks():
            own = slice(begin, end)
            holds = np.isin(self.pins[own], (AT_LEAST, AT_MOST, AT_END))
            if not holds.any():
                holds[_middle_kink(strength[own], t[own])] = True
            of_pins[own], of_differences[begin : end - 1] = _shortest_forces(worth[own], holds.astype(np.float64))
            crosses = self.pins[own] == ON_CROSSING
            of_pins[own][crosses] = worth[own].sum() / max(crosses.sum(), 1)
        return of_pins, of_differences

    def residual(self, gradient: Floats) -> float:
        """The largest force that nothing holds."""
        return float(np.abs(np.where(self.pinned, 0.0, np.add.reduceat(gradient, self.first))).max())

    def place_members(self, chain: StiffnessChain, phi: Floats) -> None:
        """Members take their places behind the pin, or behind the first of the block."""
        held = np.where(self.glues == SLOWEST, chain.least, chain.most)
        for begin, end in self._multi_member_blocks():
            anchor = begin + int(np.argmax(self.pins[begin:end] != MOVES))
            for i in range(anchor, begin, -1):
                if self.pins[i - 1] == MOVES:
                    phi[i - 1] = phi[i] - held[i - 1]
            for i in range(anchor, end - 1):
                if self.pins[i + 1] == MOVES:
                    phi[i + 1] = phi[i] + held[i]

    def _multi_member_blocks(self) -> list[tuple[int, int]]:
        """Begin and end of the blocks with more than one member."""
        which = self.size > 1
        return list(zip(self.first[which].tolist(), (self.first + self.size)[which].tolist(), strict=True))


def _shortest_forces(worth: Floats, leak: Floats) -> tuple[Floats, Floats]:
    """Of all ways to hold a block at its pins (where `leak` is 1) and by its glues, that of the shortest forces.

    A pin at i is worth p_i and a glue p_{i+1} − p_i, with p_i leak_i − Σ_neighbours (p_j − p_i) = worth_i. Where pins
    and glues say the same twice, a change that respects both moves the block as it would with either.
    """
    links = np.full(len(worth) - 1, -1.0)
    diagonal = leak + np.append(0.0, -links) + np.append(-links, 0.0)
    p = solve_tridiagonal(diagonal, links, worth)
    return leak * p, np.diff(p)


def _middle_kink(strength: Floats, t: Floats) -> int:
    """Of kinks in a block that may only move as one, the one that holds when slopes change.

    When slopes grow by ε it is the j with the least Σ_i g_i(ε(t_i − t_j)), g_i(z) being the objective beside kink i;
    when they shrink, with −ε. Where it is the same one both ways it has the least sum of the two, which is
    ε Σ_i strength_i |t_i − t_j|: the median, weighted by how strong the kinks are.
    """
    weight, moment = np.cumsum(strength), np.cumsum(strength * t)
    apart = t * (2 * weight - weight[-1]) - 2 * moment
    return int(np.where(strength > 0, apart, np.inf).argmin())
