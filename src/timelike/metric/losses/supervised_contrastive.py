"""The supervised contrastive loss: a query is to find all of its class among the whole batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...core.parameters import check_float
from .base import BatchPairs, Loss, masked_logsumexp, masked_mean


@dataclass(frozen=True, kw_only=True)
class SupervisedContrastive(Loss):
    """Supervised contrastive loss: the softmax over all others should fall on those of the query's class.

    −mean_p log (exp(−d_p² / 2τ) / Σ_a exp(−d_a² / 2τ)) for each query, a over all others of the batch, positives and
    negatives (Khosla et al., "Supervised Contrastive Learning", NeurIPS 2020, L_out). Of vectors of length 1, −d² / 2
    is their cosine less 1, so that this is the published loss; of other distances it is a softmax of squares. Good
    where many of a class are in a batch; for two or three of each, `Triplet` and `Structural` have as much to say.

    Parameters
    ----------
    temperature : float
        τ: the smaller, the more the nearest count.

    Examples
    --------
    >>> import torch
    >>> loss = SupervisedContrastive(temperature=0.5)
    >>> loss(torch.tensor([[1.0, 1.0]]), torch.tensor([0]), torch.tensor([0, 1]))  # one of two alike: log 2
    tensor(0.6931)
    """

    temperature: float = 0.1

    def __post_init__(self) -> None:
        check_float(self.temperature, "temperature", above=0.0)

    def query_losses(self, pairs: BatchPairs) -> Tensor:
        """The mean over the positives of each query."""
        logits = -pairs.distances.square() / (2 * self.temperature)
        others = masked_logsumexp(logits, pairs.positive | pairs.negative)
        return masked_mean(torch.where(pairs.positive, others[:, None] - logits, 0.0), pairs.positive)
