"""(sequence, sequence) → score, learned."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from . import losses as losses
    from .aligned_frames.estimator import AlignedFrames as AlignedFrames
    from .aligned_frames.network import Aligned as Aligned
    from .comparer import (
        Aligning as Aligning,
        Compared as Compared,
        Comparer as Comparer,
        Features as Features,
    )
    from .coupled.estimator import CoupledGRU as CoupledGRU
    from .coupled.network import CoupledNetwork as CoupledNetwork
    from .discriminant.estimator import Discriminant as Discriminant
    from .discriminant.whitened import Whitened as Whitened
    from .fused.estimator import Fused as Fused
    from .ground.deep_rvsml import DeepRVSML as DeepRVSML
    from .ground.elementwise import ElementWise as ElementWise
    from .ground.rvsml import RVSML as RVSML
    from .objectives.augmentations import (
        AugmentedBatch as AugmentedBatch,
        SelfSupervised as SelfSupervised,
        alignment_error as alignment_error,
        augmented as augmented,
        consistency as consistency,
    )
    from .objectives.episodes import Episodes as Episodes, class_scores as class_scores, episode_loss as episode_loss
    from .objectives.labels import Supervised as Supervised
    from .siamese.estimator import SiameseGRU as SiameseGRU
    from .siamese.network import SiameseNetwork as SiameseNetwork
    from .tap.estimator import TAP as TAP
    from .tap.network import TAPNetwork as TAPNetwork

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(
        __name__,
        inner=(
            "Aligned",
            "AlignedFrames",
            "Aligning",
            "AugmentedBatch",
            "Compared",
            "Comparer",
            "CoupledNetwork",
            "DeepRVSML",
            "ElementWise",
            "Episodes",
            "Features",
            "RVSML",
            "SelfSupervised",
            "SiameseNetwork",
            "Supervised",
            "TAPNetwork",
            "Whitened",
            "alignment_error",
            "augmented",
            "class_scores",
            "consistency",
            "episode_loss",
            "losses",
        ),
        renamed={"Prepared": "Features"},
    )
