"""A perceptron of finite width in the NTK parameterisation: the network whose kernel `NTK` is in the limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...native.tangent.fallback_layers import SIGMOID_SCALE


def _sigmoid(z: Tensor) -> Tensor:
    return 0.5 * (1 + torch.erf(z / SIGMOID_SCALE))


ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {
        "relu": torch.relu,
        "leaky_relu": nn.functional.leaky_relu,  # its slope below 0 is 0.01
        "abs": torch.abs,
        "sigmoid": _sigmoid,
        "sine": torch.sin,
        "gelu": nn.functional.gelu,
    }
)


class Dense(nn.Module):
    """z ↦ w W z / √n + b β with standard normal W and β: gradients do not vanish as n grows, nor outputs explode."""

    def __init__(self, n: int, units: int, weight: float, bias: float, rng: np.random.Generator) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.from_numpy(rng.standard_normal((units, n))))
        self.shift = nn.Parameter(torch.from_numpy(rng.standard_normal(units))) if bias else None
        self.scale, self.bias = weight / math.sqrt(n), bias

    def forward(self, z: Tensor) -> Tensor:
        """(item, n) to (item, unit)."""
        found = z @ self.matrix.T * self.scale
        return found if self.shift is None else found + self.bias * self.shift


class Perceptron(nn.Module):
    """Hidden layers of one or several activations side by side, and one output without bias: (item, …) to (item,)."""

    def __init__(
        self,
        n_features: int,
        activations: tuple[str | Callable[..., Any], ...],
        depth: int,
        width: int,
        weight: float,
        bias: float,
        rng: np.random.Generator,
    ) -> None:
        super().__init__()
        self.activations = [ACTIVATIONS[one] if isinstance(one, str) else one for one in activations]
        self.first = Dense(n_features, width, weight, bias, rng)
        hidden = [(width, bias)] * (depth - 1) + [(1, 0.0)]
        self.rest = nn.ModuleList(
            nn.ModuleList(Dense(width, units, weight, b, rng) for _ in self.activations) for units, b in hidden
        )

    def forward(self, z: Tensor) -> Tensor:
        """(item, …) to (item,)."""
        taken = self.first(z.flatten(1))
        for layer in self.rest:
            parts = zip(layer, self.activations, strict=True)  # type: ignore[call-overload]
            taken = torch.stack([one(active(taken)) for one, active in parts]).sum(0)
        found: Tensor = taken[:, 0]
        return found


class AntisymmetricPair(nn.Module):
    """(g − g′) / √2 of two networks that begin alike: 0 everywhere at first, with the same tangent kernel as one."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, z: Tensor) -> Tensor:
        """(item, …) to (item,)."""
        found: Tensor = (self.first(z) - self.second(z)) / math.sqrt(2)
        return found
