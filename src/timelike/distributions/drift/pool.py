"""`ReferencePool`: the items that the next batch is compared with; and exchangeable units, items or groups."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...models import schema
from ...sequences import Sequences
from ...sequences.metadata import validate_per_item
from ..validation import pool_samples, to_sequences

Ints = NDArray[np.int64]

_MAX_POSITION = 1 << 40  # items that a batch may have had
UnitKind = Literal["groups", "items", "none"]
"""Units are groups; items by choice (`groups=False`); or items because there are no groups."""


@dataclass(frozen=True, eq=False)
class ReferencePool:
    """Stored items, their origins, and which of them the next batch is compared with."""

    items: Sequences
    batch: Ints
    """The batch of every item, 0 for the reference, (item,)."""
    place: Ints
    """Its position in that batch."""
    name: NDArray[np.str_]
    """Its name in reports."""
    unit: Ints
    """The unit of every item, which is exchanged as a whole."""
    compared: NDArray[np.bool_]
    """Whether the next batch is compared with it. The reference is always kept for reports."""

    @classmethod
    def from_reference(cls, items: Sequences, place: Ints, unit: Ints) -> ReferencePool:
        """The pool of a reference, from its items at some positions."""
        n = len(items)
        name = np.array([f"reference[{i}]" for i in place])
        return cls(items, np.zeros(n, np.int64), place, name, unit, np.ones(n, bool))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def n_units(self) -> int:
        """The number of units so far."""
        return int(self.unit.max(initial=-1)) + 1

    def append_batch(
        self, items: Sequences, place: Ints, name: NDArray[np.str_], unit: Ints, number: int
    ) -> ReferencePool:
        """The pool with one more batch, whose units begin at 0; `place` is the position of each item in it."""
        n = len(items)
        return ReferencePool(
            to_sequences(pool_samples([self.items, items])),
            np.concatenate([self.batch, np.full(n, number)]),
            np.concatenate([self.place, place]),
            np.concatenate([self.name, name]),
            np.concatenate([self.unit, self.n_units + unit]),
            np.concatenate([self.compared, np.ones(n, bool)]),
        )

    def subsample(self, most: int, rng: np.random.Generator) -> ReferencePool:
        """The pool with at most `most` compared units, sampled regardless of their origin and size.

        The remaining units then carry no information about which were in the last batch, and p-values of later batches
        stay independent of its own. A limit on items would favour small groups, and a pool of these is unlike the next
        batch. The price is that new units replace old ones and the pool forgets.
        """
        units = np.unique(self.unit[self.compared])
        if len(units) <= most:
            return self
        return replace(self, compared=self.compared & np.isin(self.unit, rng.permutation(units)[:most]))

    def kept_positions(self, most: int) -> NDArray[np.int64]:
        """Positions of the items to keep: compared ones, the reference, and the last batches."""
        latest = np.zeros(len(self), bool)
        latest[np.argsort(self.batch, kind="stable")[::-1][:most]] = True
        return np.flatnonzero(self.compared | (self.batch == 0) | latest)

    def select(self, positions: NDArray[np.int64]) -> ReferencePool:
        """Some of the items."""
        return ReferencePool(**{field.name: getattr(self, field.name)[positions] for field in fields(self)})


def _check_numbering(pool: ReferencePool, name: str, scope: schema.CheckScope) -> None:
    if not pool.compared.any():
        raise ValueError(f"{name}.compared is False everywhere: expected something to compare the next batch with")
    n_batches = len(scope.model.batches_)
    if pool.batch.max() > n_batches:
        raise ValueError(f"{name}.batch holds {pool.batch.max()}: expected at most {n_batches}, as in batches_")
    n_items = int((pool.batch == 0).sum()) + sum(batch["size"] for batch in scope.model.batches_)
    if pool.unit.max() >= n_items:
        raise ValueError(f"{name}.unit holds {pool.unit.max()}: expected fewer than the {n_items} items so far")


POOL_SCHEMA = schema.record(
    ReferencePool,
    check=_check_numbering,
    items=schema.sequences("item"),
    batch=schema.array("item", dtype="int64", least=0),
    place=schema.array("item", dtype="int64", least=0, most=_MAX_POSITION),
    name=schema.labels("item", distinct=False),
    unit=schema.array("item", dtype="int64", least=0),
    compared=schema.array("item", dtype="bool"),
)
"""The schema of a monitor's `pool_`."""


def choose_unit_kind(groups: Any, sequences: Sequences) -> UnitKind:
    """The kind of units of a reference, from the argument `groups` and the groups of the sequences."""
    if groups is False:
        return "items"
    return "none" if groups is None and sequences.groups is None else "groups"


def _normalize_group(name: Any) -> Any:
    """A group's name for comparisons: 1, 1.0 and "1" are the same."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def assign_units(
    sequences: Sequences, groups: Any, kind: UnitKind, name: str, previous_groups: list[Any]
) -> tuple[NDArray[np.int64], list[Any]]:
    """The unit of every item, numbered from 0, and all groups so far."""
    if groups is None or groups is False:
        group_names = None if groups is False else sequences.groups
    else:
        group_names = validate_per_item(groups, "groups", len(sequences))
    if groups is not None and groups is not False and kind == "items":
        raise ValueError("groups is given, and the reference was fitted with groups=False: leave it out, or fit again")
    if kind == "items" or (group_names is None and kind == "none"):
        return np.arange(len(sequences)), previous_groups
    if group_names is None or kind == "none":
        has, lacks = ("the reference", name) if group_names is None else (name, "the reference")
        raise ValueError(
            f"{has} has groups and {lacks} none: give groups of both, or Drift().fit(reference, groups=False) if "
            "single items are exchangeable"
        )
    repeated_groups = {_normalize_group(one) for one in group_names.tolist()} & {
        _normalize_group(one) for one in previous_groups
    }
    if repeated_groups:
        raise ValueError(
            f"the group {min(map(str, repeated_groups))!r} of {name} was in an earlier batch: a group is exchanged as "
            "a whole and cannot be in two batches. To test whether a returning subject has changed, use TwoSample with "
            "groups in both samples"
        )
    names, unit = np.unique(group_names, return_inverse=True)
    return unit.astype(np.int64), [*previous_groups, *names.tolist()]
