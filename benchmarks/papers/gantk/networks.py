"""Random networks in the parameterisation of tangent kernels, written out: the independent side of a comparison."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "sigmoid": lambda x: (torch.erf(x / 2.4020563531719796) + 1) / 2,
}


class Layer(nn.Module):
    """W x / √inputs + bias · b, with all of W and b drawn from a standard Gaussian."""

    def __init__(self, n_inputs: int, n_outputs: int, bias: float, draw: torch.Generator) -> None:
        super().__init__()
        self.scale, self.bias = 1 / math.sqrt(n_inputs), bias
        self.weight = nn.Parameter(torch.randn(n_outputs, n_inputs, generator=draw, dtype=torch.float64))
        self.offset = nn.Parameter(torch.randn(n_outputs, generator=draw, dtype=torch.float64)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        found = self.scale * (x @ self.weight.T)
        return found if self.offset is None else found + self.bias * self.offset


class Network(nn.Module):
    """Three hidden layers, and an output without bias."""

    def __init__(self, n_inputs: int, width: int, activation: str, bias: float, draw: torch.Generator) -> None:
        super().__init__()
        sizes = [n_inputs, width, width, width]
        hidden = [Layer(a, b, bias, draw) for a, b in pairwise(sizes)]
        self.layers = nn.ModuleList([*hidden, Layer(width, 1, 0.0, draw)])
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Tensor) -> Tensor:
        for layer in list(self.layers)[:-1]:
            x = self.activation(layer(x))
        return torch.as_tensor(self.layers[-1](x)[:, 0])


def network(n_inputs: int, width: int, activation: str, bias: float, seed: int) -> Network:
    """One network."""
    return Network(n_inputs, width, activation, bias, torch.Generator().manual_seed(seed))
