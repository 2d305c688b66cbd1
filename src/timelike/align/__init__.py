"""(sequence, sequence) → cost, path; nothing learned."""

from .alignment import Alignment, Warp
from .averaging import Barycenter, barycenter
from .base import Aligner, Gallery, Matches, Metric
from .dtw import DDTW, DTW
from .edit import EDR, ERP, LCSS, MSM, TWE
from .elastic import Elastic
from .gdtw import GDTW
from .matching import Spring, SubsequenceMatch, subsequence
from .pointwise import Euclidean
from .soft_dtw import SoftDTW
from .transport import OPW, OT, TCOT, Entropic, Sinkhorn
from .weighted import ADTW, WDTW

__all__ = [
    "ADTW",
    "DDTW",
    "DTW",
    "EDR",
    "ERP",
    "GDTW",
    "LCSS",
    "MSM",
    "OPW",
    "OT",
    "TCOT",
    "TWE",
    "WDTW",
    "Aligner",
    "Alignment",
    "Barycenter",
    "Elastic",
    "Entropic",
    "Euclidean",
    "Gallery",
    "Matches",
    "Metric",
    "Sinkhorn",
    "SoftDTW",
    "Spring",
    "SubsequenceMatch",
    "Warp",
    "barycenter",
    "subsequence",
]
