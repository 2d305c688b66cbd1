"""`ReferencePool`: the reference and the batches so far, which the next batch is compared with, as far as they are
kept.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from ...models import schema
from ...sequences import Sequences
from ..validation import pool_samples

Ints = NDArray[np.int64]

_MAX_POSITION = 1 << 40  # items that a batch may have had


@dataclass(frozen=True, eq=False)
class ReferencePool:
    """Items that are kept, where each came from, and which of them the next batch is compared with."""

    items: Sequences
    batch: Ints
    """The batch of every item, 0 for the reference, (item,)."""
    place: Ints
    """Its position in that batch."""
    name: NDArray[np.str_]
    """What it is called in reports."""
    unit: Ints
    """What is exchanged as a whole, numbered through."""
    compared: NDArray[np.bool_]
    """Whether the next batch is compared with it. The reference is kept for reports all the same."""

    @classmethod
    def from_reference(cls, items: Sequences, place: Ints, unit: Ints) -> ReferencePool:
        """Of a reference, of which these are items at some positions."""
        n = len(items)
        name = np.array([f"reference[{i}]" for i in place])
        return cls(items, np.zeros(n, np.int64), place, name, unit, np.ones(n, bool))

    def __len__(self) -> int:
        return len(self.items)

    @property
    def n_units(self) -> int:
        """How many units have been numbered."""
        return int(self.unit.max(initial=-1)) + 1

    def append_batch(
        self, items: Sequences, place: Ints, name: NDArray[np.str_], unit: Ints, number: int
    ) -> ReferencePool:
        """With one batch more, whose units begin at 0; `place` is where in it each item was."""
        n = len(items)
        return ReferencePool(
            pool_samples([self.items, items]),
            np.concatenate([self.batch, np.full(n, number)]),
            np.concatenate([self.place, place]),
            np.concatenate([self.name, name]),
            np.concatenate([self.unit, self.n_units + unit]),
            np.concatenate([self.compared, np.ones(n, bool)]),
        )

    def subsample(self, most: int, rng: np.random.Generator) -> ReferencePool:
        """With at most `most` units to compare with, drawn at random whatever their origin and size.

        Drawn so, what stays says nothing about which units were of the last batch, and the p-values of later batches
        stay independent of its own. A limit of items would favour small groups, and a pool of these is unlike the next
        batch. New units replace old ones, and the pool forgets: that is the price.
        """
        units = np.unique(self.unit[self.compared])
        if len(units) <= most:
            return self
        return replace(self, compared=self.compared & np.isin(self.unit, rng.permutation(units)[:most]))

    def kept_positions(self, most: int) -> NDArray[np.int64]:
        """Positions of what is worth keeping: what is compared, the reference, and the last batches."""
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
"""How a monitor declares it."""
