"""`Auto`, which chooses a codec by the frame shape, and the option `codec` of estimators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ...models import options
from .base import Codec
from .convolutions import DCGAN, MIN_SIDE, VGG, ResNet
from .mlp import MLP
from .sprites import Sprites

CodecName = Literal["auto", "perceptron", "dcgan", "vgg", "resnet", "sprites"]


@dataclass(frozen=True, kw_only=True)
class Auto:
    """One codec for vectors and small images, another for large images: `codec="auto"`.

    A perceptron on all pixels of a small image learns in a minute what convolutions need many for: with few pixels its
    matrix products are fast, and it decodes an object at any position at once. Beyond `max_pixels` it has too many
    weights.

    Parameters
    ----------
    vectors : Codec
        The codec for rows of numbers, and for the pixels of small images.
    images : Codec
        The codec for images (channel, height, width) of more than `max_pixels` pixels.
    max_pixels : int
        Most pixels, height × width, of an image whose codec is `vectors`.

    Examples
    --------
    >>> Auto().choose((3,))
    MLP(hidden=128, layers=2, decoder_hidden=None, decoder_layers=None, shortcut=True, initialization='torch')
    >>> Auto().choose((1, 32, 32)).word, Auto().choose((1, 64, 64)).word
    ('perceptron', 'dcgan')
    >>> Auto(images=DCGAN(filters=32)).choose((1, 64, 64)).filters
    32
    """

    word: ClassVar[str] = "auto"

    vectors: Codec = field(default_factory=MLP)
    images: Codec = field(default_factory=DCGAN)
    max_pixels: int = 32 * 32

    def __post_init__(self) -> None:
        for name, takes_images in (("vectors", False), ("images", True)):
            codec = getattr(self, name)
            if not isinstance(codec, Codec) or codec.takes_images != takes_images:
                expected = "a codec of images, such as DCGAN()" if takes_images else "MLP()"
                raise TypeError(f"{name}={codec!r:.60}: expected {expected}")
        options.check_fields(self, max_pixels=options.integer(0))

    @property
    def maps(self) -> bool:
        """Whether codes of images are maps."""
        return self.images.maps

    def choose(self, frame: tuple[int, ...]) -> Codec:
        """The codec of frames of this shape."""
        is_large = is_image(frame) and frame[1] * frame[2] > self.max_pixels
        return self.images if is_large else self.vectors


_CODECS: dict[str, type[Codec | Auto]] = {kind.word: kind for kind in (Auto, MLP, DCGAN, VGG, ResNet, Sprites)}


def is_image(frame: tuple[int, ...]) -> bool:
    """Whether frames are images large enough for convolutions that halve them."""
    return len(frame) == 3 and min(frame[1:]) >= MIN_SIDE


def codec_option(*words: str) -> options.Option[Any]:
    """The option `codec` of an estimator: one of these names, or a codec of one of these kinds."""
    kinds = {word: _CODECS[word] for word in words}
    option = options.word_or_value(tuple(kinds.values()), kinds, "forecast.codecs.DCGAN(filters=32)")

    def check(value: Any, name: str) -> Codec | Auto:
        parts = (value.vectors, value.images) if isinstance(value, Auto) else (value,)
        if any(isinstance(part, Codec) and part.word not in words for part in parts):
            raise ValueError(
                f"{name}={value!r:.60}: expected one of {', '.join(map(repr, words))}, or a value of one of these"
            )
        codec: Codec | Auto = option.check(value, name)
        return codec

    return options.Option(check, from_word=option.from_word)
