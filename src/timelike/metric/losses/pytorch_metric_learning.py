"""`AdaptedLoss`: a loss of pytorch-metric-learning, applied to precomputed distances."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from ...core.extras import import_extra
from .base import BatchPairs, Loss, make_pairs


@dataclass(frozen=True)
class AdaptedLoss(Loss):
    """A loss of pytorch-metric-learning on a distance matrix; created by `losses.adapt_loss`.

    The loss receives placeholders (index, checksum) instead of embeddings, and its distance looks up the two indices.
    Averaging and weights are those of the loss: `reducer` and all other options keep their meaning.
    """

    loss: Any
    miner: Any = None

    @classmethod
    def from_loss(cls, loss: Any, miner: Any = None) -> AdaptedLoss:
        """Copy the loss and the miner, and replace their distance by the lookup."""
        lookup_class = _lookup_distance_class()
        _check_supported(loss, miner)
        loss, miner = copy.deepcopy(loss), copy.deepcopy(miner)
        loss.distance = lookup_class()
        if miner is not None:
            miner.distance = loss.distance
        return cls(loss, miner)

    def __call__(
        self, distances: Tensor, labels: Tensor, gallery_labels: Tensor | None = None, *, valid: Tensor | None = None
    ) -> Tensor:
        """The loss of a matrix of distances (query, gallery), a scalar."""
        if valid is not None and gallery_labels is labels and _is_all_but_diagonal(valid):
            gallery_labels = valid = None  # equivalent, and supported by miners
        if valid is not None and self.miner is not None:
            raise ValueError("valid cannot be given with a miner, which uses all pairs: leave one of them out")
        pairs = make_pairs(distances, labels, gallery_labels, valid=valid)
        labels = labels.to(distances.device)
        reference: dict[str, Any] = {}
        if gallery_labels is not None:
            gallery_labels = gallery_labels.to(distances.device)
            reference = {"ref_emb": _index_embeddings(pairs.distances, 1), "ref_labels": gallery_labels}
        lookup, queries = self.loss.distance, _index_embeddings(pairs.distances, 0)
        lookup.distances, lookup.is_queried = pairs.distances, False
        try:
            chosen = self._select_pairs(queries, labels, reference, pairs if valid is not None else None)
            lookup.is_queried = False
            loss: Tensor = self.loss(queries, labels, chosen, **reference)
        finally:
            lookup.distances = None
        if not lookup.is_queried and bool(loss != 0):
            raise TypeError(_embedding_error(self.loss))
        nothing: Tensor = pairs.distances.sum() * 0  # keeps the graph: their loss without pairs is a constant
        return nothing + loss

    def query_losses(self, pairs: BatchPairs) -> Tensor:
        """Unavailable, because the loss averages internally."""
        raise TypeError(f"{type(self.loss).__name__} averages by itself: call the loss")

    def _select_pairs(
        self, queries: Tensor, labels: Tensor, reference: dict[str, Any], pairs: BatchPairs | None
    ) -> Any:
        if self.miner is not None:
            return self.miner(queries, labels, **reference)
        if pairs is None:
            return None
        return *torch.where(pairs.positive), *torch.where(pairs.negative)


def _is_all_but_diagonal(valid: Tensor) -> bool:
    square = valid.ndim == 2 and valid.shape[0] == valid.shape[1]
    return square and bool((valid != torch.eye(len(valid), dtype=torch.bool, device=valid.device)).all())


def _check_supported(loss: Any, miner: Any) -> None:
    from pytorch_metric_learning.losses import BaseMetricLossFunction
    from pytorch_metric_learning.miners import BaseMiner

    if not isinstance(loss, BaseMetricLossFunction):
        raise TypeError(f"loss={loss!r}: expected a loss of pytorch-metric-learning, such as TripletMarginLoss()")
    if miner is not None and not isinstance(miner, BaseMiner):
        raise TypeError(f"miner={miner!r}: expected a miner of pytorch-metric-learning, such as BatchHardMiner()")
    if loss.embedding_regularizer is not None or any(True for _ in loss.parameters()):
        raise TypeError(_embedding_error(loss))
    try:
        type(loss)(distance=_lookup_distance_class()())  # losses for one kind of distance raise an error here
    except (AssertionError, ValueError) as error:
        raise TypeError(f"{error}, and here the distance is the one to be learned: use another loss") from None
    except TypeError:
        pass  # the constructor needs further arguments


def _embedding_error(loss: Any) -> str:
    return (
        f"{type(loss).__name__} uses embeddings or learns parameters of its own, and here there are only distances"
        ": use a loss on distances, such as TripletMarginLoss or ContrastiveLoss"
    )


def _index_embeddings(distances: Tensor, axis: int) -> Tensor:
    """The index and checksum of each query or gallery item, (item, 2), in place of its embedding."""
    index = torch.arange(distances.shape[axis], device=distances.device)
    return torch.stack([index, _index_checksum(index)], dim=1).to(distances.dtype)


def _index_checksum(index: Tensor) -> Tensor:
    """A checksum that detects averaged indices: exact in float32, and not a linear function of the index."""
    return index * index % 4093


def _make_lookup_distance() -> Any:
    return _lookup_distance_class()()


@cache
def _lookup_distance_class() -> Any:
    base: Any = import_extra("pytorch_metric_learning.distances", "losses.adapt_loss").BaseDistance

    class LookupDistance(base):  # type: ignore[misc]
        """Looks up distances by the indices that replace embeddings."""

        def __init__(self) -> None:
            super().__init__(normalize_embeddings=False, collect_stats=False)
            self.distances: Tensor | None = None
            self.is_queried = False

        def __reduce__(self) -> tuple[Any, tuple[()]]:
            return _make_lookup_distance, ()

        def compute_mat(self, query_emb: Tensor, ref_emb: Tensor) -> Tensor:
            return self._distance_rows(query_emb)[:, self._indices(ref_emb)]

        def pairwise_distance(self, query_emb: Tensor, ref_emb: Tensor) -> Tensor:
            assert self.distances is not None
            return self.distances[self._indices(query_emb), self._indices(ref_emb)]

        def _distance_rows(self, index_embeddings: Tensor) -> Tensor:
            assert self.distances is not None
            return self.distances[self._indices(index_embeddings)]

        def _indices(self, index_embeddings: Tensor) -> Tensor:
            self.is_queried = True
            index = index_embeddings[:, 0].long() if index_embeddings.shape[1:] == (2,) else None
            if index is None or bool((index_embeddings != torch.stack([index, _index_checksum(index)], 1)).any()):
                raise TypeError(
                    "the loss or its miner compares embeddings that it computes, and here there are only distances"
                )
            return index

    return LookupDistance
