"""Perceptrons: `MLP`, the codec of vectors, and `MLPNetwork`, layers with a linear map beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Self

from torch import Tensor, nn

from ...models import options
from .base import Codec, Initialization, initialization_option, scale_size


@dataclass(frozen=True, kw_only=True)
class MLP(Codec):
    """Perceptrons between rows of numbers and codes: `codec="perceptron"`.

    Parameters
    ----------
    hidden, layers : int
        Units of a hidden layer, and how many of these there are.
    decoder_hidden, decoder_layers : int or None
        Those of the decoder; None has as many as the encoder.
    shortcut : bool
        Whether there is a linear map beside the layers, which is not in the thesis and learns faster.
    initialization : {"torch", "thesis"}
        How weights are initialized: torch's way, or normal with deviation 0.02.

    Examples
    --------
    >>> MLP(hidden=8).encoder((3,), n_code=2).layers[0]
    Linear(in_features=3, out_features=8, bias=True)
    """

    word: ClassVar[str] = "perceptron"
    takes_images: ClassVar[bool] = False

    hidden: int = 128
    layers: int = 2
    decoder_hidden: int | None = None
    decoder_layers: int | None = None
    shortcut: bool = True
    initialization: Initialization = "torch"

    def __post_init__(self) -> None:
        options.check_fields(
            self,
            hidden=options.width(1),
            layers=options.depth(0),
            decoder_hidden=options.nullable(options.width(1)),
            decoder_layers=options.nullable(options.depth(0)),
            shortcut=options.boolean(),
            initialization=initialization_option(),
        )

    def encoder(self, frame: tuple[int, ...], n_code: int) -> MLPNetwork:
        """Rows (batch, number) to codes."""
        return MLPNetwork([frame[0], *[self.hidden] * self.layers, n_code], shortcut=self.shortcut)

    def decoder(self, frame: tuple[int, ...], n_code: int, *, n_content: int, use_sigmoid: bool) -> MLPNetwork:
        """Codes to rows."""
        layers = self.layers if self.decoder_layers is None else self.decoder_layers
        middle = [self.decoder_hidden or self.hidden] * layers
        return MLPNetwork([n_code, *middle, frame[0]], shortcut=self.shortcut)

    def scale_widths(self, factor: float) -> Self:
        """With so many times as many units."""
        after = None if self.decoder_hidden is None else scale_size(self.decoder_hidden, factor)
        return replace(self, hidden=scale_size(self.hidden, factor), decoder_hidden=after)


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
        output: Tensor = self.layers(x)
        return output if self.shortcut is None else output + self.shortcut(x)


def init_orthogonal(module: nn.Module, gain: float) -> nn.Module:
    """Linear maps and convolutions drawn orthogonal with a gain, biases 0 (C.5.2, for what moves states)."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.orthogonal_(layer.weight, gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module
