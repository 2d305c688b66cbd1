"""`Loss` and `ThresholdLoss`, the base classes of losses on distances, and the pairs of a batch that they use."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import torch
from torch import Tensor

from ...core.parameters import check_float


class Loss(abc.ABC):
    """Base class of losses on distances; a subclass implements `query_losses`, the contribution of each query.

    Examples
    --------
    >>> import torch
    >>> class Gap(Loss):
    ...     def query_losses(self, pairs):
    ...         return torch.where(pairs.has_both, (pairs.largest_positive - pairs.smallest_negative)[:, 0], 0.0)
    >>> Gap()(torch.tensor([[0.0, 1.0, 3.0]]), torch.tensor([0]), torch.tensor([0, 0, 1]))
    tensor(-2.)
    """

    @abc.abstractmethod
    def query_losses(self, pairs: BatchPairs) -> Tensor:
        """The contribution of each query, (query,); arbitrary finite numbers for invalid queries."""

    def valid_queries(self, pairs: BatchPairs) -> Tensor:
        """Which queries contribute, (query,): those with a positive and a negative."""
        return pairs.has_both

    def __call__(
        self, distances: Tensor, labels: Tensor, gallery_labels: Tensor | None = None, *, valid: Tensor | None = None
    ) -> Tensor:
        """The loss of a matrix of distances (query, gallery), a scalar."""
        pairs = make_pairs(distances, labels, gallery_labels, valid=valid)
        if not pairs.distances.numel():
            return pairs.distances.sum()  # 0 with a gradient: an empty matrix has no extremes
        # passes nan on: comparisons with nan are False, so the loss alone would ignore it
        nan_or_zero = torch.where(pairs.distances.detach().isnan(), torch.nan, 0.0).sum()
        return masked_mean(self.query_losses(pairs), self.valid_queries(pairs)) + nan_or_zero

    def pair_loss(self, distances: Tensor, same: Tensor) -> Tensor:
        """The loss of single pairs: distances (item,) and whether the two are of the same class, bool (item,).

        Examples
        --------
        >>> import torch
        >>> from timelike.metric.losses import Contrastive
        >>> Contrastive().pair_loss(torch.tensor([1.0, 0.5]), torch.tensor([True, False]))
        tensor(0.6250)
        """
        from .registry import losses_by_name

        words = " or ".join(
            f"{name!r}" for name, kind in losses_by_name().items() if kind.pair_loss is not Loss.pair_loss
        )
        raise TypeError(
            f"{type(self).__name__} compares a query's positives with its negatives, so it cannot learn from single "
            f"pairs: use loss={words}"
        )


@dataclass(frozen=True, kw_only=True)
class ThresholdLoss(Loss):
    """A loss on hard pairs, which should be nearer or farther than a threshold."""

    alpha: float
    beta: float
    margin: float | None = 0.1
    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_loss_options(self.alpha, self.beta, self.margin)
        check_float(self.threshold, "threshold")

    def valid_queries(self, pairs: BatchPairs) -> Tensor:
        """Queries with both kinds of pairs; without mining, one kind is enough."""
        return pairs.has_any if self.margin is None else pairs.has_both


def validate_single_pairs(distances: Tensor, same: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Validate single pairs: distances (item,), and masks of the two kinds."""
    refuse_non_tensors(distances=distances, same=same)
    if distances.ndim != 1 or same.shape != distances.shape or same.dtype != torch.bool:
        raise ValueError(
            f"distances has shape {tuple(distances.shape)} and same is {same.dtype} of shape {tuple(same.shape)}: "
            "expected (item,) and torch.bool (item,)"
        )
    same = same.to(distances.device)
    return distances, same, ~same


def check_loss_options(alpha: float, beta: float, margin: float | None) -> None:
    """Raise an error for invalid options of a loss."""
    check_float(alpha, "alpha", above=0.0)
    check_float(beta, "beta", above=0.0)
    if margin is not None:
        check_float(margin, "margin", 0.0)


@dataclass(frozen=True)
class BatchPairs:
    """Distances (query, gallery), with the pairs of one class (`positive`) and of two (`negative`) marked.

    Pairs that are neither are ignored, and their distance is set to 0.

    Examples
    --------
    >>> import torch
    >>> pairs = make_pairs(torch.tensor([[0.0, 1.0, 2.0]]), torch.tensor([7]), torch.tensor([7, 7, 3]))
    >>> pairs.positive, pairs.negative
    (tensor([[ True,  True, False]]), tensor([[False, False,  True]]))
    >>> pairs.largest_positive, pairs.smallest_negative
    (tensor([[1.]]), tensor([[2.]]))
    """

    distances: Tensor
    positive: Tensor
    negative: Tensor

    @property
    def has_both(self) -> Tensor:
        """Which queries have a positive and a negative, (query,)."""
        return self.positive.any(dim=1) & self.negative.any(dim=1)

    @property
    def has_any(self) -> Tensor:
        """Which queries have any positive or negative, (query,)."""
        return (self.positive | self.negative).any(dim=1)

    @property
    def largest_positive(self) -> Tensor:
        """The distance of the farthest positive, (query, 1); −∞ without any."""
        return self.distances.masked_fill(~self.positive, -torch.inf).amax(dim=1, keepdim=True)

    @property
    def smallest_negative(self) -> Tensor:
        """The distance of the nearest negative, (query, 1); ∞ without any."""
        return self.distances.masked_fill(~self.negative, torch.inf).amin(dim=1, keepdim=True)

    def mine_hard(self, margin: float | None) -> BatchPairs:
        """Only the pairs that violate the margin; all pairs if the margin is None.

        Positives farther than the nearest negative − margin, negatives nearer than the farthest positive + margin (Su
        and Wen, 2022, eq. 6). A query has either some of both or none.

        Examples
        --------
        >>> import torch
        >>> pairs = make_pairs(torch.tensor([[0.0, 1.0, 1.05, 2.0]]), torch.tensor([0]), torch.tensor([0, 0, 1, 1]))
        >>> mined = pairs.mine_hard(0.1)
        >>> mined.positive, mined.negative
        (tensor([[False,  True, False, False]]), tensor([[False, False,  True, False]]))
        """
        if margin is None:
            return self
        with torch.no_grad():
            near = self.distances - self.smallest_negative + margin > 0
            far = self.largest_positive + margin - self.distances > 0
        return BatchPairs(self.distances, self.positive & near, self.negative & far)


