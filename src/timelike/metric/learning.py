"""Learning a comparer from labels or from pairs, with any loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..sequences import Sequences
from ..train import Batch, Objective, per_class, shuffled
from .blocks import fill
from .comparer import Comparer
from .losses import Loss

_JUDGED = 1000  # sequences of either side of a validation, which compares all pairs


class _Learning(Objective):
    """What learning from classes and from pairs has in common."""

    module: Comparer

    def __init__(self, network: Comparer, *, learning_rate: float, weight_decay: float) -> None:
        self.module, self.learning_rate, self.weight_decay = network, learning_rate, weight_decay

    def optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.module.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)


class ByClass(_Learning):
    """All pairs of a batch with some members of each class."""

    def __init__(
        self,
        network: Comparer,
        sequences: Sequences,
        classes: NDArray[np.int64],
        loss: Loss,
        *,
        per_class: int = 6,
        classes_per_batch: int | None = None,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
    ) -> None:
        super().__init__(network, learning_rate=learning_rate, weight_decay=weight_decay)
        self.sequences, self.classes, self.criterion = sequences, classes, loss
        self.per_class, self.classes_per_batch = per_class, classes_per_batch
        self.used = np.arange(len(sequences))

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Some members of each class."""
        for chosen in per_class(self.classes[self.used], self.per_class, rng, n_classes=self.classes_per_batch):
            yield Batch.of(self.sequences, self.used[chosen], classes=self.classes)

    def loss(self, batch: Batch) -> dict[str, Tensor | float]:
        """The criterion on all pairs of the batch but those of a sequence with itself."""
        prepared = self.module.prepare(batch["x"], batch["lengths"])
        found = self.criterion(self.module.matrix(prepared, prepared), batch["classes"])
        return {"loss": found + self.module.penalty(), **self.module.readings()}


class Judged(ByClass):
    """The same without some sequences, by whose nearest neighbours among the others it is judged."""

    def hold_out(self, held: NDArray[np.int64], rng: np.random.Generator) -> Self:
        """Leave these out."""
        self.used = np.setdiff1d(self.used, held)
        self.queries, self.gallery = _some(held, rng), _some(self.used, rng)
        return self

    def validate(self) -> float:
        """The share of those held out whose nearest neighbour is of their class."""
        distances = np.empty((len(self.queries), len(self.gallery)))
        fill(self.module, self.sequences[self.queries], self.sequences[self.gallery], distances)
        nearest = self.gallery[distances.argmin(axis=1)]
        return float(np.mean(self.classes[nearest] == self.classes[self.queries]))


class ByPairs(_Learning):
    """Given pairs, of which it is known whether the two are the same: weak supervision."""

    def __init__(
        self,
        network: Comparer,
        sequences: Sequences,
        pairs: NDArray[np.int64],
        same: NDArray[np.bool_],
        loss: Loss,
        *,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
    ) -> None:
        super().__init__(network, learning_rate=learning_rate, weight_decay=weight_decay)
        self.sequences, self.pairs, self.same, self.criterion = sequences, pairs, same, loss
        self.batch_size = batch_size

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Every pair once."""
        for chosen in shuffled(len(self.pairs), self.batch_size, rng):
            first, second = (self.sequences[side].tensor() for side in self.pairs[chosen].T)
            sides = {"x": first[0], "x_lengths": first[1], "y": second[0], "y_lengths": second[1]}
            yield Batch(chosen, **sides, same=self.same[chosen])

    def loss(self, batch: Batch) -> Tensor:
        """The criterion on the pairs of the batch."""
        x, y = (self.module.prepare(batch[side], batch[f"{side}_lengths"]) for side in ("x", "y"))
        return self.criterion.pairs(self.module.rows(x, y), batch["same"]) + self.module.penalty()


def _some(ids: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    return ids if len(ids) <= _JUDGED else np.sort(rng.choice(ids, _JUDGED, replace=False))
