"""Linear dynamics that would grow without bound, damped."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ...core.warnings import find_stack_level
from .base import Matrix

MODULUS_TOLERANCE = 1e-6  # above 1 is a modulus that rounding explains
_WARN_MODULUS = 1.1  # from which growth is reported: less is often the noise of a short random walk
_MAX_CONDITION = 1e8  # of eigenvectors, beyond which they are no basis


def companion_matrices(coefficients: Matrix) -> Matrix:
    """The matrices (..., cell × order, cell × order) that move the last frames by a step.

    `coefficients` (..., lag, cell, cell) say what each of the last frames adds to the next, the latest first.
    """
    *many, order, n_cells, _ = coefficients.shape
    size = order * n_cells
    matrices = np.zeros((*many, size, size))
    matrices[..., :n_cells, :] = np.moveaxis(coefficients, -3, -2).reshape(*many, n_cells, size)
    matrices[..., np.arange(n_cells, size), np.arange(size - n_cells)] = 1.0
    return matrices


def spectral_radius(matrices: Matrix) -> NDArray[np.float64]:
    """The largest modulus of an eigenvalue of each matrix."""
    return np.asarray(np.abs(np.linalg.eigvals(matrices)).max(axis=-1))


def contract_eigenvalues(matrix: Matrix) -> Matrix:
    """The same matrix with eigenvalues outside the unit circle moved onto it, along their rays."""
    values, vectors = np.linalg.eig(matrix)
    largest = np.abs(values).max()
    if largest <= 1 + MODULUS_TOLERANCE:
        return matrix
    if np.linalg.cond(vectors) > _MAX_CONDITION:  # no basis of eigenvectors: everything is shrunk
        return np.asarray(matrix / largest)
    inside = values / np.maximum(1.0, np.abs(values))
    return np.asarray((vectors * inside @ np.linalg.inv(vectors)).real)


def warn_of_growth(largest: float, who: str, instead: str) -> None:
    """A warning where what was fitted grows."""
    if largest > _WARN_MODULUS:
        warnings.warn(
            f"the {who} that fits X best multiplies a part of it by {largest:.4g} in every step, without end: "
            f"forecasts are damped to 1. {instead}",
            stacklevel=find_stack_level(),
        )
