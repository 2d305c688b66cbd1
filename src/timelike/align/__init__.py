"""(sequence, sequence) → cost, path; nothing learned."""

from .alignment import Alignment
from .averaging import Barycenter, barycenter
from .base import Aligner, Matches, Metric
from .dtw import DTW
from .matching import Spring, SubsequenceMatch, subsequence

__all__ = [
    "DTW",
    "Aligner",
    "Alignment",
    "Barycenter",
    "Matches",
    "Metric",
    "Spring",
    "SubsequenceMatch",
    "barycenter",
    "subsequence",
]
