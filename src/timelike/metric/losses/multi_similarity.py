"""The multi-similarity loss: pairs weighted relative to the other pairs of a query."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from .base import BatchPairs, ThresholdLoss, masked_logsumexp


@dataclass(frozen=True, kw_only=True)
class MultiSimilarity(ThresholdLoss):
    """Multi-similarity loss: hard pairs, each weighted relative to the other pairs of its query.

    1/α log(1 + Σ_{p∈P} exp(α (d_p − t))) + 1/β log(1 + Σ_{n∈N} exp(−β (d_n − t))) for each query, with P and N mined as
    in `Binomial` (Wang et al., "Multi-Similarity Loss with General Pair Weighting for Deep Metric Learning", CVPR 2019,
    with S = −d and λ = −t). α is for the positives here, as in that paper.

    Parameters
    ----------
    alpha, beta : float
        Sharpness for the positives and for the negatives.
    margin : float or None
        ε of the mining; None takes every pair, and a query then needs only one of the two kinds.
    threshold : float
        t: positives should be nearer, negatives farther.

    Examples
    --------
    >>> import torch
    >>> MultiSimilarity()(torch.tensor([[0.5, 0.5]]), torch.tensor([0]), torch.tensor([0, 1]))  # (1/2 + 1/50) log 2
    tensor(0.3604)
    """

    alpha: float = 2.0
    beta: float = 50.0

    def query_losses(self, pairs: BatchPairs) -> Tensor:
        """Both terms, on mined pairs."""
        mined = pairs.mine_hard(self.margin)
        above = mined.distances - self.threshold
        attracted = _masked_log1p_sum_exp(self.alpha * above, mined.positive) / self.alpha
        return attracted + _masked_log1p_sum_exp(-self.beta * above, mined.negative) / self.beta


def _masked_log1p_sum_exp(exponents: Tensor, mask: Tensor) -> Tensor:
    """log(1 + Σ exp) over the masked entries of the last axis; 0 for an empty mask."""
    return torch.where(mask.any(dim=-1), F.softplus(masked_logsumexp(exponents, mask)), 0.0)
