"""Permutations of two samples, sampled or exhaustive, and p-values from their statistics."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Allocations = NDArray[np.bool_]
"""For every allocation and unit, or item, whether it is on the side of X."""


@dataclass(frozen=True, eq=False)
class ExchangeableUnits:
    """Units that are exchangeable if nothing differs: items, groups, or parts of groups.

    `unpaired` units are reassigned, as many to X as it has. The units of `pairs` (pair, 2), one of X and one of Y, are
    swapped with each other.
    """

    unit_of: NDArray[np.int64]
    """The unit of every item of the pooled sample, X first."""
    in_x: Allocations
    """Of every unit."""
    unpaired: NDArray[np.int64]
    pairs: NDArray[np.int64]

    @property
    def n_units(self) -> int:
        """How many there are."""
        return len(self.in_x)

    @property
    def n_allocations(self) -> int:
        """The number of allocations to two sides, at most 2⁶³ − 1."""
        ways = math.comb(len(self.unpaired), int(self.in_x[self.unpaired].sum())) * (1 << len(self.pairs))
        return min(ways, 2**63 - 1)

    @property
    def is_mirrored(self) -> bool:
        """Whether X and Y can be swapped as a whole, which leaves every statistic unchanged."""
        return 2 * int(self.in_x[self.unpaired].sum()) == len(self.unpaired)

    @property
    def smallest_p(self) -> float:
        """The smallest possible p-value."""
        return (2 if self.is_mirrored else 1) / self.n_allocations

    @property
    def unit_name(self) -> str:
        """The name of the exchanged units."""
        if len(self.pairs):
            return "parts of groups" if not len(self.unpaired) else "groups and parts of groups"
        return "items" if self.n_units == len(self.unit_of) else "groups"

    @property
    def has_lone_unit(self) -> bool:
        """Whether a side has one unit only, in every allocation."""
        return min(int(self.in_x.sum()), int((~self.in_x).sum())) == 1

    @property
    def group_of(self) -> NDArray[np.int64]:
        """The group of every item: its unit, the same for both parts of a group on both sides."""
        group = np.arange(self.n_units)
        group[self.pairs[:, 1]] = self.pairs[:, 0]
        return np.asarray(group[self.unit_of])

    def items(self, units: Allocations) -> Allocations:
        """The sides of items from those of units, (allocation, item)."""
        return np.asarray(units[:, self.unit_of])

    def sample_allocations(self, n_allocations: int, rng: np.random.Generator) -> Allocations:
        """Random sides of units, (allocation, unit), all allocations equally likely."""
        sides = np.broadcast_to(self.in_x, (n_allocations, self.n_units)).copy()
        if len(self.unpaired):
            sides[:, self.unpaired] = rng.permuted(sides[:, self.unpaired], axis=1)
        if len(self.pairs):
            is_swapped = rng.random((n_allocations, len(self.pairs))) < 0.5
            sides[:, self.pairs[:, 0]] = ~is_swapped
            sides[:, self.pairs[:, 1]] = is_swapped
        return sides

    def all_allocations(self) -> Allocations:
        """All allocations but the one that was observed."""
        n_x = int(self.in_x[self.unpaired].sum())
        hands = [list(hand) for hand in itertools.combinations(range(len(self.unpaired)), n_x)]
        coins = [np.array(coin, bool) for coin in itertools.product((False, True), repeat=len(self.pairs))]
        sides = np.zeros((len(hands) * len(coins), self.n_units), bool)
        for i, (hand, coin) in enumerate(itertools.product(hands, coins)):
            sides[i, self.unpaired[hand]] = True
            sides[i, self.pairs[:, 0]] = ~coin
            sides[i, self.pairs[:, 1]] = coin
        return np.asarray(sides[(sides != self.in_x).any(axis=1)])


def exchangeable_units(n_x: int, n_y: int, groups: tuple[NDArray[Any], NDArray[Any]] | None) -> ExchangeableUnits:
    """The units of two samples: items, or groups and parts of groups.

    A group on one side only is reassigned as a whole. One on both sides has two parts, which are swapped.
    """
    if groups is None:
        items = np.arange(n_x + n_y)
        return ExchangeableUnits(items, items < n_x, items, np.empty((0, 2), np.int64))
    names, codes = np.unique(np.concatenate(groups), return_inverse=True)
    side = np.arange(n_x + n_y) < n_x
    parts, unit_of = np.unique(2 * codes + ~side, return_inverse=True)  # of a group, each side is a part
    group, in_x = parts // 2, parts % 2 == 0
    both = np.flatnonzero(np.bincount(group, minlength=len(names)) == 2)
    first = np.searchsorted(group, both)
    pairs = np.stack([first, first + 1], axis=1).astype(np.int64)
    return ExchangeableUnits(unit_of.astype(np.int64), in_x, np.flatnonzero(~np.isin(group, both)), pairs)


def refuse_unexchangeable(units: ExchangeableUnits) -> None:
    """Raise an error if every allocation has the same statistic, so that p could only be 1."""
    if units.smallest_p < 1:
        return
    n_dealt, n_pairs = len(units.unpaired), len(units.pairs)
    raise ValueError(
        f"groups cannot be exchanged: there are {n_dealt} on one side only and {n_pairs} on both, so p could only be "
        "1; expected two groups of one sample and one of the other at least, or two that are on both. Give finer "
        "groups (a day, a block of windows longer than the memory of the signal), or groups=False if single items "
        "are exchangeable"
    )


def group_size_notes(units: ExchangeableUnits) -> list[str]:
    """A note if groups of one sample are much larger than those of the other."""
    count = np.bincount(units.unit_of)
    first, second = (float(count[side].mean()) for side in (units.in_x, ~units.in_x))
    if max(first, second) <= 1.5 * min(first, second):
        return []
    return [
        f"groups have {first:.3g} items in one sample and {second:.3g} in the other: as they are exchanged whole, "
        "p-values hold for groups of like sizes only; thin out the larger ones"
    ]


def make_allocations(units: ExchangeableUnits, n_permutations: int, rng: np.random.Generator) -> Allocations:
    """Allocations of units beside the observed one: all, or `n_permutations` random ones."""
    every = units.n_allocations - 1 <= n_permutations
    return units.all_allocations() if every else units.sample_allocations(n_permutations, rng)


def snap_ties(null: Floats, observed: float, tie: float) -> Floats:
    """Statistics, with those that equal the observed one up to rounding set to it."""
    return np.where(np.abs(null - observed) <= tie, observed, null)


def permutation_p_value(null: Floats, observed: float) -> float:
    """(1 + #{permuted ≥ observed}) / (1 + permutations).

    >>> permutation_p_value(np.array([1.0, 2.0, 3.0]), 2.0)
    0.75
    """
    return (1 + int((null >= observed).sum())) / (1 + len(null))


def decisive_exceedances(level: float, n_permutations: int) -> int:
    """The number of exceedances after which p is certain to be above the level, whatever permutations follow.

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
    decisive_draws = np.flatnonzero(np.cumsum(null >= observed) >= exceedances)
    return (exceedances / int(decisive_draws[0] + 1), int(decisive_draws[0] + 1)) if len(decisive_draws) else None


def least_ranks(statistics: Floats) -> Floats:
    """The smallest rank over kernels of every allocation, from statistics (allocation, kernel) with the observed one.

    The rank for a kernel is the fraction of allocations whose statistic is as large or larger: a p-value, as if this
    allocation had been the observed one. The rank of the observed allocation among all of them is an exact p-value for
    all kernels together (Westfall and Young, 1993; in the spirit of MMDAgg, Schrab et al., 2023).

    >>> least_ranks(np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 2.0], [0.0, 2.0]]))
    array([0.25, 0.5 , 0.5 , 0.5 ])
    """
    ascending = np.sort(statistics, axis=0)
    below = np.stack([np.searchsorted(a, s, "left") for a, s in zip(ascending.T, statistics.T, strict=True)], axis=1)
    return np.asarray(1 - below.max(axis=1) / len(statistics))
