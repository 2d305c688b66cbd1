"""The torch modules of the library, in one place."""

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
from .encode import CausalNetwork, FrameNetwork, RecurrentNetwork
from .metric import Aligned, TAPNetwork as TAP

__all__ = [
    "DILATE",
    "OPW",
    "OT",
    "TAP",
    "TCOT",
    "Aligned",
    "CausalNetwork",
    "DecDTW",
    "FrameNetwork",
    "MaxError",
    "Positions",
    "RecurrentNetwork",
    "Sinkhorn",
    "SoftDTW",
    "TimeDev",
    "TimeErr",
    "WarpMSE",
]
