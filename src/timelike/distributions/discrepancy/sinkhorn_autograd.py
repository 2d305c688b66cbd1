"""The gradient of the Sinkhorn divergence of tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...train.torch_threads import torch_threads
from .sinkhorn import Annealing, SidePotential, iterate_tiles, pairwise_costs, solve_debiased, thread_count


def differentiable_divergence(x: Tensor, y: Tensor, a: Tensor, b: Tensor, annealing: Annealing) -> tuple[Tensor, float]:
    """S of points (n, d) and (m, d) with weights that sum to 1, with its gradient, and its error."""
    with torch_threads(min(thread_count(len(x), len(y)), torch.get_num_threads())):
        result: tuple[Tensor, float] = DebiasedDivergence.apply(x, y, a, b, annealing)  # type: ignore[no-untyped-call]
    return result


class DebiasedDivergence(torch.autograd.Function):
    """S and its error; S has the gradient of its last update: by the envelope theorem the potentials are constant."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, a: Tensor, b: Tensor, annealing: Annealing) -> tuple[Tensor, float]:
        solution = solve_debiased(x, y, a, b, annealing)
        ctx.save_for_backward(x, y, a, b)
        ctx.potentials, ctx.annealing = (solution.x_potentials, solution.y_potentials), annealing
        return solution.value, solution.marginal_error

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
        x, y, a, b = ctx.saved_tensors
        (x_potentials, y_potentials), needs_gradient = ctx.potentials, ctx.needs_input_grad
        by_x = (
            _side_gradients(x, a, x_potentials, ctx.annealing, gradient)
            if needs_gradient[0] or needs_gradient[2]
            else (None, None)
        )
        by_y = (
            _side_gradients(y, b, y_potentials, ctx.annealing, gradient)
            if needs_gradient[1] or needs_gradient[3]
            else (None, None)
        )
        gradients = [by_x[0], by_y[0], by_x[1], by_y[1]]
        if torch.is_grad_enabled():  # a second derivative may be requested
            gradients = [side if side is None else _OnceDifferentiable.apply(side, x, y, a, b) for side in gradients]  # type: ignore[no-untyped-call]
        return *gradients, None


class _OnceDifferentiable(torch.autograd.Function):
    """A gradient without a gradient of its own: raises, since a silent zero would be wrong."""

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
        plan = logits.softmax(1)
        if annealing.power == 1:
            plan = (plan / cost).where(cost > 0, 0.0)  # unit vectors, and 0 between points that coincide
        slope[rows] = plan.sum(1, keepdim=True) * z[rows] - plan @ y
    return height, slope
