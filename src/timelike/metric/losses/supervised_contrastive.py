"""The supervised contrastive loss: a softmax over the batch that should select the query's class."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...core.parameters import check_float
from .base import BatchPairs, Loss, masked_logsumexp, masked_mean


@dataclass(frozen=True, kw_only=True)
class SupervisedContrastive(Loss):
    """Supervised contrastive loss: the softmax over all other items should select the query's class.

    −mean_p log (exp(−d_p² / 2τ) / Σ_a exp(−d_a² / 2τ)) for each query, where a runs over all other items of the batch,
    positives and negatives (Khosla et al., "Supervised Contrastive Learning", NeurIPS 2020, L_out). For vectors of
    length 1, −d² / 2 is their cosine minus 1, so this is the published loss; for other distances it is a softmax of
    squares. It works well with many members per class in a batch; with two or three, `Triplet` and `Structural` are as
    good.

    Parameters
    ----------
    temperature : float
        τ; smaller values give near items more weight.

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
