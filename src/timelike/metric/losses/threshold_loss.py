"""`ThresholdLoss`, the base class of losses on the two sides of a threshold: binomial and multi-similarity."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ...core.parameters import check_float
from .base import BatchPairs, Loss, check_loss_options


@dataclass(frozen=True, kw_only=True)
class ThresholdLoss(Loss):
    """A loss on hard pairs that should be nearer than a threshold, or farther."""

    alpha: float
    beta: float
    margin: float | None = 0.1
    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_loss_options(self.alpha, self.beta, self.margin)
        check_float(self.threshold, "threshold")

    def valid_queries(self, pairs: BatchPairs) -> Tensor:
        """Without mining one kind of pair is enough."""
        return pairs.has_any if self.margin is None else pairs.has_both
