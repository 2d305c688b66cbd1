"""`MetricObjective`, the base class of objectives that train a `DistanceNetwork`, and helpers for validation."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import nn
from torch.optim import Optimizer

from ...models import fingerprint
from ...sequences import Sequences
from ...train import Batch, Objective, Trainer
from ...train.exceptions import NotFiniteError
from ...train.objective import FORWARD_SHARE
from ...train.optimizers import make_optimizer
from ..distance_network import DistanceNetwork, Features, fill_distances

_CHECKED_SEQUENCES = 8, 50  # minimum and maximum number of sequences whose distances are checked after training
_PAIR_FACTOR = 4  # checked pairs as a multiple of the pairs of a step
_MIN_RELATIVE_DEVIATION = 1e-3  # deviation of distances relative to their mean below which all count as equal
VALIDATION_SIZES = 500, 1000  # maximum number of held-out and of other sequences in a validation


class MetricObjective(Objective):
    """Base class: a distance network, sequences of flat frames, and a `Trainer` for batches and the optimizer."""

    module: DistanceNetwork
    supervision: ClassVar[str]
    """The name of the training signal."""
    own_trainer: ClassVar[Trainer] = Trainer(batch_size=64, learning_rate=1e-4, optimizer="adam", weight_decay=1e-4)
    """Defaults for the fields of `trainer` that are None."""

    def __init__(self, module: DistanceNetwork, sequences: Sequences, trainer: Trainer | None) -> None:
        self.module, self.sequences, self.trainer = module, sequences, self.own_trainer.replace(trainer)
        self.batch_size = self.trainer.batch_size or 1
        self.source_positions = np.arange(len(sequences))
        """The positions of the sequences in the caller's data, of which they may be a subset."""

    def identity(self) -> dict[str, str | int]:
        """A description of the data and options that determine training; the most fundamental entries come first."""
        data = fingerprint(self.sequences.lengths, self.sequences.values)
        common: dict[str, str | int] = {"supervision": self.supervision, "sequences": data}
        optimizer = self.trainer.optimizer
        how: dict[str, str | int] = {} if optimizer in (None, "adam") else {"optimizer": str(optimizer)}
        return common | self._extra_identity() | {"batch_size": self.batch_size} | how

    def n_batches(self) -> float:
        """The approximate number of batches that show each sequence once."""
        return len(self.sequences) / self.batch_size

    def _extra_identity(self) -> dict[str, str | int]:
        """Further entries of `identity`."""
        return {}

    def optimizers(self) -> Optimizer:
        """The optimizer of the trainer; the papers use Adam."""
        return make_optimizer(self._parameters(), self.trainer)

    def step_pairs(self) -> int:
        """The number of pairs compared in a step."""
        return self.batch_size**2

    def step_sequences(self) -> int:
        """The number of sequences in a step."""
        return self.batch_size

    def estimate_steps(self, n_x: int, n_y: int) -> float:
        """The cost of comparing n_x with n_y sequences, in training steps."""
        by_sequences, by_pairs = (n_x + n_y) / self.step_sequences(), n_x * n_y / self.step_pairs()
        return FORWARD_SHARE * (by_sequences if self.module.is_vector_distance else max(by_sequences, by_pairs))

    def _checked_sequences(self) -> Sequences:
        """Evenly spaced sequences, few enough that `failure_reason` takes little longer than a step."""
        count = int(np.clip(math.isqrt(_PAIR_FACTOR * self.step_pairs()), *_CHECKED_SEQUENCES))
        return self.sequences[np.unique(np.linspace(0, len(self.sequences) - 1, count).astype(np.int64))]

    def failure_reason_steps(self) -> float:
        """The cost of `failure_reason`, in training steps."""
        count = len(self._checked_sequences())
        return self.estimate_steps(count, count)

    def failure_reason(self) -> str | None:
        """A message if all distances are equal, because the network has collapsed or is saturated."""
        some = self._checked_sequences()
        distances = np.empty((len(some), len(some)))
        fill_distances(self.module, some, None, distances)
        apart = distances[~np.eye(len(some), dtype=bool)]
        if not len(apart) or apart.std() > _MIN_RELATIVE_DEVIATION * np.abs(apart).mean():
            return None
        return (
            f"the distances of all sequences are about {apart.mean():.3g}; lower trainer.learning_rate, or "
            "check whether the sequences differ at all"
        )

    def _parameters(self) -> list[nn.Parameter]:
        return list(self.module.parameters())

    def _make_batch(self, ids: NDArray[np.int64], **tensors: Any) -> Batch:
        return Batch(self.source_positions[ids], **Batch.from_sequences(self.sequences, ids, **tensors).tensors)

    def _batch_features(self, batch: Batch, name: str = "x") -> Features:
        return self.module.features(batch[name], batch["lengths" if name == "x" else f"{name}_lengths"])


def weighted_mean(counted_values: list[tuple[float, int]]) -> float:
    """The mean of values weighted by their numbers of items, from (value, count) pairs."""
    mean = sum(value * count for value, count in counted_values) / sum(count for _, count in counted_values)
    if not np.isfinite(mean):
        raise NotFiniteError("the loss of a validation is not finite")
    return mean


def sample_positions(ids: NDArray[np.int64], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return ids if len(ids) <= most else np.sort(rng.choice(ids, most, replace=False))
