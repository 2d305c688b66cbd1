"""How sequences that are alike and those that are not are scattered, and the linear maps that follow from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .principal_axes import Floats

CLASS_FLOOR = 0.3  # of the mean variance, added to every axis before class directions are sought
_WITHIN_SHRINKAGE = 0.1  # how far the scatter within classes is shrunk there
_ALL_FLOOR = 1.0  # the floor where all directions are kept: more of them are noise
_HALF_WEIGHT_MEMBERS = 3.0  # members with which a class counts half as much as the largest in the centre of classes


class Scatter(NamedTuple):
    """What is learned of classes, or of pairs: in coordinates along principal axes."""

    within: Floats
    """Covariance of sequences around their class, (axis, axis)."""
    means: Floats
    """A matrix M (any, axis) with Mᵀ M the covariance between classes: their means, all classes alike."""


def class_scatter(coordinates: Floats, codes: NDArray[np.int64]) -> Scatter:
    """S_w = 1/n Σ (z_i − m_c(i))(z_i − m_c(i))ᵀ, and the means of classes around their own mean."""
    means, counts = class_means(coordinates, codes)
    around = coordinates - means[codes]
    centred = means - means.mean(axis=0)
    return Scatter(around.T @ around / len(codes), centred / np.sqrt(len(counts)))


def class_means(coordinates: Floats, codes: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """The mean of every class, (class, axis), and how many members it has, (class,)."""
    counts = np.bincount(codes)
    means = np.zeros((len(counts), coordinates.shape[1]))
    np.add.at(means, codes, coordinates)
    return means / counts[:, None], counts


def class_center(coordinates: Floats, codes: NDArray[np.int64]) -> Floats:
    """c = Σ_k w_k m_k / Σ_k w_k with w_k = n_k / (n_k + κ), (axis,): where no class is nearer than another.

    Vectors are compared by their directions from a centre. At the mean of all items that centre lies inside a class
    that has most of the items, whose directions are then noise. The mean of class means does not, but is at the mercy
    of classes with a single member; w_k is the weight of a group mean in a random-effects model.

    >>> class_center(np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([0, 0, 0, 1, 1, 1]))
    array([0.5])
    """
    means, counts = class_means(coordinates, codes)
    center: Floats = np.average(means, axis=0, weights=counts / (counts + _HALF_WEIGHT_MEMBERS))
    return center


def pair_scatter(coordinates: Floats, pairs: NDArray[np.int64], same: NDArray[np.bool_]) -> Scatter:
    """From differences: S_w = ½ mean of those of pairs that are alike; what is more in the others is between."""
    apart = coordinates[pairs[:, 0]] - coordinates[pairs[:, 1]]
    within, total = (half.T @ half / (2 * len(half)) for half in (apart[same], apart[~same]))
    values, vectors = np.linalg.eigh(total - within)
    positive = values > 1e-10 * max(values[-1], np.finfo(np.float64).tiny)
    return Scatter(within, (vectors[:, positive] * np.sqrt(values[positive])).T)


def whitening_scales(variances: Floats, floor: float) -> Floats:
    """1/√(v_k + floor · mean v), (axis,): axes of small variance are mostly noise, and the floor keeps them small."""
    scales: Floats = 1 / np.sqrt(variances + floor * variances.mean())
    return scales


def inverse_square_root(scatter: Floats, shrinkage: float) -> Floats:
    """R (axis, axis) with R Rᵀ = ((1 − γ) S + γ mean(S) I)⁻¹, the shrunk scatter of Ledoit and Wolf (2004)."""
    values, vectors = np.linalg.eigh(scatter)
    values = np.maximum(values, 0.0)
    if values.mean() <= np.finfo(np.float64).tiny:  # members of a class are all the same
        return np.eye(len(values))
    root: Floats = vectors / np.sqrt((1 - shrinkage) * values + shrinkage * values.mean())
    return root


def class_directions(variances: Floats, scatter: Scatter) -> Floats:
    """z ↦ M A Aᵀ z, (axis, class): whitened, whitened within classes, then the product with each class's mean."""
    root = _within_class_whitening(variances, scatter.within, CLASS_FLOOR, _WITHIN_SHRINKAGE)
    directions: Floats = root @ (scatter.means @ root).T
    return directions


def all_directions(variances: Floats, scatter: Scatter, shrinkage: float, most: int) -> Floats:
    """z ↦ Aᵀ z, (axis, axis): whitened, and whitened within classes; nothing left out but the least of many axes."""
    return _within_class_whitening(variances[:most], scatter.within[:most, :most], _ALL_FLOOR, shrinkage)


def _within_class_whitening(variances: Floats, within: Floats, floor: float, shrinkage: float) -> Floats:
    """A = W R: first as variances say, then as classes do."""
    white = whitening_scales(variances, floor)
    whitening: Floats = white[:, None] * inverse_square_root(white[:, None] * within * white, shrinkage)
    return whitening


def normalize_rows(rows: Floats) -> Floats:
    """Each of length 1; one at the very centre stays there."""
    normalized: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return normalized
