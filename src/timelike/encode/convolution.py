"""A causal convolution as matrix products over pieces that stay in the cache."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ..train.trained import torch_threads

_ROWS, _COLUMNS = 64, 8  # for every thread so many rows at least, and a multiple of so many columns: see `product`
_TRIED = 600  # rows by which the rounding of products is looked at
_PIECE = 4096  # steps whose taps are laid side by side at once: a megabyte or two, which stays in the cache


def product(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """b + x W of rows x (row, input) and W (input, output), every row rounded alike whatever rows are beside it.

    Libraries have kernels of their own for few rows and for odd numbers of columns, which round otherwise: zeros are
    added until there are enough of both. `rounds_alike` looks whether that is enough.
    """
    n_rows, n_columns = len(x), len(bias)
    lacking, odd = _ROWS * torch.get_num_threads() - n_rows, -n_columns % _COLUMNS
    if lacking > 0:
        x = F.pad(x, (0, 0, 0, lacking))
    if odd:
        weight, bias = F.pad(weight, (0, odd)), F.pad(bias, (0, odd))
    return torch.addmm(bias, x, weight)[:n_rows, :n_columns]


@cache
def rounds_alike(n_in: int, n_out: int, threads: int) -> bool:
    """Whether products of this size give a row the same bits alone, at any place, and in any company.

    It is looked at and not known: it depends on the library that multiplies matrices, and on the processor.
    """
    source = torch.Generator().manual_seed(0)
    x, weight, bias = (torch.randn(size, generator=source) for size in ((_TRIED, n_in), (n_in, n_out), (n_out,)))
    with torch_threads(threads):
        whole = product(x, weight, bias)
        pieces = (slice(i, i + size) for size in (1, 2, 17, 64, 100, 257) for i in (0, 1, _TRIED - size))
        return all(torch.equal(product(x[piece], weight, bias), whole[piece]) for piece in pieces)


def linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """The layer of x (…, input), every row rounded alike."""
    found = product(x.reshape(-1, x.shape[-1]), layer.weight.T, layer.bias)
    return found.reshape(*x.shape[:-1], -1)


class CausalConvolution(nn.Module):
    """A weight-normalised convolution over (item, time, channel) whose output at t depends on inputs up to t.

    leaky_relu(b + Σ_k W_k x_{t − k·dilation}). A tap that lies before the start for every t is left out: with dilations
    up to 1024 a short series would mostly multiply zeros. The others are laid side by side, so that all of it is one
    matrix product.
    """

    def __init__(self, n_in: int, n_out: int, *, kernel: int, dilation: int, slope: float = 0.01) -> None:
        super().__init__()
        self.dilation, self.slope = dilation, slope
        bound = 1 / math.sqrt(n_in * kernel)
        self.direction = nn.Parameter(torch.empty(kernel, n_in, n_out).uniform_(-bound, bound))
        self.magnitude = nn.Parameter(torch.linalg.vector_norm(self.direction.detach(), dim=(0, 1)))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound))

    @property
    def weight(self) -> Tensor:
        """(tap, input, output), tap 0 being now."""
        norm = torch.linalg.vector_norm(self.direction, dim=(0, 1))
        weight: Tensor = self.direction * (self.magnitude / norm)
        return weight

    def forward(self, x: Tensor) -> Tensor:
        """(item, time, input) → (item, time, output)."""
        reached = (x.shape[1] - 1) // self.dilation + 1
        given = x.contiguous().to(self.bias.dtype), self.weight[:reached], self.bias, self.dilation, self.slope
        found: Tensor = _Convolution.apply(*given)  # type: ignore[no-untyped-call]
        return found


class _Convolution(torch.autograd.Function):
    """Keeps the input and the output, which the next layer keeps anyway; taps side by side are made again backwards."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, dilation: int, slope: float) -> Tensor:
        flat = weight.flatten(0, 1)
        out = x.new_empty(*x.shape[:2], len(bias))
        for items, times in _pieces(*x.shape[:2]):
            seen = _beside(x, items, times, len(weight), dilation)
            part = product(seen, flat, bias)
            out[items, times] = F.leaky_relu(part, slope, inplace=True).reshape(out[items, times].shape)
        ctx.save_for_backward(x, weight, out)
        ctx.given = dilation, slope
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, weight, out = ctx.saved_tensors
        dilation, slope = ctx.given
        taps, width = weight.shape[:2]
        flat, by_x = weight.flatten(0, 1), torch.zeros_like(x) if ctx.needs_input_grad[0] else None
        by_weight, by_bias = torch.zeros_like(flat), torch.zeros_like(weight[0, 0])
        for items, times in _pieces(*x.shape[:2]):
            inner = gradient[items, times].flatten(0, 1)
            inner = torch.where(out[items, times].flatten(0, 1) > 0, inner, slope * inner)
            by_bias += inner.sum(0)
            by_weight.addmm_(_beside(x, items, times, taps, dilation).T, inner)
            if by_x is None:
                continue
            columns = (inner @ flat.T).view(*by_x[items, times].shape[:2], -1)
            for k in range(taps):
                begin, stop = max(0, times.start - k * dilation), times.stop - k * dilation
                if begin < stop:
                    by_x[items, begin:stop] += columns[:, begin - stop :, k * width : (k + 1) * width]
        return by_x, by_weight.view_as(weight), by_bias, None, None


def _pieces(n_items: int, time: int) -> Iterator[tuple[slice, slice]]:
    """Which steps are taken together: of several short series, or a part of a long one."""
    together = max(1, _PIECE // time)
    for item in range(0, n_items, together):
        for start in range(0, time, _PIECE):
            yield slice(item, min(item + together, n_items)), slice(start, min(start + _PIECE, time))


def _beside(x: Tensor, items: slice, times: slice, taps: int, dilation: int) -> Tensor:
    """What the taps see at these steps, (step, tap and input); zeros before the start."""
    columns = []
    for k in range(taps):
        begin, stop = times.start - k * dilation, times.stop - k * dilation
        seen = x[items, max(0, begin) : max(0, stop)]
        missing = min(times.stop - times.start, max(0, -begin))
        columns.append(F.pad(seen, (0, 0, missing, 0)) if missing else seen)
    beside = torch.cat(columns, dim=-1) if taps > 1 else columns[0]
    return beside.flatten(0, 1)
