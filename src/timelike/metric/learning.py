"""Learning that is judged by sequences held out: from classes, augmentations or tasks; and learning from pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..models import fingerprint
from ..score import mean_average_precision
from ..sequences import Sequences
from ..train import Batch, shuffled
from ..train.descent import NotFinite
from .alignment_losses import episode_loss
from .alignment_objectives import Comparing, Episodes, SelfSupervised, Supervised
from .blocks import fill
from .comparer import Comparer
from .losses import Loss
from .losses.finding import said

_JUDGED = 500, 1000  # sequences held out and others that a validation compares, all pairs
_TASKS = 20  # few-shot tasks of a validation


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
        fill(self.module, self.queries, self.gallery, distances)
        if not np.isfinite(distances).all():
            raise NotFinite("some of the distances of a validation are not finite")
        return mean_average_precision(distances, self.query_classes, self.gallery_classes)


class JudgedAugmentations(SelfSupervised):
    """Learning from augmentations, judged by those of sequences that take no part in it."""

    supervision = "augmentation of all but some"  # of all, in checkpoints of before there was a judgement
    higher_is_better = False

    def __init__(
        self,
        module: Comparer,
        sequences: Sequences,
        held_out: NDArray[np.int64],
        rng: np.random.Generator,
        **options: Any,
    ) -> None:
        used = np.setdiff1d(np.arange(len(sequences)), held_out)
        super().__init__(module, sequences[used], **options)
        self.places, self.held_out = used, held_out
        judged = _some(held_out, _JUDGED[0], rng)
        parts = np.array_split(judged, -(-len(judged) // self.batch_size))
        whole = (Batch.of(sequences, part) for part in parts)
        self.judged = [self._with_augmentation(batch, self.augmentation, rng) for batch in whole]

    def _more(self) -> dict[str, str | int]:
        return super()._more() | {"held-out sequences": fingerprint(self.held_out)}

    def validate(self) -> float:
        """What is minimised, of augmentations that were made once and for all."""
        found = [(float(self.loss(batch.like(self.module))), len(batch)) for batch in self.judged]
        return _mean(found)


class JudgedEpisodes(Episodes):
    """Few-shot tasks, judged by tasks whose queries take no part in it and whose support does."""

    supervision = "episodes of all but some"
    higher_is_better = False

    def __init__(
        self,
        module: Comparer,
        sequences: Sequences,
        labels: NDArray[np.int64],
        held_out: NDArray[np.int64],
        rng: np.random.Generator,
        **options: Any,
    ) -> None:
        used = np.setdiff1d(np.arange(len(sequences)), held_out)
        super().__init__(module, sequences[used], labels[used], **options)
        self.places, self.held_out, self.all_labels = used, held_out, labels
        self.judged = [self._task(sequences, labels, rng) for _ in range(_TASKS)]

    def _task(self, sequences: Sequences, labels: NDArray[np.int64], rng: np.random.Generator) -> tuple[Batch, int]:
        """Queries held out, the support of their classes, and how many classes there are."""
        kinds = np.unique(labels[self.held_out])
        kinds = rng.permutation(kinds)[: self.n_way]
        queries, support = (
            [rng.permutation(pool[labels[pool] == kind])[:most] for kind in kinds]
            for pool, most in ((self.held_out, self.n_query), (self.places, self.k_shot))
        )
        batch = Batch.of(sequences, np.concatenate(queries))
        known = Batch.of(sequences, np.concatenate(support))
        codes = {
            "labels": np.repeat(np.arange(len(kinds)), [len(some) for some in queries]),
            "support_labels": np.repeat(np.arange(len(kinds)), [len(some) for some in support]),
        }
        sides = {"support": known["x"], "support_lengths": known["lengths"]}
        return Batch(batch.ids, **batch.tensors, **sides, **codes), len(kinds)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Tasks, whose sequences are named as the caller gave them."""
        for batch in super().batches(epoch, rng):
            yield Batch(self.places[batch.ids], **batch.tensors)

    def _more(self) -> dict[str, str | int]:
        known = {"labels": fingerprint(self.all_labels), "held-out sequences": fingerprint(self.held_out)}
        return super()._more() | known

    def validate(self) -> float:
        """The mean loss of the tasks, which were drawn once and for all.

        Not their accuracy: of a few queries it is soon 1, and what is learned after that would be thrown away.
        """
        found = []
        for task, n_way in self.judged:
            batch = task.like(self.module)
            queries, support = self._prepared(batch), self._prepared(batch, "support")
            lost = episode_loss(self.module, queries, batch["labels"], support, batch["support_labels"], n_way)
            found.append((float(lost), len(batch)))
        return _mean(found)


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


def _mean(found: list[tuple[float, int]]) -> float:
    """The mean of numbers that count as often as there are items behind them."""
    mean = sum(value * count for value, count in found) / sum(count for _, count in found)
    if not np.isfinite(mean):
        raise NotFinite("the loss of a validation is not finite")
    return mean


def _some(ids: NDArray[np.int64], most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return ids if len(ids) <= most else np.sort(rng.choice(ids, most, replace=False))
