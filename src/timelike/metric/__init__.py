"""(sequence, sequence) → score, learned."""

from .comparer import Comparer, Prepared

__all__ = ["Comparer", "Prepared"]
