"""The torch modules of the library, in one place."""

from .align.layers import OPW, OT, TCOT, DecDTW, MaxError, Sinkhorn, TimeDev, TimeErr, WarpMSE

__all__ = [
    "OPW",
    "OT",
    "TCOT",
    "DecDTW",
    "MaxError",
    "Sinkhorn",
    "TimeDev",
    "TimeErr",
    "WarpMSE",
]
