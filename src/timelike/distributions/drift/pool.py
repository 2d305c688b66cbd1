"""`Pool`: the reference and the batches so far, which the next batch is compared with, as far as they are kept."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from ...models import learned
from ...sequences import Sequences
from ..samples import pooled

Ints = NDArray[np.int64]

_POSITIONS = 1 << 40  # items that a batch may have had


@dataclass(frozen=True, eq=False)
class Pool:
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
    def begun(cls, items: Sequences, place: Ints, unit: Ints) -> Pool:
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

    def grown(self, items: Sequences, place: Ints, name: NDArray[np.str_], unit: Ints, number: int) -> Pool:
        """With one batch more, whose units begin at 0; `place` is where in it each item was."""
        n = len(items)
        return Pool(
            pooled([self.items, items]),
            np.concatenate([self.batch, np.full(n, number)]),
            np.concatenate([self.place, place]),
            np.concatenate([self.name, name]),
            np.concatenate([self.unit, self.n_units + unit]),
            np.concatenate([self.compared, np.ones(n, bool)]),
        )

    def thinned(self, most: int, rng: np.random.Generator) -> Pool:
        """With at most so many units to compare with, drawn without a look at where they came from, or at their sizes.

        Drawn so, what stays says nothing about which units were of the last batch, and the p-values of later batches
        stay independent of its own. A limit of items would favour small groups, and a pool of these is unlike the next
        batch. New units replace old ones, and the pool forgets: that is the price.
        """
        units = np.unique(self.unit[self.compared])
        if len(units) <= most:
            return self
        return replace(self, compared=self.compared & np.isin(self.unit, rng.permutation(units)[:most]))

    def remembered(self, most: int) -> NDArray[np.int64]:
        """Positions of what is worth keeping: what is compared, the reference, and the last batches."""
        latest = np.zeros(len(self), bool)
        latest[np.argsort(self.batch, kind="stable")[::-1][:most]] = True
        return np.flatnonzero(self.compared | (self.batch == 0) | latest)

    def of(self, positions: NDArray[np.int64]) -> Pool:
        """Some of the items."""
        return Pool(**{field.name: getattr(self, field.name)[positions] for field in fields(self)})


def _numbered(pool: Pool, name: str, scope: learned.Scope) -> None:
    if not pool.compared.any():
        raise ValueError(f"{name}.compared is False everywhere: expected something to compare the next batch with")
    n_batches = len(scope.model.batches_)
    if pool.batch.max() > n_batches:
        raise ValueError(f"{name}.batch holds {pool.batch.max()}: expected at most {n_batches}, as in batches_")
    n_items = int((pool.batch == 0).sum()) + sum(batch["size"] for batch in scope.model.batches_)
    if pool.unit.max() >= n_items:
        raise ValueError(f"{name}.unit holds {pool.unit.max()}: expected fewer than the {n_items} items so far")


POOL = learned.record(
    Pool,
    check=_numbered,
    items=learned.sequences("item"),
    batch=learned.array("item", dtype="int64", least=0),
    place=learned.array("item", dtype="int64", least=0, most=_POSITIONS),
    name=learned.labels("item", distinct=False),
    unit=learned.array("item", dtype="int64", least=0),
    compared=learned.array("item", dtype="bool"),
)
"""How a monitor declares it."""
