"""Learning from given pairs, of which it is known whether the two are alike: weak supervision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...models import fingerprint
from ...sequences import Sequences
from ...train import Batch, shuffled
from ..comparer import Comparer
from ..losses import Loss
from ..losses.finding import said
from .base import Comparing, OptimizerName
from .perturbation import Change


class ByPairs(Comparing):
    """Given pairs, of which it is known whether the two are the same: weak supervision."""

    supervision, item = "pairs", "pair"

    def __init__(
        self,
        module: Comparer,
        sequences: Sequences,
        pairs: NDArray[np.int64],
        same: NDArray[np.bool_],
        loss: Loss,
        *,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        optimizer: OptimizerName = "adam",
        change: Change | None = None,
    ) -> None:
        rates: dict[str, Any] = {"learning_rate": learning_rate, "weight_decay": weight_decay, "optimizer": optimizer}
        super().__init__(module, sequences, batch_size=batch_size, **rates)
        self.pairs, self.same, self.metric_loss, self.change = pairs, same, loss, change

    def _more(self) -> dict[str, str | int]:
        known = self.change is None or "perturb" in self.settings  # an estimator says it in the words of its options
        changed = {} if known else {"change": repr(self.change)}
        return {"pairs": fingerprint(self.pairs, self.same), "loss": said(self.metric_loss), **changed}

    def n_batches(self) -> float:
        """About how many batches show every pair once."""
        return len(self.pairs) / self.batch_size

    def step_sequences(self) -> int:
        """Two for each pair."""
        return 2 * self.step_pairs()

    def step_pairs(self) -> int:
        """Those of a batch."""
        return min(self.batch_size, len(self.pairs))

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Every pair once."""
        for chosen in shuffled(len(self.pairs), self.batch_size, rng):
            first, second = (self.sequences[side].tensor() for side in self.pairs[chosen].T)
            if self.change is not None:
                first, second = (self.change(x, lengths, rng) for x, lengths in (first, second))
            sides = {"x": first[0], "lengths": first[1], "other": second[0], "other_lengths": second[1]}
            yield Batch(chosen, **sides, same=self.same[chosen])

    def shuffled_targets(self, batch: Batch) -> Batch | None:
        """The same pairs, with what is known of them in another order."""
        order = np.random.default_rng(len(batch)).permutation(len(batch))
        return Batch(batch.ids, **(batch.tensors | {"same": batch["same"][torch.from_numpy(order)]}))

    def loss(self, batch: Batch) -> Mapping[str, Tensor | float]:
        """The loss of the pairs of the batch."""
        found = self.module.compared(self._features(batch), self._features(batch, "other"), rows=True)
        metric = self.metric_loss.pairs(found.distances, batch["same"])
        return {"loss": metric + found.penalty, **found.readings}
