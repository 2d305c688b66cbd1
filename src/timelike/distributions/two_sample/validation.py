"""Validation of two samples that are compared: of one kind, with exchangeable units."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...sequences import Sequences
from ..validation import Domain, validate_pair
from .overlap import refuse_overlap
from .permutations import ExchangeableUnits, exchangeable_units, refuse_unexchangeable, validate_groups


class SamplePair(NamedTuple):
    """Two samples, and what changes sides between them."""

    X: Sequences
    Y: Sequences
    units: ExchangeableUnits

    @property
    def samples(self) -> tuple[Sequences, Sequences]:
        """Both."""
        return self.X, self.Y


def validate_samples(X: Any, Y: Any, domain: Domain | None, groups: Any) -> SamplePair:
    """Samples that a test can be made of: two items of each, no overlap, and more than one way to exchange."""
    X, Y = validate_pair(X, Y, domain, min_items=2)
    units = exchangeable_units(len(X), len(Y), validate_groups(groups, X, Y))
    refuse_overlap((X, Y), ["X", "Y"], units.unit_of, "groups=(…, …)")
    refuse_unexchangeable(units)
    return SamplePair(X, Y, units)
