"""Thresholded, the base of losses on the two sides of a threshold: binomial and multi-similarity."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ...sequences.arguments import real
from .base import Loss, Pairs, check_sharpness


@dataclass(frozen=True, kw_only=True)
class Thresholded(Loss):
    """A loss on hard pairs that should be nearer than a threshold, or farther."""

    alpha: float
    beta: float
    margin: float | None = 0.1
    threshold: float = 0.5

    def __post_init__(self) -> None:
        check_sharpness(self.alpha, self.beta, self.margin)
        real(self.threshold, "threshold")

    def speaking(self, pairs: Pairs) -> Tensor:
        """Without mining one kind of pair is enough."""
        return pairs.any if self.margin is None else pairs.both
