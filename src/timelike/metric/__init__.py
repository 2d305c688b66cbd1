"""(sequence, sequence) → score, learned."""

from . import losses
from .aligned import Aligned
from .aligning import Aligning
from .alignment_losses import alignment_error, class_scores, consistency, episode_loss
from .alignment_objectives import Episodes, SelfSupervised, Supervised
from .augmentation import AugmentedBatch, augmented
from .comparer import Comparer, Prepared
from .coupled_gru import CoupledGRU
from .coupled_network import CoupledNetwork
from .elementwise import ElementWise
from .siamese import SiameseGRU
from .siamese_network import SiameseNetwork
from .tap import TAP
from .tap_network import TAPNetwork
from .virtual import RVSML, DeepRVSML

__all__ = [
    "RVSML",
    "TAP",
    "Aligned",
    "Aligning",
    "AugmentedBatch",
    "Comparer",
    "CoupledGRU",
    "CoupledNetwork",
    "DeepRVSML",
    "ElementWise",
    "Episodes",
    "Prepared",
    "SelfSupervised",
    "SiameseGRU",
    "SiameseNetwork",
    "Supervised",
    "TAPNetwork",
    "alignment_error",
    "augmented",
    "class_scores",
    "consistency",
    "episode_loss",
    "losses",
]
