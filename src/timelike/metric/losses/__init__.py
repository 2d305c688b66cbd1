"""Losses that train any metric: from distances and labels to one number.

Every loss is a frozen value, called as `loss(distances, labels, gallery_labels=None, *, valid=None)`: `distances` is
(query, gallery), `labels` (query,) and `gallery_labels` (gallery,) are integers, and `valid` (query, gallery) marks the
pairs that count. Without `gallery_labels` the queries are the gallery, and the diagonal does not count. The answer is a
scalar, averaged over the queries that have something to say; a batch in which none has gives 0 with a gradient of 0.
"""

from typing import TYPE_CHECKING

from ..._contents import contents

if TYPE_CHECKING:  # the public names, a line each
    from .base import Loss as Loss
    from .binomial import Binomial as Binomial
    from .contrastive import Contrastive as Contrastive
    from .finding import adapted as adapted, find as find
    from .lifted import Lifted as Lifted
    from .multi_similarity import MultiSimilarity as MultiSimilarity
    from .structural import Structural as Structural
    from .supervised_contrastive import SupervisedContrastive as SupervisedContrastive
    from .triplet import Triplet as Triplet

if not TYPE_CHECKING:
    __all__, __getattr__, __dir__ = contents(__name__, top=False)
