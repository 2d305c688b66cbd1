"""Sequences, maybe labels → a decision."""

from .neighbors import Neighbors

__all__ = ["Neighbors"]
