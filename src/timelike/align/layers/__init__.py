"""Alignments as torch modules: batches in, costs with gradients out."""

from .gdtw import DecDTW, Warped

__all__ = ["DecDTW", "Warped"]
