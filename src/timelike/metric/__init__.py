"""(sequence, sequence) → score, learned."""

from . import losses
from .comparer import Comparer, Prepared

__all__ = ["Comparer", "Prepared", "losses"]
