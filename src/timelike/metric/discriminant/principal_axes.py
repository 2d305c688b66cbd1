"""Principal axes of vectors, from whichever is smaller: the products of sequences or the products of features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_LANDMARKS = 1536  # sequences that axes are made of: n × n products and their eigenvectors take a second or two then
_RANK = 1e-10  # of the largest eigenvalue: below, an axis is rounding
_VARIANCE_FLOOR = 0.3  # of the median variance of features, added to each before it is scaled
_BLOCK_ROWS = 1 << 10  # vectors that are in double precision at a time


class PrincipalBasis(NamedTuple):
    """Features are standardized, constant ones ignored, and rotated to axes in order of variance."""

    mean: Floats
    weight: Floats
    """About the inverse of the standard deviation, 0 where a feature is constant, (feature,)."""
    axes: Floats
    """(feature, axis), orthonormal."""

    def standardize(self, vectors: NDArray[np.floating]) -> Floats:
        """Standardized, in double precision."""
        return (vectors.astype(np.float64) - self.mean) * self.weight

    def coordinates(self, vectors: NDArray[np.floating]) -> Floats:
        """Along the axes, (item, axis)."""
        blocks = (vectors[begin : begin + _BLOCK_ROWS] for begin in range(0, len(vectors), _BLOCK_ROWS))
        return np.concatenate([self.standardize(block) @ self.axes for block in blocks])

    def shift_origin(self, center: Floats) -> PrincipalBasis:
        """The same axes with their origin at a point that is given in coordinates, (axis,)."""
        varies = self.weight > 0
        shift = np.divide(self.axes @ center, self.weight, out=np.zeros_like(self.mean), where=varies)
        return self._replace(mean=self.mean + shift)


def fit_principal_axes(vectors: NDArray[np.floating], rng: np.random.Generator) -> tuple[PrincipalBasis, Floats]:
    """The axes of vectors (item, feature), and the coordinates of the vectors along them, which are uncorrelated.

    With n items and p features, the eigenvectors of the p × p covariance or, where n < p, those U of the n × n products
    X Xᵀ = U S² Uᵀ, with which the axes are Xᵀ U S⁻¹. Of more than `MAX_LANDMARKS` items with more features than that,
    as many are drawn and the axes are theirs.
    """
    whole = PrincipalBasis(*_feature_moments(vectors), np.empty((vectors.shape[1], 0)))
    n, p = vectors.shape
    if p > n <= MAX_LANDMARKS:
        basis, along = _axes_from_gram(whole, vectors)
    else:
        basis, along = _axes_from_covariance(whole, vectors, rng)
    if not along.shape[1]:
        raise ValueError("the encoder gives all sequences of X the same vector: there is nothing to tell them apart by")
    return basis, along


def _feature_moments(vectors: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """The mean, and 1/√(v + c · median v): a feature that hardly varies is mostly noise, and is not scaled up."""
    mean, deviation = (getattr(vectors, one)(axis=0, dtype=np.float64) for one in ("mean", "std"))
    varies = deviation > 1e-6 * np.abs(mean) + 1e-12  # less is what rounding leaves of a constant
    usual = float(np.median(deviation[varies] ** 2)) if varies.any() else 1.0
    return mean, np.where(varies, 1 / np.sqrt(deviation**2 + _VARIANCE_FLOOR * usual), 0.0)


def _axes_from_gram(whole: PrincipalBasis, vectors: NDArray[np.floating]) -> tuple[PrincipalBasis, Floats]:
    """From products of sequences: axes Xᵀ U S⁻¹, along which the sequences are U S."""
    ready = whole.standardize(vectors)
    squares, left = _leading_eigenvectors(ready @ ready.T)
    sizes = np.sqrt(squares)
    return whole._replace(axes=ready.T @ (left / sizes)), left * sizes


def _axes_from_covariance(
    whole: PrincipalBasis, vectors: NDArray[np.floating], rng: np.random.Generator
) -> tuple[PrincipalBasis, Floats]:
    """From products of features, or of axes that are those of a draw."""
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
    """Eigenvalues that are more than rounding, the largest first, and their eigenvectors."""
    values, vectors = np.linalg.eigh(symmetric)
    least = max(_RANK * values.max(initial=0.0), np.finfo(np.float64).tiny)
    order = np.flatnonzero(values > least)[::-1]
    return values[order], vectors[:, order]
