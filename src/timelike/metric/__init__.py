"""(sequence, sequence) → score, learned."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from . import losses as losses
    from .aligned import Aligned as Aligned
    from .aligning import Aligning as Aligning
    from .alignment_losses import (
        alignment_error as alignment_error,
        class_scores as class_scores,
        consistency as consistency,
        episode_loss as episode_loss,
    )
    from .alignment_objectives import Episodes as Episodes, SelfSupervised as SelfSupervised, Supervised as Supervised
    from .augmentation import AugmentedBatch as AugmentedBatch, augmented as augmented
    from .comparer import Comparer as Comparer, Prepared as Prepared
    from .coupled_gru import CoupledGRU as CoupledGRU
    from .coupled_network import CoupledNetwork as CoupledNetwork
    from .elementwise import ElementWise as ElementWise
    from .siamese import SiameseGRU as SiameseGRU
    from .siamese_network import SiameseNetwork as SiameseNetwork
    from .tap import TAP as TAP
    from .tap_network import TAPNetwork as TAPNetwork
    from .virtual import RVSML as RVSML, DeepRVSML as DeepRVSML

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(
        __name__,
        inner=(
            "Aligned",
            "Aligning",
            "AugmentedBatch",
            "Comparer",
            "CoupledNetwork",
            "DeepRVSML",
            "ElementWise",
            "Episodes",
            "Prepared",
            "RVSML",
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
        ),
    )
