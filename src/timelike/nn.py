"""The torch modules of the library, in one place."""

# ruff: noqa: E402 - first, so that the error names the extra
from .core.extras import import_extra

import_extra("torch", "timelike.nn")

from .align.layers import (
    DILATE,
    OPW,
    OT,
    TCOT,
    DecDTW,
    MaxError,
    Positions,
    Sinkhorn,
    SoftDTW,
    TimeDev,
    TimeErr,
    WarpMSE,
)
from .encode import CausalNetwork, FrameNetwork, ImageNetwork, RecurrentNetwork, VectorNetwork
from .forecast import SeparationNetwork as Separation
from .metric import AlignedFramesNetwork, CoupledNetwork as CoupledGRU, SiameseNetwork as SiameseGRU, TAPNetwork as TAP
from .prototypes.similarity import Similarity

__all__ = [
    "DILATE",
    "OPW",
    "OT",
    "TAP",
    "TCOT",
    "AlignedFramesNetwork",
    "CausalNetwork",
    "CoupledGRU",
    "DecDTW",
    "FrameNetwork",
    "ImageNetwork",
    "MaxError",
    "Positions",
    "RecurrentNetwork",
    "Separation",
    "SiameseGRU",
    "Similarity",
    "Sinkhorn",
    "SoftDTW",
    "TimeDev",
    "TimeErr",
    "VectorNetwork",
    "WarpMSE",
]
