"""The kernel matrix of the items a discriminator is trained on, whole or in blocks of rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..blocks import WHOLE, row_blocks
from .base import Floats, Game


class Gram:
    """K (item, item) of a game: kept where it is small, and made anew in blocks for every product where it is not."""

    def __init__(self, game: Game) -> None:
        self.kernel = game.kernel
        self.known = game.kernel._known(game.both, "fake")
        self.small = len(self.known) ** 2 <= WHOLE

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def matrix(self) -> Floats:
        """All of it, exactly symmetric."""
        found = np.asarray(self.kernel._between(self.known, None))
        if not np.isfinite(found).all():
            raise ValueError(f"{self.kernel!r} gave nan or infinity between items: expected finite similarities")
        return found

    def times(self, vector: Floats) -> Floats:
        """K v."""
        if self.small:
            return self.matrix @ vector
        return np.concatenate([block @ vector for _, block in row_blocks(self.kernel, self.known, self.known)])


class Symmetric:
    """A = D K D with D = diag(√share): symmetric, with the eigenvalues of the operator of eq. 6.8, times 2."""

    def __init__(self, gram: Gram, shares: Floats) -> None:
        self.gram, self.roots = gram, np.sqrt(shares)

    def times(self, vector: Floats) -> Floats:
        """A v."""
        return self.roots * self.gram.times(self.roots * vector)

    def spectrum(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors (item, one of them)."""
        values, vectors = np.linalg.eigh(self.roots[:, None] * self.gram.matrix * self.roots)
        return values, vectors
