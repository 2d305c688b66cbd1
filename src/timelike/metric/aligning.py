"""Comparers that also say how two sequences line up."""

from __future__ import annotations

import abc

from torch import Tensor

from .comparer import Comparer, Prepared
from .tiles import tiled
from .transformation import Transformation


class Aligning(Comparer):
    """A distance through an alignment, of frames that the same network h has transformed.

    `Prepared.values` begin with the frames after h; what a method needs beside them follows.
    """

    transformation: Transformation

    @abc.abstractmethod
    def attend(self, x: Prepared, y: Prepared) -> tuple[Tensor, Tensor]:
        """Distances (item,) from x to y, and the alignment (item, n, m) as it is predicted, 0 in the padding."""

    @abc.abstractmethod
    def tile(self, x: Prepared, y: Prepared) -> Tensor:
        """The distances of all pairs, (item of x, item of y), at once."""

    def matrix(self, x: Prepared, y: Prepared) -> Tensor:
        """The distances of all pairs, (item of x, item of y), in tiles of alike lengths."""
        return tiled(self.tile, x, y, self.room)

    def plan(self, x: Prepared, y: Prepared) -> Tensor:
        """The alignment T (item, n, m), whose entries sum to 1."""
        found = self.attend(x, y)[1]
        return found / found.sum((1, 2), keepdim=True)

    def mean_pooled(self, x: Prepared) -> Tensor:
        """The mean of the frames of each sequence after h, (item, output): the vector of a linear probe (TAP, A.9)."""
        return x.values[..., : self.transformation.n_outputs].sum(1) / x.lengths[:, None]
