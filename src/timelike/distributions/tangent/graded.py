"""Kernels of wide networks for torch: matrices whose gradients are in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...native import tangent, threads


def matrix(x: Tensor, y: Tensor, network: tangent.Network) -> Tensor:
    """The kernel of x and y, each (item, feature) in double precision, with gradients to both."""
    if torch.is_grad_enabled() and (x.requires_grad or y.requires_grad):
        found: Tensor = _Matrix.apply(x, y, network)  # type: ignore[no-untyped-call]
        return found
    same = x is y or (x.data_ptr() == y.data_ptr() and x.shape == y.shape and x.stride() == y.stride())
    values = tangent.matrix(_array(x), None if same else _array(y), network, threads=threads())
    return torch.from_numpy(values).to(x.device)


class _Matrix(torch.autograd.Function):
    """Derivatives of every pair are kept: four numbers and a bit for each, and no table of differences."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, network: tangent.Network) -> Tensor:
        found = tangent.slopes(_array(x), _array(y), network, threads=threads(), both=ctx.needs_input_grad[1])
        ctx.network, ctx.found = network, found
        ctx.save_for_backward(x, y)
        return torch.from_numpy(found.values).to(x.device)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, y = ctx.saved_tensors
        by_x, by_y = _Gradients.apply(x, y, gradient, ctx.found, ctx.network, ctx.needs_input_grad[:2])  # type: ignore[no-untyped-call]
        return by_x, by_y, None


class _Gradients(torch.autograd.Function):
    """The gradients of a matrix, which have none of their own."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        gradient: Tensor,
        found: tangent.Slopes,
        network: tangent.Network,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        by_x, by_y = tangent.pushed(
            _array(x), _array(y), found, _array(gradient), network, threads=threads(), wanted=wanted
        )
        return _like(x, by_x), _like(y, by_y)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[None, ...]:
        raise RuntimeError(
            "a kernel of a wide network was differentiated twice: its gradients are in closed form and have none of "
            "their own; take differences of gradients, or a kernel such as RBF"
        )


def _like(side: Tensor, gradient: Any) -> Tensor | None:
    return None if gradient is None else torch.from_numpy(gradient).to(side.device)


def _array(tensor: Tensor) -> Any:
    return np.ascontiguousarray(tensor.detach().numpy(force=True), np.float64)
