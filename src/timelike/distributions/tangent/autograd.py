"""Kernels of wide networks for torch: matrices whose gradients are in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...native import tangent, thread_count


def kernel_matrix(x: Tensor, y: Tensor, network: tangent.WideNetwork) -> Tensor:
    """The kernel of x and y, each (item, feature) in double precision, with gradients to both."""
    if torch.is_grad_enabled() and (x.requires_grad or y.requires_grad):
        found: Tensor = _KernelMatrixFunction.apply(x, y, network)  # type: ignore[no-untyped-call]
        return found
    same = x is y or (x.data_ptr() == y.data_ptr() and x.shape == y.shape and x.stride() == y.stride())
    values = tangent.matrix(_to_array(x), None if same else _to_array(y), network, threads=thread_count())
    return torch.from_numpy(values).to(x.device)


class _KernelMatrixFunction(torch.autograd.Function):
    """Derivatives of every pair are kept: four numbers and a bit for each, and no table of differences."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, network: tangent.WideNetwork) -> Tensor:
        found = tangent.kernel_slopes(
            _to_array(x), _to_array(y), network, threads=thread_count(), both=ctx.needs_input_grad[1]
        )
        ctx.network, ctx.found = network, found
        ctx.save_for_backward(x, y)
        return torch.from_numpy(found.values).to(x.device)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, y = ctx.saved_tensors
        by_x, by_y = _KernelGradients.apply(x, y, gradient, ctx.found, ctx.network, ctx.needs_input_grad[:2])  # type: ignore[no-untyped-call]
        return by_x, by_y, None


class _KernelGradients(torch.autograd.Function):
    """The gradients of a matrix, which have none of their own."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        gradient: Tensor,
        found: tangent.KernelSlopes,
        network: tangent.WideNetwork,
        wanted: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        by_x, by_y = tangent.weighted_gradients(
            _to_array(x), _to_array(y), found, _to_array(gradient), network, threads=thread_count(), wanted=wanted
        )
        return _to_device(x, by_x), _to_device(y, by_y)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[None, ...]:
        raise RuntimeError(
            "a kernel of a wide network was differentiated twice: its gradients are in closed form and have none of "
            "their own; take differences of gradients, or a kernel such as RBF"
        )


def _to_device(side: Tensor, gradient: Any) -> Tensor | None:
    return None if gradient is None else torch.from_numpy(gradient).to(side.device)


def _to_array(tensor: Tensor) -> Any:
    return np.ascontiguousarray(tensor.detach().numpy(force=True), np.float64)
