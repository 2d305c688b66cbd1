"""The lifted structure loss: soft extremes of positives and negatives."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .base import BatchPairs, Loss, check_loss_options, masked_logsumexp


@dataclass(frozen=True, kw_only=True)
class Lifted(Loss):
    """Lifted structure loss: the soft maximum of the positives against the soft minimum of the negatives.

    2/β log Σ_p exp(β d_p) + 2/α log Σ_n exp(−α d_n) for each query (Su and Wen, ICLR 2022, eq. 5; after Song et al.,
    "Deep Metric Learning via Lifted Structured Feature Embedding", CVPR 2016). α and β are the sharpness of the two,
    so a large value selects the hardest pair: in the limit 2 (max_p d_p − min_n d_n). There is no hinge as in Song et
    al.: the loss falls without limit as negatives move away, so distances should be bounded.

    Parameters
    ----------
    alpha, beta : float
        Sharpness for the negatives and for the positives. (The paper's text has it the other way round; its equations
        and the authors' code are as here.)
    margin : float, optional
        If given, use only the pairs that violate the margin, as in `Binomial`. The authors' code uses 0.1, unlike their
        equation.

    Examples
    --------
    >>> import torch
    >>> distances = torch.tensor([[0.0, 0.3, 0.5]])
    >>> Lifted()(distances, torch.tensor([0]), torch.tensor([0, 0, 1]))  # log(1 + exp(0.6)) − 2 · 0.5
    tensor(0.0375)
    """

    alpha: float = 40.0
    beta: float = 2.0
    margin: float | None = None

    def __post_init__(self) -> None:
        check_loss_options(self.alpha, self.beta, self.margin)

    def query_losses(self, pairs: BatchPairs) -> Tensor:
        """Equation 5."""
        mined = pairs.mine_hard(self.margin)
        positives = masked_logsumexp(self.beta * mined.distances, mined.positive) * (2 / self.beta)
        negatives = masked_logsumexp(-self.alpha * mined.distances, mined.negative) * (2 / self.alpha)
        return torch.where(mined.has_both, positives + negatives, 0.0)
