"""A representation that follows a stream, sample by sample."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .convolution import CausalConvolution
from .network import CausalBlock, CausalNetwork

Floats = NDArray[np.float32]


class Stream(abc.ABC):
    """Takes one sample at a time and gives the representation of all samples so far."""

    n_samples: int = 0

    @abc.abstractmethod
    def push(self, sample: Any) -> Floats:
        """The representation (feature,) with this sample, a frame, or a number where there is one channel."""


class StandardizedStream(Stream):
    """A stream that checks and standardizes its samples; a subclass fills in `_advance`."""

    def __init__(self, mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        self._mean, self._scale = mean, scale

    def push(self, sample: Any) -> Floats:
        """The representation (feature,) with this sample, a frame, or a number where there is one channel."""
        given = np.asarray(sample, np.float64)
        if given.ndim == 0:
            given = given.reshape(1)
        if given.shape != self._mean.shape:
            raise ValueError(f"sample has shape {given.shape}: the encoder was fitted on frames {self._mean.shape}")
        if not np.isfinite(given).all():
            raise ValueError(f"sample={given.tolist()} is not finite: leave out what is missing, or fill it in")
        with np.errstate(over="ignore"):
            ready = ((given - self._mean) / self._scale).astype(np.float32)
        if not np.isfinite(ready).all():  # it would stay in the maximum for ever
            raise ValueError(f"sample={given.tolist()} is too large for float32: give it in another unit")
        vector = self._advance(ready)
        self.n_samples += 1
        return vector

    @abc.abstractmethod
    def _advance(self, x: Floats) -> Floats:
        """The representation with one more standardized frame."""


class CausalStream(StandardizedStream):
    """A stream through a causal network.

    Every convolution keeps as many of its inputs as it looks back on, in a ring, and the maximum over time runs along:
    cost and memory do not grow with the past.
    """

    def __init__(self, network: CausalNetwork, mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        super().__init__(mean, scale)
        self._blocks = [_Block(block) for block in network.blocks if isinstance(block, CausalBlock)]
        self._linear = _Affine(network.linear.weight, network.linear.bias)
        self._greatest: Floats | None = None

    def _advance(self, x: Floats) -> Floats:
        x = x.reshape(-1)
        for block in self._blocks:
            x = block.push(x)
        self._greatest = x if self._greatest is None else np.maximum(self._greatest, x)
        return self._linear(self._greatest)


class _Affine:
    def __init__(self, weight: Any, bias: Any) -> None:
        self.weight, self.bias = (np.ascontiguousarray(p.detach().numpy().astype(np.float32)) for p in (weight, bias))

    def __call__(self, x: Floats) -> Floats:
        return np.asarray(self.weight @ x + self.bias)


class _Convolution:
    """One causal convolution and the inputs it still needs."""

    def __init__(self, layer: CausalConvolution) -> None:
        taps, n_in, n_out = layer.direction.shape
        self.dilation, self.taps, self.n_in = layer.dilation, taps, n_in
        self.weight = np.ascontiguousarray(layer.weight.detach().numpy().reshape(taps * n_in, n_out).T)
        self.bias = layer.bias.detach().numpy().copy()
        self.ring = np.zeros(((taps - 1) * layer.dilation + 1, n_in), np.float32)
        self.at = 0

    def push(self, x: Floats) -> Floats:
        self.ring[self.at] = x
        places = (self.at - np.arange(self.taps) * self.dilation) % len(self.ring)
        self.at = (self.at + 1) % len(self.ring)
        return np.asarray(self.weight @ self.ring[places].reshape(-1) + self.bias)


class _Block:
    def __init__(self, block: CausalBlock) -> None:
        self.first, self.second, self.slope = _Convolution(block.first), _Convolution(block.second), block.slope
        shortcut = block.shortcut
        self.shortcut = None if shortcut is None else _Affine(shortcut.weight, shortcut.bias)

    def push(self, x: Floats) -> Floats:
        inner = _leaky(self.second.push(_leaky(self.first.push(x), self.slope)), self.slope)
        return np.asarray(inner + (x if self.shortcut is None else self.shortcut(x)))


def _leaky(x: Floats, slope: float) -> Floats:
    return np.where(x > 0, x, np.float32(slope) * x)
