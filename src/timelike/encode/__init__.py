"""Sequence → vector, learned."""

from .base import Encoder
from .causal import CausalEncoder
from .combined import CombinedEncoder, combine
from .frames import FrameEncoder, FrameNetwork
from .heads import EmbeddingClassifier, EmbeddingRegressor
from .network import CausalNetwork
from .recurrent import RecurrentEncoder, RecurrentNetwork
from .streaming import Stream

__all__ = [
    "CausalEncoder",
    "CausalNetwork",
    "CombinedEncoder",
    "EmbeddingClassifier",
    "EmbeddingRegressor",
    "Encoder",
    "FrameEncoder",
    "FrameNetwork",
    "RecurrentEncoder",
    "RecurrentNetwork",
    "Stream",
    "combine",
]
