"""The causal network in plain torch: any device, any precision, differentiable any number of times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from . import CausalWeights, batch_invariant

_BLOCK_STEPS = 4096  # steps whose taps are laid side by side at once: a megabyte or two, which stays in the cache


def maxima(network: CausalWeights[Tensor], slope: float, x: Tensor, inside: Tensor | None) -> Tensor:
    """The largest output of each channel over time, (item, output), for x (item, time, channel).

    `inside` (item, time) is the mask of steps, or None without padding. The first of equal steps gets the whole
    gradient, as in the original.
    """
    if inside is None:
        return block_outputs(network, slope, x).max(dim=1).values
    beyond = ~inside[..., None]
    # a NaN in the padding reaches no value, but its product with a gradient of zero would be NaN
    outputs = block_outputs(network, slope, x.masked_fill(beyond, 0.0)).masked_fill(beyond, -torch.inf)
    return outputs.max(dim=1).values


def block_outputs(network: CausalWeights[Tensor], slope: float, x: Tensor) -> Tensor:
    """The output of the last block, (item, time, output)."""
    for number, (weight, bias) in enumerate(zip(network.shortcuts, network.shortcut_biases, strict=True)):
        inner = x
        for layer in (2 * number, 2 * number + 1):
            inner = causal_convolution(inner, network.weights[layer], network.biases[layer], 2**number, slope)
        x = inner + (batch_invariant.linear(x, weight, bias) if len(weight) else x)
    return x


def causal_convolution(x: Tensor, weight: Tensor, bias: Tensor, dilation: int, slope: float) -> Tensor:
    """leaky_relu(b + Σ_k W_k x_{t − k·dilation}) of x (item, time, input) and W (tap, input, output).

    A tap that lies before the start for every t is skipped: with dilations up to 1024 a short series would mostly
    multiply zeros. The other taps are placed side by side, for a single matrix product.
    """
    reached = (x.shape[1] - 1) // dilation + 1
    given = x.contiguous().to(bias.dtype), weight[:reached], bias, dilation, slope
    convolved: Tensor = _CausalConvolutionFunction.apply(*given)  # type: ignore[no-untyped-call]
    return convolved


class _CausalConvolutionFunction(torch.autograd.Function):
    """Stores the input and the output, which the next layer stores anyway; the backward pass rebuilds the taps."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, dilation: int, slope: float) -> Tensor:
        flat = weight.flatten(0, 1)
        out = x.new_empty(*x.shape[:2], len(bias))
        for items, times in _iterate_blocks(*x.shape[:2]):
            seen = _stack_taps(x, items, times, len(weight), dilation)
            part = batch_invariant.matmul_with_bias(seen, flat, bias)
            out[items, times] = F.leaky_relu(part, slope, inplace=True).reshape(out[items, times].shape)
        ctx.save_for_backward(x, weight, out)
        ctx.given = dilation, slope
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, weight, out = ctx.saved_tensors
        dilation, slope = ctx.given
        if torch.is_grad_enabled():  # a second derivative will be taken
            return _differentiable_gradients(x, weight, torch.where(out > 0, gradient, slope * gradient), dilation, ctx)
        taps, width = weight.shape[:2]
        flat, by_x = weight.flatten(0, 1), torch.zeros_like(x) if ctx.needs_input_grad[0] else None
        by_weight, by_bias = torch.zeros_like(flat), torch.zeros_like(weight[0, 0])
        for items, times in _iterate_blocks(*x.shape[:2]):
            inner = gradient[items, times].flatten(0, 1)
            inner = torch.where(out[items, times].flatten(0, 1) > 0, inner, slope * inner)
            by_bias += inner.sum(0)
            by_weight.addmm_(_stack_taps(x, items, times, taps, dilation).T, inner)
            if by_x is None:
                continue
            columns = (inner @ flat.T).view(*by_x[items, times].shape[:2], -1)
            for k in range(taps):
                begin, stop = max(0, times.start - k * dilation), times.stop - k * dilation
                if begin < stop:
                    by_x[items, begin:stop] += columns[:, begin - stop :, k * width : (k + 1) * width]
        return by_x, by_weight.view_as(weight), by_bias, None, None


def _differentiable_gradients(
    x: Tensor, weight: Tensor, inner: Tensor, dilation: int, ctx: Any
) -> tuple[Tensor | None, ...]:
    """The same in steps that torch can differentiate again, of which it keeps each: for gradients of gradients."""
    x, weight = x.view_as(x), weight.view_as(weight)
    shifted = (F.pad(x, (0, 0, k * dilation, 0))[:, : x.shape[1]] for k in range(len(weight)))
    products = torch.stack([seen @ weight[k] for k, seen in enumerate(shifted)]).sum(0)
    wanted = [part for part, needed in zip((x, weight), ctx.needs_input_grad, strict=False) if needed]
    given = iter(torch.autograd.grad(products, wanted, inner, create_graph=True) if wanted else ())
    by_x, by_weight = (next(given) if needed else None for needed in ctx.needs_input_grad[:2])
    return by_x, by_weight, inner.sum((0, 1)), None, None


def _iterate_blocks(n_items: int, time: int) -> Iterator[tuple[slice, slice]]:
    """Which steps are taken together: of several short series, or a part of a long one."""
    together = max(1, _BLOCK_STEPS // time)
    for item in range(0, n_items, together):
        for start in range(0, time, _BLOCK_STEPS):
            yield slice(item, min(item + together, n_items)), slice(start, min(start + _BLOCK_STEPS, time))


def _stack_taps(x: Tensor, items: slice, times: slice, taps: int, dilation: int) -> Tensor:
    """What the taps see at these steps, (step, tap and input); zeros before the start."""
    columns = []
    for k in range(taps):
        begin, stop = times.start - k * dilation, times.stop - k * dilation
        seen = x[items, max(0, begin) : max(0, stop)]
        missing = min(times.stop - times.start, max(0, -begin))
        columns.append(F.pad(seen, (0, 0, missing, 0)) if missing else seen)
    beside = torch.cat(columns, dim=-1) if taps > 1 else columns[0]
    return beside.flatten(0, 1)
