"""A stream of samples through the causal network, at constant cost per sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import Floats, StandardizedStream
from .network import LEAKY_SLOPE, CausalBlock, CausalConvolution, CausalNetwork


class CausalStream(StandardizedStream):
    """A stream through a causal network.

    Every convolution keeps the inputs in its receptive field in a ring buffer, and the maximum over time is updated:
    cost and memory per sample are constant.
    """

    def __init__(self, network: CausalNetwork, mean: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        super().__init__(mean, scale)
        self._blocks = [_StreamBlock(block) for block in network.blocks if isinstance(block, CausalBlock)]
        self._linear = _StreamLinear(network.linear.weight, network.linear.bias)
        self._running_max: Floats | None = None

    def _advance(self, x: Floats) -> Floats:
        x = x.reshape(-1)
        for block in self._blocks:
            x = block.push(x)
        self._running_max = x if self._running_max is None else np.maximum(self._running_max, x)
        return self._linear(self._running_max)


class _StreamLinear:
    def __init__(self, weight: Any, bias: Any) -> None:
        self.weight, self.bias = (np.ascontiguousarray(p.detach().numpy().astype(np.float32)) for p in (weight, bias))

    def __call__(self, x: Floats) -> Floats:
        return np.asarray(self.weight @ x + self.bias)


class _StreamConvolution:
    """One causal convolution and the inputs it still needs."""

    def __init__(self, layer: CausalConvolution) -> None:
        taps, n_in, n_out = layer.direction.shape
        self.dilation, self.taps, self.n_in = layer.dilation, taps, n_in
        self.weight = np.ascontiguousarray(layer.weight.detach().numpy().reshape(taps * n_in, n_out).T)
        self.bias = layer.bias.detach().numpy().copy()
        self.ring = np.zeros(((taps - 1) * layer.dilation + 1, n_in), np.float32)
        self.position = 0

    def push(self, x: Floats) -> Floats:
        self.ring[self.position] = x
        places = (self.position - np.arange(self.taps) * self.dilation) % len(self.ring)
        self.position = (self.position + 1) % len(self.ring)
        return np.asarray(self.weight @ self.ring[places].reshape(-1) + self.bias)


class _StreamBlock:
    def __init__(self, block: CausalBlock) -> None:
        self.first, self.second = _StreamConvolution(block.first), _StreamConvolution(block.second)
        shortcut = block.shortcut
        self.shortcut = None if shortcut is None else _StreamLinear(shortcut.weight, shortcut.bias)

    def push(self, x: Floats) -> Floats:
        inner = _leaky_relu(self.second.push(_leaky_relu(self.first.push(x))))
        return np.asarray(inner + (x if self.shortcut is None else self.shortcut(x)))


def _leaky_relu(x: Floats) -> Floats:
    return np.where(x > 0, x, np.float32(LEAKY_SLOPE) * x)
