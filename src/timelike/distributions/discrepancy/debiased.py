"""Entropic transport between two weighted point sets without its bias, and the gradient of that."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from .potentials import Annealing, Points, costs, solve, tiles


class Solved(NamedTuple):
    """S, the largest miss of its three plans, and what its gradient needs: on each side the other set and its own."""

    value: Tensor
    miss: float
    x_pulls: tuple[Pull, Pull]
    y_pulls: tuple[Pull, Pull]


class Pull(NamedTuple):
    """Points y and their potential g: −ε log Σ_j b_j exp((g_j − C(z, y_j))/ε) extends the other side's to any z."""

    points: Points
    potential: Tensor


def solved(x: Tensor, y: Tensor, a: Tensor, b: Tensor, how: Annealing) -> Solved:
    """OT(x, y) − OT(x, x)/2 − OT(y, y)/2 for points (n, d) and (m, d) with weights that sum to 1."""
    left, right = _merged(x, a), _merged(y, b)
    order = _order(left, right)
    if order <= 0:
        return _debiased(left, right, how, equal=order == 0)
    turned = _debiased(right, left, how, equal=False)  # one way for both orders: they agree to the last bit
    return turned._replace(x_pulls=turned.y_pulls, y_pulls=turned.x_pulls)


def _debiased(x: Points, y: Points, how: Annealing, equal: bool) -> Solved:
    within_x = solve(x, x, how)
    within_y, across = (within_x, within_x) if equal else (solve(y, y, how), solve(x, y, how))
    value = x.weights @ (across.extrapolated_f - within_x.extrapolated_f)
    value = value + y.weights @ (across.extrapolated_g - within_y.extrapolated_g)
    return Solved(
        value.clamp(min=0),  # less only by rounding, or too few rounds
        max(part.miss for part in (within_x, within_y, across)),
        (Pull(y, across.g), Pull(x, within_x.f)),
        (Pull(x, across.f), Pull(y, within_y.f)),
    )


def _merged(x: Tensor, weights: Tensor) -> Points:
    """The points that weigh something, equal ones made one, in ascending order."""
    heavy = weights > 0
    where, which = torch.unique(x[heavy] + 0.0, dim=0, return_inverse=True)  # −0 + 0 is 0
    return Points(where, weights.new_zeros(len(where)).index_add_(0, which, weights[heavy]))


def _order(x: Points, y: Points) -> int:
    """Which of two sets comes first (−1, 1), or that they are equal (0)."""
    if len(x.where) != len(y.where):
        return 1 if len(x.where) > len(y.where) else -1
    apart = torch.cat([(x.where - y.where).flatten(), x.weights - y.weights])
    different = apart[apart != 0]
    return int(different[0].sign()) if len(different) else 0


class Divergence(torch.autograd.Function):
    """S and the miss; S has the gradient of its last update, as by the envelope theorem the potentials are constant."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, a: Tensor, b: Tensor, how: Annealing) -> tuple[Tensor, float]:
        found = solved(x, y, a, b, how)
        ctx.save_for_backward(x, y, a, b)
        ctx.pulls, ctx.how = (found.x_pulls, found.y_pulls), how
        return found.value, found.miss

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        x, y, a, b = ctx.saved_tensors
        (x_pulls, y_pulls), needed = ctx.pulls, ctx.needs_input_grad
        by_x = _by_side(x, a, x_pulls, ctx.how, gradient) if needed[0] or needed[2] else (None, None)
        by_y = _by_side(y, b, y_pulls, ctx.how, gradient) if needed[1] or needed[3] else (None, None)
        found = [by_x[0], by_y[0], by_x[1], by_y[1]]
        if torch.is_grad_enabled():  # somebody may ask for the gradient of this gradient
            found = [side if side is None else _Once.apply(side, x, y, a, b) for side in found]  # type: ignore[no-untyped-call]
        return *found, None


class _Once(torch.autograd.Function):
    """A gradient that has none itself: silence would be a wrong zero."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, *inputs: Tensor) -> Tensor:
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> None:
        raise RuntimeError("sinkhorn_divergence is differentiable once: its gradient has no gradient")


def _by_side(
    z: Tensor, weights: Tensor, pulls: tuple[Pull, Pull], how: Annealing, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    """The gradients by the points and the weights of one side."""
    (height, slope), (own_height, own_slope) = (_extended(z, pull, how) for pull in pulls)
    return gradient * weights[:, None] * (slope - own_slope), gradient * (height - own_height)


def _extended(z: Tensor, pull: Pull, how: Annealing) -> tuple[Tensor, Tensor]:
    """A potential and its gradient at any points z (n, d): (n,), (n, d)."""
    (y, weights), epsilon = pull.points, how.epsilon
    height, slope = z.new_empty(len(z)), torch.empty_like(z)
    for rows in tiles(len(z), len(y)):
        cost = costs(z[rows], y, how.power)
        logits = (pull.potential - cost) / epsilon + weights.log()
        height[rows] = -epsilon * logits.logsumexp(1)
        share = logits.softmax(1)
        if how.power == 1:
            share = (share / cost).where(cost > 0, 0.0)  # unit vectors, and 0 between points that coincide
        slope[rows] = share.sum(1, keepdim=True) * z[rows] - share @ y
    return height, slope
