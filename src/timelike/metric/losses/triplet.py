"""The triplet loss: all pairs of each kind against the hardest of the other."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core.parameters import check_float
from .base import BatchPairs, Loss


@dataclass(frozen=True, kw_only=True)
class Triplet(Loss):
    """Triplet loss on the hard pairs of a batch: every positive against the nearest negative, and vice versa.

    Σ_p max(d_p − min_n d_n + m, 0) + Σ_n max(max_p d_p + m − d_n, 0) for each query, where p are the gallery's items of
    the query's class and n the others (Su and Wen, "Temporal Alignment Prediction for Supervised Representation
    Learning and Few-Shot Sequence Classification", ICLR 2022, eq. 4; after Hermans, Beyer and Leibe, 2017). The
    gradient also flows through the two extremes, as in the equation; in the authors' code only through mined pairs.

    Parameters
    ----------
    margin : float
        m, in units of the distance.

    Examples
    --------
    >>> import torch
    >>> distances = torch.tensor([[0.0, 0.3, 0.35]])
    >>> Triplet(margin=0.1)(distances, torch.tensor([0]), torch.tensor([0, 0, 1]))  # 0.05 from each side
    tensor(0.1000)
    """

    margin: float = 0.1

    def __post_init__(self) -> None:
        check_float(self.margin, "margin", 0.0)

    def query_losses(self, pairs: BatchPairs) -> Tensor:
        """Equation 4."""
        near = F.relu(pairs.distances - pairs.smallest_negative + self.margin)
        far = F.relu(pairs.largest_positive + self.margin - pairs.distances)
        return torch.where(pairs.positive, near, 0.0).sum(1) + torch.where(pairs.negative, far, 0.0).sum(1)
