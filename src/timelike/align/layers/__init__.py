"""Alignments as torch modules: batches in, costs with gradients out."""

from .soft_dtw import DILATE, SoftDTW

__all__ = ["DILATE", "SoftDTW"]
