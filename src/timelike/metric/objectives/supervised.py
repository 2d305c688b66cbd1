"""`SupervisedObjective`: a metric loss on the distances of a batch, with or without validation on held-out items."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...models import fingerprint
from ...score import average_precision, mean_average_precision
from ...sequences import Sequences
from ...sequences.augment import Augmentation
from ...train import Batch, Trainer, class_batches, shuffled_batches
from ...train.batches import count_epoch_batches
from ...train.exceptions import NotFiniteError
from ...train.trainer import ValidationScore
from ..distance_network import DistanceNetwork, fill_distances
from ..label_signal import describe_missing_signal
from ..losses import Loss
from ..losses.registry import describe_loss
from ..supervision import BLUR_OR_MERGE, ConsistencyWeight, check_consistency_weight
from .base import VALIDATION_SIZES, MetricObjective, sample_positions
from .perturbation import BatchPerturbation
from .self_supervised import add_augmentation, consistency_loss

_MIN_GAIN = 0.1  # required fraction of the range between chance and 1
_N_SHUFFLES = 199  # shuffles of the labels that a score is compared with
_LEVEL = 0.05  # significance level


class SupervisedObjective(MetricObjective):
    """A metric loss, and the consistency of augmentations (Su & Wen, TAP, ICLR 2022, section 3.2).

    The queries are augmentations of the sequences of a batch; each is compared with all sequences of the batch,
    including its original. Eq. 10 is added with the weight `consistency`; `alignment` and `dual` control its terms (see
    `consistency_loss`). Both the loss and eq. 10 are means over the batch. In the paper eq. 4–7 are sums and eq. 10 is
    a mean, so its relative weight in a batch of B is 1 / B: `consistency="paper"`. With `augmentation=None` (table 8,
    w/o DA) the sequences are compared with each other, not with themselves, and nothing is added. `perturbation` is
    applied to the batch first. `n_per_class` draws batches with that many members per class instead of random ones; the
    batch size of the trainer then determines the number of classes in a batch, at least two.

    >>> import timelike as tl
    >>> from timelike.metric import AlignedFramesNetwork
    >>> from timelike.train import fit
    >>> def contrast(distances, labels, gallery_labels, valid=None):
    ...     same = labels[:, None] == gallery_labels
    ...     return distances[same].mean() - distances[~same].mean()
    >>> X = tl.Sequences([[[0.0, 1.0]] * n for n in (4, 5, 6)] + [[[1.0, 0.0]] * n for n in (4, 5, 6)])
    >>> network = AlignedFramesNetwork(2, aligner="tap", hidden=8)
    >>> objective = SupervisedObjective(network, X, [0, 0, 0, 1, 1, 1], contrast, trainer=tl.Trainer(batch_size=6))
    >>> fit(objective, max_steps=3, random_state=0).n_steps
    3
    """

    supervision = "labels"

    def __init__(
        self,
        module: DistanceNetwork,
        sequences: Sequences,
        labels: Any,
        loss: Loss,
        *,
        augmentation: Augmentation | None = BLUR_OR_MERGE,
        consistency: ConsistencyWeight = "paper",
        alignment: float = 1.0,
        dual: bool = True,
        n_per_class: int | None = None,
        perturbation: BatchPerturbation | None = None,
        trainer: Trainer | None = None,
    ) -> None:
        super().__init__(module, sequences, trainer)
        self.classes, self.codes = np.unique(np.asarray(labels), return_inverse=True)
        self.labels = self.codes
        """The labels of all sequences of the caller, of which `sequences` may be a subset."""
        self.held_out = np.empty(0, np.int64)
        self.metric_loss, self.augmentation, self.perturbation = loss, augmentation, perturbation
        self.consistency, self.n_per_class = check_consistency_weight(consistency, "consistency"), n_per_class
        self.terms: dict[str, Any] = {"alignment": alignment, "dual": dual}

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Batches with their augmentations."""
        for ids in self._batch_positions(rng):
            batch = self._make_batch(ids, labels=self.codes)
            if self.perturbation is not None:
                x, lengths = self.perturbation(batch["x"], batch["lengths"], rng)
                batch = Batch(batch.ids, **(batch.tensors | {"x": x, "lengths": lengths}))
            yield batch if self.augmentation is None else add_augmentation(batch, self.augmentation, rng)

    def n_batches(self) -> float:
        """The number of batches per epoch."""
        if self.n_per_class is None:
            return math.ceil(super().n_batches())
        return count_epoch_batches(self.codes, self.n_per_class, self._classes_per_batch(self.n_per_class))

    def _classes_per_batch(self, n_per_class: int) -> int:
        """The number of classes in a batch, at least two, because one class has no negatives."""
        return min(max(2, self.batch_size // n_per_class), len(self.classes))

    def step_sequences(self) -> int:
        """The nominal number of sequences in a batch, also for small classes."""
        if self.n_per_class is None:
            return min(self.batch_size, len(self.sequences))
        return self.n_per_class * self._classes_per_batch(self.n_per_class)

    def step_pairs(self) -> int:
        """All pairs of a batch."""
        return self.step_sequences() ** 2

    def _extra_identity(self) -> dict[str, str | int]:
        size = {} if self.n_per_class is None else {"n_per_class": self.n_per_class}
        augmented = {"augmentation": repr(self.augmentation), "consistency": repr(self.consistency)}
        # an estimator records the perturbation among its own options
        is_recorded = self.perturbation is None or "perturb" in self.checkpoint_settings
        augmented |= {} if is_recorded else {"perturbation": repr(self.perturbation)}
        augmented |= {"dual": repr(self.terms["dual"]), "loss": describe_loss(self.metric_loss)}
        fingerprints = {
            "labels": fingerprint(self.labels.astype(np.int64)),
            "held-out sequences": fingerprint(self.held_out),
        }
        return {**fingerprints, **augmented, **size}

    def _batch_positions(self, rng: np.random.Generator) -> Iterator[Any]:
        if self.n_per_class is None:
            return shuffled_batches(len(self.sequences), self.batch_size, rng)
        return class_batches(self.codes, self.n_per_class, rng, n_classes=self._classes_per_batch(self.n_per_class))

    def shuffled_targets(self, batch: Batch) -> Batch | None:
        """The same sequences with shuffled labels."""
        order = np.random.default_rng(len(batch)).permutation(len(batch))
        return Batch(batch.ids, **(batch.tensors | {"labels": batch["labels"][torch.from_numpy(order)]}))

    def find_data_issue(self) -> str | None:
        """A message if the labels appear independent of the sequences."""
        return describe_missing_signal(self.sequences, self.codes)

    def loss(self, batch: Batch) -> Mapping[str, Tensor | float]:
        """The total as `loss`, and its two parts."""
        gallery, labels = self._batch_features(batch), batch["labels"]
        queries, valid = gallery, None
        if self.augmentation is None:
            valid = ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        else:
            queries = self._batch_features(batch, "new")
        output = self.module.training_distances(queries, gallery)
        metric = self.metric_loss(output.distances, labels, labels, valid=valid)
        if not metric.requires_grad:
            # the batch has no suitable pairs, but the step needs a gradient
            metric = metric + 0 * output.distances.sum()
        total = metric + output.penalty
        if self.augmentation is None or self.consistency == 0:
            return {"loss": total, "metric": metric.detach(), **output.logged_values}
        alike = consistency_loss(self.module, queries, gallery, batch["alignment"], **self.terms)
        parts = {"metric": metric.detach(), "consistency": alike.detach(), **output.logged_values}
        weight = 1 / len(labels) if self.consistency == "paper" else self.consistency
        return {"loss": total + weight * alike, **parts}


class ValidatedSupervisedObjective(SupervisedObjective):
    """Supervised learning, validated with held-out sequences as queries and the others as gallery.

    The score is the mean average precision of the search, or the loss of the queries.
    """

    learning_check_validations = 1  # `failure_reason` computes the held-out distances once more

    def __init__(
        self,
        module: DistanceNetwork,
        sequences: Sequences,
        classes: NDArray[np.int64],
        held_out: NDArray[np.int64],
        loss: Loss,
        rng: np.random.Generator,
        *,
        score: ValidationScore = "average_precision",
        **options: Any,
    ) -> None:
        used = np.setdiff1d(np.arange(len(sequences)), held_out)
        super().__init__(module, sequences[used], classes[used], loss, **options)
        self.score, self.higher_is_better = score, score == "average_precision"
        queries, gallery = (
            sample_positions(ids, most, rng) for ids, most in zip((held_out, used), VALIDATION_SIZES, strict=True)
        )
        self.source_positions, self.labels, self.held_out = used, classes, held_out
        self.queries, self.gallery = sequences[queries], sequences[gallery]
        self.query_classes, self.gallery_classes = classes[queries], classes[gallery]

    def _extra_identity(self) -> dict[str, str | int]:
        return super()._extra_identity() | {"score": self.score}

    def find_data_issue(self) -> str | None:
        """None: held-out sequences already show whether labels can be learned."""
        return None

    def failure_reason(self) -> str | None:
        """A message if distances collapsed, or if the held-out precision is hardly better than with shuffled labels."""
        collapsed = super().failure_reason()
        if collapsed is not None:
            return collapsed
        distances = self._held_out_distances()
        score, chance, p_value = _compare_with_shuffled(distances, self.query_classes, self.gallery_classes)
        if score - chance > _MIN_GAIN * (1 - chance) and p_value <= _LEVEL:
            return None
        return (
            f"sequences held out find those of their class with a mean average precision of {score:.2f}, and with "
            f"shuffled labels it would be {chance:.2f} (p = {p_value:.2g}); check that the classes match the "
            "sequences, or train for more steps"
        )

    def validation_steps(self) -> float:
        """The cost of comparing all held-out sequences with the gallery, in training steps."""
        return self.estimate_steps(len(self.queries), len(self.gallery))

    def validate(self) -> float:
        """The mean average precision of the held-out queries in the gallery, or their loss.

        The nearest-neighbour accuracy of a few sequences would soon reach 1, and later improvements would be discarded.
        """
        distances = self._held_out_distances()
        if self.score == "average_precision":
            return mean_average_precision(distances, self.query_classes, self.gallery_classes)
        loss = float(self.metric_loss(*map(torch.from_numpy, (distances, self.query_classes, self.gallery_classes))))
        if not math.isfinite(loss):
            raise NotFiniteError("the loss of a validation is not finite")
        return loss

    def _held_out_distances(self) -> NDArray[np.float64]:
        distances = np.empty((len(self.queries), len(self.gallery)))
        fill_distances(self.module, self.queries, self.gallery, distances)
        if not np.isfinite(distances).all():
            raise NotFiniteError("some of the distances of a validation are not finite")
        return distances


def _compare_with_shuffled(
    distances: NDArray[np.float64], query_classes: NDArray[np.int64], gallery_classes: NDArray[np.int64]
) -> tuple[float, float, float]:
    """The mean average precision, its mean over shuffled query labels, and the p-value of the difference.

    >>> _compare_with_shuffled(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1]), np.array([0, 1]))[0]
    1.0
    """
    classes = np.unique(query_classes)
    # the precision of each query for each class: a shuffle of the labels selects entries of this table
    table = np.stack([average_precision(distances, np.full(len(distances), c), gallery_classes) for c in classes])
    places, columns = np.searchsorted(classes, query_classes), np.arange(len(distances))
    rng = np.random.default_rng(0)
    score = float(np.nanmean(table[places, columns]))
    others = np.array([np.nanmean(table[rng.permutation(places), columns]) for _ in range(_N_SHUFFLES)])
    return score, float(others.mean()), float((1 + (others >= score).sum()) / (1 + _N_SHUFFLES))
