"""`GramMatrix`: similarities as a kernel, made positive semidefinite by clipping eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PsdCorrection = Literal["clip"]


@dataclass(frozen=True, eq=False)
class GramMatrix:
    """Similarities (item, item of the gallery) as a kernel, and how far they were from a positive semidefinite one.

    `min_eigenvalue` is the smallest eigenvalue of the gallery with itself, `n_negative` the number of its eigenvalues
    below 0 and `clipped_share` their fraction of its trace: Σ |λ < 0| / Σ λ. Without clipping (`psd=None`) they
    describe what would have been clipped, and are nan for similarities to a gallery, which have no eigenvalues.
    """

    matrix: Floats
    n_negative: float
    min_eigenvalue: float
    clipped_share: float

    def __str__(self) -> str:
        rows, columns = self.matrix.shape
        return (
            f"kernel of {rows} × {columns}: {self.n_negative:g} of {columns} eigenvalues below 0, the least "
            f"{self.min_eigenvalue:.3g}, in all {self.clipped_share:.2%} of the trace"
        )


def clip_gram(gram: Floats, to: Floats | None = None) -> GramMatrix:
    """The nearest positive semidefinite matrix to a symmetric one (gallery, gallery), or the projection of other rows.

    K = V Λ Vᵀ becomes V max(Λ, 0) Vᵀ = K P with P = V₊ V₊ᵀ, the projection onto the eigenvectors that stay. Rows `to`
    (item, gallery) of others become `to` P: an item of the gallery then has the same values as in the gallery.

    >>> gram = clip_gram(np.array([[1.0, 2.0], [2.0, 1.0]]))
    >>> gram.matrix.round(9).tolist(), gram.clipped_share
    ([[1.5, 1.5], [1.5, 1.5]], 0.5)
    >>> clip_gram(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[1.0, 0.0]])).matrix.round(9).tolist()
    [[0.5, 0.5]]
    """
    values, vectors = np.linalg.eigh(gram)
    stay = vectors[:, values > 0]
    if to is None:
        half = stay * np.sqrt(values[values > 0])
        matrix: Floats = half @ half.T
    else:
        matrix = (to @ stay) @ stay.T
    return GramMatrix(matrix, *_negative_eigenvalues(values))


def unclipped_gram(gram: Floats, to: Floats | None = None) -> GramMatrix:
    """The matrix unchanged; for a gallery with itself, with the statistics of its eigenvalues."""
    if to is not None:
        return GramMatrix(to, np.nan, np.nan, np.nan)
    return GramMatrix(gram, *_negative_eigenvalues(np.asarray(np.linalg.eigvalsh(gram), np.float64)))


def _negative_eigenvalues(values: Floats) -> tuple[float, float, float]:
    """Number, minimum and fraction of the eigenvalues below 0, without those due to rounding."""
    noise = len(values) * np.finfo(np.float64).eps * np.abs(values).max()
    below = values[values < -noise]
    return float(len(below)), float(values.min()), float(-below.sum() / values.sum())
