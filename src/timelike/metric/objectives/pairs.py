"""`PairObjective`: weak supervision by pairs labelled as alike or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...models import fingerprint
from ...sequences import Sequences
from ...train import Batch, Trainer, shuffled_batches
from ..distance_network import DistanceNetwork
from ..losses import Loss
from ..losses.registry import describe_loss
from .base import MetricObjective
from .perturbation import BatchPerturbation


class PairObjective(MetricObjective):
    """Weak supervision by pairs labelled as alike or not."""

    supervision, item = "pairs", "pair"
    own_trainer = Trainer(batch_size=32, learning_rate=1e-3, optimizer="adam", weight_decay=1e-4)

    def __init__(
        self,
        module: DistanceNetwork,
        sequences: Sequences,
        pairs: NDArray[np.int64],
        same: NDArray[np.bool_],
        loss: Loss,
        *,
        perturbation: BatchPerturbation | None = None,
        trainer: Trainer | None = None,
    ) -> None:
        super().__init__(module, sequences, trainer)
        self.pairs, self.same, self.metric_loss, self.perturbation = pairs, same, loss, perturbation

    def _extra_identity(self) -> dict[str, str | int]:
        # an estimator records the perturbation among its own options
        is_recorded = self.perturbation is None or "perturb" in self.checkpoint_settings
        perturbation = {} if is_recorded else {"perturbation": repr(self.perturbation)}
        return {"pairs": fingerprint(self.pairs, self.same), "loss": describe_loss(self.metric_loss), **perturbation}

    def n_batches(self) -> float:
        """The approximate number of batches that show each pair once."""
        return len(self.pairs) / self.batch_size

    def step_sequences(self) -> int:
        """Two sequences per pair."""
        return 2 * self.step_pairs()

    def step_pairs(self) -> int:
        """The pairs of a batch."""
        return min(self.batch_size, len(self.pairs))

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Batches that contain each pair once."""
        for chosen in shuffled_batches(len(self.pairs), self.batch_size, rng):
            first, second = (self.sequences[side].to_tensor() for side in self.pairs[chosen].T)
            if self.perturbation is not None:
                first, second = (self.perturbation(x, lengths, rng) for x, lengths in (first, second))
            sides = {"x": first[0], "lengths": first[1], "other": second[0], "other_lengths": second[1]}
            yield Batch(chosen, **sides, same=self.same[chosen])

    def shuffled_targets(self, batch: Batch) -> Batch | None:
        """The same pairs with shuffled labels."""
        order = np.random.default_rng(len(batch)).permutation(len(batch))
        return Batch(batch.ids, **(batch.tensors | {"same": batch["same"][torch.from_numpy(order)]}))

    def loss(self, batch: Batch) -> Mapping[str, Tensor | float]:
        """The loss of the pairs of the batch."""
        output = self.module.training_distances(
            self._batch_features(batch), self._batch_features(batch, "other"), pairs_only=True
        )
        metric = self.metric_loss.pair_loss(output.distances, batch["same"])
        return {"loss": metric + output.penalty, **output.logged_values}
