"""DecDTW: the optimal warp in continuous time as a layer."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...core.parameters import check_bool
from ...core.validation.tensors import valid_mask
from ...native import warp as warps
from ..gdtw import check_pair, check_search_options
from ..warp_problem import conflict_message, pair_constraints
from .first_order import once_differentiable
from .knots import KnotTimes, check_constraints, expand_per_knot
from .padded_pairs import PaddedPairs, validate_pairs

Number = float | Tensor


class WarpOutput(NamedTuple):
    """Warps and their costs: `phi` (item, knot) in y's time, 0 past the end of x, and `objective` (item,)."""

    phi: Tensor
    objective: Tensor


class DecDTW(nn.Module):
    """The best warp of y onto x, differentiable with respect to the signals and all constraints.

    φ* = argmin Σ w_i L(x_i − y(φ_i)) + Σ λ_i Δ_i ((φ_{i+1} − φ_i)/Δ_i − 1)² subject to slopes between s_min and s_max
    and values between b_min and b_max (Xu, Garg, Milford and Gould, ICLR 2023); the problem and its options are those
    of `timelike.GDTW`. The backward pass differentiates the conditions of optimality: one tridiagonal system per pair.
    Warp values at a kink of the cost, on one of y's steps, do not move, so their gradient is zero.
    If a warp can move at no cost (flat signals, λ = 0), the gradient assumes that it does not move.
    With `penalty="absolute"` the cost has no curvature: the gradient is one of the subgradients. Timestamps are
    constants.

    Parameters
    ----------
    regularization : number or tensor
        λ ≥ 0. A tensor broadcasts against (item, knot − 1), one λ for each interval between two steps of x; it may be
        an nn.Parameter, as may the ends of `slope` and `bounds`.
    slope : (number or tensor, number, tensor or None)
        s_min and s_max, on clocks from 0 to 1, broadcast against (item, knot − 1).
    bounds : (number or tensor, number or tensor) or None
        b_min and b_max in y's own time, broadcast against (item, knot).
    subsequence, refinements, penalty, delta, grid
        As in `timelike.GDTW`.

    Examples
    --------
    >>> import torch
    >>> import timelike as tl
    >>> x = torch.tensor([[[0.0], [1.0], [4.0], [9.0]]], requires_grad=True)
    >>> y = torch.tensor([[[0.0], [3.0], [6.0], [9.0]]])
    >>> phi, objective = tl.nn.DecDTW(regularization=0.01)(x, y)
    >>> phi.detach().round(decimals=2)
    tensor([[0.0000, 0.3300, 1.3300, 3.0000]])
    >>> phi[0, 1].backward()
    >>> x.grad[0, :, 0].round(decimals=2)
    tensor([0.0000, 0.3300, 0.0000, 0.0000])
    """

    def __init__(
        self,
        *,
        regularization: Number = 1.0,
        slope: tuple[Number, Number | None] = (0.0, None),
        bounds: tuple[Number, Number] | None = None,
        subsequence: bool = False,
        refinements: int = 3,
        penalty: warps.Penalty = "squared",
        delta: float = 1.0,
        grid: int | None = None,
    ) -> None:
        super().__init__()
        self.regularization = regularization
        self.slope_min, self.slope_max = check_pair(slope, "slope")
        ends = (None, None) if bounds is None else check_pair(bounds, "bounds")
        self.bound_min: Number | None = ends[0]
        self.bound_max: Number | None = ends[1]
        self.search = check_search_options(penalty, delta, check_bool(subsequence, "subsequence"), refinements, grid)

    def forward(
        self,
        x: Tensor,
        y: Tensor,
        x_lengths: Any = None,
        y_lengths: Any = None,
        x_times: Any = None,
        y_times: Any = None,
    ) -> WarpOutput:
        """Warps of each y (item, time, channel) onto its x; by default, the times are step numbers.

        Times are (item, time), or (time,) for all items.
        """
        padded = validate_pairs(x, y, x_lengths, y_lengths)
        clocks = (
            KnotTimes(x_times, padded.x, padded.x_lengths, "x"),
            KnotTimes(y_times, padded.y, padded.y_lengths, "y"),
        )
        clocks[1].refuse_rounding(padded.x.dtype, "y_times")
        knots = padded.x.shape[:2]
        intervals = (knots[0], max(knots[1] - 1, 0))
        constraints = (
            expand_per_knot(self.regularization, intervals, padded, "regularization"),
            expand_per_knot(self.slope_min, intervals, padded, "slope[0]"),
            expand_per_knot(torch.inf if self.slope_max is None else self.slope_max, intervals, padded, "slope[1]"),
            expand_per_knot(-torch.inf if self.bound_min is None else self.bound_min, knots, padded, "bounds[0]"),
            expand_per_knot(torch.inf if self.bound_max is None else self.bound_max, knots, padded, "bounds[1]"),
        )
        check_constraints(constraints, padded.x_lengths)
        solve: Any = _SolveWarp.apply
        return WarpOutput(*solve(padded.x, padded.y, *constraints, padded, clocks, self.search))

    def extra_repr(self) -> str:
        """The options that are numbers; parameters have lines of their own."""
        parameters = {"regularization": self.regularization, "slope_min": self.slope_min, "slope_max": self.slope_max}
        parameters |= {"bound_min": self.bound_min, "bound_max": self.bound_max}
        return ", ".join(f"{name}={value}" for name, value in parameters.items() if isinstance(value, int | float))


