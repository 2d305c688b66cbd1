"""The causal network: dilated convolutions that look back only, as matrix products; their maximum; a linear map."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...sequences.arguments import whole
from ...sequences.padding import for_network, read_lengths, valid
from ...train.trained import torch_threads

_ROWS, _COLUMNS = 64, 8  # for every thread so many rows at least, and a multiple of so many columns: see `product`
_TRIED = 600  # rows by which the rounding of products is looked at
_PIECE = 4096  # steps whose taps are laid side by side at once: a megabyte or two, which stays in the cache


class CausalNetwork(nn.Module):
    """Sequences to vectors: `depth` blocks of dilations 1, 2, 4, … and a last one, the maximum over time, a linear map.

    The encoder of T-Loss (Franceschi, Dieuleveut and Jaggi, 2019; thesis 3.4). The appendix of the thesis swaps two
    numbers: the causal part has 160 outputs and the representation 320.

    >>> import torch
    >>> network = CausalNetwork(2, n_features=8, channels=4, depth=3, reduced=6)
    >>> network(torch.randn(5, 30, 2), torch.tensor([30, 7, 12, 30, 1])).shape
    torch.Size([5, 8])
    """

    def __init__(
        self,
        n_channels: int,
        *,
        n_features: int = 320,
        channels: int = 40,
        depth: int = 10,
        reduced: int = 160,
        kernel: int = 3,
    ) -> None:
        super().__init__()
        self.n_channels, depth = whole(n_channels, "n_channels", 1), whole(depth, "depth", 0)
        whole(n_features, "n_features", 1)
        whole(kernel, "kernel", 1)
        inner, last = whole(channels, "channels", 1), whole(reduced, "reduced", 1)
        widths = [self.n_channels, *[inner] * depth, last]
        self.blocks = nn.ModuleList(
            CausalBlock(widths[i], widths[i + 1], kernel=kernel, dilation=2**i) for i in range(depth + 1)
        )
        self.linear = nn.Linear(reduced, n_features)

    def products(self) -> set[tuple[int, int]]:
        """The sizes (input, output) of all products of matrices it may take; a short series reaches fewer taps."""
        linear = [layer for layer in self.modules() if isinstance(layer, nn.Linear)]
        taps = [layer.direction for layer in self.modules() if isinstance(layer, CausalConvolution)]
        reached = {(k * t.shape[1], t.shape[2]) for t in taps for k in range(1, t.shape[0] + 1)}
        return reached | {(layer.in_features, layer.out_features) for layer in linear}

    def outputs(self, x: Tensor) -> Tensor:
        """The causal part: (item, time, channel) → (item, time, reduced), each step from those up to it."""
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: Tensor, lengths: Any = None) -> Tensor:
        """(item, time, channel) and lengths (item,) → (item, feature); steps past a length take no part."""
        x = for_network(self, x, "x", self.n_channels)
        if lengths is None:
            found = self.outputs(x)
        else:
            beyond = ~valid(read_lengths(lengths, x.shape, "lengths"), x.shape[1], x.device)[..., None]
            # a NaN in the padding reaches no value, but its product with a gradient of zero would be NaN
            found = self.outputs(x.masked_fill(beyond, 0.0)).masked_fill(beyond, -torch.inf)
        return linear(self.linear, found.amax(dim=1))


class CausalBlock(nn.Module):
    """Two causal convolutions, and a shortcut that is linear where the channels change."""

    def __init__(self, n_in: int, n_out: int, *, kernel: int, dilation: int, slope: float = 0.01) -> None:
        super().__init__()
        self.first = CausalConvolution(n_in, n_out, kernel=kernel, dilation=dilation, slope=slope)
        self.second = CausalConvolution(n_out, n_out, kernel=kernel, dilation=dilation, slope=slope)
        self.shortcut = nn.Linear(n_in, n_out) if n_in != n_out else None
        self.slope = slope

    def forward(self, x: Tensor) -> Tensor:
        """(item, time, input) → (item, time, output)."""
        inner: Tensor = self.second(self.first(x))
        return inner + (x if self.shortcut is None else linear(self.shortcut, x))


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
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, weight, out = ctx.saved_tensors
        dilation, slope = ctx.given
        if torch.is_grad_enabled():  # somebody will ask for the gradient of this gradient
            return _gradients(x, weight, torch.where(out > 0, gradient, slope * gradient), dilation, ctx)
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


def _gradients(x: Tensor, weight: Tensor, inner: Tensor, dilation: int, ctx: Any) -> tuple[Tensor | None, ...]:
    """The same in steps that torch can differentiate again, of which it keeps each: for gradients of gradients."""
    x, weight = x.view_as(x), weight.view_as(weight)
    shifted = (F.pad(x, (0, 0, k * dilation, 0))[:, : x.shape[1]] for k in range(len(weight)))
    found = torch.stack([seen @ weight[k] for k, seen in enumerate(shifted)]).sum(0)
    wanted = [part for part, needed in zip((x, weight), ctx.needs_input_grad, strict=False) if needed]
    given = iter(torch.autograd.grad(found, wanted, inner, create_graph=True) if wanted else ())
    by_x, by_weight = (next(given) if needed else None for needed in ctx.needs_input_grad[:2])
    return by_x, by_weight, inner.sum((0, 1)), None, None


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
