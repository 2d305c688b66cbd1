"""`Whitener`: standardizes or whitens vectors with the statistics of the training set, also in streams."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf

from ..models import schema
from .base import Floats, Stream

VectorScaling = Literal["raw", "standardized", "whitened"]
"""The scaling of the vectors of an encoder's network."""


class Whitener(NamedTuple):
    """(v − center) matrix: an affine map of vectors (item, feature).

    >>> vectors = np.array([[1.0, 30.0], [3.0, 10.0]])
    >>> Whitener.from_vectors(vectors, "standardized").transform(vectors).tolist()
    [[-1.0, 1.0], [1.0, -1.0]]
    """

    center: NDArray[np.float64]
    matrix: NDArray[np.float64]

    @classmethod
    def from_vectors(cls, vectors: NDArray[Any], scaling: VectorScaling) -> Whitener:
        """The map that gives these vectors mean 0 and deviation 1 in every feature, and if whitened no correlations.

        Whitening multiplies by Σ^(−1/2), which changes vectors as little as possible; Σ is shrunk towards a multiple of
        the identity (Ledoit and Wolf, 2004), since there are often fewer vectors than features. A constant feature is
        only centred.
        """
        values = np.asarray(vectors, np.float64)
        center = values.mean(axis=0)
        if scaling == "standardized":
            return cls(center, np.diag(1 / _safe_deviations(values.std(axis=0))))
        if len(values) == 1:  # a single vector has no covariance
            return cls(center, np.eye(len(center)))
        covariance = ledoit_wolf(values - center, assume_centered=True)[0]
        sizes, axes = np.linalg.eigh(covariance)
        return cls(center, (axes / _safe_deviations(np.sqrt(np.maximum(sizes, 0)))) @ axes.T)

    def transform(self, vectors: NDArray[Any]) -> Floats:
        """The mapped vectors, in float32."""
        # computed in double precision and rounded once, so that the bits do not depend on the other items
        return np.asarray((vectors - self.center) @ self.matrix, np.float32)


def _safe_deviations(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Deviations to divide by; 1 for those that are only rounding."""
    return np.where(deviations > 1e-6 * deviations.max(initial=0.0), deviations, 1.0)


WHITENER_SCHEMA = schema.record(
    Whitener, center=schema.array("n_features"), matrix=schema.array("n_features", "n_features")
)
"""The schema of a whitener for fitted attributes."""


class WhitenedStream(Stream):
    """A stream whose vectors are mapped by a whitener."""

    def __init__(self, stream: Stream, whitener: Whitener) -> None:
        self._stream, self._whitener = stream, whitener

    def push(self, sample: Any) -> Floats:
        """The vector (feature,) after this sample."""
        vector: Floats = self._whitener.transform(self._stream.push(sample)[None])[0]
        self.n_samples = self._stream.n_samples
        return vector
