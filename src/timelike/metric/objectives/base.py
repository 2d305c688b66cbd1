"""Comparing, the base of objectives that train a comparer: batches, optimiser, and the identity of a training."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.optim import Optimizer

from ...models import fingerprint
from ...sequences import Sequences
from ...train import Batch, Objective
from ...train.descent import NotFinite
from ..comparer import Comparer, Features

JUDGED = 500, 1000  # sequences held out and others that a validation compares, all pairs


class Comparing(Objective):
    """What all of them share: a comparer, sequences of flat frames, Adam with weight decay."""

    module: Comparer
    supervision: ClassVar[str]
    """What is learned from, in a word."""

    def __init__(
        self, module: Comparer, sequences: Sequences, *, batch_size: int, learning_rate: float, weight_decay: float
    ) -> None:
        self.module, self.sequences = module, sequences
        self.batch_size, self.learning_rate, self.weight_decay = batch_size, learning_rate, weight_decay
        self.places = np.arange(len(sequences))
        """Where the sequences are in what the caller gave, of which they may be a part."""

    def identity(self) -> dict[str, str | int]:
        """How and what is learned from, and what decides about batches: what others follow from comes first."""
        data = fingerprint(self.sequences.lengths, self.sequences.values)
        common: dict[str, str | int] = {"supervision": self.supervision, "sequences": data}
        return common | self._more() | {"batch_size": self.batch_size}

    def _more(self) -> dict[str, str | int]:
        """What else decides about what is learned."""
        return {}

    def optimizers(self) -> Optimizer:
        """Adam, as in the paper."""
        return torch.optim.Adam(self._parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)

    def _parameters(self) -> list[nn.Parameter]:
        return list(self.module.parameters())

    def _batch(self, ids: NDArray[np.int64], **known: Any) -> Batch:
        return Batch(self.places[ids], **Batch.of(self.sequences, ids, **known).tensors)

    def _features(self, batch: Batch, name: str = "x") -> Features:
        return self.module.features(batch[name], batch["lengths" if name == "x" else f"{name}_lengths"])


def mean_of(found: list[tuple[float, int]]) -> float:
    """The mean of numbers that count as often as there are items behind them."""
    mean = sum(value * count for value, count in found) / sum(count for _, count in found)
    if not np.isfinite(mean):
        raise NotFinite("the loss of a validation is not finite")
    return mean


def some_of(ids: NDArray[np.int64], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return ids if len(ids) <= most else np.sort(rng.choice(ids, most, replace=False))
