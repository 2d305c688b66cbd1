"""Sequence → vector, learned."""

from .base import Encoder
from .causal import CausalEncoder
from .network import CausalNetwork
from .streaming import Stream

__all__ = ["CausalEncoder", "CausalNetwork", "Encoder", "Stream"]
