"""`FittedMetric`: a metric that learns before it compares, and refuses what is unlike what it learned from."""

from __future__ import annotations

import copy
from typing import Any

from ..models import Model  # scikit-learn, which takes a second to import: DTW, in a file without it, does not wait
from ..sequences import Sequences
from .base import Metric
from .gallery import Gallery


class FittedMetric(Model, Metric):
    """A metric that has to learn before it compares: an encoder, or a learned distance."""

    def _validate_sides(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        self._require_fitted()
        super()._validate_sides(x, y, names)
        self._refuse_frame(x.frame, names[0])

    def prepare_gallery(self, X: Any) -> Gallery:
        """X made ready for many searches: what is computed of X alone is computed now, and not for every query.

        The gallery keeps a copy of the metric: fitted again, it would compare queries of another kind with these.
        """
        return Metric.prepare_gallery(copy.deepcopy(self), X)
