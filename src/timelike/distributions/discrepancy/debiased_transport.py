"""Entropic transport between two weighted point sets without its bias, and the gradient of that."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from .potentials import Annealing, WeightedPoints, iterate_tiles, pairwise_costs, solve_potentials


class DebiasedSolution(NamedTuple):
    """S, the largest miss of its three plans, and what its gradient needs: on each side the other set and its own."""

    value: Tensor
    marginal_error: float
    x_potentials: tuple[SidePotential, SidePotential]
    y_potentials: tuple[SidePotential, SidePotential]


class SidePotential(NamedTuple):
    """Points y and their potential g: −ε log Σ_j b_j exp((g_j − C(z, y_j))/ε) extends the other side's to any z."""

    points: WeightedPoints
    potential: Tensor


def solve_debiased(x: Tensor, y: Tensor, a: Tensor, b: Tensor, annealing: Annealing) -> DebiasedSolution:
    """OT(x, y) − OT(x, x)/2 − OT(y, y)/2 for points (n, d) and (m, d) with weights that sum to 1."""
    left, right = _merge_duplicates(x, a), _merge_duplicates(y, b)
    order = _compare_point_sets(left, right)
    if order <= 0:
        return _solve_ordered(left, right, annealing, equal=order == 0)
    turned = _solve_ordered(right, left, annealing, equal=False)  # one way for both orders: they agree to the last bit
    return turned._replace(x_potentials=turned.y_potentials, y_potentials=turned.x_potentials)


def _solve_ordered(x: WeightedPoints, y: WeightedPoints, annealing: Annealing, equal: bool) -> DebiasedSolution:
    within_x = solve_potentials(x, x, annealing)
    within_y, across = (
        (within_x, within_x) if equal else (solve_potentials(y, y, annealing), solve_potentials(x, y, annealing))
    )
    value = x.weights @ (across.extrapolated_f - within_x.extrapolated_f)
    value = value + y.weights @ (across.extrapolated_g - within_y.extrapolated_g)
    return DebiasedSolution(
        value.clamp(min=0),  # less only by rounding, or too few rounds
        max(part.marginal_error for part in (within_x, within_y, across)),
        (SidePotential(y, across.g), SidePotential(x, within_x.f)),
        (SidePotential(x, across.f), SidePotential(y, within_y.f)),
    )


def _merge_duplicates(x: Tensor, weights: Tensor) -> WeightedPoints:
    """The points that weigh something, equal ones made one, in ascending order."""
    heavy = weights > 0
    where, which = torch.unique(x[heavy] + 0.0, dim=0, return_inverse=True)  # −0 + 0 is 0
    return WeightedPoints(where, weights.new_zeros(len(where)).index_add_(0, which, weights[heavy]))


def _compare_point_sets(x: WeightedPoints, y: WeightedPoints) -> int:
    """Which of two sets comes first (−1, 1), or that they are equal (0)."""
    if len(x.where) != len(y.where):
        return 1 if len(x.where) > len(y.where) else -1
    apart = torch.cat([(x.where - y.where).flatten(), x.weights - y.weights])
    different = apart[apart != 0]
    return int(different[0].sign()) if len(different) else 0


class DebiasedDivergence(torch.autograd.Function):
    """S and the miss; S has the gradient of its last update, as by the envelope theorem the potentials are constant."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, a: Tensor, b: Tensor, annealing: Annealing) -> tuple[Tensor, float]:
        found = solve_debiased(x, y, a, b, annealing)
        ctx.save_for_backward(x, y, a, b)
        ctx.potentials, ctx.annealing = (found.x_potentials, found.y_potentials), annealing
        return found.value, found.marginal_error

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        x, y, a, b = ctx.saved_tensors
        (x_potentials, y_potentials), needed = ctx.potentials, ctx.needs_input_grad
        by_x = _side_gradients(x, a, x_potentials, ctx.annealing, gradient) if needed[0] or needed[2] else (None, None)
        by_y = _side_gradients(y, b, y_potentials, ctx.annealing, gradient) if needed[1] or needed[3] else (None, None)
        found = [by_x[0], by_y[0], by_x[1], by_y[1]]
        if torch.is_grad_enabled():  # somebody may ask for the gradient of this gradient
            found = [side if side is None else _OnceDifferentiable.apply(side, x, y, a, b) for side in found]  # type: ignore[no-untyped-call]
        return *found, None


class _OnceDifferentiable(torch.autograd.Function):
    """A gradient that has none itself: silence would be a wrong zero."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *inputs: Tensor) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> None:
        raise RuntimeError("sinkhorn_divergence is differentiable once: its gradient has no gradient")


def _side_gradients(
    z: Tensor, weights: Tensor, potentials: tuple[SidePotential, SidePotential], annealing: Annealing, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients by the points and the weights of one side."""
    (height, slope), (own_height, own_slope) = (_extend_potential(z, pull, annealing) for pull in potentials)
    return gradient * weights[:, None] * (slope - own_slope), gradient * (height - own_height)


def _extend_potential(z: Tensor, side: SidePotential, annealing: Annealing) -> tuple[Tensor, Tensor]:
    """A potential and its gradient at any points z (n, d): (n,), (n, d)."""
    (y, weights), epsilon = side.points, annealing.epsilon
    height, slope = z.new_empty(len(z)), torch.empty_like(z)
    for rows in iterate_tiles(len(z), len(y)):
        cost = pairwise_costs(z[rows], y, annealing.power)
        logits = (side.potential - cost) / epsilon + weights.log()
        height[rows] = -epsilon * logits.logsumexp(1)
        share = logits.softmax(1)
        if annealing.power == 1:
            share = (share / cost).where(cost > 0, 0.0)  # unit vectors, and 0 between points that coincide
        slope[rows] = share.sum(1, keepdim=True) * z[rows] - share @ y
    return height, slope
