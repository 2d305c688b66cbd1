"""The contrastive loss: positives together, negatives beyond a margin."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from ...core.parameters import check_float
from .base import BatchPairs, Loss, masked_mean, validate_single_pairs


@dataclass(frozen=True, kw_only=True)
class Contrastive(Loss):
    """Contrastive loss: positives to distance 0, negatives beyond a margin.

    1/q mean_p d_p^q + 1/q mean_n max(m − d_n, 0)^q for each query (Hadsell, Chopra and LeCun, "Dimensionality Reduction
    by Learning an Invariant Mapping", CVPR 2006, with q = 2). The two kinds are averaged apart, so that the many
    negatives do not outweigh the few positives. A query with only one kind contributes that term.

    Parameters
    ----------
    margin : float
        m, in units of the distance.
    power : float
        q; 1 grows linearly, which forgives outliers.

    Examples
    --------
    >>> import torch
    >>> distances = torch.tensor([[1.0, 0.5, 2.0]])
    >>> Contrastive()(distances, torch.tensor([0]), torch.tensor([0, 1, 1]))  # (1 + (0.25 + 0) / 2) / 2
    tensor(0.5625)
    """

    margin: float = 1.0
    power: float = 2.0

    def __post_init__(self) -> None:
        check_float(self.margin, "margin", 0.0)
        check_float(self.power, "power", 1.0)

    def valid_queries(self, pairs: BatchPairs) -> Tensor:
        """One kind of pair is enough."""
        return pairs.has_any

    def query_losses(self, pairs: BatchPairs) -> Tensor:
        """Both means of each query."""
        return self._two_sided_loss(pairs.distances, pairs.positive, pairs.negative)

    def pair_loss(self, distances: Tensor, same: Tensor) -> Tensor:
        """The mean over pairs of one class plus the mean over pairs of two."""
        return self._two_sided_loss(*validate_single_pairs(distances, same))

    def _two_sided_loss(self, distances: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        pulled, pushed = F.relu(distances) ** self.power, F.relu(self.margin - distances) ** self.power
        return (masked_mean(pulled, positive) + masked_mean(pushed, negative)) / self.power
