"""Perceptrons: rows of numbers to codes and back, with a linear map beside them."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn


class MLPNetwork(nn.Module):
    """Layers of ReLUs and a linear map; with `shortcut` also a linear map from the beginning to the end.

    The shortcut makes what is linear quick to learn, and leaves the layers what is not.

    >>> import torch
    >>> MLPNetwork([3, 8, 2])(torch.zeros(5, 3)).shape
    torch.Size([5, 2])
    """

    def __init__(self, sizes: list[int], *, shortcut: bool = False) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])
        self.shortcut = nn.Linear(sizes[0], sizes[-1], bias=False) if shortcut else None

    def forward(self, x: Tensor) -> Tensor:
        """Codes (..., size) of rows (..., number)."""
        found: Tensor = self.layers(x)
        return found if self.shortcut is None else found + self.shortcut(x)


def init_orthogonal(module: nn.Module, gain: float) -> nn.Module:
    """Linear maps and convolutions drawn orthogonal with a gain, biases 0 (C.5.2, for what moves states)."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.orthogonal_(layer.weight, gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module


def init_normal(module: nn.Module) -> nn.Module:
    """Weights drawn normal with deviation 0.02, biases 0, normalizations around 1 (C.5.2, for codecs)."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(layer.weight, 0.0, 0.02)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.weight, 1.0, 0.02)
            nn.init.zeros_(layer.bias)
    return module
