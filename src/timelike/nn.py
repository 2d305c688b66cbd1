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

__all__ = [
    "DILATE",
    "OPW",
    "OT",
    "TCOT",
    "DecDTW",
    "MaxError",
    "Positions",
    "Sinkhorn",
    "SoftDTW",
    "TimeDev",
    "TimeErr",
    "WarpMSE",
]
