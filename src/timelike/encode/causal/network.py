"""`CausalNetwork`: dilated causal convolutions as matrix products, their maximum over time, and a linear map."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, cast

import torch
from torch import Tensor, nn

from ...core.parameters import check_int
from ...core.validation.tensors import validate_lengths, validate_network_input
from ...native.causal import CausalWeights, autograd, batch_invariant, fallback
from ...train.torch_threads import torch_threads

LEAKY_SLOPE = 0.01
"""Negative slope of the leaky ReLUs."""
_N_TRIED_ROWS = 600  # rows of the products whose rounding is tested


class CausalNetwork(nn.Module):
    """Maps sequences to vectors: `depth` + 1 blocks of dilations 1, 2, 4, …, the maximum over time, and a linear map.

    The encoder of T-Loss (Franceschi, Dieuleveut and Jaggi, 2019; thesis 3.4). The appendix of the thesis swaps two
    numbers: the causal part has 160 outputs and the representation 320.

    Parameters
    ----------
    n_channels : int
        Channels of a sequence.
    n_features : int
        Size of a vector.
    channels, depth : int
        Channels inside the network, and blocks before the last one.
    reduced_size : int
        Channels of the last block, before the linear map.
    kernel_size : int
        Taps of a convolution.

    Examples
    --------
    >>> import torch
    >>> network = CausalNetwork(2, n_features=8, channels=4, depth=3, reduced_size=6)
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
        reduced_size: int = 160,
        kernel_size: int = 3,
    ) -> None:
        super().__init__()
        self.n_channels, depth = check_int(n_channels, "n_channels", 1), check_int(depth, "depth", 0)
        check_int(n_features, "n_features", 1)
        check_int(kernel_size, "kernel_size", 1)
        inner, last = check_int(channels, "channels", 1), check_int(reduced_size, "reduced_size", 1)
        widths = [self.n_channels, *[inner] * depth, last]
        self.blocks = nn.ModuleList(
            CausalBlock(widths[i], widths[i + 1], kernel_size=kernel_size, dilation=2**i) for i in range(depth + 1)
        )
        self.linear = nn.Linear(reduced_size, n_features)

    def matmul_shapes(self) -> set[tuple[int, int]]:
        """The sizes (input, output) of all matrix products that torch may compute; a short series uses fewer taps.

        With the compiled kernels torch computes only the linear map.
        """
        ends = {(self.linear.in_features, self.linear.out_features)}
        if not self.has_padding_cost():
            return ends
        linear = [layer for layer in self.blocks.modules() if isinstance(layer, nn.Linear)]
        taps = [layer.direction for layer in self.modules() if isinstance(layer, CausalConvolution)]
        reached = {(k * t.shape[1], t.shape[2]) for t in taps for k in range(1, t.shape[0] + 1)}
        return ends | reached | {(layer.in_features, layer.out_features) for layer in linear}

    def has_padding_cost(self) -> bool:
        """Whether padding costs time; the compiled kernels do not read it."""
        return not autograd.is_kernel_supported(self.linear.weight)

    def has_bounded_memory(self) -> bool:
        """Whether the memory for gradients is bounded for sequences of any length, as with the compiled kernels."""
        return not self.has_padding_cost()

    def causal_outputs(self, x: Tensor) -> Tensor:
        """The causal part: (item, time, channel) → (item, time, reduced); each output sees steps up to its own."""
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: Tensor, lengths: Any = None) -> Tensor:
        """(item, time, channel) and lengths (item,) → (item, feature); padding is ignored."""
        x = validate_network_input(self, x, "x", self.n_channels)
        item_lengths = None if lengths is None else validate_lengths(lengths, x.shape, "lengths")
        maxima = autograd.maxima(self._causal_weights(), LEAKY_SLOPE, x, item_lengths)
        return batch_invariant.linear(maxima, self.linear.weight, self.linear.bias)

    def _causal_weights(self) -> CausalWeights[Tensor]:
        blocks = cast(list[CausalBlock], list(self.blocks))
        layers = [layer for block in blocks for layer in (block.first, block.second)]
        none = self.linear.weight.new_empty(0, 0)
        return CausalWeights(
            [layer.weight for layer in layers],
            [layer.bias for layer in layers],
            [none if block.shortcut is None else block.shortcut.weight for block in blocks],
            [none.flatten() if block.shortcut is None else block.shortcut.bias for block in blocks],
        )


class CausalBlock(nn.Module):
    """Two causal convolutions, and a shortcut that is a linear map if the number of channels changes."""

    def __init__(self, n_in: int, n_out: int, *, kernel_size: int, dilation: int) -> None:
        super().__init__()
        self.first = CausalConvolution(n_in, n_out, kernel_size=kernel_size, dilation=dilation)
        self.second = CausalConvolution(n_out, n_out, kernel_size=kernel_size, dilation=dilation)
        self.shortcut = nn.Linear(n_in, n_out) if n_in != n_out else None

    def forward(self, x: Tensor) -> Tensor:
        """(item, time, input) → (item, time, output)."""
        inner: Tensor = self.second(self.first(x))
        return inner + (
            x if self.shortcut is None else batch_invariant.linear(x, self.shortcut.weight, self.shortcut.bias)
        )


class CausalConvolution(nn.Module):
    """A weight-normalised convolution over (item, time, channel) whose output at t depends on inputs up to t.

    leaky_relu(b + Σ_k W_k x_{t − k·dilation}).
    """

    def __init__(self, n_in: int, n_out: int, *, kernel_size: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        bound = 1 / math.sqrt(n_in * kernel_size)
        self.direction = nn.Parameter(torch.empty(kernel_size, n_in, n_out).uniform_(-bound, bound))
        self.magnitude = nn.Parameter(torch.linalg.vector_norm(self.direction.detach(), dim=(0, 1)))
        self.bias = nn.Parameter(torch.empty(n_out).uniform_(-bound, bound))

    @property
    def weight(self) -> Tensor:
        """The weight (tap, input, output); tap 0 is the current step."""
        norm = torch.linalg.vector_norm(self.direction, dim=(0, 1))
        weight: Tensor = self.direction * (self.magnitude / norm)
        return weight

    def forward(self, x: Tensor) -> Tensor:
        """(item, time, input) → (item, time, output)."""
        return fallback.causal_convolution(x, self.weight, self.bias, self.dilation, LEAKY_SLOPE)


@cache
def is_batch_invariant(n_in: int, n_out: int, threads: int) -> bool:
    """Whether a row of a matrix product of this size has the same bits alone, at any position, and in any batch.

    This is tested, because it depends on the matrix library and on the processor.
    """
    source = torch.Generator().manual_seed(0)
    x, weight, bias = (torch.randn(size, generator=source) for size in ((_N_TRIED_ROWS, n_in), (n_in, n_out), (n_out,)))
    with torch_threads(threads):
        whole = batch_invariant.matmul_with_bias(x, weight, bias)
        pieces = (slice(i, i + size) for size in (1, 2, 17, 64, 100, 257) for i in (0, 1, _N_TRIED_ROWS - size))
        return all(
            torch.equal(batch_invariant.matmul_with_bias(x[piece], weight, bias), whole[piece]) for piece in pieces
        )
