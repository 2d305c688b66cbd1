"""How far an estimate of MMD² may be off: what single items, or groups, contribute to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.base import Matrix

Floats = NDArray[np.float64]


class MMDEstimate(NamedTuple):
    """Unbiased MMD² of two samples and the variance of that estimate."""

    value: float
    variance: float
    x_variance: float
    """What X adds to it, times its number of groups."""
    y_variance: float


def mean_similarities(matrix: Matrix, n: int, units: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Of every item, the mean similarity to the first n items and to the rest, each (item,).

    Items of its own unit do not count, unless there are no others on its side; then all but itself, and at the last
    itself.
    """
    apart, other = units[:, None] != units, ~np.eye(len(matrix), dtype=bool)
    found = []
    for side in (slice(0, n), slice(n, len(matrix))):
        counted = apart[:, side].copy()
        lone = ~counted.any(axis=1)
        counted[lone] = other[lone, side]
        counted[~counted.any(axis=1)] = True
        found.append((matrix[:, side] * counted).sum(axis=1) / counted.sum(axis=1))
    return found[0], found[1]


def estimate_mmd(matrix: Matrix, n: int, groups: NDArray[np.int64]) -> MMDEstimate:
    """Unbiased MMD² of the pooled sample's matrix, of which the first n items are X, and its first-order variance.

    An item x contributes 2 (mean k(x, x′) − mean k(x, y)) / n, and the variance is that of the sum of what groups
    contribute (Gretton et al., "A kernel two-sample test", 2012, for single items); a group that is in both samples
    contributes to both. It vanishes where nothing differs; then what permutations spread is what is left.
    """
    first, rest = mean_similarities(matrix, n, groups)
    sides = (first - rest)[:n], (rest - first)[n:]
    apart = np.concatenate([2 * (side - side.mean()) / len(side) for side in sides])
    of_x, of_y = _grouped_variance(apart[:n], groups[:n]), _grouped_variance(apart[n:], groups[n:])
    count_x, count_y = len(np.unique(groups[:n])), len(np.unique(groups[n:]))
    value = float(sides[0].mean() + sides[1].mean())
    both = np.intersect1d(groups[:n], groups[n:])
    variance = _grouped_variance(apart, groups) if len(both) else of_x + of_y
    return MMDEstimate(value, variance, of_x * count_x, of_y * count_y)


def _grouped_variance(parts: Floats, groups: NDArray[np.int64]) -> float:
    """Of a sum of what groups contribute."""
    names, group = np.unique(groups, return_inverse=True)
    sums = np.bincount(group, parts)
    return float((sums**2).sum()) * len(names) / max(len(names) - 1, 1)