class _SolveWarp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        strength: Tensor,
        s_min: Tensor,
        s_max: Tensor,
        b_min: Tensor,
        b_max: Tensor,
        padded: PaddedPairs,
        clocks: tuple[KnotTimes, KnotTimes],
        how: warps.WarpOptions,
    ) -> tuple[Tensor, Tensor]:
        pairs = _make_problems(x, y, (strength, s_min, s_max, b_min, b_max), padded, clocks)
        solution = warps.solve(pairs, how, threads=torch.get_num_threads())
        if isinstance(solution, warps.WarpConflict):
            raise ValueError(_explain_conflict(solution, pairs, clocks, how.free_ends))
        _refuse_overflow(solution.objective, x.dtype)
        ctx.pairs, ctx.how, ctx.solution, ctx.padded, ctx.times = pairs, how, solution, padded, clocks
        x_clock, y_clock = clocks
        inside = valid_mask(padded.x_lengths, x.shape[1])
        values = np.repeat(y_clock.unit_times.starts, x_clock.lengths) + solution.phi * np.repeat(
            y_clock.scale, x_clock.lengths
        )
        return _pad_values(values, inside, x), torch.as_tensor(solution.objective).to(x)

    @staticmethod
    @once_differentiable("the gradient of DecDTW")
    def backward(ctx: Any, of_phi: Tensor, of_objective: Tensor) -> tuple[Tensor | None, ...]:
        x_clock, y_clock = ctx.times
        padded: PaddedPairs = ctx.padded
        inside = valid_mask(padded.x_lengths, padded.x.shape[1])
        scale = np.repeat(y_clock.scale, x_clock.lengths)
        worth = of_phi.detach().cpu().double()[inside].numpy() * scale
        gradients = warps.gradients(
            ctx.pairs,
            ctx.how,
            ctx.solution,
            worth,
            of_objective.detach().cpu().double().numpy(),
            threads=torch.get_num_threads(),
        )
        ends = inside.clone()  # of intervals: one fewer
        ends[torch.arange(len(inside)), padded.x_lengths - 1] = False
        per_span = 1 / np.repeat(y_clock.unit_times.spans, x_clock.lengths)
        is_interval = ends[inside].numpy()
        sides = (
            _pad_values(gradients.x, inside, padded.x),
            _pad_values(gradients.y, valid_mask(padded.y_lengths, padded.y.shape[1]), padded.y),
        )
        intervals = (
            _pad_values(g[is_interval], ends[:, :-1], padded.x, exact=True)
            for g in (gradients.lambdas, gradients.s_min, gradients.s_max)
        )
        knots = (_pad_values(g * per_span, inside, padded.x, exact=True) for g in (gradients.b_min, gradients.b_max))
        return (*sides, *intervals, *knots, None, None, None)


def _make_problems(
    x: Tensor, y: Tensor, constraints: tuple[Tensor, ...], padded: PaddedPairs, clocks: tuple[KnotTimes, KnotTimes]
) -> warps.WarpProblems:
    x_clock, y_clock = clocks
    inside = valid_mask(padded.x_lengths, x.shape[1])
    ids = np.arange(len(x_clock.lengths))
    strength, s_min, s_max = (_pack_intervals(constraint, inside) for constraint in constraints[:3])
    starts, spans = (np.repeat(side, x_clock.lengths) for side in (y_clock.unit_times.starts, y_clock.unit_times.spans))
    b_min, b_max = ((constraint.detach().cpu()[inside].numpy() - starts) / spans for constraint in constraints[3:])
    return warps.WarpProblems(
        _pack_side(x, inside),
        _pack_side(y, valid_mask(padded.y_lengths, y.shape[1])),
        x_clock.unit_times.unit,
        y_clock.unit_times.unit,
        x_clock.starts,
        x_clock.lengths,
        y_clock.starts,
        y_clock.lengths,
        ids,
        ids,
        x_clock.starts,
        strength,
        s_min,
        s_max,
        b_min,
        b_max,
    )


def _pack_side(side: Tensor, inside: Tensor) -> NDArray[np.float64]:
    return np.ascontiguousarray(side.detach().cpu().double()[inside].numpy())


def _pack_intervals(constraint: Tensor, inside: Tensor) -> NDArray[np.float64]:
    """Values of intervals, with one more at each end that is not used."""
    padded = torch.nn.functional.pad(constraint.detach().cpu(), (0, 1), value=1.0)
    return np.ascontiguousarray(padded[inside].numpy())


def _pad_values(values: NDArray[np.float64], inside: Tensor, like: Tensor, *, exact: bool = False) -> Tensor:
    rows = torch.zeros(*inside.shape, *values.shape[1:], dtype=torch.float64)
    rows[inside] = torch.from_numpy(values)
    return rows.to(like.device) if exact else rows.to(like)


def _refuse_overflow(objective: NDArray[np.float64], dtype: torch.dtype) -> None:
    wrong = np.flatnonzero(~(np.abs(objective) <= torch.finfo(dtype).max))
    if len(wrong):
        name = str(dtype).removeprefix("torch.")
        raise ValueError(
            f"the objective of item {wrong[0]} is too large for {name}: standardize x and y, or use float64"
        )


def _explain_conflict(
    conflict: warps.WarpConflict, pairs: warps.WarpProblems, clocks: tuple[KnotTimes, KnotTimes], free_ends: bool
) -> str:
    x_clock, y_clock = clocks
    constraints = pair_constraints(pairs, conflict.pair, free_ends)
    time = float(x_clock.times[x_clock.starts[conflict.pair] + conflict.knot])
    clock = y_clock.unit_times
    message = conflict_message(
        conflict.knot, constraints, time, clock.starts[conflict.pair], clock.spans[conflict.pair]
    )
    return f"item {conflict.pair}: {message}"
