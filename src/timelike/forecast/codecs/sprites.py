"""`Sprites`: objects decoded once from the content, and placed at positions given by the state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch.nn.functional as F
from torch import Tensor, nn

from ...models import options
from .base import Codec, Initialization, initialization_option, scale_size
from .convolutions import DCGAN, ConvEncoder
from .mlp import MLPNetwork

# initial logits of the background with a sigmoid: most of an image of objects is dark
_BACKGROUND_LOGIT = -3.0


@dataclass(frozen=True, kw_only=True)
class Sprites(Codec):
    """Objects of constant appearance at positions given by the state: `codec="sprites"`, for `SRVP` only.

    Frames are encoded as by `DCGAN`. Learns faster for images of rigid objects that move; see `SpriteDecoder`.

    Parameters
    ----------
    n_sprites : int
        Number of objects, which are added to a background.
    filters : int
        Channels of the encoder's first stage.
    hidden : int
        Units of the perceptrons that decode and place the objects.
    initialization : {"torch", "thesis"}
        Initialization of the encoder's weights: torch's default, or normal with standard deviation 0.02. The thesis has
        no sprites, so the decoder always uses torch's default.
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
        """Build the encoder, from images to codes."""
        return DCGAN(filters=self.filters).encoder(frame, n_code)

    def decoder(self, frame: tuple[int, ...], n_code: int, *, n_content: int, use_sigmoid: bool) -> SpriteDecoder:
        """Build the decoder, from codes to images."""
        sizes = {"n_content": n_content, "n_state": n_code - n_content}
        return SpriteDecoder(*frame, n_sprites=self.n_sprites, hidden=self.hidden, use_sigmoid=use_sigmoid, **sizes)

    def scale_widths(self, factor: float) -> Self:
        """A copy with the numbers of filters and units multiplied by `factor`."""
        return replace(self, filters=scale_size(self.filters, factor), hidden=scale_size(self.hidden, factor))

    def init_weights(self, *modules: nn.Module | None) -> None:
        """Initialize the encoder only."""
        super().init_weights(*(module for module in modules if not isinstance(module, SpriteDecoder)))


class SpriteDecoder(nn.Module):
    """Images from a content and a state: background(w) + Σ_k R_k(y) patch_k(w) C_k(y)ᵀ.

    The rows of R_k and C_k are softmax weights of positions, computed from the state. They place a patch of half the
    image size at any position, or between two as a mixture (like the writing operation of Gregor et al., "DRAW: a
    recurrent neural network for image generation", 2015, with free instead of Gaussian weights). An object need not be
    learned anew at each position, and two small matrix products cost less than convolutions. Suited to rigid objects
    that translate; use convolutions if objects rotate, deform, change size or occlude each other. Objects are added, so
    none hides another.

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
        n_look = n_content or n_state  # without a content the state also encodes the appearance
        self.patch_head = MLPNetwork([n_look, hidden, hidden, n_sprites * numbers])
        self.position_head = MLPNetwork([n_state, hidden, hidden, n_sprites * (height + width)], shortcut=True)
        self.background = nn.Linear(n_look, n_channels * height * width)
        nn.init.zeros_(self.background.weight)
        nn.init.constant_(self.background.bias, _BACKGROUND_LOGIT if use_sigmoid else 0.0)

    def forward(self, code: Tensor, stage_maps: list[Tensor]) -> Tensor:
        """Images from rows (content, state), before any sigmoid; the feature maps are ignored."""
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
    """The matrix that adds line p of a patch to line h of the image, from weights (…, position) of the patch center.

    Its entries are weights[h − p + length // 2], and 0 beyond the ends: a patch near the border is cut off.
    """
    after = length // 2
    return F.pad(weights, (length - 1 - after, after)).unfold(-1, length, 1).flip(-1)
