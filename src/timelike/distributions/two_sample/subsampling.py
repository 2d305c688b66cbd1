"""`subsample_pair`: samples small enough for a matrix of all their pairs, of groups that are drawn."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ..kernels import matrix_blocks
from .permutations import ExchangeableUnits, exchangeable_units


class SubsampledPair(NamedTuple):
    """Two samples small enough for a matrix of all pairs, and the positions of the items of Y before."""

    X: Sequences
    Y: Sequences
    units: ExchangeableUnits
    y_positions: NDArray[np.int64]


def subsample_pair(X: Sequences, Y: Sequences, units: ExchangeableUnits, rng: np.random.Generator) -> SubsampledPair:
    """Where samples are large, some of their groups, drawn: of the larger sample first, and both parts of a group."""
    most = math.isqrt(matrix_blocks.MAX_MATRIX_ENTRIES)
    if len(X) + len(Y) <= most:
        return SubsampledPair(X, Y, units, np.arange(len(Y)))
    group, n = units.group_of, len(X)
    limits = [max(most // 2, most - len(Y)), max(most // 2, most - len(X))]
    kept = np.zeros(len(group), bool)
    for side, limit in zip((slice(0, n), slice(n, None)), limits, strict=True):
        names = rng.permutation(np.unique(group[side]))
        ends = np.cumsum(np.bincount(group[side], minlength=group.max() + 1)[names])
        kept[side] = np.isin(group[side], names[: max(2, int(np.searchsorted(ends, limit, side="right")))])
    if len(units.pairs):  # a part without the other one would no longer change places with it
        kept &= np.isin(group, np.intersect1d(group[:n][kept[:n]], group[n:][kept[n:]])) | ~np.isin(
            group, np.intersect1d(group[:n], group[n:])
        )
    of_x, of_y = np.flatnonzero(kept[:n]), np.flatnonzero(kept[n:])
    return SubsampledPair(
        X[of_x], Y[of_y], exchangeable_units(len(of_x), len(of_y), (group[:n][of_x], group[n:][of_y])), of_y
    )
