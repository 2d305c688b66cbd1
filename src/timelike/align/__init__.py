"""Distances and alignments that need no training: (sequence, sequence) → cost, path."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .alignment import Alignment as Alignment, Warp as Warp
    from .averaging import Barycenter as Barycenter, barycenter as barycenter
    from .base import Aligner as Aligner, Metric as Metric
    from .dtw import ADTW as ADTW, DDTW as DDTW, DTW as DTW, WDTW as WDTW
    from .edit import EDR as EDR, ERP as ERP, LCSS as LCSS, MSM as MSM, TWE as TWE
    from .elastic import ElasticDistance as ElasticDistance
    from .euclidean import Euclidean as Euclidean
    from .fitted_metric import FittedMetric as FittedMetric
    from .gallery import Gallery as Gallery, Matches as Matches
    from .gdtw import GDTW as GDTW
    from .matching.profile import MatrixProfile as MatrixProfile, Motif as Motif, matrix_profile as matrix_profile
    from .matching.spring import RecordingMatch as RecordingMatch, Spring as Spring
    from .matching.spring_thresholds import SpringCalibration as SpringCalibration
    from .matching.subsequence import SubsequenceMatch as SubsequenceMatch, subsequence as subsequence
    from .noise import NoiseCurve as NoiseCurve
    from .soft_dtw import SoftDTW as SoftDTW
    from .transport import (
        OPW as OPW,
        OT as OT,
        TCOT as TCOT,
        EntropicTransport as EntropicTransport,
        Sinkhorn as Sinkhorn,
    )

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__,
        top=(
            "ADTW",
            "Alignment",
            "DDTW",
            "DTW",
            "EDR",
            "ERP",
            "Euclidean",
            "GDTW",
            "LCSS",
            "MSM",
            "Matches",
            "OPW",
            "OT",
            "Sinkhorn",
            "SoftDTW",
            "TWE",
            "WDTW",
            "barycenter",
            "matrix_profile",
            "subsequence",
        ),
    )
