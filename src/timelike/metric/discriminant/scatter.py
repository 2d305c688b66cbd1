"""Scatter within and between classes, and the linear maps derived from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .principal_axes import Floats

CLASS_FLOOR = 0.3  # fraction of the mean variance added to each axis for class directions
_WITHIN_SHRINKAGE = 0.1  # shrinkage of the within-class scatter for class directions
_ALL_FLOOR = 1.0  # the floor for all directions, more of which are noise
_HALF_WEIGHT_MEMBERS = 3.0  # members that give a class half of the maximum weight in the centre of classes


class Scatter(NamedTuple):
    """Scatter within and between classes, in coordinates along principal axes."""

    within: Floats
    """Covariance of sequences around their class, (axis, axis)."""
    means: Floats
    """A matrix M (any, axis) such that Mᵀ M is the covariance of the class means, with equal weights."""


def class_scatter(coordinates: Floats, codes: NDArray[np.int64]) -> Scatter:
    """S_w = 1/n Σ (z_i − m_c(i))(z_i − m_c(i))ᵀ, and the centred class means."""
    means, counts = class_means(coordinates, codes)
    around = coordinates - means[codes]
    centred = means - means.mean(axis=0)
    return Scatter(around.T @ around / len(codes), centred / np.sqrt(len(counts)))


def class_means(coordinates: Floats, codes: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """The mean of each class, (class, axis), and its number of members, (class,)."""
    counts = np.bincount(codes)
    means = np.zeros((len(counts), coordinates.shape[1]))
    np.add.at(means, codes, coordinates)
    return means / counts[:, None], counts


def class_center(coordinates: Floats, codes: NDArray[np.int64]) -> Floats:
    """A centre that gives classes similar weight, c = Σ_k w_k m_k / Σ_k w_k with w_k = n_k / (n_k + κ), (axis,).

    Vectors are compared by their directions from a centre. The mean of all items lies inside a dominant class, whose
    directions are then noise. The mean of class means avoids this, but is sensitive to classes with a single member.
    w_k is the weight of a group mean in a random-effects model.

    >>> class_center(np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([0, 0, 0, 1, 1, 1]))
    array([0.5])
    """
    means, counts = class_means(coordinates, codes)
    center: Floats = np.average(means, axis=0, weights=counts / (counts + _HALF_WEIGHT_MEMBERS))
    return center


def pair_scatter(coordinates: Floats, pairs: NDArray[np.int64], same: NDArray[np.bool_]) -> Scatter:
    """Scatter from differences: S_w is half the mean over alike pairs; the excess in other pairs is between classes."""
    apart = coordinates[pairs[:, 0]] - coordinates[pairs[:, 1]]
    within, total = (half.T @ half / (2 * len(half)) for half in (apart[same], apart[~same]))
    values, vectors = np.linalg.eigh(total - within)
    positive = values > 1e-10 * max(values[-1], np.finfo(np.float64).tiny)
    return Scatter(within, (vectors[:, positive] * np.sqrt(values[positive])).T)


def whitening_scales(variances: Floats, floor: float) -> Floats:
    """1/√(v_k + floor · mean v), (axis,); the floor keeps axes of small variance, which are mostly noise, small."""
    scales: Floats = 1 / np.sqrt(variances + floor * variances.mean())
    return scales


def inverse_square_root(scatter: Floats, shrinkage: float) -> Floats:
    """R (axis, axis) with R Rᵀ = ((1 − γ) S + γ mean(S) I)⁻¹, the shrunk scatter of Ledoit and Wolf (2004)."""
    values, vectors = np.linalg.eigh(scatter)
    values = np.maximum(values, 0.0)
    if values.mean() <= np.finfo(np.float64).tiny:  # all members of each class are equal
        return np.eye(len(values))
    root: Floats = vectors / np.sqrt((1 - shrinkage) * values + shrinkage * values.mean())
    return root


def class_directions(variances: Floats, scatter: Scatter) -> Floats:
    """z ↦ M A Aᵀ z, (axis, class): whitening, within-class whitening, and the product with each class mean."""
    root = _within_class_whitening(variances, scatter.within, CLASS_FLOOR, _WITHIN_SHRINKAGE)
    directions: Floats = root @ (scatter.means @ root).T
    return directions


def all_directions(variances: Floats, scatter: Scatter, shrinkage: float, most: int) -> Floats:
    """z ↦ Aᵀ z, (axis, axis): whitening and within-class whitening of the first `most` axes."""
    return _within_class_whitening(variances[:most], scatter.within[:most, :most], _ALL_FLOOR, shrinkage)


def _within_class_whitening(variances: Floats, within: Floats, floor: float, shrinkage: float) -> Floats:
    """A = W R: whitening by the variances, then within classes."""
    white = whitening_scales(variances, floor)
    whitening: Floats = white[:, None] * inverse_square_root(white[:, None] * within * white, shrinkage)
    return whitening


def normalize_rows(rows: Floats) -> Floats:
    """Scale each row to length 1; zero rows stay zero."""
    normalized: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return normalized
