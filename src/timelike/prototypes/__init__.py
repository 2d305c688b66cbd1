"""Classification by prototypes: an encoder, a similarity and prototypes that are trained together."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .estimator import Prototypes as Prototypes
    from .gram_matrix import GramMatrix as GramMatrix
    from .metric_violations import MetricViolations as MetricViolations
    from .network import PrototypeNetwork as PrototypeNetwork
    from .options import LearnedSimilarity as LearnedSimilarity
    from .retrieval import RetrievalResult as RetrievalResult
    from .similarity_metric import SimilarityMetric as SimilarityMetric
    from .thresholds import PrototypeThresholds as PrototypeThresholds

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__, top=("Prototypes",))
