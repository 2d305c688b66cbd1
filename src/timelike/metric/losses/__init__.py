"""Losses that train any metric: from distances and labels to one number.

Every loss is a frozen value, called as `loss(distances, labels, gallery_labels=None, *, valid=None)`: `distances`
is (query, gallery), `labels` (query,) and `gallery_labels` (gallery,) are integers, and `valid` (query, gallery)
marks the pairs to use. Without `gallery_labels` the queries are the gallery, and the diagonal is ignored. The result is
a scalar, averaged over the queries with suitable pairs; a batch without any gives 0 with a gradient of 0.
"""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:  # the public names, a line each
    from .base import Loss as Loss
    from .binomial import Binomial as Binomial
    from .contrastive import Contrastive as Contrastive
    from .lifted import Lifted as Lifted
    from .multi_similarity import MultiSimilarity as MultiSimilarity
    from .registry import adapt_loss as adapt_loss, resolve_loss as resolve_loss
    from .structural import Structural as Structural
    from .supervised_contrastive import SupervisedContrastive as SupervisedContrastive
    from .triplet import Triplet as Triplet

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = lazy_exports(__name__)
