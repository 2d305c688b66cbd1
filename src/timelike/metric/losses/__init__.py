"""Losses that train any metric: from distances and labels to one number.

Every loss is a frozen value, called as `loss(distances, labels, gallery_labels=None, *, valid=None)`: `distances` is
(query, gallery), `labels` (query,) and `gallery_labels` (gallery,) are integers, and `valid` (query, gallery) marks the
pairs that count. Without `gallery_labels` the queries are the gallery, and the diagonal does not count. The answer is a
scalar, averaged over the queries that have something to say; a batch in which none has gives 0 with a gradient of 0.
"""

from .base import Loss
from .binomial import Binomial
from .contrastive import Contrastive
from .finding import adapted, find
from .lifted import Lifted
from .multi_similarity import MultiSimilarity
from .structural import Structural
from .triplet import Triplet

__all__ = [
    "Binomial",
    "Contrastive",
    "Lifted",
    "Loss",
    "MultiSimilarity",
    "Structural",
    "Triplet",
    "adapted",
    "find",
]
