"""Losses by name, the option `loss`, and `adapt_loss` for losses of pytorch-metric-learning."""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ... import _exports
from ...models import options
from .base import Loss

if TYPE_CHECKING:
    from .pytorch_metric_learning import AdaptedLoss


@cache
def losses_by_name() -> dict[str, type[Loss]]:
    """All public losses by name: `MultiSimilarity` is "multi-similarity".

    >>> losses_by_name()["multi-similarity"]
    <class 'timelike.metric.losses.multi_similarity.MultiSimilarity'>
    """
    package = __name__.rpartition(".")[0]
    public: list[Any] = [getattr(import_module(package), name) for name in sorted(_exports.public_names(package))]
    losses = [kind for kind in public if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    words = (re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower() for kind in losses)
    return dict(zip(words, losses, strict=True))  # type: ignore[arg-type]


def resolve_loss(loss: str | Loss) -> Loss:
    """The loss of this name, or `loss` itself if it is a `Loss`.

    Examples
    --------
    >>> from timelike.metric.losses import Triplet
    >>> resolve_loss("triplet")
    Triplet(margin=0.1)
    >>> resolve_loss(Triplet(margin=0.5))
    Triplet(margin=0.5)
    """
    if isinstance(loss, Loss):
        return loss
    words = ", ".join(map(repr, losses_by_name()))
    if not isinstance(loss, str):
        raise TypeError(
            f"loss={loss!r}: expected one of {words} or an instance of losses.Loss; one of "
            "pytorch-metric-learning goes through losses.adapt_loss(loss)"
        )
    if loss not in losses_by_name():
        raise ValueError(f"loss={loss!r} is not known: expected one of {words}")
    return losses_by_name()[loss]()


def loss_option() -> options.Option[Any]:
    """The option `loss` of an estimator: a name or a `Loss`."""
    return options.Option(lambda value, name: resolve_loss(value), "training", to_text=describe_loss)


def describe_loss(loss: Any) -> str:
    """A reproducible text for a loss."""
    return repr(loss) if dataclasses.is_dataclass(loss) else type(loss).__name__


def adapt_loss(loss: Any, *, miner: Any = None) -> AdaptedLoss:
    """Adapt a loss of pytorch-metric-learning, optionally with a miner, to distances of this library.

    The loss uses these distances instead of computing its own from embeddings (Musgrave, Belongie and Lim, "PyTorch
    Metric Learning", 2020). Losses that use the embeddings themselves, or learn proxies, raise an error.

    Parameters
    ----------
    loss : pytorch_metric_learning.losses.BaseMetricLossFunction
        The loss; a copy is changed, not the original.
    miner : pytorch_metric_learning.miners.BaseMiner, optional
        Chooses pairs or triplets. It uses all pairs, so `valid` cannot be combined with a miner.

    Examples
    --------
    >>> import torch
    >>> from pytorch_metric_learning.losses import TripletMarginLoss
    >>> loss = adapt_loss(TripletMarginLoss(margin=0.1))
    >>> loss(torch.tensor([[0.0, 0.3, 0.35]]), torch.tensor([0]), torch.tensor([0, 0, 1]))
    tensor(0.0500)
    """
    from .pytorch_metric_learning import AdaptedLoss

    return AdaptedLoss.from_loss(loss, miner)
