"""Learning from classes with some sequences held out, and from pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..score import mean_average_precision
from ..sequences import Sequences
from ..train import Batch, fingerprint, shuffled
from ..train.descent import NotFinite
from .alignment_objectives import Comparing, Supervised, said
from .blocks import fill
from .comparer import Comparer
from .losses import Loss

_JUDGED = 500, 1000  # sequences held out and others that a validation compares, all pairs


class Judged(Supervised):
    """Supervised learning, judged by what is near to sequences that take no part in it."""

    def __init__(
        self,
        module: Comparer,
        sequences: Sequences,
        classes: NDArray[np.int64],
        held_out: NDArray[np.int64],
        loss: Loss,
        rng: np.random.Generator,
        **options: Any,
    ) -> None:
        used = np.setdiff1d(np.arange(len(sequences)), held_out)
        super().__init__(module, sequences[used], classes[used], loss, **options)
        queries, gallery = (_some(ids, most, rng) for ids, most in zip((held_out, used), _JUDGED, strict=True))
        self.places, self.labels, self.held_out = used, classes, held_out
        self.queries, self.gallery = sequences[queries], sequences[gallery]
        self.query_classes, self.gallery_classes = classes[queries], classes[gallery]

    def _more(self) -> dict[str, str | int]:
        return super()._more() | {"score": "map"}

    def validate(self) -> float:
        """Mean average precision of those held out among the others.

        Not the accuracy of nearest neighbours: of a few sequences it is soon 1, and what is learned after that would be
        thrown away.
        """
        distances = np.empty((len(self.queries), len(self.gallery)))
        fill(self.module, self.queries, self.gallery, distances, exact=False)
        if not np.isfinite(distances).all():
            raise NotFinite("some of the distances of a validation are not finite")
        return mean_average_precision(distances, self.query_classes, self.gallery_classes)


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
    ) -> None:
        super().__init__(
            module, sequences, batch_size=batch_size, learning_rate=learning_rate, weight_decay=weight_decay
        )
        self.pairs, self.same, self.metric_loss = pairs, same, loss

    def _more(self) -> dict[str, str | int]:
        return {"pairs": fingerprint(self.pairs, self.same), "loss": said(self.metric_loss)}

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Every pair once."""
        for chosen in shuffled(len(self.pairs), self.batch_size, rng):
            first, second = (self.sequences[side].tensor() for side in self.pairs[chosen].T)
            sides = {"x": first[0], "lengths": first[1], "other": second[0], "other_lengths": second[1]}
            yield Batch(chosen, **sides, same=self.same[chosen])

    def loss(self, batch: Batch) -> Tensor:
        """The loss of the pairs of the batch."""
        distances = self.module.rows(self._prepared(batch), self._prepared(batch, "other"))
        return self.metric_loss.pairs(distances, batch["same"]) + self.module.penalty()


def _some(ids: NDArray[np.int64], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return ids if len(ids) <= most else np.sort(rng.choice(ids, most, replace=False))
