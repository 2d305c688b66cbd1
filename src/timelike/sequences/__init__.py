"""Bytes or a seed → Sequences."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .container import Sequences
from .conversions import Padded, PaddedTensor
from .doors import as_one, as_sequences
from .formats import FormatError
from .joining import concat
from .loading import available, load
from .sampling import Episode
from .transforms import Statistics

if TYPE_CHECKING:
    from . import augment, generate

__all__ = [
    "Episode",
    "FormatError",
    "Padded",
    "PaddedTensor",
    "Sequences",
    "Statistics",
    "as_one",
    "as_sequences",
    "augment",
    "available",
    "concat",
    "generate",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in ("augment", "generate"):  # a second door to these submodules, opened when first used
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
