"""(sequence, sequence) → cost, path; nothing learned."""

from .alignment import Alignment
from .base import Aligner, Matches, Metric
from .dtw import DDTW, DTW
from .edit import EDR, ERP, LCSS, MSM, TWE
from .elastic import Elastic
from .pointwise import Euclidean
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
    "Elastic",
    "Euclidean",
    "Matches",
    "Metric",
]
