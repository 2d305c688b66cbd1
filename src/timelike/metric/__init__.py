"""Learned distances between sequences, and the losses and objectives they are trained with."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from . import losses as losses
    from .aligned_frames.estimator import AlignedFrames as AlignedFrames
    from .aligned_frames.network import AlignedFramesNetwork as AlignedFramesNetwork
    from .coupled.estimator import CoupledGRU as CoupledGRU
    from .coupled.network import CoupledNetwork as CoupledNetwork
    from .discriminant.estimator import Discriminant as Discriminant
    from .discriminant.whitened_cosine import WhitenedCosine as WhitenedCosine
    from .distance_network import (
        AlignmentNetwork as AlignmentNetwork,
        DistanceNetwork as DistanceNetwork,
        DistanceOutput as DistanceOutput,
        Features as Features,
    )
    from .fused.estimator import Fused as Fused
    from .ground.deep_rvsml import DeepRVSML as DeepRVSML
    from .ground.elementwise import ElementWise as ElementWise
    from .ground.rvsml import RVSML as RVSML
    from .objectives.episodes import (
        EpisodeObjective as EpisodeObjective,
        class_scores as class_scores,
        episode_loss as episode_loss,
    )
    from .objectives.self_supervised import (
        AugmentedBatch as AugmentedBatch,
        SelfSupervisedObjective as SelfSupervisedObjective,
        alignment_error as alignment_error,
        augment_batch as augment_batch,
        consistency_loss as consistency_loss,
    )
    from .objectives.supervised import SupervisedObjective as SupervisedObjective
    from .siamese.estimator import SiameseGRU as SiameseGRU
    from .siamese.network import SiameseNetwork as SiameseNetwork
    from .supervision import Episodes as Episodes, Labels as Labels, SelfSupervision as SelfSupervision
    from .tap.estimator import TAP as TAP, AlignmentPredictor as AlignmentPredictor
    from .tap.network import TAPNetwork as TAPNetwork

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(
        __name__, top=("CoupledGRU", "Discriminant", "Fused", "SiameseGRU", "TAP")
    )
