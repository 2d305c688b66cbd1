"""Alignments as torch modules: batches in, costs with gradients out."""

from .gdtw import DecDTW, Warped
from .path_losses import MaxError, Positions, TimeDev, TimeErr, WarpMSE
from .transport import OPW, OT, TCOT, Sinkhorn, Transport

__all__ = [
    "OPW",
    "OT",
    "TCOT",
    "DecDTW",
    "MaxError",
    "Positions",
    "Sinkhorn",
    "TimeDev",
    "TimeErr",
    "Transport",
    "WarpMSE",
    "Warped",
]
