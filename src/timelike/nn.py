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

__all__ = [
    "DILATE",
    "OPW",
    "OT",
    "TCOT",
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
