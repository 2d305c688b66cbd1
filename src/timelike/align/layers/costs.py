"""Costs of all pairs of frames, differentiable any number of times; torch's `cdist` is differentiable once."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ...native import Cost


def frame_costs(cost: Cost, x: Tensor, y: Tensor) -> Tensor:
    """Costs (…, n, m) of frames x (…, n, channel) and y (…, m, channel); equal ones have the gradient 0.

    >>> frame_costs("euclidean", torch.tensor([[0.0, 0.0], [3.0, 4.0]]), torch.tensor([[0.0, 0.0]]))
    tensor([[0.],
            [5.]])
    """
    costs: Tensor = _FrameCosts.apply(x, y, cost)  # type: ignore[no-untyped-call]
    return costs


class _FrameCosts(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, y: Tensor, cost: Cost) -> Tensor:
        return _fast_costs(x, y, cost)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Cost], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.cost = inputs[2]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, y = ctx.saved_tensors
        again = torch.is_grad_enabled()  # a second derivative will be taken
        with torch.enable_grad():
            if again:
                sides = x.view_as(x), y.view_as(y)  # views, because one tensor may be given twice
                costs = _differentiable_costs(*sides, ctx.cost)
            else:
                sides = x.detach().requires_grad_(), y.detach().requires_grad_()
                costs = _fast_costs(*sides, ctx.cost)
            differentiated = [side for side, needed in zip(sides, ctx.needs_input_grad, strict=False) if needed]
            input_gradients = iter(torch.autograd.grad(costs, differentiated, gradient, create_graph=again))
        return (*(next(input_gradients) if needed else None for needed in ctx.needs_input_grad[:2]), None)


def _fast_costs(x: Tensor, y: Tensor, cost: Cost) -> Tensor:
    if cost == "manhattan":
        return torch.cdist(x, y, p=1.0)
    plain = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")  # products would cancel digits
    return plain if cost == "euclidean" else plain.square()


def _differentiable_costs(x: Tensor, y: Tensor, cost: Cost) -> Tensor:
    """The same with all differences laid out, (…, n, m, channel): more memory, and torch knows all derivatives."""
    apart = x[..., :, None, :] - y[..., None, :, :]
    if cost == "manhattan":
        return apart.abs().sum(-1)
    squares = apart.square().sum(-1)
    if cost == "sqeuclidean":
        return squares
    different = squares > 0
    return squares.where(different, 1.0).sqrt().where(different, 0.0)
