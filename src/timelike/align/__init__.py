"""(sequence, sequence) → cost, path; nothing learned."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from .alignment import Alignment as Alignment, Warp as Warp
    from .averaging import Barycenter as Barycenter, barycenter as barycenter
    from .base import Aligner as Aligner, Metric as Metric
    from .dtw import ADTW as ADTW, DDTW as DDTW, DTW as DTW, WDTW as WDTW
    from .edit import EDR as EDR, ERP as ERP, LCSS as LCSS, MSM as MSM, TWE as TWE
    from .elastic import Elastic as Elastic
    from .euclidean import Euclidean as Euclidean
    from .fitted import FittedMetric as FittedMetric
    from .gallery import Gallery as Gallery, Matches as Matches
    from .gdtw import GDTW as GDTW
    from .matching import SubsequenceMatch as SubsequenceMatch, subsequence as subsequence
    from .noise import NoiseCurve as NoiseCurve
    from .profile import MatrixProfile as MatrixProfile, Motif as Motif, matrix_profile as matrix_profile
    from .soft_dtw import SoftDTW as SoftDTW
    from .spring import RecordingMatch as RecordingMatch, Spring as Spring
    from .thresholds import SpringCalibration as SpringCalibration
    from .transport import OPW as OPW, OT as OT, TCOT as TCOT, Entropic as Entropic, Sinkhorn as Sinkhorn

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(
        __name__,
        inner=(
            "Aligner",
            "Barycenter",
            "Elastic",
            "Entropic",
            "FittedMetric",
            "Gallery",
            "MatrixProfile",
            "Metric",
            "Motif",
            "NoiseCurve",
            "RecordingMatch",
            "SpringCalibration",
            "SubsequenceMatch",
            "Warp",
        ),
    )
