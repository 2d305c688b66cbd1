"""(sequence, sequence) → cost, path; nothing learned."""

from .alignment import Alignment
from .averaging import Barycenter, barycenter
from .base import Aligner, Matches, Metric
from .dtw import DDTW, DTW
from .edit import EDR, ERP, LCSS, MSM, TWE
from .elastic import Elastic
from .matching import Spring, SubsequenceMatch, subsequence
from .pointwise import Euclidean
from .soft_dtw import SoftDTW
from .weighted import ADTW, WDTW

__all__ = [
    "ADTW",
    "DDTW",
    "DTW",
    "EDR",
    "ERP",
    "LCSS",
    "MSM",
    "TWE",
    "WDTW",
    "Aligner",
    "Alignment",
    "Barycenter",
    "Elastic",
    "Euclidean",
    "Matches",
    "Metric",
    "SoftDTW",
    "Spring",
    "SubsequenceMatch",
    "barycenter",
    "subsequence",
]