def make_pairs(
    distances: Tensor, labels: Tensor, gallery_labels: Tensor | None = None, *, valid: Tensor | None = None
) -> BatchPairs:
    """The pairs of a matrix of distances (query, gallery).

    Parameters
    ----------
    distances : Tensor (query, gallery)
    labels : Tensor (query,)
        Class of each query, as an integer.
    gallery_labels : Tensor (gallery,), optional
        Class of each item of the gallery. Without it the queries are the gallery, and none is a pair with itself.
    valid : bool Tensor (query, gallery), optional
        The pairs to use. Distances of other pairs may be anything, even nan.

    Examples
    --------
    >>> import torch
    >>> make_pairs(torch.zeros(3, 3), torch.tensor([0, 0, 1])).positive.int()
    tensor([[0, 1, 0],
            [1, 0, 0],
            [0, 0, 0]], dtype=torch.int32)
    """
    own = gallery_labels is None
    gallery_labels = labels if gallery_labels is None else gallery_labels
    _validate_batch(distances, labels, gallery_labels, valid, own)
    labels, gallery_labels = labels.to(distances.device), gallery_labels.to(distances.device)
    same = labels[:, None] == gallery_labels[None, :]
    counts = torch.ones_like(same) if valid is None else valid.to(distances.device, copy=True)
    if own:
        counts.fill_diagonal_(False)
    if distances.dtype in (torch.float16, torch.bfloat16):
        distances = distances.float()
    return BatchPairs(torch.where(counts, distances, 0.0), same & counts, ~same & counts)


def _validate_batch(distances: Tensor, labels: Tensor, gallery_labels: Tensor, valid: Tensor | None, own: bool) -> None:
    refuse_non_tensors(distances=distances, labels=labels, gallery_labels=gallery_labels, valid=valid)
    expected = (labels.numel(), gallery_labels.numel())
    if distances.ndim != 2 or labels.ndim != 1 or gallery_labels.ndim != 1 or distances.shape != expected:
        gallery = "; give gallery_labels if the gallery is another" if own else ""
        raise ValueError(
            f"distances has shape {tuple(distances.shape)} with labels {tuple(labels.shape)} and gallery_labels "
            f"{tuple(gallery_labels.shape)}: expected (query, gallery), (query,) and (gallery,){gallery}"
        )
    if not distances.is_floating_point():
        raise TypeError(f"distances has dtype {distances.dtype}: expected floating point numbers")
    if valid is not None and (valid.dtype != torch.bool or valid.shape != distances.shape):
        raise ValueError(
            f"valid is {valid.dtype} of shape {tuple(valid.shape)}: expected torch.bool of the shape of distances, "
            f"{tuple(distances.shape)}"
        )


def refuse_non_tensors(**arguments: object) -> None:
    """Raise an error for arrays and lists, which have no gradient."""
    for name, value in arguments.items():
        if not (value is None or isinstance(value, Tensor)):
            raise TypeError(f"{name} is a {type(value).__name__}: expected a tensor, such as torch.as_tensor({name})")


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """The mean over the masked entries of the last axis; 0 with a gradient of 0 for an empty mask.

    Examples
    --------
    >>> import torch
    >>> masked_mean(torch.tensor([[1.0, 3.0, 8.0], [5.0, 5.0, 5.0]]), torch.tensor([[1, 1, 0], [0, 0, 0]]).bool())
    tensor([2., 0.])
    """
    return torch.where(mask, values, 0.0).sum(dim=-1) / mask.sum(dim=-1).clamp(min=1)


def masked_logsumexp(values: Tensor, mask: Tensor) -> Tensor:
    """log Σ exp over the masked entries of the last axis; finite with a gradient of 0 for an empty mask.

    Examples
    --------
    >>> import torch
    >>> masked_logsumexp(torch.tensor([[0.0, 0.0, 9.0]]), torch.tensor([[True, True, False]]))
    tensor([0.6931])
    """
    none = ~mask.any(dim=-1, keepdim=True)  # a row of −∞ alone would have a gradient of nan
    return torch.where(mask, values, -torch.inf).masked_fill(none, 0.0).logsumexp(dim=-1)
