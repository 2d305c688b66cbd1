"""Learned distances of every kind: what they learn from, and what they refuse to compare."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..align import FittedMetric
from ..sequences import Sequences
from ..sequences.reading import read_targets
from ..train import Trained


class MetricEstimator(Trained, FittedMetric):
    """A distance that is trained from classes."""

    classes_: NDArray[Any]
    _call = "fit(X, y)"

    def _targets(self, sequences: Sequences, y: Any) -> Any:
        """The class of every sequence, as a number."""
        labels = read_targets(self, sequences, y, "class")
        self.classes_, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(counts) < 2:
            pairs = (
                "; without classes, fit_pairs(X, pairs, same) learns from pairs" if hasattr(self, "fit_pairs") else ""
            )
            raise ValueError(
                f"y holds one class, {self.classes_.tolist()[0]!r}: a distance is learned from two or more{pairs}"
            )
        if counts.max() < 2:
            raise ValueError(
                f"every class has one member only ({len(counts)} classes): nothing says what alike means; give some "
                "class two members or more"
            )
        return classes.astype(np.int64)

    def _refuse(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        super()._refuse(x, y, names)
        for side, name in zip((x, y), names, strict=True):
            if side is not None:
                self.moments_.refuse(side, name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
