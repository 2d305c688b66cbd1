"""`Sprites`: what stays is cut out once, and drawn where the state says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch.nn.functional as F
from torch import Tensor, nn

from ...models import options
from .base import Codec, Initialization, initialization_option, scale_size
from .convolutions import DCGAN, ConvEncoder
from .mlp import MLPNetwork

# logits of a background at first, where frames are squashed: most of a picture of objects is dark
_BACKGROUND_LOGIT = -3.0


@dataclass(frozen=True, kw_only=True)
class Sprites(Codec):
    """Things that keep their look, drawn at the places that the state gives: `codec="sprites"`, for `SRVP` only.

    Frames are encoded as by `DCGAN`. Quicker to learn where images are of things that move whole; see `SpriteDecoder`.

    Parameters
    ----------
    n_sprites : int
        How many things are drawn, added to a background.
    filters : int
        Channels of the encoder's first stage.
    hidden : int
        Units of the perceptrons that draw the things and place them.
    initialization : {"torch", "thesis"}
        How weights of the encoder are initialized: torch's way, or normal with deviation 0.02. The thesis has no
        sprites, so those of the decoder are always torch's.
    """

    word: ClassVar[str] = "sprites"

    n_sprites: int = 2
    filters: int = 16
    hidden: int = 128
    initialization: Initialization = "torch"

    def __post_init__(self) -> None:
        options.check_fields(
            self,
            n_sprites=options.width(1),
            filters=options.width(1),
            hidden=options.width(1),
            initialization=initialization_option(),
        )

    def encoder(self, frame: tuple[int, ...], n_code: int) -> ConvEncoder:
        """Images to codes."""
        return DCGAN(filters=self.filters).encoder(frame, n_code)

    def decoder(self, frame: tuple[int, ...], n_code: int, *, n_content: int, use_sigmoid: bool) -> SpriteDecoder:
        """Codes to images."""
        sizes = {"n_content": n_content, "n_state": n_code - n_content}
        return SpriteDecoder(*frame, n_sprites=self.n_sprites, hidden=self.hidden, use_sigmoid=use_sigmoid, **sizes)

    def scale_widths(self, factor: float) -> Self:
        """With so many times as many filters and units."""
        return replace(self, filters=scale_size(self.filters, factor), hidden=scale_size(self.hidden, factor))

    def init_weights(self, *modules: nn.Module | None) -> None:
        """Those of the encoder."""
        super().init_weights(*(module for module in modules if not isinstance(module, SpriteDecoder)))


class SpriteDecoder(nn.Module):
    """Pictures of a content and a state: background(w) + Σ_k R_k(y) patch_k(w) C_k(y)ᵀ.

    The rows of R_k and C_k are weights of places, softmaxes that the state gives, so that a patch of half the picture's
    size is laid at any of them, and between two as a mixture (as the writing of Gregor et al., "DRAW: a recurrent
    neural network for image generation", 2015, with free weights instead of Gaussian ones). What moves need not be
    learned anew at each place, and two small products of matrices cost less than convolutions. For things that move
    whole; where they turn, deform, come nearer or hide each other, convolutions can draw more. All is added up: nothing
    is hidden by what lies before it.

    >>> import torch
    >>> decoder = SpriteDecoder(1, 8, 8, n_content=3, n_state=2, n_sprites=2, hidden=4, use_sigmoid=True)
    >>> decoder(torch.zeros(5, 5), []).shape
    torch.Size([5, 1, 8, 8])
    """

    def __init__(
        self,
        n_channels: int,
        height: int,
        width: int,
        *,
        n_content: int,
        n_state: int,
        n_sprites: int,
        hidden: int,
        use_sigmoid: bool,
    ) -> None:
        super().__init__()
        self.n_content, self.n_sprites, self.size = n_content, n_sprites, (height, width)
        self.patch_shape = (n_channels, -(-height // 2), -(-width // 2))
        numbers = n_channels * self.patch_shape[1] * self.patch_shape[2]
        n_look = n_content or n_state  # without a content the state has to know what things look like
        self.patch_head = MLPNetwork([n_look, hidden, hidden, n_sprites * numbers])
        self.position_head = MLPNetwork([n_state, hidden, hidden, n_sprites * (height + width)], shortcut=True)
        self.background = nn.Linear(n_look, n_channels * height * width)
        nn.init.zeros_(self.background.weight)
        nn.init.constant_(self.background.bias, _BACKGROUND_LOGIT if use_sigmoid else 0.0)

    def forward(self, code: Tensor, stage_maps: list[Tensor]) -> Tensor:
        """Pictures of rows (content, state), before any squashing; what stages saw is not looked at."""
        state = code[:, self.n_content :]
        content = code[:, : self.n_content] if self.n_content else state
        height, width = self.size
        places = self.position_head(state).reshape(len(code), self.n_sprites, 1, height + width)
        down = _placement_matrix(places[..., :height].softmax(-1), self.patch_shape[1])
        across = _placement_matrix(places[..., height:].softmax(-1), self.patch_shape[2])
        patches = self.patch_head(content).reshape(len(code), self.n_sprites, *self.patch_shape)
        sprites: Tensor = (down @ patches @ across.transpose(-1, -2)).sum(1)
        background: Tensor = self.background(content)
        return sprites + background.reshape(len(code), -1, height, width)


def _placement_matrix(weights: Tensor, length: int) -> Tensor:
    """Weights of places of the middle, (…, place), to what line p of a patch gives to line h of the picture.

    That is weights[h − p + length // 2]. Weights beyond the ends are 0: of a patch near the border a part is cut off.
    """
    after = length // 2
    return F.pad(weights, (length - 1 - after, after)).unfold(-1, length, 1).flip(-1)
