"""Damping of linear dynamics that would grow without bound."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from ...core.warnings import find_stack_level
from .base import Matrix

MODULUS_TOLERANCE = 1e-6  # excess of a modulus over 1 that rounding explains
_WARN_MODULUS = 1.1  # smaller growth is often the noise of a short random walk
_MAX_CONDITION = 1e8  # condition number beyond which eigenvectors are not a usable basis


def companion_matrices(coefficients: Matrix) -> Matrix:
    """The matrices (..., cell × order, cell × order) that advance the last frames by one step.

    `coefficients` (..., lag, cell, cell) are the contributions of the last frames to the next, the latest first.
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
    """The matrix with eigenvalues outside the unit circle moved radially onto it."""
    values, vectors = np.linalg.eig(matrix)
    largest = np.abs(values).max()
    if largest <= 1 + MODULUS_TOLERANCE:
        return matrix
    if np.linalg.cond(vectors) > _MAX_CONDITION:  # no usable basis of eigenvectors: shrink the whole matrix
        return np.asarray(matrix / largest)
    inside = values / np.maximum(1.0, np.abs(values))
    return np.asarray((vectors * inside @ np.linalg.inv(vectors)).real)


def warn_of_growth(largest: float, who: str, instead: str) -> None:
    """Warn if the fitted dynamics grow."""
    if largest > _WARN_MODULUS:
        warnings.warn(
            f"the {who} that fits X best multiplies a part of it by {largest:.4g} in every step and would "
            f"grow without bound: forecasts damp the factor to 1. {instead}",
            stacklevel=find_stack_level(),
        )
