"""Metrics that are fitted: what they are asked must be like what they learned from."""

from __future__ import annotations

from typing import Any

from ..models import Model
from ..sequences import Sequences
from .base import Metric


class FittedMetric(Model, Metric):
    """A metric that has to learn before it compares: an encoder, or a learned distance."""

    def _refuse(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        self._require_fitted()
        super()._refuse(x, y, names)
        self._refuse_frame(x.frame, names[0])

    def _refuse_search(self, collection: Sequences, asked: Sequences, k: Any) -> None:
        self._require_fitted()
        super()._refuse_search(collection, asked, k)
