"""The kernel matrix of the items a discriminator is trained on, whole or in blocks of rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..kernels.matrix_blocks import MAX_MATRIX_ENTRIES, iterate_row_blocks
from .base import Floats
from .validation import CriticProblem


class BlockedGram:
    """K (item, item) of a game: kept where it is small, and made anew in blocks for every product where it is not."""

    def __init__(self, game: CriticProblem) -> None:
        self.kernel = game.kernel
        self.precomputed = game.kernel._precompute_items(game.pooled, "fake")
        self.fits_in_memory = len(self.precomputed) ** 2 <= MAX_MATRIX_ENTRIES

    def __len__(self) -> int:
        return len(self.precomputed)

    @cached_property
    def matrix(self) -> Floats:
        """All of it, exactly symmetric."""
        found = np.asarray(self.kernel._kernel_matrix(self.precomputed, None))
        if not np.isfinite(found).all():
            raise ValueError(f"{self.kernel!r} gave nan or infinity between items: expected finite similarities")
        return found

    def times(self, vector: Floats) -> Floats:
        """K v."""
        if self.fits_in_memory:
            return self.matrix @ vector
        return np.concatenate(
            [block @ vector for _, block in iterate_row_blocks(self.kernel, self.precomputed, self.precomputed)]
        )


class SymmetricGram:
    """A = D K D with D = diag(√share): symmetric, with the eigenvalues of the operator of eq. 6.8, times 2."""

    def __init__(self, gram: BlockedGram, shares: Floats) -> None:
        self.gram, self.roots = gram, np.sqrt(shares)

    def times(self, vector: Floats) -> Floats:
        """A v."""
        return self.roots * self.gram.times(self.roots * vector)

    def eigh(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors (item, one of them)."""
        values, vectors = np.linalg.eigh(self.roots[:, None] * self.gram.matrix * self.roots)
        return values, vectors
