"""The torch modules of the library, in one place."""

from .align.layers import DecDTW

__all__ = ["DecDTW"]
