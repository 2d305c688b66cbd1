"""Sequences, maybe labels → a decision."""

from typing import TYPE_CHECKING

from .._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from . import attacks as attacks
    from .choosing import Elbow as Elbow, elbow as elbow
    from .clustering import KMeans as KMeans, KMedoids as KMedoids
    from .comparison.result import Comparison as Comparison, Difference as Difference
    from .comparison.rows import Row as Row
    from .comparison.running import compare as compare
    from .comparison.several import Ranking as Ranking, rank_table as rank_table
    from .decision import Decision as Decision
    from .fewshot import FewShot as FewShot, evaluate_episodes as evaluate_episodes
    from .kernels import ElasticKernel as ElasticKernel
    from .neighbors import Neighbors as Neighbors, NeighborsRegressor as NeighborsRegressor
    from .precomputed import (
        DBSCAN as DBSCAN,
        HDBSCAN as HDBSCAN,
        Agglomerative as Agglomerative,
        Spectral as Spectral,
    )
    from .prototypes.answering import Retrieved as Retrieved
    from .prototypes.departures import Departures as Departures
    from .prototypes.estimator import Prototypes as Prototypes
    from .prototypes.gram import Gram as Gram
    from .prototypes.metric import SimilarityMetric as SimilarityMetric
    from .prototypes.network import PrototypeNetwork as PrototypeNetwork
    from .prototypes.thresholds import Thresholds as Thresholds
    from .verifier.estimator import Verifier as Verifier
    from .verifier.evaluation import Verification as Verification
    from .verifier.identity_rank import CalibrationWarning as CalibrationWarning
    from .windowed import Windowed as Windowed

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(
        __name__,
        inner=(
            "CalibrationWarning",
            "Decision",
            "Departures",
            "Difference",
            "Elbow",
            "FewShot",
            "Gram",
            "PrototypeNetwork",
            "Ranking",
            "Retrieved",
            "Row",
            "SimilarityMetric",
            "Thresholds",
            "Verification",
            "attacks",
            "rank_table",
        ),
    )
