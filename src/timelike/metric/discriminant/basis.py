"""Principal axes of vectors, from whichever is smaller: the products of sequences or the products of features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LANDMARKS = 1536  # sequences that axes are made of: n × n products and their eigenvectors take a second or two then
_RANK = 1e-10  # of the largest eigenvalue: below, an axis is rounding
_QUIET = 0.3  # of the median variance of features, added to each before it is scaled
_ROWS = 1 << 10  # vectors that are in double precision at a time


class Basis(NamedTuple):
    """Features are standardized, constant ones ignored, and turned to axes along which they vary most first."""

    mean: Floats
    weight: Floats
    """About the inverse of the standard deviation, 0 where a feature is constant, (feature,)."""
    axes: Floats
    """(feature, axis), orthonormal."""

    def ready(self, vectors: NDArray[np.floating]) -> Floats:
        """Standardized, in double precision."""
        return (vectors.astype(np.float64) - self.mean) * self.weight

    def coordinates(self, vectors: NDArray[np.floating]) -> Floats:
        """Along the axes, (item, axis)."""
        blocks = (vectors[begin : begin + _ROWS] for begin in range(0, len(vectors), _ROWS))
        return np.concatenate([self.ready(block) @ self.axes for block in blocks])


def principal(vectors: NDArray[np.floating], rng: np.random.Generator) -> tuple[Basis, Floats]:
    """The axes of vectors (item, feature), and the coordinates of the vectors along them, which are uncorrelated.

    With n items and p features, the eigenvectors of the p × p covariance or, where n < p, those U of the n × n products
    X Xᵀ = U S² Uᵀ, with which the axes are Xᵀ U S⁻¹. Of more than `LANDMARKS` items with more features than that, as
    many are drawn and the axes are theirs.
    """
    mean, weight = _moments(vectors)
    whole = Basis(mean, weight, np.empty((len(mean), 0)))
    n, p = vectors.shape
    if p <= min(n, LANDMARKS):
        axes = np.eye(p)
    else:
        chosen = np.sort(rng.permutation(n)[:LANDMARKS]) if n > LANDMARKS else slice(None)
        some = whole.ready(vectors[chosen])
        axes = _dual(some - some.mean(axis=0))
    along = whole._replace(axes=axes)
    coordinates = along.coordinates(vectors)
    variances, turn = _largest(coordinates.T @ coordinates / n)
    if not len(variances):
        raise ValueError("the encoder gives all sequences of X the same vector: there is nothing to tell them apart by")
    return along._replace(axes=axes @ turn), coordinates @ turn


def _moments(vectors: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """The mean, and 1/√(v + c · median v): a feature that hardly varies is mostly chance, and is not made loud."""
    mean, deviation = (getattr(vectors, one)(axis=0, dtype=np.float64) for one in ("mean", "std"))
    varies = deviation > 1e-6 * np.abs(mean) + 1e-12  # less is what rounding leaves of a constant
    usual = float(np.median(deviation[varies] ** 2)) if varies.any() else 1.0
    return mean, np.where(varies, 1 / np.sqrt(deviation**2 + _QUIET * usual), 0.0)


def _dual(ready: Floats) -> Floats:
    """Xᵀ U S⁻¹, orthonormal (feature, axis), from X (item, feature)."""
    squares, left = _largest(ready @ ready.T)
    axes: Floats = ready.T @ (left / np.sqrt(squares))
    return axes


def _largest(symmetric: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues that are more than rounding, the largest first, and their eigenvectors."""
    values, vectors = np.linalg.eigh(symmetric)
    least = max(_RANK * values.max(initial=0.0), np.finfo(np.float64).tiny)
    order = np.flatnonzero(values > least)[::-1]
    return values[order], vectors[:, order]
