"""The binomial deviance loss: hard pairs on the two sides of a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from .base import BatchPairs, ThresholdLoss, masked_mean, validate_single_pairs


@dataclass(frozen=True, kw_only=True)
class Binomial(ThresholdLoss):
    """Binomial deviance of hard pairs: a logistic loss on each side of a threshold.

    2/(β|P|) Σ_{p∈P} log(1 + exp(β (d_p − t))) + 2/(α|N|) Σ_{n∈N} log(1 + exp(−α (d_n − t))) for each query, where P are
    the positives with d_p > min_n d_n − m and N the negatives with d_n < max_p d_p + m (Su and Wen, ICLR 2022, eq. 6
    and 7; after Yi et al., "Deep Metric Learning for Person Re-Identification", ICPR 2014). A query whose pairs are all
    in order by the margin contributes 0. The numerators 2 are those of eq. 5 and of the authors' code.

    Parameters
    ----------
    alpha, beta : float
        Sharpness for the negatives and for the positives.
    margin : float or None
        m of the mining; None takes every pair, and a query then needs only one of the two kinds.
    threshold : float
        t: positives should be nearer, negatives farther. 0.5 suits distances of normalised frames.

    Examples
    --------
    >>> import torch
    >>> Binomial()(torch.tensor([[0.5, 0.5]]), torch.tensor([0]), torch.tensor([0, 1]))  # (1 + 1/20) log 2
    tensor(0.7278)
    >>> Binomial().pair_loss(torch.tensor([0.5, 9.0]), torch.tensor([True, False]))  # log 2 + 0
    tensor(0.6931)
    """

    alpha: float = 40.0
    beta: float = 2.0

    def query_losses(self, pairs: BatchPairs) -> Tensor:
        """Equation 7 on the pairs of equation 6."""
        mined = pairs.mine_hard(self.margin)
        return self._two_sided_loss(mined.distances, mined.positive, mined.negative)

    def pair_loss(self, distances: Tensor, same: Tensor) -> Tensor:
        """The same without mining: the mean over pairs of one class plus the mean over pairs of two."""
        return self._two_sided_loss(*validate_single_pairs(distances, same))

    def _two_sided_loss(self, distances: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        above = distances - self.threshold
        attracted = masked_mean(F.softplus(self.beta * above), positive) * (2 / self.beta)
        return attracted + masked_mean(F.softplus(-self.alpha * above), negative) * (2 / self.alpha)
