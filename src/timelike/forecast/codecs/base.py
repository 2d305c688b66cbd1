"""`Codec`, the base class of codecs between frames and codes, and `Content`, the code of a whole sequence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, Self

import torch
from torch import Tensor, nn

from ...models import options

Initialization = Literal["torch", "thesis"]

_MIN_LEVEL = 0.01  # least difference of a first output from 0 and 1, so that its gradient does not vanish
_THESIS_STD = 0.02  # standard deviation of initial weights (C.5.2)


class Codec(ABC):
    """Builds the networks that turn frames into codes and codes into frames; a frozen value with their sizes.

    A network first builds all encoders and decoders, then passes them to `init_weights`.
    """

    word: ClassVar[str]
    """The name of the codec with its defaults: `codec="dcgan"` is `codec=codecs.DCGAN()`."""
    takes_images: ClassVar[bool] = True
    """Whether frames are images (channel, height, width), not rows of numbers."""

    skips: bool = False
    maps: bool = False
    initialization: Initialization

    @abstractmethod
    def encoder(self, frame: tuple[int, ...], n_code: int) -> nn.Module:
        """Build a network from frames of this shape to codes; for images it also returns its feature maps."""

    @abstractmethod
    def decoder(self, frame: tuple[int, ...], n_code: int, *, n_content: int, use_sigmoid: bool) -> nn.Module:
        """Build a network from codes, whose first `n_content` numbers are the content, to frames of this shape.

        The network applies no sigmoid; `use_sigmoid` is True if one follows.
        """

    @abstractmethod
    def scale_widths(self, factor: float) -> Self:
        """A copy with the numbers of units and filters multiplied by `factor`."""

    def init_weights(self, *modules: nn.Module | None) -> None:
        """Initialize the weights of encoders and decoders, unless torch's defaults are used."""
        if self.initialization == "thesis":
            for module in modules:
                if module is not None:
                    init_normal(module)

    def init_output(self, decoder: nn.Module, mean_frame: Tensor) -> None:  # noqa: B027
        """Let a new decoder whose outputs pass through a sigmoid begin at the mean frame, in [0, 1].

        From a gray frame, training first spends hundreds of steps on the level of the background. The thesis's
        initialization does not do so.
        """


def initialization_option() -> options.Option[Any]:
    """The option of the field `initialization` of codecs."""
    return options.choice("torch", "thesis")


def scale_size(size: int, factor: float) -> int:
    """A number of units multiplied by `factor`, at least one."""
    return max(1, round(factor * size))


def mean_logits(mean_frame: Tensor) -> Tensor:
    """The logits of a mean frame, kept away from 0 and 1."""
    return mean_frame.clamp(_MIN_LEVEL, 1 - _MIN_LEVEL).logit()


def init_normal(module: nn.Module) -> nn.Module:
    """Initialize weights from N(0, 0.02²), biases with 0, normalizations around 1 (C.5.2, for codecs)."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d):
            nn.init.normal_(layer.weight, 0.0, _THESIS_STD)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
        elif isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(layer.weight, 1.0, _THESIS_STD)
            nn.init.zeros_(layer.bias)
    return module


class Content(NamedTuple):
    """The constant content: a code (batch, …) or None, and the encoder's feature maps for a codec with skips."""

    code: Tensor | None
    skips: list[Tensor]

    def to(self, dtype: torch.dtype) -> Content:
        """The same in another precision."""
        code = None if self.code is None else self.code.to(dtype)
        return Content(code, [stage.to(dtype) for stage in self.skips])


def repeat_over_time(code: Tensor, n_times: int) -> Tensor:
    """Repeat the code of each item for all its times, (batch × time, …)."""
    if n_times == 1:
        return code
    shape = code.shape
    return code[:, None].expand(shape[0], n_times, *shape[1:]).reshape(shape[0] * n_times, *shape[1:])
