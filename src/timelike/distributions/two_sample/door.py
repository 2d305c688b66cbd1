"""The door of everything that compares two samples: read, of one kind, with units that can be exchanged."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...sequences import Sequences
from ..samples import Over, read_pair
from .exchange import Exchange, exchange, read_groups, refuse_stuck
from .overlap import refuse_overlap


class Pair(NamedTuple):
    """Two samples, and what changes sides between them."""

    X: Sequences
    Y: Sequences
    units: Exchange

    @property
    def samples(self) -> tuple[Sequences, Sequences]:
        """Both."""
        return self.X, self.Y


def opened(X: Any, Y: Any, over: Over | None, groups: Any) -> Pair:
    """Samples that a test can be made of: two items of each, no overlap, and more than one way to exchange."""
    X, Y = read_pair(X, Y, over, least=2)
    units = exchange(len(X), len(Y), read_groups(groups, X, Y))
    refuse_overlap((X, Y), ["X", "Y"], units.unit_of, "groups=(…, …)")
    refuse_stuck(units)
    return Pair(X, Y, units)
