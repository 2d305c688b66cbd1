"""`FittedMetric`: a metric that must be fitted, and raises an error for input unlike its training data."""

from __future__ import annotations

import copy
from typing import Any

from ..models import Model  # scikit-learn, which takes a second to import: DTW, in a file without it, does not wait
from ..sequences import Sequences
from .base import Metric
from .gallery import Gallery


class FittedMetric(Model, Metric):
    """A metric that must be fitted before it compares: an encoder or a learned distance."""

    def _validate_sides(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        self._require_fitted()
        super()._validate_sides(x, y, names)
        self._refuse_frame(x.frame, names[0])

    def prepare_gallery(self, X: Any) -> Gallery:
        """A gallery for repeated searches: everything that depends on X alone is computed once.

        The gallery keeps a copy of the metric, because fitting the metric again would make the stored results invalid.
        """
        return Metric.prepare_gallery(copy.deepcopy(self), X)
