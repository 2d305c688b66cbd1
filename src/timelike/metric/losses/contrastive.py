"""The contrastive loss: positives together, negatives beyond a margin."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from ...sequences.arguments import real
from .base import Loss, Pairs, mean_where, single


@dataclass(frozen=True, kw_only=True)
class Contrastive(Loss):
    """Contrastive loss: positives to distance 0, negatives beyond a margin.

    1/q mean_p d_p^q + 1/q mean_n max(m − d_n, 0)^q for each query (Hadsell, Chopra and LeCun, "Dimensionality Reduction
    by Learning an Invariant Mapping", CVPR 2006, with q = 2). The two kinds are averaged apart, so that the many
    negatives do not drown the few positives. A query with one kind only has that to say.

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
        real(self.margin, "margin", 0.0)
        real(self.power, "power", 1.0)

    def speaking(self, pairs: Pairs) -> Tensor:
        """One kind of pair is enough."""
        return pairs.any

    def queries(self, pairs: Pairs) -> Tensor:
        """Both means of each query."""
        return self._sides(pairs.distances, pairs.positive, pairs.negative)

    def pairs(self, distances: Tensor, same: Tensor) -> Tensor:
        """The mean over pairs of one class plus the mean over pairs of two."""
        return self._sides(*single(distances, same))

    def _sides(self, distances: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        pulled, pushed = F.relu(distances) ** self.power, F.relu(self.margin - distances) ** self.power
        return (mean_where(pulled, positive) + mean_where(pushed, negative)) / self.power
