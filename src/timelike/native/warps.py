"""Warps in continuous time: many pairs → warp values, objectives, and what the backward pass needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from . import Report, _kernels, _use_kernels

Penalty = Literal["squared", "absolute", "huber"]
PENALTIES: tuple[Penalty, ...] = get_args(Penalty)
Floats = NDArray[np.float64]


class Pairs(NamedTuple):
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
class Search:
    """How warps are looked for: `grid` values per knot (0: by the lengths), then ever closer around the best."""

    penalty: Penalty = "squared"
    delta: float = 1.0
    free_ends: bool = False
    grid: int = 0
    refinements: int = 3
    shrink: float = 0.125
    polish: bool = True

    def plan(self) -> tuple[Any, ...]:
        """As the kernels take it."""
        code = PENALTIES.index(self.penalty)
        return (code, self.delta, self.free_ends, self.grid, self.refinements, self.shrink, self.polish)


class Conflict(NamedTuple):
    """No warp fits: at this knot of this pair a bound is out of reach from below, or from above."""

    pair: int
    knot: int
    from_below: bool


@dataclass
class Warps:
    """Warp values of all pairs, one behind the other, with objectives, KKT residuals and the active constraints."""

    phi: Floats
    objective: Floats
    residual: Floats
    pins: NDArray[np.int8]
    glues: NDArray[np.int8]
    segments: NDArray[np.int32]
    crossing: NDArray[np.int32]


class Gradients(NamedTuple):
    """With respect to every step of x and y of every pair, and to every number of `Pairs` that has a value per knot."""

    x: Floats
    y: Floats
    lambdas: Floats
    s_min: Floats
    s_max: Floats
    b_min: Floats
    b_max: Floats


def solve(pairs: Pairs, search: Search, *, threads: int, report: Report = None, isa: str = "") -> Warps | Conflict:
    """The best warp of every pair, or the first conflict among its constraints."""
    knots, count = pairs.n_knots, len(pairs.x_ids)
    found = Warps(
        np.empty(knots),
        np.empty(count),
        np.empty(count),
        np.zeros(knots, np.int8),
        np.zeros(knots, np.int8),
        np.zeros(knots, np.int32),
        np.zeros(knots, np.int32),
    )
    if _use_kernels():
        answer = _kernels.warp(tuple(pairs), search.plan(), threads=threads, report=report, isa=isa, **vars(found))
        return found if answer[0] < 0 else Conflict(*answer)
    from . import warp_fallback

    return warp_fallback.solve(pairs, search, report)


def gradients(
    pairs: Pairs, search: Search, found: Warps, of_phi: Floats, of_objective: Floats, *, threads: int
) -> Gradients:
    """Gradients of a function of warp values and objectives, given its gradients with respect to these."""
    x_rows = np.concatenate([[0], np.cumsum(pairs.x_lengths[pairs.x_ids])])
    y_rows = np.concatenate([[0], np.cumsum(pairs.y_lengths[pairs.y_ids])])
    channels, knots = pairs.x.shape[1], pairs.n_knots
    result = Gradients(
        np.zeros((x_rows[-1], channels)), np.zeros((y_rows[-1], channels)), *(np.zeros(knots) for _ in range(5))
    )
    state = (found.phi, found.pins, found.glues, found.segments, found.crossing)
    if _use_kernels():
        _kernels.warp_gradients(
            tuple(pairs), search.plan(), threads, *state, of_phi, of_objective, *result, x_rows[:-1], y_rows[:-1]
        )
        return result
    from . import warp_fallback

    return warp_fallback.gradients(pairs, search, found, of_phi, of_objective)
