"""The torch modules of the library, in one place."""

from .align.layers import DILATE, SoftDTW

__all__ = ["DILATE", "SoftDTW"]
