"""Perceptrons: `MLP`, the codec of vectors, and `MLPNetwork`, layers with an optional linear shortcut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar, Self

import torch
from torch import Tensor, nn

from ...models import options
from .base import Codec, Initialization, initialization_option, mean_logits, scale_size


@dataclass(frozen=True, kw_only=True)
class MLP(Codec):
    """Perceptrons between rows of numbers and codes: `codec="perceptron"`.

    Parameters
    ----------
    hidden, layers : int
        Units per hidden layer, and number of hidden layers.
    decoder_hidden, decoder_layers : int or None
        The same for the decoder; None uses the values of the encoder.
    shortcut : bool
        Whether a linear map is added to the layers, which is not in the thesis and learns faster.
    initialization : {"torch", "thesis"}
        Initialization of the weights: torch's default, or normal with standard deviation 0.02.

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
        """Build a network from rows (batch, number) to codes."""
        return MLPNetwork([frame[0], *[self.hidden] * self.layers, n_code], shortcut=self.shortcut)

    def decoder(self, frame: tuple[int, ...], n_code: int, *, n_content: int, use_sigmoid: bool) -> MLPNetwork:
        """Build a network from codes to rows."""
        layers = self.layers if self.decoder_layers is None else self.decoder_layers
        middle = [self.decoder_hidden or self.hidden] * layers
        return MLPNetwork([n_code, *middle, frame[0]], shortcut=self.shortcut)

    def init_output(self, decoder: nn.Module, mean_frame: Tensor) -> None:
        """Begin at the mean of every number."""
        if self.initialization == "torch":
            assert isinstance(decoder, MLPNetwork)
            last = decoder.layers[-1]
            assert isinstance(last, nn.Linear)
            with torch.no_grad():
                last.bias.copy_(mean_logits(mean_frame))

    def scale_widths(self, factor: float) -> Self:
        """A copy with the number of units multiplied by `factor`."""
        after = None if self.decoder_hidden is None else scale_size(self.decoder_hidden, factor)
        return replace(self, hidden=scale_size(self.hidden, factor), decoder_hidden=after)


class MLPNetwork(nn.Module):
    """Linear layers with ReLUs in between; `shortcut` adds a linear map from input to output.

    The shortcut learns the linear part quickly and leaves the nonlinear rest to the layers.

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
    """Initialize linear maps and convolutions orthogonally with a gain, biases with 0 (C.5.2, for dynamics)."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d):
            nn.init.orthogonal_(layer.weight, gain)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return module
