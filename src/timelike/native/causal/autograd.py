"""The causal network on tensors: the kernels where they apply, otherwise the fallback."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import causal
from ..machine import use_kernels
from . import CausalActivations, CausalWeights, PackedRows, fallback


def maxima(network: CausalWeights[Tensor], slope: float, x: Tensor, lengths: Tensor | None) -> Tensor:
    """The largest output of each channel over time, (item, output), for x (item, time, channel), lengths (item,).

    If `lengths` is None, all items have the length of x. Values beyond a length are not read.
    """
    layers = [one for part in network for one in part]
    if not is_kernel_supported(x, *layers):
        return fallback.maxima(network, slope, x, _valid_mask(x, lengths))
    if not torch.is_grad_enabled() or not any(part.requires_grad for part in (x, *layers)):
        arrays, steps = _to_arrays(network, x, lengths)
        maxima_array, _, _ = causal.forward(arrays, slope, steps, keep=False, threads=torch.get_num_threads())
        return torch.from_numpy(maxima_array)
    graded: Tensor = _Maxima.apply(slope, x, lengths, *layers)[0]  # type: ignore[no-untyped-call]
    return graded


def is_kernel_supported(*tensors: Tensor) -> bool:
    """Whether the kernels support such tensors: float32 on the CPU, without mixed precision, tracing or compilation.

    Tracing and compilation of a network need torch operations.
    """
    plain = all(part.device.type == "cpu" and part.dtype == torch.float32 for part in tensors)
    real = all(type(part) in (Tensor, torch.nn.Parameter) for part in tensors)
    traced = torch.jit.is_tracing() or torch.compiler.is_compiling()  # type: ignore[no-untyped-call,attr-defined]
    return plain and real and not traced and not torch.is_autocast_enabled("cpu") and use_kernels()


class _Maxima(torch.autograd.Function):
    """The compiled network, and what its gradients need; second derivatives go to the fallback."""

    @staticmethod
    def forward(slope: float, x: Tensor, lengths: Tensor | None, *layers: Tensor) -> tuple[Tensor, ...]:
        given = _to_arrays(_from_flat(layers), x, lengths)
        maxima_array, where, kept = causal.forward(
            given[0], slope, given[1], keep=True, threads=torch.get_num_threads()
        )
        assert kept is not None
        return torch.from_numpy(maxima_array), *map(torch.from_numpy, (where, *kept))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.slope, *given = inputs
        # as tensors, so that a checkpoint can throw them away and make them again
        ctx.save_for_backward(*output[1:], *given)
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)  # or zeros as large as all that is kept would be made for every backward pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
        where, values, starts, x, lengths, *layers = ctx.saved_tensors
        if gradient is None:
            return (None,) * (3 + len(layers))
        if torch.is_grad_enabled():  # a second derivative will be taken
            return _gradients_by_fallback(ctx, x, lengths, layers, gradient)
        arrays, steps = _to_arrays(_from_flat(layers), x, lengths)
        kept, outside = (
            CausalActivations(values.numpy(), starts.numpy()),
            np.ascontiguousarray(gradient.numpy(force=True)),
        )
        rows, weight_gradients = causal.backward(
            arrays,
            ctx.slope,
            steps,
            where.numpy(),
            kept,
            outside,
            wanted=ctx.needs_input_grad[1],
            threads=torch.get_num_threads(),
        )
        by_x = None if rows is None else torch.from_numpy(rows).view(x.shape)
        return None, by_x, None, *(torch.from_numpy(one) for part in weight_gradients for one in part)


def _from_flat(layers: Any) -> CausalWeights[Tensor]:
    """From all tensors of a network in one row: autograd takes nothing but single tensors."""
    blocks = len(layers) // 6
    cuts = (0, 2 * blocks, 4 * blocks, 5 * blocks, 6 * blocks)
    return CausalWeights(*(list(layers[begin:end]) for begin, end in pairwise(cuts)))


def _gradients_by_fallback(
    ctx: Any, x: Tensor, lengths: Tensor | None, layers: list[Tensor], gradient: Tensor
) -> tuple[Tensor | None, ...]:
    with torch.enable_grad():
        # views, because one tensor may be given twice
        given = [part.view_as(part) for part in (x, *layers)]
        outputs = fallback.maxima(_from_flat(given[1:]), ctx.slope, given[0], _valid_mask(x, lengths))
        needed = [ctx.needs_input_grad[1], *ctx.needs_input_grad[3:]]
        differentiated = [part for part, wanted in zip(given, needed, strict=True) if wanted and part.numel()]
        gradients = iter(torch.autograd.grad(outputs, differentiated, gradient, create_graph=True))
    by_x, *by_layers = (
        next(gradients) if wanted and part.numel() else None for part, wanted in zip(given, needed, strict=True)
    )
    return None, by_x, None, *by_layers


def _valid_mask(x: Tensor, lengths: Tensor | None) -> Tensor | None:
    return None if lengths is None else torch.arange(x.shape[1], device=x.device) < lengths.to(x.device)[:, None]


def _to_arrays(
    network: CausalWeights[Tensor], x: Tensor, lengths: Tensor | None
) -> tuple[CausalWeights[Any], PackedRows]:
    def plain(part: Tensor) -> Any:
        return np.ascontiguousarray(part.numpy(force=True))

    items, time, channels = x.shape
    item_lengths = (
        np.full(items, time) if lengths is None else np.ascontiguousarray(lengths.numpy(force=True), np.int64)
    )
    steps = PackedRows(plain(x).reshape(-1, channels), np.arange(items) * time, item_lengths)
    return CausalWeights(*([plain(one) for one in part] for part in network)), steps
