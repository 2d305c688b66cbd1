"""Alignments as torch modules: batches in, costs with gradients out."""

from .transport import OPW, OT, TCOT, Sinkhorn, Transport

__all__ = ["OPW", "OT", "TCOT", "Sinkhorn", "Transport"]
