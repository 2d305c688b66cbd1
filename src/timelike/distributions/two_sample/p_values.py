"""Counting permuted statistics: p-values with ties, stopped early, and of several kernels at once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def snap_ties(null: Floats, observed: float, tie: float) -> Floats:
    """Statistics as they are, but those that equal the observed one up to rounding, which become it."""
    return np.where(np.abs(null - observed) <= tie, observed, null)


def permutation_p_value(null: Floats, observed: float) -> float:
    """(1 + #{permuted ≥ observed}) / (1 + permutations).

    >>> permutation_p_value(np.array([1.0, 2.0, 3.0]), 2.0)
    0.75
    """
    return (1 + int((null >= observed).sum())) / (1 + len(null))


def decisive_exceedances(level: float, n_permutations: int) -> int:
    """As many exceedances as make p certain to be above the level, however many permutations were left.

    >>> decisive_exceedances(0.05, 999), decisive_exceedances(0.05, 1000)
    (51, 51)
    """
    return math.floor(Fraction(str(level)) * (n_permutations + 1)) + 1  # in decimals: 0.29 · 100 is 28.999…


def sequential_p_value(null: Floats, observed: float, exceedances: int) -> tuple[float, int] | None:
    """p and the number of permutations after which it is decided, None where it is not.

    After h exceedances in l draws p = h / l (Besag and Clifford, "Sequential Monte Carlo p-values", 1991), which is as
    exact as that of all draws.

    >>> sequential_p_value(np.array([5.0, 1.0, 6.0, 7.0]), 2.0, 2)
    (0.6666666666666666, 3)
    """
    found = np.flatnonzero(np.cumsum(null >= observed) >= exceedances)
    return (exceedances / int(found[0] + 1), int(found[0] + 1)) if len(found) else None


def least_ranks(statistics: Floats) -> Floats:
    """Of several kernels (allocation, kernel), all allocations with the observed one, the least share of any kernel.

    The share of a kernel is that of allocations whose statistic is as large or larger: a p-value, as if this
    allocation had been the observed one. That of the observed allocation among all of them is an exact p-value for all
    kernels together (Westfall and Young, 1993; in the spirit of MMDAgg, Schrab et al., 2023).

    >>> least_ranks(np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 2.0], [0.0, 2.0]]))
    array([0.25, 0.5 , 0.5 , 0.5 ])
    """
    ascending = np.sort(statistics, axis=0)
    below = np.stack([np.searchsorted(a, s, "left") for a, s in zip(ascending.T, statistics.T, strict=True)], axis=1)
    return np.asarray(1 - below.max(axis=1) / len(statistics))
