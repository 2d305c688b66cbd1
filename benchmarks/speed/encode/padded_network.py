"""The causal network as its authors wrote it, with torch's layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import timelike as tl


class Trim(nn.Module):
    def __init__(self, ahead: int) -> None:
        super().__init__()
        self.ahead = ahead

    def forward(self, x: Tensor) -> Tensor:
        return x[:, :, : -self.ahead]


class PaddedBlock(nn.Module):
    """Two convolutions over (item, channel, time), padded on both sides and trimmed."""

    def __init__(self, n_in: int, n_out: int, kernel: int, dilation: int) -> None:
        super().__init__()
        ahead = (kernel - 1) * dilation
        layers: list[nn.Module] = []
        for first in (n_in, n_out):
            convolution = nn.Conv1d(first, n_out, kernel, padding=ahead, dilation=dilation)
            layers += [nn.utils.parametrizations.weight_norm(convolution), Trim(ahead), nn.LeakyReLU()]
        self.inner = nn.Sequential(*layers)
        self.shortcut = nn.Conv1d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.inner(x) + self.shortcut(x)
        return found


class PaddedNetwork(nn.Module):
    def __init__(self, n_channels: int) -> None:
        super().__init__()
        widths = [n_channels, *[40] * 10, 160]
        self.blocks = nn.Sequential(*(PaddedBlock(widths[i], widths[i + 1], 3, 2**i) for i in range(11)))
        self.linear = nn.Linear(160, 320)

    def forward(self, x: Tensor) -> Tensor:
        """(item, time, channel) → (item, feature)."""
        found: Tensor = self.linear(self.blocks(x.transpose(1, 2)).amax(dim=2))
        return found

    def each(self, x: Tensor, lengths: Tensor) -> Tensor:
        """Together where lengths are equal, otherwise one by one."""
        if bool((lengths == lengths[0]).all()):
            together: Tensor = self(x[:, : int(lengths[0])])
            return together
        return torch.cat([self(one[None, :n]) for one, n in zip(x, lengths.tolist(), strict=True)])

    def take(self, ours: tl.encode.CausalNetwork) -> None:
        """Our weights, so that both can be seen to compute the same."""
        pairs: Any = zip(self.blocks, ours.blocks, strict=True)
        for mine, block in pairs:
            for place, layer in ((0, block.first), (3, block.second)):
                convolution = mine.inner[place]
                convolution.weight = layer.weight.detach().flip(0).permute(2, 1, 0)  # theirs: the last tap is now
                convolution.bias.data = layer.bias.detach().clone()
            if block.shortcut is not None:
                mine.shortcut.weight.data = block.shortcut.weight.detach()[..., None].clone()
                mine.shortcut.bias.data = block.shortcut.bias.detach().clone()
        self.linear.load_state_dict(ours.linear.state_dict())
