"""Codecs between frames and codes: perceptrons for vectors, convolutions for images, sprites for rigid objects.

A codec is a frozen value with the sizes of its networks, for `Separation(codec=…)` and `SRVP(codec=…)`.
"""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .auto import Auto as Auto
    from .base import Codec as Codec
    from .convolutions import DCGAN as DCGAN, VGG as VGG, ResNet as ResNet
    from .mlp import MLP as MLP
    from .sprites import Sprites as Sprites

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)
