"""The polish of the warp fallback: from a grid to a local optimum, by interior point programs over pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import Floats
from .fallback_pieces import (
    AT_END,
    AT_LEAST,
    AT_MOST,
    FASTEST,
    LOOSE,
    MOVES,
    ON_CROSSING,
    ON_KINK,
    SLOWEST,
    TOUCHING,
    Blocks,
    Flags,
    Ints,
    QuadraticPieces,
    RigidRuns,
    SignalTerm,
    StiffnessChain,
    solve_tridiagonal,
    transpose_diff,
)

LOW, HIGH, SLOW, FAST = range(4)
_SIGNS = np.array([[1.0], [-1.0], [1.0], [-1.0]])  # how each kind of constraint opens when its quantity grows


def _constraint_changes(values: Floats) -> Floats:
    """How far constraints (LOW … FAST, knot) open when warp values, and with them their differences, change."""
    differences = np.append(np.diff(values), 0.0)
    return np.asarray(_SIGNS * np.array([values, values, differences, differences]))


def _forces_on_values(forces: Floats) -> Floats:
    """What forces of constraints (LOW … FAST, knot) do to the warp values."""
    return np.asarray(forces[LOW] - forces[HIGH] + transpose_diff(forces[SLOW, :-1] - forces[FAST, :-1]))


class InteriorPoint:
    """A convex quadratic over a chain with boxes and bounded differences: Mehrotra's predictor and corrector.

    Of each constraint (LOW … FAST, knot): clearance ≥ 0, force ≥ 0, and their product goes to zero. Where `present` is
    not set there is none, its clearance is 1 and its force 0.
    """

    def __init__(self, chain: StiffnessChain) -> None:
        self.chain = chain

    def solve(self, pieces: QuadraticPieces, lower: Floats, upper: Floats, start: Floats) -> Floats:
        """Minimise from `start`, which need not be feasible; clearances and forces are left behind."""
        with np.errstate(all="ignore"):  # a step that rounding has spoilt is seen when it is to be made
            self._initialize(pieces, lower, upper, start)
            for _ in range(80):
                gradient = self._measure()
                if self._is_done(gradient) or (self.count and self.mean < 1e-20 * self.scale):
                    break
                aim = self.count and self._predict_target(gradient)
                self._compute_step(gradient, aim, corrected=self.count > 0)
                if not self._advance():
                    break
        return self.phi

    def _initialize(self, pieces: QuadraticPieces, lower: Floats, upper: Floats, start: Floats) -> None:
        chain, inset = self.chain, 0.1 * (upper - lower)
        self.pieces = pieces
        self.fixed = upper - lower <= TOUCHING
        inside = np.minimum(np.maximum(start, lower + inset), upper - inset)
        self.phi = np.where(self.fixed, (lower + upper) / 2, inside)
        bends = (chain.stiffness * chain.span).max(initial=0.0)
        self.scale = max(np.abs(self._slopes()).max(), bends) or 1.0
        self._place_sides(lower, upper)

    def _place_sides(self, lower: Floats, upper: Floats) -> None:
        chain = self.chain
        box, tie = ~self.fixed, np.append(~(self.fixed[:-1] & self.fixed[1:]), False)
        least, most = np.append(chain.least, 0.0), np.append(chain.most, 0.0)
        self.present = np.array([box, box, tie, tie & np.isfinite(most)])
        self.limit = np.where(self.present, [lower, upper, least, most], 0.0)
        wide = np.maximum(0.1 * np.minimum(np.append(chain.span, 0.0), most - least), 1e-11)
        narrowest = np.array([np.zeros_like(wide), np.zeros_like(wide), wide, wide])
        push = 0.1 * self.scale * np.array([upper - lower, upper - lower, wide, wide])
        self.clearance = np.where(self.present, np.maximum(self._clearances(), narrowest), 1.0)
        self.force = np.where(self.present, push / self.clearance, 0.0)
        self.d_clearance = self.d_force = np.zeros_like(self.clearance)
        self.count = int(self.present.sum())

    def _clearances(self) -> Floats:
        return np.asarray(_constraint_changes(self.phi) - _SIGNS * self.limit)

    def _slopes(self) -> Floats:
        return self.pieces.slope_at(self.phi) + self.chain.gradient(self.phi)

    def _measure(self) -> Floats:
        """Misses and the mean product; gives the gradient of the Lagrangian."""
        self.miss = np.where(self.present, self._clearances() - self.clearance, 0.0)
        self.mean = float((self.clearance * self.force).sum()) / max(self.count, 1)
        return self._slopes() - _forces_on_values(self.force)

    def _is_done(self, gradient: Floats) -> bool:
        force = np.abs(np.where(self.fixed, 0.0, gradient)).max()
        near = force <= 1e-9 * self.scale and np.abs(self.miss).max() <= 1e-12
        return bool(near and self.mean <= 1e-15 * self.scale)  # further on, rounding gains

    def _predict_target(self, gradient: Floats) -> float:
        """The mean product to aim at, from how far it falls when nothing is aimed at."""
        self._compute_step(gradient, 0.0, corrected=False)
        primal, dual = self._step_lengths()
        products = (self.clearance + primal * self.d_clearance) * (self.force + dual * self.d_force)
        reached = float(products[self.present].sum()) / self.count
        return (reached / self.mean) ** 3 * self.mean

    def _compute_step(self, gradient: Floats, target: float, *, corrected: bool) -> None:
        aim = target - self.clearance * self.force - (self.d_clearance * self.d_force if corrected else 0.0)
        pull = np.where(self.present, (aim - self.force * self.miss) / self.clearance, 0.0)
        weight = self.force / self.clearance
        stiff = self.chain.stiffness + weight[SLOW, :-1] + weight[FAST, :-1]
        diagonal = self.pieces.curvature + weight[LOW] + weight[HIGH]
        diagonal = diagonal + np.append(stiff, 0.0) + np.append(0.0, stiff)
        diagonal = np.where(self.fixed | (diagonal == 0), 1.0, diagonal)
        link = np.where(self.fixed[:-1] | self.fixed[1:], 0.0, -stiff)
        rest = np.where(self.fixed, 0.0, _forces_on_values(pull) - gradient)
        self.step = solve_tridiagonal(diagonal, link, rest)
        self.d_clearance = np.where(self.present, _constraint_changes(self.step) + self.miss, 0.0)
        self.d_force = np.where(self.present, (aim - self.force * self.d_clearance) / self.clearance, 0.0)

    def _step_lengths(self) -> tuple[float, float]:
        """How far clearances and forces may go without losing their sign; at most all the way."""
        shares = (
            np.where(d < 0, -v / d, np.inf) for v, d in ((self.clearance, self.d_clearance), (self.force, self.d_force))
        )
        primal, dual = (0.995 * min(float(share.min()), 1 / 0.995) for share in shares)
        return primal, dual

    def _advance(self) -> bool:
        # one length for both: forces enter the gradient linearly, and what has been balanced stays in balance
        length = min(self._step_lengths())
        if not np.isfinite(self.step.sum()) or not length > 0:
            return False  # as near as rounding lets it come
        self.phi = self.phi + length * self.step
        self.clearance = self.clearance + length * self.d_clearance
        self.force = self.force + length * self.d_force
        return True


class Polish:
    """Quadratic programs over the pieces, moving to neighbouring pieces while that lowers the objective."""

    def __init__(self, signal: SignalTerm, chain: StiffnessChain, low: Floats, high: Floats) -> None:
        self.signal, self.chain, self.low, self.high = signal, chain, low, high
        self.knots = np.arange(len(low))
        self.fixed = high - low <= TOUCHING
        self.runs = RigidRuns(chain)
        self.interior = InteriorPoint(self.runs.chain)
        self.pins, self.glues = np.zeros(len(low), np.int8), np.zeros(len(low) - 1, np.int8)
        self.segments, self.crossing = np.zeros(len(low), np.int32), np.zeros(len(low), np.int32)

    def objective(self, phi: Floats) -> float:
        """The whole of it."""
        return self.chain.cost(phi) + self.misfit(phi)

    def misfit(self, phi: Floats) -> float:
        """The signal's part of it."""
        return float(self.signal.value(self.knots, phi).sum())

    def run(self, phi: Floats) -> tuple[Floats, float]:
        """The optimum near `phi` and its Karush-Kuhn-Tucker residual, in units of the largest force if that is > 1."""
        phi = self._approach(np.minimum(np.maximum(phi, self.low), self.high))
        self._take_pieces(phi)
        last, unmet, stalls = 0.0, 0.0, 0
        for turn in range(1000):
            self.lower = np.maximum(self.pieces.low, self.low)
            self.upper = np.maximum(self.lower, np.minimum(self.pieces.high, self.high))
            phi = self._minimise(self.lower, self.upper, phi)
            value = self.objective(phi)
            # at a kink where both slopes vanish a value may be sent to and fro for nothing; once or twice it may be for
            # less than the objective's rounding shows
            stalls = stalls + 1 if turn > 0 and last - value <= 1e-13 * value else 0
            last, unmet = value, 0.0 if stalls > 2 else self._cross_pieces(phi)
            if unmet == 0:
                break
        phi, residual = self._settle(phi)
        return phi, max(residual, unmet) / max(1.0, self.interior.scale)

    def _take_pieces(self, phi: Floats) -> None:
        self.pieces = self.signal.pieces(self.knots, phi, np.where(phi >= self.high - TOUCHING, -1, 1))

    def _minimise(self, lower: Floats, upper: Floats, phi: Floats) -> Floats:
        """The quadratic program over the pieces; the tightest of the boxes of a run's members is the run's."""
        runs, pieces = self.runs, self.pieces
        lower, upper, origin = lower - runs.offset, upper - runs.offset, phi[runs.first]
        low, high = np.maximum.reduceat(lower, runs.first), np.minimum.reduceat(upper, runs.first)
        slope = np.add.reduceat(pieces.slope_at(origin[runs.run] + runs.offset), runs.first)
        curvature = np.add.reduceat(pieces.curvature, runs.first)
        joined = QuadraticPieces(low, high, origin, slope, curvature, pieces.segment[runs.first])
        values = self.interior.solve(joined, low, np.maximum(low, high), origin)
        self._take_forces(runs.holder(lower, low), runs.holder(upper, high))
        return np.asarray(values[runs.run] + runs.offset)

    def _take_forces(self, holds_low: Ints, holds_high: Ints) -> None:
        """What holds each value and each difference, of what holds the runs."""
        inner, shape = self.interior, (4, len(self.knots))
        self.present, self.clearance, self.force = np.zeros(shape, bool), np.ones(shape), np.zeros(shape)
        places = (LOW, holds_low), (HIGH, holds_high), (SLOW, self.runs.joints), (FAST, self.runs.joints)
        for mine, theirs in (("present", inner.present), ("clearance", inner.clearance), ("force", inner.force)):
            for kind, at in places:
                getattr(self, mine)[kind, at] = theirs[kind, : len(at)]

    def _approach(self, phi: Floats) -> Floats:
        """Newton's steps as if each piece went on, halved until the objective falls, while that pays.

        Far from an optimum values cross many pieces.
        """
        value = self.objective(phi)
        for _ in range(20):
            self._take_pieces(phi)
            way = self._minimise(self.low, self.high, phi) - phi
            for length in (1.0, 0.5, 0.25, 0.125):
                trial = phi + length * way
                reached = self.objective(trial)
                if reached < value:
                    break
            if not reached < (1 - 1e-5) * value:
                break
            phi, value = trial, reached
        return phi

    def _cross_pieces(self, phi: Floats) -> float:
        """A value held at the end of its piece goes on where the next one falls that way; gives the steepest fall."""
        pieces, reach = self.pieces, 1e-5 * (self.pieces.high - self.pieces.low) + 10 * TOUCHING
        up = ~self.fixed & (phi >= self.upper - reach) & (pieces.high < self.high - TOUCHING)
        down = ~self.fixed & ~up & (phi <= self.lower + reach) & (pieces.low > self.low + TOUCHING)
        return max(self._cross_side(phi, up, 1), self._cross_side(phi, down, -1))

    def _cross_side(self, phi: Floats, where: Flags, side: int) -> float:
        ends, held = (self.pieces.high, HIGH) if side > 0 else (self.pieces.low, LOW)
        after = self.signal.pieces(self.knots[where], ends[where], side)
        jump = side * (after.slope - self.pieces.slope_at(ends)[where])
        # what holds it is known a little before the end: on the way there it still loses what the objective bends
        stiff = self.chain.stiffness
        bend = self.pieces.curvature + np.append(stiff, 0.0) + np.append(0.0, stiff)
        away = side * ((self.upper if side > 0 else self.lower) - phi)
        fall = (self.force[held] - bend * away)[where] - jump
        falls = (fall > 1e-11 * self.interior.scale) & self._fits_slopes(phi, ends)[where]
        goes = self.knots[where][falls]
        phi[goes] = ends[goes]
        self.pieces.replace_at(goes, QuadraticPieces(*(numbers[falls] for numbers in after)))
        return float(fall[falls].max(initial=0.0))

    def _fits_slopes(self, phi: Floats, places: Floats) -> Flags:
        """Whether slopes let each value be there; within the programs' own accuracy they do."""
        after, before = np.diff(phi, append=0.0) + phi - places, places - phi + np.diff(phi, prepend=0.0)
        least, most = self.chain.least, self.chain.most
        fits = np.append((after[:-1] >= least) & (after[:-1] <= most), True)
        fits &= np.append(True, (before[1:] >= least) & (before[1:] <= most))
        near = 1e-7 * (self.pieces.high - self.pieces.low) + 10 * TOUCHING
        return np.asarray(fits | (np.abs(places - phi) < near))

    def _name_active(self) -> None:
        pieces, chain = self.pieces, self.chain
        stiffness = max(pieces.curvature.max(), chain.stiffness.max(initial=0.0))
        # force and clearance have different units: active is what outweighs what its clearance could bend
        active = self.present & (self.force > 1e-3 * stiffness * self.clearance)
        lowest = np.where(pieces.low > self.low + TOUCHING, ON_KINK, AT_LEAST)
        highest = np.where(pieces.high < self.high - TOUCHING, ON_KINK, AT_MOST)
        pins = np.select([self.fixed, active[LOW], active[HIGH]], [self._fixed_pins(), lowest, highest], MOVES)
        slow = chain.rigid | active[SLOW, :-1]
        glues = np.select([slow, active[FAST, :-1]], [SLOWEST, FASTEST], LOOSE)
        self.pins, self.glues = pins.astype(np.int8), glues.astype(np.int8)
        self.segments, self.crossing = pieces.segment.astype(np.int32), np.zeros(len(pins), np.int32)

    def _fixed_pins(self) -> NDArray[np.int64]:
        pins = np.full(len(self.knots), AT_LEAST)
        if not self.signal.problem.options.free_ends and len(pins) > 1:
            pins[[0, -1]] = AT_END
        return pins

    def _settle(self, phi: Floats) -> tuple[Floats, float]:
        """The active constraints hold exactly and what is free solves its equations exactly."""
        self._name_active()
        exact = self._solve_exactly(phi)
        for _ in range(8):  # the active set is only an estimate: constraints that would pull are released
            if not self._release(exact):
                break
            exact = self._solve_exactly(phi)
        # where the guess was wrong the equations lead elsewhere: then what the programs found stays
        if self._is_feasible(exact) and np.abs(exact - phi).max() < 1e-5:
            phi = exact
        if self.signal.problem.options.penalty == "absolute":
            self._name_crossings(phi)
        return phi, Blocks(self.pins, self.glues).residual(self._slopes(phi))

    def _solve_exactly(self, phi: Floats) -> Floats:
        down = self.fixed | (self.force[LOW] > self.force[HIGH])
        exact = np.where(self.pins == MOVES, phi, np.where(down, self.lower, self.upper))
        blocks = Blocks(self.pins, self.glues)
        blocks.place_members(self.chain, exact)
        return exact - blocks.solve(self.chain, self.pieces.curvature, self._slopes(exact))

    def _release(self, phi: Floats) -> bool:
        """Pins of a block that could only hold it by pulling move again; gives whether there were any."""
        blocks = Blocks(self.pins, self.glues)
        push, tolerance = np.add.reduceat(self._slopes(phi), blocks.first), 1e-11 * self.interior.scale
        pinned, down = self.pins != MOVES, self.force[LOW] > self.force[HIGH]
        below = np.maximum.reduceat(pinned & (self.fixed | down), blocks.first)
        above = np.maximum.reduceat(pinned & (self.fixed | ~down), blocks.first)
        pulls = (below & ~above & (push < -tolerance)) | (above & ~below & (push > tolerance))
        self.pins[np.repeat(pulls, blocks.size)] = MOVES
        return bool(pulls.any())

    def _name_crossings(self, phi: Floats) -> None:
        channels = self.signal.crossing(self.knots, phi)
        knots = np.flatnonzero((self.pins == ON_KINK) & (channels >= 0))
        self.crossing[knots], self.pins[knots] = channels[knots], ON_CROSSING

    def _slopes(self, phi: Floats) -> Floats:
        return self.pieces.slope_at(phi) + self.chain.gradient(phi)

    def _is_feasible(self, phi: Floats) -> bool:
        d, slack = np.diff(phi), 1e-11
        inside = (phi >= self.lower - slack) & (phi <= self.upper + slack)
        return bool(inside.all() and ((d >= self.chain.least - slack) & (d <= self.chain.most + slack)).all())
