"""(sequence, sequence) → score, learned."""

from . import losses
from .comparer import Comparer, Prepared
from .coupled_network import CoupledNetwork
from .siamese_network import SiameseNetwork

__all__ = ["Comparer", "CoupledNetwork", "Prepared", "SiameseNetwork", "losses"]
