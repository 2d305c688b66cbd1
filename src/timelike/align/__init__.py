"""(sequence, sequence) → cost, path; nothing learned."""

from .alignment import Alignment
from .base import Aligner, Matches, Metric
from .dtw import DTW

__all__ = ["DTW", "Aligner", "Alignment", "Matches", "Metric"]
