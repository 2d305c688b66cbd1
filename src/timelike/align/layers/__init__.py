"""Alignments as torch modules: padded pairs in, costs with gradients out."""

from .gdtw import DecDTW, WarpOutput
from .path_losses import MaxError, Positions, TimeDev, TimeErr, WarpMSE
from .soft_dtw import DILATE, SoftDTW
from .transport import OPW, OT, TCOT, Sinkhorn, TransportOutput

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
    "TransportOutput",
    "WarpMSE",
    "WarpOutput",
]
