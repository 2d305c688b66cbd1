"""Spread: vectors standardized or whitened as those of the training set are, and the same along a stream."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.covariance import ledoit_wolf

from ..models import learned
from .base import Floats, Stream

Vectors = Literal["plain", "standardized", "whitened"]
"""What an encoder makes of the vectors that its network gives."""


class Spread(NamedTuple):
    """(v − center) turn: an affine map of vectors (item, feature).

    >>> vectors = np.array([[1.0, 30.0], [3.0, 10.0]])
    >>> Spread.of(vectors, "standardized").applied(vectors).tolist()
    [[-1.0, 1.0], [1.0, -1.0]]
    """

    center: NDArray[np.float64]
    turn: NDArray[np.float64]

    @classmethod
    def of(cls, vectors: NDArray[Any], how: Vectors) -> Spread:
        """What brings these vectors to mean 0 and to deviation 1 in every feature, or also free of correlations.

        Whitened is by Σ^(−1/2), which turns vectors no further than it must; Σ is shrunk towards a multiple of the
        identity (Ledoit and Wolf, 2004), since there are often fewer vectors than features. A feature that never
        changes is left as it is.
        """
        given = np.asarray(vectors, np.float64)
        center = given.mean(axis=0)
        if how == "standardized":
            return cls(center, np.diag(1 / _deviations(given.std(axis=0))))
        if len(given) == 1:  # of which there is no covariance
            return cls(center, np.eye(len(center)))
        covariance = ledoit_wolf(given - center, assume_centered=True)[0]
        sizes, axes = np.linalg.eigh(covariance)
        return cls(center, (axes / _deviations(np.sqrt(np.maximum(sizes, 0)))) @ axes.T)

    def applied(self, vectors: NDArray[Any]) -> Floats:
        """The vectors on the map, in float32."""
        # in double precision, so that rounding once at the end gives a vector the same bits in any company
        return np.asarray((vectors - self.center) @ self.turn, np.float32)


def _deviations(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """What to divide by: 1 where there is nothing but rounding."""
    return np.where(found > 1e-6 * found.max(initial=0.0), found, 1.0)


SPREAD = learned.record(Spread, center=learned.array("n_features"), turn=learned.array("n_features", "n_features"))
"""How an encoder declares it."""


class SpreadStream(Stream):
    """A stream whose vectors go through an affine map."""

    def __init__(self, stream: Stream, spread: Spread) -> None:
        self._stream, self._spread = stream, spread

    def push(self, sample: Any) -> Floats:
        """The representation (feature,) with this sample."""
        vector: Floats = self._spread.applied(self._stream.push(sample)[None])[0]
        self.n_samples = self._stream.n_samples
        return vector
