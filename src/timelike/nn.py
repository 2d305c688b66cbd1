"""The torch modules of the library, in one place."""

from .align.layers import OPW, OT, TCOT, Sinkhorn, Transport

__all__ = ["OPW", "OT", "TCOT", "Sinkhorn", "Transport"]
