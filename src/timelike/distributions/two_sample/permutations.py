"""`ExchangeableUnits`: items, whole groups, or the two parts of a group that change sides in a test, drawn or all
ways.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ...sequences.metadata import validate_per_item

Allocations = NDArray[np.bool_]
"""For every allocation and unit, or item, whether it is on the side of X."""


@dataclass(frozen=True, eq=False)
class ExchangeableUnits:
    """Units that are exchangeable if nothing differs: items, groups, or parts of groups.

    `unpaired` units are dealt out anew, as many to X as it has. The units of `pairs` (pair, 2), one of X and one of Y,
    change places with each other.
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
        """In how many ways they can be on two sides; 2⁶³ − 1 where there are more."""
        ways = math.comb(len(self.unpaired), int(self.in_x[self.unpaired].sum())) * (1 << len(self.pairs))
        return min(ways, 2**63 - 1)

    @property
    def is_mirrored(self) -> bool:
        """Whether all of X and all of Y can change places, which no statistic of two sides can tell."""
        return 2 * int(self.in_x[self.unpaired].sum()) == len(self.unpaired)

    @property
    def smallest_p(self) -> float:
        """The least p-value that there can be."""
        return (2 if self.is_mirrored else 1) / self.n_allocations

    @property
    def unit_name(self) -> str:
        """What changes sides, in words."""
        if len(self.pairs):
            return "parts of groups" if not len(self.unpaired) else "groups and parts of groups"
        return "items" if self.n_units == len(self.unit_of) else "groups"

    @property
    def has_lone_unit(self) -> bool:
        """Whether a side has one unit only, in every allocation."""
        return min(int(self.in_x.sum()), int((~self.in_x).sum())) == 1

    @property
    def group_of(self) -> NDArray[np.int64]:
        """The group of every item: its unit, and one for both parts of a group that is on both sides."""
        group = np.arange(self.n_units)
        group[self.pairs[:, 1]] = self.pairs[:, 0]
        return np.asarray(group[self.unit_of])

    def items(self, units: Allocations) -> Allocations:
        """The sides of items from those of units, (allocation, item)."""
        return np.asarray(units[:, self.unit_of])

    def sample_allocations(self, n_allocations: int, rng: np.random.Generator) -> Allocations:
        """Sides of units, (allocation, unit), each way as likely as any other."""
        found = np.broadcast_to(self.in_x, (n_allocations, self.n_units)).copy()
        if len(self.unpaired):
            found[:, self.unpaired] = rng.permuted(found[:, self.unpaired], axis=1)
        if len(self.pairs):
            swapped = rng.random((n_allocations, len(self.pairs))) < 0.5
            found[:, self.pairs[:, 0]] = ~swapped
            found[:, self.pairs[:, 1]] = swapped
        return found

    def all_allocations(self) -> Allocations:
        """All allocations but the one that was observed."""
        n_x = int(self.in_x[self.unpaired].sum())
        hands = [list(hand) for hand in itertools.combinations(range(len(self.unpaired)), n_x)]
        coins = [np.array(coin, bool) for coin in itertools.product((False, True), repeat=len(self.pairs))]
        found = np.zeros((len(hands) * len(coins), self.n_units), bool)
        for i, (hand, coin) in enumerate(itertools.product(hands, coins)):
            found[i, self.unpaired[hand]] = True
            found[i, self.pairs[:, 0]] = ~coin
            found[i, self.pairs[:, 1]] = coin
        return np.asarray(found[(found != self.in_x).any(axis=1)])


def exchangeable_units(n_x: int, n_y: int, groups: tuple[NDArray[Any], NDArray[Any]] | None) -> ExchangeableUnits:
    """The units of two samples: their items, or what their groups make of them.

    A group that is on one side only is dealt out whole. One that is on both has two parts, which change places.
    """
    if groups is None:
        items = np.arange(n_x + n_y)
        return ExchangeableUnits(items, items < n_x, items, np.empty((0, 2), np.int64))
    names, codes = np.unique(np.concatenate(groups), return_inverse=True)
    side = np.arange(n_x + n_y) < n_x
    found, unit_of = np.unique(2 * codes + ~side, return_inverse=True)
    group, in_x = found // 2, found % 2 == 0
    both = np.flatnonzero(np.bincount(group, minlength=len(names)) == 2)
    first = np.searchsorted(group, both)
    pairs = np.stack([first, first + 1], axis=1).astype(np.int64)
    return ExchangeableUnits(unit_of.astype(np.int64), in_x, np.flatnonzero(~np.isin(group, both)), pairs)


def validate_groups(
    groups: Any, X: Sequences, Y: Sequences, names: tuple[str, str] = ("X", "Y")
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The groups of both samples: given, those that they carry, or none."""
    if groups is False:
        return None
    if groups is None:
        return _own_groups(X, Y, names)
    if not isinstance(groups, tuple | list) or len(groups) != 2:
        raise ValueError(
            f"groups={groups!r:.60}: expected (groups of {names[0]}, groups of {names[1]}), None for those that they "
            "carry, or False for none"
        )
    found = [
        validate_per_item(given, f"groups[{i}]", len(sample))
        for i, (given, sample) in enumerate(zip(groups, (X, Y), strict=True))
    ]
    if found[0] is None or found[1] is None:
        raise ValueError("groups has None for one sample: expected the groups of both, or groups=False")
    return _check_same_kind(found[0], found[1], ("groups[0]", "groups[1]"))


def _own_groups(X: Sequences, Y: Sequences, names: tuple[str, str]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    if X.groups is None and Y.groups is None:
        return None
    if X.groups is None or Y.groups is None:
        has, lacks = names if Y.groups is None else names[::-1]
        raise ValueError(
            f"{has} carries groups and {lacks} none: give groups=(groups of {names[0]}, groups of {names[1]}), or "
            "groups=False if single sequences are exchangeable"
        )
    return _check_same_kind(X.groups, Y.groups, (f"the groups of {names[0]}", f"the groups of {names[1]}"))


def _check_same_kind(
    first: NDArray[Any], second: NDArray[Any], names: tuple[str, str]
) -> tuple[NDArray[Any], NDArray[Any]]:
    if (first.dtype.kind == "U") != (second.dtype.kind == "U"):
        raise TypeError(f"{names[0]} are {first.dtype} and {names[1]} {second.dtype}: expected all numbers or all text")
    return first, second


def refuse_unexchangeable(units: ExchangeableUnits) -> None:
    """An error where every allocation has the same statistic, so that p could only be 1."""
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
    """What has to be said where groups of one sample are much larger than those of the other."""
    count = np.bincount(units.unit_of)
    first, second = (float(count[side].mean()) for side in (units.in_x, ~units.in_x))
    if max(first, second) <= 1.5 * min(first, second):
        return []
    return [
        f"groups have {first:.3g} items in one sample and {second:.3g} in the other: as they are exchanged whole, "
        "p-values hold for groups of like sizes only; thin out the larger ones"
    ]


def make_allocations(units: ExchangeableUnits, n_permutations: int, rng: np.random.Generator) -> Allocations:
    """Allocations of units beside the observed one: all where there are no more, otherwise random ones."""
    every = units.n_allocations - 1 <= n_permutations
    return units.all_allocations() if every else units.sample_allocations(n_permutations, rng)
