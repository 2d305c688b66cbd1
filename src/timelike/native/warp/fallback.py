"""The fallback of the warp kernels in NumPy: the search over grids, and gradients; one problem after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..machine import ProgressCallback
from . import Floats, WarpConflict, WarpGradients, WarpOptions, WarpProblems, WarpSolutions
from .fallback_pieces import (
    AT_END,
    AT_LEAST,
    AT_MOST,
    FASTEST,
    MOVES,
    ON_CROSSING,
    ON_KINK,
    SLOWEST,
    TOUCHING,
    Blocks,
    Ints,
    SignalTerm,
    StiffnessChain,
    WarpProblem,
    transpose_diff,
)
from .fallback_polish import Polish

_SLACK = 1e-12  # a move along a bound must not be lost to rounding
_BRANCHING = 8  # of this many targets one is searched first: more mean fewer calls of NumPy, and longer searches
_MAX_VALUES = 1 << 20  # values of the signal made at once
_Box = tuple[Floats, Floats]


def solve(
    problems: WarpProblems, options: WarpOptions, found: WarpSolutions, report: ProgressCallback
) -> WarpConflict | None:
    """The best warp of every pair into `found`, or the first conflict among its constraints."""
    count = len(problems.x_ids)
    for pair in range(count):
        at = int(problems.knots[pair])
        conflict = _solve_pair(WarpProblem.from_problems(problems, pair, options), found, pair, at)
        if conflict is not None:
            return WarpConflict(pair, *conflict)
        if report is not None:
            report(pair + 1, count)
    return None


def _solve_pair(problem: WarpProblem, found: WarpSolutions, pair: int, at: int) -> tuple[int, bool] | None:
    signal, chain = SignalTerm(problem), StiffnessChain.from_problem(problem, _tiny_regularization(problem))
    low, high = _initial_bounds(problem)
    tight = low.copy(), high.copy()
    conflict = _tighten(chain, *tight)
    if conflict is not None:
        return conflict
    polish, residual = Polish(signal, chain, low, high), 0.0
    phi = _search_grids(signal, chain, polish, tight)
    if problem.options.polish:
        phi, residual = polish.run(phi)
    m = len(phi)
    objective = StiffnessChain.from_problem(problem).cost(phi) + polish.misfit(phi)
    found.phi[at : at + m], found.objective[pair], found.residual[pair] = phi, objective, residual
    found.pins[at : at + m], found.glues[at : at + m - 1] = polish.pins, polish.glues
    found.segments[at : at + m], found.crossing[at : at + m] = polish.segments, polish.crossing
    return None


def _tiny_regularization(p: WarpProblem) -> float:
    """So little regularisation that it only decides between warps that fit equally well: for λ = 0, the straightest."""
    spread = float(np.ptp(p.y, axis=0).max())
    return 1e-7 * spread * (spread if p.options.penalty == "squared" else 1.0) if spread > 0 else 1.0


def _initial_bounds(p: WarpProblem) -> _Box:
    low, high = np.maximum(p.b_min, 0.0), np.minimum(p.b_max, 1.0)  # a warp never leaves y
    if not p.options.free_ends and len(low) > 1:
        high[0], low[-1] = min(high[0], 0.0), max(low[-1], 1.0)
    return low, high


def _tighten(chain: StiffnessChain, low: Floats, high: Floats) -> tuple[int, bool] | None:
    """In place, the least and the greatest warp that keep bounds and slopes; or where none does, and from which side.

    Every mixture of both is a warp too, so a grid between them always holds a feasible path.
    """
    for i in range(len(low)):
        below = True
        if i:
            reached, limit = low[i - 1] + chain.least[i - 1], high[i - 1] + chain.most[i - 1]
            below = bool(low[i] > limit)
            low[i], high[i] = max(low[i], reached), min(high[i], limit)
        if _is_infeasible(low, high, i):
            return i, below
    for i in range(len(low) - 2, -1, -1):
        low[i] = max(low[i], low[i + 1] - chain.most[i])
        high[i] = min(high[i], high[i + 1] - chain.least[i])
        if _is_infeasible(low, high, i):
            return i, True
    return None


def _is_infeasible(low: Floats, high: Floats, i: int) -> bool:
    """Whether a lower bound is above an upper one; by no more than rounding they become one."""
    if low[i] > high[i] + 1e-9:
        return True
    if low[i] > high[i]:
        low[i] = high[i] = (low[i] + high[i]) / 2
    return False


def _search_grids(signal: SignalTerm, chain: StiffnessChain, polish: Polish, tight: _Box) -> Floats:
    """The best warp on grids between the tight bounds, first over all of them and then ever closer around the best."""
    options, (n, m) = signal.problem.options, (len(signal.problem.tau), len(tight[0]))
    tied = 0 if options.grid else _slope_grid_size(chain, tight)
    first = options.grid or max(_default_grid_size(m, n), tied)
    # the first two decide which basin it is; boxes far narrower see it closely enough with a quarter
    later = max(tied, min(first, 64), first // 4)
    best, lowest, box, width = tight[0], np.inf, tight, tight[1] - tight[0]
    for turn in range(options.refinements + 1):
        phi = _best_on_grid(signal, chain, *box, first if turn < 2 else later)
        value = polish.objective(phi)
        if turn == 0 or value < lowest:
            best, lowest = phi, value
        width = width * options.shrink
        # inside the bounds as given, so that a bad basin can be left again
        box = np.maximum(tight[0], best - width / 2), np.minimum(tight[1], best + width / 2)
        _tighten(chain, *box)
    return best


def _default_grid_size(m: int, n: int) -> int:
    """Which basin is found depends on values per step of y: sixteen, where that is affordable; more with few knots."""
    affordable = min(max(2**19 // m, 2048), 4096)
    return max(256, n, min(2048, 16384 // m), min(16 * n, affordable))


def _slope_grid_size(chain: StiffnessChain, tight: _Box) -> int:
    """A grid too coarse for the slopes would allow only mixtures of the least and the greatest warp."""
    give, width = chain.most - chain.least, (tight[1] - tight[0])[1:]
    need = 2 * width[give > 0] / give[give > 0]
    return int(np.minimum(4096.0, need).max(initial=0.0))


def _best_on_grid(signal: SignalTerm, chain: StiffnessChain, low: Floats, high: Floats, count: int) -> Floats:
    """The best warp with `count` possible values per knot, by dynamic programming."""
    step = (high - low) / (count - 1)
    origins = np.zeros((len(low), count), np.min_scalar_type(count))
    totals = earlier = np.empty(0)
    for i, (places, costs) in enumerate(_grid_costs(signal, low, step, count)):
        if i:
            totals, origins[i] = _advance_knot(totals, earlier, places, chain, i - 1)
        totals, earlier = (totals if i else 0.0) + costs, places
    path = np.empty(len(low), np.int64)
    j = int(totals.argmin())
    for i in range(len(low) - 1, -1, -1):
        path[i], j = j, int(origins[i, j])
    return np.asarray(low + path * step)


def _grid_costs(signal: SignalTerm, low: Floats, step: Floats, count: int) -> Iterator[tuple[Floats, Floats]]:
    """Knot after knot the grid's places and the signal's costs there, made for many knots at once."""
    chunk = max(1, _MAX_VALUES // (count * signal.problem.x.shape[1]))
    for begin in range(0, len(low), chunk):
        knots = np.arange(begin, min(begin + chunk, len(low)))[:, None]
        places = low[knots] + step[knots] * np.arange(count)
        yield from zip(places, signal.value(knots, places), strict=True)


def _advance_knot(
    before: Floats, origins: Floats, targets: Floats, chain: StiffnessChain, gap: int
) -> tuple[Floats, Ints]:
    """For each target the least of `before` plus the cost of the move there, and the origin that attains it.

    The cost is Monge, so later targets have later origins: those of every eighth target fence in the others', level
    after level. Where no move fits, the first origin that is not too far back fences as well.
    """
    usable = np.flatnonzero(before < np.inf)
    if len(usable) == 0:  # constraints that contradict each other by no more than rounding
        return before, np.zeros(len(targets), np.int64)
    places, totals = origins[usable], before[usable]
    first = np.searchsorted(places, targets - chain.most[gap] - _SLACK)
    last = np.searchsorted(places, targets - chain.least[gap] + _SLACK, side="right") - 1
    best, after = first.copy(), np.full(len(targets), np.inf)
    for some, left, right in _target_levels(best, len(places)):
        low, high = np.maximum(first[some], left), np.minimum(last[some], right)
        some, low, high = (numbers[low <= high] for numbers in (some, low, high))
        if len(some) == 0:
            continue
        size = high - low + 1
        begin = np.cumsum(size) - size
        at = np.arange(size.sum()) + np.repeat(low - begin, size)
        off = np.repeat(targets[some] - chain.span[gap], size) - places[at]
        costs = totals[at] + chain.stiffness[gap] / 2 * off * off
        after[some] = np.minimum.reduceat(costs, begin)
        best[some] = np.maximum.reduceat(np.where(costs <= np.repeat(after[some], size), at, -1), begin)
    return after, usable[np.minimum(best, len(usable) - 1)]


def _target_levels(best: Ints, n_origins: int) -> Iterator[tuple[Ints, Any, Any]]:
    """Targets level after level, with the origins in `best` that fence them in once earlier levels are known."""
    count = len(best)
    yield np.zeros(1, np.int64), 0, n_origins - 1
    stride = _BRANCHING ** int(np.ceil(np.log(count) / np.log(_BRANCHING)))
    while stride > 1:
        stride, coarse = stride // _BRANCHING, stride
        some = np.arange(0, count, stride)
        some = some[some % coarse > 0]
        after = some - some % coarse + coarse
        yield some, best[after - coarse], np.where(after < count, best[np.minimum(after, count - 1)], n_origins - 1)


def gradients(
    problems: WarpProblems, options: WarpOptions, found: WarpSolutions, of_phi: Floats, of_objective: Floats
) -> WarpGradients:
    """Gradients of a function of warp values and objectives, given its gradients with respect to these."""
    rows = (
        np.append(0, np.cumsum(problems.x_lengths[problems.x_ids])),
        np.append(0, np.cumsum(problems.y_lengths[problems.y_ids])),
    )
    x, y = (np.zeros((ends[-1], problems.x.shape[1])) for ends in rows)
    result = WarpGradients(x, y, *(np.zeros(problems.n_knots) for _ in range(5)))
    for pair in range(len(problems.x_ids)):
        problem = WarpProblem.from_problems(problems, pair, options)
        xs, ys = (slice(ends[pair], ends[pair + 1]) for ends in rows)
        knots = slice(problems.knots[pair], problems.knots[pair] + len(problem.t))
        one = _pair_gradients(problem, found, knots, of_phi[knots], float(of_objective[pair]))
        x[xs] = one.x
        y[ys] = one.y if len(y[ys]) > 1 else one.y.sum(0)
        for into, part in zip(result[2:], one[2:], strict=True):
            into[knots][: len(part)] = part
    return result


def _pair_gradients(
    p: WarpProblem, found: WarpSolutions, knots: slice, v: Floats, of_objective: float
) -> WarpGradients:
    """dJ/dinputs from dJ/dφ and dJ/dobjective, by differentiating the conditions of optimality."""
    phi, glues = found.phi[knots], found.glues[knots][:-1]
    signal, every = SignalTerm(p), np.arange(len(phi))
    chain = StiffnessChain.from_problem(p, _tiny_regularization(p))  # the warp that is moved is the one that was found
    pieces = signal.pieces(every, phi, _choose_sides(signal, chain, phi, found.pins[knots], glues))
    slopes = pieces.slope + chain.gradient(phi)
    strength = signal.pieces(every, phi, 1).slope - signal.pieces(every, phi, -1).slope
    strength[np.abs(strength) <= 1e-10 * max(np.abs(slopes).max(), np.abs(strength).max())] = 0.0
    pins = _firm_pins(signal, found, knots, strength)
    blocks = Blocks(pins, glues)
    adjoint = blocks.solve(chain, pieces.curvature, v)
    worth = v - pieces.curvature * adjoint - transpose_diff(chain.stiffness * np.diff(adjoint)) + of_objective * slopes
    of_pins, of_differences = blocks.distribute(worth, strength, p.t)
    adjoint = blocks.remove_drift(StiffnessChain.from_problem(p), pieces.curvature, adjoint)

    k, w = pieces.segment, signal.weights[:, None]
    span = signal.spans[k, None]
    rate = signal.rises[k] / span
    first, second = signal.derivatives(every, k, phi, (pieces.low + pieces.high) / 2)
    # the slope in φ is −w·penalty'(d)·rate
    of_d = of_objective * w * first + adjoint[:, None] * w * second * rate
    of_d += _crossing_gradients(pins, found.crossing[knots], rate, of_pins)
    of_rise = adjoint[:, None] * w * first / span
    share = (phi[:, None] - p.tau[k, None]) / span
    y = np.zeros_like(p.y)
    np.add.at(y, k, -(1 - share) * of_d - of_rise)
    np.add.at(y, k + 1, -share * of_d + of_rise)
    off = np.diff(phi) / chain.span - 1
    lambdas = of_objective * chain.span * off * off - 2 * off * np.diff(adjoint)
    slopes_of = (np.where(glues == glue, of_differences * chain.span, 0.0) for glue in (SLOWEST, FASTEST))
    bounds_of = (np.where(pins == pin, of_pins, 0.0) for pin in (AT_LEAST, AT_MOST))
    return WarpGradients(of_d, y, lambdas, *slopes_of, *bounds_of)


def _choose_sides(
    signal: SignalTerm, chain: StiffnessChain, phi: Floats, pins: NDArray[np.int8], glues: NDArray[np.int8]
) -> NDArray[np.int64]:
    """On which side of each value the warp lies, for those on a step of y; the same for all of a block.

    Inside the bound that holds it, or else where it is pushed to, or where its force vanishes.
    """
    every, blocks = np.arange(len(phi)), Blocks(pins, glues)
    below, above = (signal.pieces(every, phi, side).slope + chain.gradient(phi) for side in (-1, 1))
    tolerance = 1e-10 * max(np.abs(below).max(), np.abs(above).max())
    left, right = (np.add.reduceat(side, blocks.first) for side in (below, above))
    falls = (np.abs(left) < np.abs(right) - tolerance) | (np.minimum(left, right) > tolerance)
    low, high = (np.maximum.reduceat(pins == pin, blocks.first) for pin in (AT_LEAST, AT_MOST))
    return np.repeat(np.where(high | (~low & falls), -1, 1), blocks.size)


def _firm_pins(signal: SignalTerm, found: WarpSolutions, knots: slice, strength: Floats) -> NDArray[np.int8]:
    """The pins that hold: a time of y at which the objective does not bend holds nothing.

    Places where x and y agree move a block with y only if those that move alike outweigh all its other kinks, and not
    if a bound or an end holds it.
    """
    phi, pins = found.phi[knots], found.pins[knots]
    segments, crossing = found.segments[knots], found.crossing[knots]
    blocks = Blocks(pins, found.glues[knots][:-1])
    total, bound = (
        np.repeat(np.add.reduceat(side, blocks.first), blocks.size)
        for side in (np.abs(strength), np.isin(pins, (AT_LEAST, AT_MOST, AT_END)).astype(np.float64))
    )
    own = 2 * signal.weights * np.abs(signal.rises[segments, crossing] / signal.spans[segments])
    block = np.repeat(np.arange(len(blocks.first)), blocks.size)
    firm = np.where((pins == ON_KINK) & (strength <= 0), MOVES, pins)
    for i in np.flatnonzero(pins == ON_CROSSING):
        alike = (pins == ON_CROSSING) & (block == block[i]) & (np.abs(phi - phi[i]) <= 10 * TOUCHING)
        if bound[i] or 2 * own[alike & (crossing == crossing[i])].sum() <= total[i]:
            firm[i] = ON_KINK
    return firm.astype(np.int8)


def _crossing_gradients(pins: NDArray[np.int8], crossing: NDArray[np.int32], rate: Floats, of_pins: Floats) -> Floats:
    """By knot and channel, for pins where a channel of x and y agree: what moving that place by its x is worth."""
    result = np.zeros_like(rate)
    knots = np.flatnonzero(pins == ON_CROSSING)
    knots = knots[rate[knots, crossing[knots]] != 0]
    result[knots, crossing[knots]] = of_pins[knots] / rate[knots, crossing[knots]]
    return result
