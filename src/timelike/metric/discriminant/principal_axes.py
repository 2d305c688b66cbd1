"""Principal axes of vectors, from the smaller of the Gram matrix (item, item) and the covariance (feature, feature)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_LANDMARKS = 1536  # sequences that define the axes: eigenvectors of n × n products then take a second or two
_RANK = 1e-10  # fraction of the largest eigenvalue below which an axis is rounding error
_VARIANCE_FLOOR = 0.3  # fraction of the median variance added to the variance of each feature
_BLOCK_ROWS = 1 << 10  # vectors converted to double precision at once


class PrincipalBasis(NamedTuple):
    """Standardizes features, ignores constant ones, and rotates to axes in order of variance."""

    mean: Floats
    weight: Floats
    """About the inverse of the standard deviation, 0 where a feature is constant, (feature,)."""
    axes: Floats
    """(feature, axis), orthonormal."""

    def standardize(self, vectors: NDArray[np.floating]) -> Floats:
        """The standardized vectors, in double precision."""
        return (vectors.astype(np.float64) - self.mean) * self.weight

    def coordinates(self, vectors: NDArray[np.floating]) -> Floats:
        """The coordinates along the axes, (item, axis)."""
        blocks = (vectors[begin : begin + _BLOCK_ROWS] for begin in range(0, len(vectors), _BLOCK_ROWS))
        return np.concatenate([self.standardize(block) @ self.axes for block in blocks])

    def shift_origin(self, center: Floats) -> PrincipalBasis:
        """The same axes with the origin at `center`, in coordinates (axis,)."""
        varies = self.weight > 0
        shift = np.divide(self.axes @ center, self.weight, out=np.zeros_like(self.mean), where=varies)
        return self._replace(mean=self.mean + shift)


def fit_principal_axes(vectors: NDArray[np.floating], rng: np.random.Generator) -> tuple[PrincipalBasis, Floats]:
    """The principal axes of vectors (item, feature), and the uncorrelated coordinates of the vectors along them.

    With n items and p features, the axes are the eigenvectors of the p × p covariance or, if n < p, Xᵀ U S⁻¹ with the
    n × n products X Xᵀ = U S² Uᵀ. If both n and p exceed `MAX_LANDMARKS`, the axes are those of a random sample of
    `MAX_LANDMARKS` items.
    """
    whole = PrincipalBasis(*_feature_moments(vectors), np.empty((vectors.shape[1], 0)))
    n, p = vectors.shape
    if p > n <= MAX_LANDMARKS:
        basis, along = _axes_from_gram(whole, vectors)
    else:
        basis, along = _axes_from_covariance(whole, vectors, rng)
    if not along.shape[1]:
        raise ValueError("the encoder gives all sequences of X the same vector: expected sequences that differ")
    return basis, along


def _feature_moments(vectors: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """The mean and 1/√(v + c · median v); features that hardly vary are mostly noise and are not scaled up."""
    mean, deviation = (getattr(vectors, one)(axis=0, dtype=np.float64) for one in ("mean", "std"))
    varies = deviation > 1e-6 * np.abs(mean) + 1e-12  # less is rounding error of a constant
    usual = float(np.median(deviation[varies] ** 2)) if varies.any() else 1.0
    return mean, np.where(varies, 1 / np.sqrt(deviation**2 + _VARIANCE_FLOOR * usual), 0.0)


def _axes_from_gram(whole: PrincipalBasis, vectors: NDArray[np.floating]) -> tuple[PrincipalBasis, Floats]:
    """Axes Xᵀ U S⁻¹ and coordinates U S from products of sequences."""
    ready = whole.standardize(vectors)
    squares, left = _leading_eigenvectors(ready @ ready.T)
    sizes = np.sqrt(squares)
    return whole._replace(axes=ready.T @ (left / sizes)), left * sizes


def _axes_from_covariance(
    whole: PrincipalBasis, vectors: NDArray[np.floating], rng: np.random.Generator
) -> tuple[PrincipalBasis, Floats]:
    """Axes and coordinates from products of features, or of the axes of a random sample."""
    n, p = vectors.shape
    if p <= MAX_LANDMARKS:
        axes = np.eye(p)
    else:
        landmarks = vectors[np.sort(rng.permutation(n)[:MAX_LANDMARKS])]
        axes = _axes_from_gram(whole._replace(mean=landmarks.mean(axis=0, dtype=np.float64)), landmarks)[0].axes
    along = whole._replace(axes=axes).coordinates(vectors)
    turn = _leading_eigenvectors(along.T @ along / n)[1]
    return whole._replace(axes=axes @ turn), along @ turn


def _leading_eigenvectors(symmetric: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues above rounding error, in descending order, and their eigenvectors."""
    values, vectors = np.linalg.eigh(symmetric)
    least = max(_RANK * values.max(initial=0.0), np.finfo(np.float64).tiny)
    order = np.flatnonzero(values > least)[::-1]
    return values[order], vectors[:, order]
