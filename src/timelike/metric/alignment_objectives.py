"""How comparers learn: from labels, from augmentations alone, or from few-shot tasks; objectives for `train.fit`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from ..models import fingerprint
from ..sequences import Sequences
from ..sequences.augment import Augmentation
from ..train import Batch, Objective, per_class, shuffled
from .alignment_losses import consistency, episode_loss
from .augmentation import BLUR_OR_MERGE, augmented
from .comparer import Comparer, Prepared
from .losses import Loss
from .losses.finding import said


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

    def _prepared(self, batch: Batch, name: str = "x") -> Prepared:
        return self.module.prepare(batch[name], batch["lengths" if name == "x" else f"{name}_lengths"])

    def _with_augmentation(self, batch: Batch, augmentation: Augmentation, rng: np.random.Generator) -> Batch:
        new = augmented(batch["x"], batch["lengths"], augmentation, random_state=rng)
        more = {"new": new.x, "new_lengths": new.lengths, "alignment": new.alignment}
        return Batch(batch.ids, **batch.tensors, **more)


class Supervised(Comparing):
    """A metric loss, and the consistency of augmentations (Su & Wen, TAP, ICLR 2022, section 3.2).

    The queries are augmentations of the sequences of a batch, and each is compared with all sequences of it, its own
    original among them; eq. 10 is added with the weight `consistency` and `alignment` (see `consistency`). With
    `augmentation=None` (table 8, w/o DA) the sequences are compared with each other, none with itself, and nothing is
    added. `n_per_class` draws batches with that many of every class in place of random ones; `batch_size` then says
    how many classes there are in one.

    >>> import timelike as tl
    >>> from timelike.metric import Aligned
    >>> from timelike.train import fit
    >>> def contrast(distances, labels, gallery_labels, valid=None):
    ...     same = labels[:, None] == gallery_labels
    ...     return distances[same].mean() - distances[~same].mean()
    >>> X = tl.Sequences([[[0.0, 1.0]] * n for n in (4, 5, 6)] + [[[1.0, 0.0]] * n for n in (4, 5, 6)])
    >>> objective = Supervised(Aligned(2, aligner="tap", hidden=8), X, [0, 0, 0, 1, 1, 1], contrast, batch_size=6)
    >>> fit(objective, max_steps=3, random_state=0).n_steps
    3
    """

    supervision = "labels"

    def __init__(
        self,
        module: Comparer,
        sequences: Sequences,
        labels: Any,
        loss: Loss,
        *,
        augmentation: Augmentation | None = BLUR_OR_MERGE,
        consistency: float = 1.0,
        alignment: float = 1.0,
        n_per_class: int | None = None,
        batch_size: int = 64,
        learning_rate: float = 1e-4,
        weight_decay: float = 1e-4,
    ) -> None:
        super().__init__(
            module, sequences, batch_size=batch_size, learning_rate=learning_rate, weight_decay=weight_decay
        )
        self.classes, self.codes = np.unique(np.asarray(labels), return_inverse=True)
        self.labels = self.codes
        """Of all sequences, where these are a part of them."""
        self.held_out = np.empty(0, np.int64)
        self.metric_loss, self.augmentation = loss, augmentation
        self.consistency, self.alignment, self.n_per_class = consistency, alignment, n_per_class

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Batches with their augmentations."""
        for ids in self._ids(rng):
            batch = self._batch(ids, labels=self.codes)
            yield batch if self.augmentation is None else self._with_augmentation(batch, self.augmentation, rng)

    def _more(self) -> dict[str, str | int]:
        size = {} if self.n_per_class is None else {"per_class": self.n_per_class}
        augmented = {"augmentation": repr(self.augmentation), "loss": said(self.metric_loss)}
        known = {"labels": fingerprint(self.labels.astype(np.int64)), "held-out sequences": fingerprint(self.held_out)}
        return {**known, **augmented, **size}

    def _ids(self, rng: np.random.Generator) -> Iterator[Any]:
        if self.n_per_class is None:
            return shuffled(len(self.sequences), self.batch_size, rng)
        width = min(max(1, self.batch_size // self.n_per_class), len(self.classes))
        return per_class(self.codes, self.n_per_class, rng, n_classes=width)

    def loss(self, batch: Batch) -> Mapping[str, Tensor | float]:
        """The sum as `loss`, and both parts."""
        gallery, labels = self._prepared(batch), batch["labels"]
        queries, valid = gallery, None
        if self.augmentation is None:
            valid = ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        else:
            queries = self._prepared(batch, "new")
        distances = self.module.matrix(queries, gallery)
        metric = self.metric_loss(distances, labels, labels, valid=valid)
        if not metric.requires_grad:
            metric = metric + 0 * distances.sum()  # nothing to learn from this batch, and yet a step must be possible
        total = metric + self.module.penalty()
        if self.augmentation is None or self.consistency == 0:
            return {"loss": total, "metric": metric.detach(), **self.module.readings()}
        alike = consistency(self.module, queries, gallery, batch["alignment"], alignment=self.alignment)
        parts = {"metric": metric.detach(), "consistency": alike.detach(), **self.module.readings()}
        return {"loss": total + self.consistency * alike, **parts}


class SelfSupervised(Comparing):
    """Equation 10 alone: a sequence is near its augmentation, and lines up with it as it was made.

    `distance=0` is alignment-supervised learning (A.8). Only the prediction is learned, not the transformation h:
    without negatives the distances would make all frames the same, and that is what `joint=True` shows (SoftDTW* of
    tables 6 and 7).
    """

    supervision = "augmentation"

    def __init__(
        self,
        module: Comparer,
        sequences: Sequences,
        *,
        augmentation: Augmentation = BLUR_OR_MERGE,
        distance: float = 1.0,
        alignment: float = 1.0,
        dual: bool = True,
        joint: bool = False,
        batch_size: int = 64,
        learning_rate: float = 1e-4,
        weight_decay: float = 1e-4,
    ) -> None:
        super().__init__(
            module, sequences, batch_size=batch_size, learning_rate=learning_rate, weight_decay=weight_decay
        )
        self.augmentation, self.joint = augmentation, joint
        self.weights: dict[str, Any] = {"distance": distance, "alignment": alignment, "dual": dual}

    def _parameters(self) -> list[nn.Parameter]:
        learned = [
            parameter
            for name, parameter in self.module.named_parameters()
            if self.joint or not name.startswith("transformation.")
        ]
        if not learned:
            raise ValueError(
                f"{type(self.module).__name__} has nothing to learn but the transformation: use joint=True"
            )
        return learned

    def _more(self) -> dict[str, str | int]:
        return {"augmentation": repr(self.augmentation), "weights": repr(self.weights), "joint": str(self.joint)}

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Random batches with their augmentations."""
        for ids in shuffled(len(self.sequences), self.batch_size, rng):
            yield self._with_augmentation(self._batch(ids), self.augmentation, rng)

    def loss(self, batch: Batch) -> Tensor:
        """Equation 10."""
        sides = self._prepared(batch, "new"), self._prepared(batch)
        return consistency(self.module, *sides, batch["alignment"], **self.weights) + self.module.penalty()


class Episodes(Comparing):
    """Few-shot tasks: each query is to be nearest to the support of its class (Su & Wen, ICLR 2022, eq. 8–9).

    A batch is one task. The paper trains with SGD at 1e-3, from a pretrained network for frames: `optimizer="sgd"`.
    """

    supervision = "episodes"

    def __init__(
        self,
        module: Comparer,
        sequences: Sequences,
        labels: Any,
        *,
        n_way: int = 5,
        k_shot: int = 1,
        n_query: int = 5,
        n_episodes: int = 100,
        optimizer: Literal["adam", "sgd"] = "adam",
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(
            module, sequences, batch_size=n_way * n_query, learning_rate=learning_rate, weight_decay=weight_decay
        )
        codes = np.unique(np.asarray(labels), return_inverse=True)[1]
        self.codes = codes.astype(np.int64)
        self.numbered = sequences.replace(labels=codes, ids=np.arange(len(sequences)))
        self.n_way, self.k_shot, self.n_query, self.n_episodes = n_way, k_shot, n_query, n_episodes
        self.optimizer = optimizer

    def _more(self) -> dict[str, str | int]:
        task = {"n_way": self.n_way, "k_shot": self.k_shot, "n_query": self.n_query, "n_episodes": self.n_episodes}
        return {"labels": fingerprint(self.codes), "optimizer": self.optimizer, **task}

    def optimizers(self) -> Optimizer:
        """Adam, or SGD as in the paper."""
        if self.optimizer == "adam":
            return super().optimizers()
        return torch.optim.SGD(self._parameters(), lr=self.learning_rate, weight_decay=self.weight_decay)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Tasks; both parts go class by class, so the classes are known by their places."""
        way, shot, query = self.n_way, self.k_shot, self.n_query
        for task in self.numbered.episodes(way, shot, query, n_episodes=self.n_episodes, random_state=rng):
            assert task.query.ids is not None
            (x, lengths), (support, support_lengths) = task.query.tensor(), task.support.tensor()
            classes = {"labels": np.repeat(np.arange(way), query), "support_labels": np.repeat(np.arange(way), shot)}
            sides = {"x": x, "lengths": lengths, "support": support, "support_lengths": support_lengths}
            yield Batch(task.query.ids, **sides, **classes)

    def loss(self, batch: Batch) -> Tensor:
        """Equation 9."""
        queries, support = self._prepared(batch), self._prepared(batch, "support")
        found = episode_loss(self.module, queries, batch["labels"], support, batch["support_labels"], self.n_way)
        return found + self.module.penalty()

    def part(self, batch: Batch, rank: int, world: int) -> Batch:
        """Some of the queries, and all of the support."""
        shared = {name: tensor for name, tensor in batch.tensors.items() if name.startswith("support")}
        own = {name: tensor for name, tensor in batch.tensors.items() if name not in shared}
        some = Batch(batch.ids, **own).take(np.arange(rank, len(batch), world))
        return Batch(some.ids, **some.tensors, **shared)
