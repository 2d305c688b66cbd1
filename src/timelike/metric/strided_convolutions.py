"""Strided convolutions that shorten sequences before a recurrent network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from ..core.parameters import check_bool, check_choice, check_int
from ..core.validation.tensors import valid_mask


class ConvolutionSpec(NamedTuple):
    """One convolution: output channels, kernel width and stride."""

    channels: int
    taps: int
    stride: int


DEFAULT_LAYERS = ConvolutionSpec(48, 7, 2), ConvolutionSpec(64, 5, 2)
_MIN_FRAMES = 16  # frames to leave, so that a sequence keeps its shape over time


class StridedConvolutions(nn.Module):
    """Strided convolutions over time, each with batch normalization and GELU.

    (item, time, channel) → (item, ⌈time / strides⌉, channel'). Values past a length change no output, no gradient and
    no batch statistic, also in training. With `causal=True` a step depends on no later one, so that samples can be
    streamed.

    >>> network = StridedConvolutions(3)
    >>> x, lengths = network(torch.randn(2, 50, 3), torch.tensor([50, 21]))
    >>> x.shape, lengths
    (torch.Size([2, 13, 64]), tensor([13,  6]))
    """

    def __init__(
        self, n_channels: int, layers: Sequence[ConvolutionSpec] = DEFAULT_LAYERS, *, causal: bool = False
    ) -> None:
        super().__init__()
        sizes = [check_int(n_channels, "n_channels", 1), *(layer.channels for layer in layers)]
        self.layers, self.causal, self.n_outputs = tuple(layers), check_bool(causal, "causal"), sizes[-1]
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size, layer.channels, layer.taps, stride=layer.stride, bias=False)
            for size, layer in zip(sizes, layers, strict=False)
        )
        self.stride = math.prod(layer.stride for layer in layers)
        self.norms = nn.ModuleList(MaskedBatchNorm(layer.channels) for layer in layers)

    def output_lengths(self, lengths: Tensor) -> Tensor:
        """The output lengths for these lengths (item,)."""
        for layer in self.layers:
            lengths = (lengths + layer.stride - 1) // layer.stride
        return lengths

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """(item, time, channel) and lengths (item,) → (item, time', channel'), zero past the new lengths, and these."""
        steps, inside = x.transpose(1, 2), valid_mask(lengths, x.shape[1], x.device)
        steps = torch.where(inside[:, None], steps, 0)  # padding may hold anything, and NaN times 0 is NaN
        for layer, convolution, norm in zip(self.layers, self.convolutions, self.norms, strict=True):
            ahead = layer.taps - 1 if self.causal else layer.taps // 2
            # right padding for the last output of the longest sequence
            behind = -(-steps.shape[2] // layer.stride) * layer.stride + layer.taps - layer.stride - ahead
            outputs = convolution(F.pad(steps, (ahead, behind - steps.shape[2])))
            lengths = (lengths + layer.stride - 1) // layer.stride
            inside = valid_mask(lengths, outputs.shape[2], x.device)
            steps = torch.where(inside[:, None], F.gelu(norm(outputs, inside)), 0)
        return steps.transpose(1, 2), lengths


def make_front(
    front: Literal["strided"] | None, n_channels: int, strides: Sequence[int] = (2, 2)
) -> StridedConvolutions | None:
    """The network named by `front`, or None; causal, so that samples can be streamed."""
    if not isinstance(strides, tuple | list):
        raise TypeError(f"strides={strides!r}: expected {len(DEFAULT_LAYERS)} whole numbers")
    if len(strides) != len(DEFAULT_LAYERS):
        raise ValueError(f"strides={strides!r}: expected {len(DEFAULT_LAYERS)} whole numbers")
    steps = [check_int(stride, f"strides[{k}]", 1) for k, stride in enumerate(strides)]
    if front is None:
        return None
    check_choice(front, "front", ("strided",))
    layers = [layer._replace(stride=step) for layer, step in zip(DEFAULT_LAYERS, steps, strict=True)]
    return StridedConvolutions(n_channels, layers, causal=True)


def choose_strides(lengths: NDArray[np.int64]) -> tuple[int, int]:
    """The largest strides that leave at least half of the sequences with sixteen steps or more.

    >>> [choose_strides(np.array([length])) for length in (20, 40, 300)]
    [(1, 1), (2, 1), (2, 2)]
    """
    half = float(np.median(lengths))
    return (2, 2) if half >= 4 * _MIN_FRAMES else (2, 1) if half >= 2 * _MIN_FRAMES else (1, 1)


class MaskedBatchNorm(nn.Module):
    """Batch normalization of (item, channel, time) whose moments ignore the padding.

    >>> norm, inside = MaskedBatchNorm(1), torch.tensor([[True, True, False]])
    >>> norm(torch.tensor([[[1.0, 3.0, 99.0]]]), inside)[..., :2].round().tolist()
    [[[-1.0, 1.0]]]
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, n_channels: int, *, momentum: float = 0.1, eps: float = 1e-5) -> None:
        super().__init__()
        self.momentum, self.eps = momentum, eps
        self.weight, self.bias = nn.Parameter(torch.ones(n_channels)), nn.Parameter(torch.zeros(n_channels))
        self.register_buffer("mean", torch.zeros(n_channels))
        self.register_buffer("variance", torch.ones(n_channels))

    def forward(self, x: Tensor, inside: Tensor) -> Tensor:
        """Normalize by the moments of this batch in training, by the running moments otherwise."""
        x = x.to(self.weight.dtype)  # moments in half precision would be inexact, and their sums overflow
        mean, variance = self._batch_moments(x, inside) if self.training else (self.mean, self.variance)
        scale = self.weight * torch.rsqrt(variance + self.eps)
        return x * scale[:, None] + (self.bias - mean * scale)[:, None]

    def _batch_moments(self, x: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
        count = inside.sum()
        mean = torch.where(inside[:, None], x, 0).sum((0, 2)) / count
        variance = torch.where(inside[:, None], (x - mean[:, None]).square(), 0).sum((0, 2)) / count
        with torch.no_grad():
            self.mean.lerp_(mean, self.momentum)
            # clamp: a single step has no variance
            self.variance.lerp_(variance * count / (count - 1).clamp(min=1), self.momentum)
        return mean, variance
