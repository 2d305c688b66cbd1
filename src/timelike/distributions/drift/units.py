"""Units of a batch and of what was before it: items, or groups that are met once and exchanged whole."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ...sequences.metadata import validate_per_item

UnitKind = Literal["groups", "items", "none"]
"""Units are groups; items because that was said; or items for want of groups."""


def choose_unit_kind(groups: Any, sequences: Sequences) -> UnitKind:
    """What the units of a reference are, by what was given and what it carries."""
    if groups is False:
        return "items"
    return "none" if groups is None and sequences.groups is None else "groups"


def _normalize_group(name: Any) -> Any:
    """A group's name as it is compared: 1, 1.0 and "1" are one."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def assign_units(
    sequences: Sequences, groups: Any, kind: UnitKind, name: str, seen: list[Any]
) -> tuple[NDArray[np.int64], list[Any]]:
    """The unit of every item, numbered from 0, and all groups met so far."""
    if groups is None or groups is False:
        given = None if groups is False else sequences.groups
    else:
        given = validate_per_item(groups, "groups", len(sequences))
    if groups is not None and groups is not False and kind == "items":
        raise ValueError("groups is given, and the reference was fitted with groups=False: leave it out, or fit again")
    if kind == "items" or (given is None and kind == "none"):
        return np.arange(len(sequences)), seen
    if given is None or kind == "none":
        has, lacks = ("the reference", name) if given is None else (name, "the reference")
        raise ValueError(
            f"{has} has groups and {lacks} none: give groups of both, or Drift().fit(reference, groups=False) if "
            "single items are exchangeable"
        )
    again = {_normalize_group(one) for one in given.tolist()} & {_normalize_group(one) for one in seen}
    if again:
        raise ValueError(
            f"the group {min(map(str, again))!r} of {name} was met before: a group is exchanged as a whole, and cannot "
            "be in two batches. Whether a subject that comes back has changed, TwoSample tells, with groups in both"
        )
    names, unit = np.unique(given, return_inverse=True)
    return unit.astype(np.int64), [*seen, *names.tolist()]
