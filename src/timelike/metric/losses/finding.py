"""Losses by name, and losses of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Loss
from .binomial import Binomial
from .contrastive import Contrastive
from .lifted import Lifted
from .multi_similarity import MultiSimilarity
from .structural import Structural
from .triplet import Triplet

if TYPE_CHECKING:
    from .adapting import Adapted


KNOWN: dict[str, type[Loss]] = {
    "binomial": Binomial,
    "contrastive": Contrastive,
    "lifted": Lifted,
    "multi-similarity": MultiSimilarity,
    "structural": Structural,
    "triplet": Triplet,
}


def find(loss: str | Loss) -> Loss:
    """A loss by its name, or the loss that was given.

    Examples
    --------
    >>> find("triplet")
    Triplet(margin=0.1)
    >>> find(Triplet(margin=0.5))
    Triplet(margin=0.5)
    """
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        raise TypeError(
            f"loss={loss!r}: expected one of {', '.join(map(repr, KNOWN))} or an instance of losses.Loss; one of "
            "pytorch-metric-learning goes through losses.adapted(loss)"
        )
    if loss not in KNOWN:
        raise ValueError(f"loss={loss!r} is not known: expected one of {', '.join(map(repr, KNOWN))}")
    return KNOWN[loss]()


def adapted(loss: Any, *, miner: Any = None) -> Adapted:
    """A loss of pytorch-metric-learning, maybe with a miner of its, in the place of one of ours.

    It sees our distances instead of computing its own from embeddings (Musgrave, Belongie and Lim, "PyTorch Metric
    Learning", 2020). A loss that looks at the embeddings themselves, or learns proxies, cannot be used and says so.

    Parameters
    ----------
    loss : pytorch_metric_learning.losses.BaseMetricLossFunction
        Copied, so that its own distance stays what it was.
    miner : pytorch_metric_learning.miners.BaseMiner, optional
        Chooses pairs or triplets. It looks at all pairs, so `valid` cannot be given with one.

    Examples
    --------
    >>> import torch
    >>> from pytorch_metric_learning.losses import TripletMarginLoss
    >>> loss = adapted(TripletMarginLoss(margin=0.1))
    >>> loss(torch.tensor([[0.0, 0.3, 0.35]]), torch.tensor([0]), torch.tensor([0, 0, 1]))
    tensor(0.0500)
    """
    from .adapting import Adapted

    return Adapted.of(loss, miner)
