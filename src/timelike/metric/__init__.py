"""(sequence, sequence) → score, learned."""

from . import losses
from .aligned import Aligned
from .aligning import Aligning
from .alignment_losses import alignment_error, class_scores, consistency, episode_loss
from .alignment_objectives import Episodes, SelfSupervised, Supervised
from .augmentation import AugmentedBatch, augmented
from .comparer import Comparer, Prepared
from .coupled_network import CoupledNetwork
from .siamese_network import SiameseNetwork
from .tap_network import TAPNetwork

__all__ = [
    "Aligned",
    "Aligning",
    "AugmentedBatch",
    "Comparer",
    "CoupledNetwork",
    "Episodes",
    "Prepared",
    "SelfSupervised",
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
