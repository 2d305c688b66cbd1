"""The warp solver in continuous time: warp values, objectives, and the data for the backward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..machine import ProgressCallback, kernels, use_kernels

Penalty = Literal["squared", "absolute", "huber"]
PENALTIES: tuple[Penalty, ...] = get_args(Penalty)
Floats = NDArray[np.float64]


class WarpProblems(NamedTuple):
    """Sequences one behind the other, their clocks from 0 to 1, which are compared, and each pair's numbers.

    `lambdas`, slopes and bounds have a value per knot of every pair, pair after pair from `knots` on; those that belong
    to intervals leave the last of a pair unused. Everything is float64 and on the clock from 0 to 1.
    """

    x: Floats
    y: Floats
    t: Floats
    tau: Floats
    x_starts: NDArray[np.int64]
    x_lengths: NDArray[np.int64]
    y_starts: NDArray[np.int64]
    y_lengths: NDArray[np.int64]
    x_ids: NDArray[np.int64]
    y_ids: NDArray[np.int64]
    knots: NDArray[np.int64]
    lambdas: Floats
    s_min: Floats
    s_max: Floats
    b_min: Floats
    b_max: Floats

    @property
    def n_knots(self) -> int:
        """Knots of all pairs together."""
        return int(self.x_lengths[self.x_ids].sum())


@dataclass(frozen=True)
class WarpOptions:
    """Options of the warp search: `grid` values per knot (0: from the lengths), then finer grids around the best."""

    penalty: Penalty = "squared"
    delta: float = 1.0
    free_ends: bool = False
    grid: int = 0
    refinements: int = 3
    shrink: float = 0.125
    polish: bool = True

    def numbers(self) -> tuple[int, float, bool, int, int, float, bool]:
        """As the kernels take them."""
        code = PENALTIES.index(self.penalty)
        return (code, self.delta, self.free_ends, self.grid, self.refinements, self.shrink, self.polish)


class WarpConflict(NamedTuple):
    """No warp fits: at this knot of this pair a bound is out of reach from below, or from above."""

    pair: int
    knot: int
    from_below: bool


@dataclass
class WarpSolutions:
    """Warp values of all pairs, one behind the other, with objectives, KKT residuals and the active constraints."""

    phi: Floats
    objective: Floats
    residual: Floats
    pins: NDArray[np.int8]
    glues: NDArray[np.int8]
    segments: NDArray[np.int32]
    crossing: NDArray[np.int32]

    @classmethod
    def empty(cls, problems: WarpProblems) -> WarpSolutions:
        """Memory for the answers, which are to be written."""
        knots, count = problems.n_knots, len(problems.x_ids)
        # zeros where the last interval of a pair is not written: pairs lie one behind the other, knot by knot
        values, flags, places = np.empty(knots), np.zeros((2, knots), np.int8), np.zeros((2, knots), np.int32)
        return cls(values, np.empty(count), np.empty(count), *flags, *places)


class WarpGradients(NamedTuple):
    """By every step of x and y of every pair, and by every number of `WarpProblems` that has a value per knot."""

    x: Floats
    y: Floats
    lambdas: Floats
    s_min: Floats
    s_max: Floats
    b_min: Floats
    b_max: Floats


def solve(
    problems: WarpProblems,
    options: WarpOptions,
    *,
    threads: int,
    report: ProgressCallback = None,
    isa: str | None = None,
) -> WarpSolutions | WarpConflict:
    """The best warp of every pair, or the first conflict among its constraints."""
    solutions = WarpSolutions.empty(problems)
    if not use_kernels():
        from . import fallback

        conflict = fallback.solve(problems, options, solutions, report)
        return solutions if conflict is None else conflict
    pair, knot, from_below = kernels.warp(
        problems,
        options.numbers(),
        threads=threads,
        phi=solutions.phi,
        objective=solutions.objective,
        residual=solutions.residual,
        pins=solutions.pins,
        glues=solutions.glues,
        segments=solutions.segments,
        crossing=solutions.crossing,
        report=report,
        isa=isa,
    )
    return solutions if pair < 0 else WarpConflict(pair, knot, from_below)


def gradients(
    problems: WarpProblems,
    options: WarpOptions,
    found: WarpSolutions,
    of_phi: Floats,
    of_objective: Floats,
    *,
    threads: int,
) -> WarpGradients:
    """Gradients of a function of warp values and objectives, given its gradients with respect to these."""
    x_rows = np.concatenate([[0], np.cumsum(problems.x_lengths[problems.x_ids])])
    y_rows = np.concatenate([[0], np.cumsum(problems.y_lengths[problems.y_ids])])
    channels, knots = problems.x.shape[1], problems.n_knots
    result = WarpGradients(
        np.zeros((x_rows[-1], channels)), np.zeros((y_rows[-1], channels)), *(np.zeros(knots) for _ in range(5))
    )
    state = (found.phi, found.pins, found.glues, found.segments, found.crossing)
    if use_kernels():
        kernels.warp_gradients(
            problems, options.numbers(), threads, *state, of_phi, of_objective, *result, x_rows[:-1], y_rows[:-1]
        )
        return result
    from . import fallback

    return fallback.gradients(problems, options, found, of_phi, of_objective)
