"""`EpisodeObjective`: few-shot tasks in which each query should be nearest to the support of its class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from ...models import fingerprint
from ...sequences import Sequences
from ...train import Batch, Trainer
from ...train.objective import FORWARD_SHARE
from ..distance_network import DistanceNetwork, Features
from ..label_signal import describe_missing_signal
from .base import MetricObjective, weighted_mean

_N_VALIDATION_TASKS = 20  # few-shot tasks of a validation


class EpisodeObjective(MetricObjective):
    """Few-shot tasks: each query should be nearest to the support of its class (Su & Wen, ICLR 2022, eq. 8–9).

    A batch is one task, and an epoch `n_episodes` of them. `dual=False` compares from the query to the support only.
    The paper trains with SGD at 1e-3, from a pretrained network for frames: `trainer=Trainer(optimizer="sgd")`.
    """

    supervision = "episodes"
    own_trainer = Trainer(learning_rate=1e-3, optimizer="adam", weight_decay=0.0)

    def __init__(
        self,
        module: DistanceNetwork,
        sequences: Sequences,
        labels: Any,
        *,
        n_way: int = 5,
        k_shot: int = 1,
        n_query: int = 5,
        n_episodes: int = 100,
        dual: bool = True,
        trainer: Trainer | None = None,
    ) -> None:
        super().__init__(module, sequences, trainer)
        self.batch_size = n_way * n_query
        codes = np.unique(np.asarray(labels), return_inverse=True)[1]
        self.codes = codes.astype(np.int64)
        self.numbered_sequences = sequences.replace(labels=codes, ids=np.arange(len(sequences)))
        self.n_way, self.k_shot, self.n_query, self.n_episodes = n_way, k_shot, n_query, n_episodes
        self.dual = dual

    def _extra_identity(self) -> dict[str, str | int]:
        task = {"n_way": self.n_way, "k_shot": self.k_shot, "n_query": self.n_query, "n_episodes": self.n_episodes}
        return {"labels": fingerprint(self.codes), "dual": repr(self.dual), **task}

    def n_batches(self) -> float:
        """The number of tasks per epoch."""
        return self.n_episodes

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Tasks; queries and support are ordered by class, so positions determine the classes."""
        way, shot, query = self.n_way, self.k_shot, self.n_query
        for task in self.numbered_sequences.episodes(way, shot, query, n_episodes=self.n_episodes, random_state=rng):
            assert task.query.ids is not None
            (x, lengths), (support, support_lengths) = task.query.to_tensor(), task.support.to_tensor()
            classes = {"labels": np.repeat(np.arange(way), query), "support_labels": np.repeat(np.arange(way), shot)}
            sides = {"x": x, "lengths": lengths, "support": support, "support_lengths": support_lengths}
            yield Batch(task.query.ids, **sides, **classes)

    def shuffled_targets(self, batch: Batch) -> Batch | None:
        """The same task, each query labelled with the next class."""
        return Batch(batch.ids, **(batch.tensors | {"labels": (batch["labels"] + 1) % self.n_way}))

    def step_sequences(self) -> int:
        """Queries and support."""
        return self.n_way * (self.n_query + self.k_shot)

    def step_pairs(self) -> int:
        """Pairs of queries and support; both directions if `dual` and the network is asymmetric."""
        n_pairs = self.n_way**2 * self.n_query * self.k_shot
        return 2 * n_pairs if self.dual and not self.module.symmetric else n_pairs

    def find_data_issue(self) -> str | None:
        """A message if the labels appear independent of the sequences."""
        return describe_missing_signal(self.sequences, self.codes)

    def loss(self, batch: Batch) -> Tensor:
        """Equation 9."""
        task_loss, penalty = self._task_loss(batch, self.n_way)
        return task_loss + penalty

    def _task_loss(self, batch: Batch, n_way: int) -> tuple[Tensor, Tensor | float]:
        """The loss of a task with `n_way` classes, and the network's penalty."""
        queries, support = self._batch_features(batch), self._batch_features(batch, "support")
        there = self.module.training_distances(queries, support)
        support_labels = batch["support_labels"]
        scores = _scores_from_distances(
            self.module, there.distances, queries, support, support_labels, n_way, dual=self.dual
        )
        return F.cross_entropy(scores, batch["labels"]), there.penalty

    def process_share(self, batch: Batch, rank: int, world: int) -> Batch:
        """A part of the queries, and the whole support."""
        shared = {name: tensor for name, tensor in batch.tensors.items() if name.startswith("support")}
        own = {name: tensor for name, tensor in batch.tensors.items() if name not in shared}
        some = Batch(batch.ids, **own).take(np.arange(rank, len(batch), world))
        return Batch(some.ids, **some.tensors, **shared)


class ValidatedEpisodeObjective(EpisodeObjective):
    """Few-shot tasks, validated on tasks with held-out queries and training support."""

    supervision = "episodes, validated"
    higher_is_better = False

    def __init__(
        self,
        module: DistanceNetwork,
        sequences: Sequences,
        labels: NDArray[np.int64],
        held_out: NDArray[np.int64],
        rng: np.random.Generator,
        **options: Any,
    ) -> None:
        used = np.setdiff1d(np.arange(len(sequences)), held_out)
        super().__init__(module, sequences[used], labels[used], **options)
        self.source_positions, self.held_out, self.all_labels = used, held_out, labels
        self.validation_tasks = [self._sample_task(sequences, labels, rng) for _ in range(_N_VALIDATION_TASKS)]

    def _sample_task(
        self, sequences: Sequences, labels: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[Batch, int]:
        """A batch of held-out queries and the support of their classes, and the number of classes."""
        kinds = np.unique(labels[self.held_out])
        kinds = rng.permutation(kinds)[: self.n_way]
        queries, support = (
            [rng.permutation(pool[labels[pool] == kind])[:most] for kind in kinds]
            for pool, most in ((self.held_out, self.n_query), (self.source_positions, self.k_shot))
        )
        batch = Batch.from_sequences(sequences, np.concatenate(queries))
        support_batch = Batch.from_sequences(sequences, np.concatenate(support))
        codes = {
            "labels": np.repeat(np.arange(len(kinds)), [len(some) for some in queries]),
            "support_labels": np.repeat(np.arange(len(kinds)), [len(some) for some in support]),
        }
        sides = {"support": support_batch["x"], "support_lengths": support_batch["lengths"]}
        return Batch(batch.ids, **batch.tensors, **sides, **codes), len(kinds)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Tasks, with positions in the caller's data."""
        for batch in super().batches(epoch, rng):
            yield Batch(self.source_positions[batch.ids], **batch.tensors)

    def _extra_identity(self) -> dict[str, str | int]:
        fingerprints = {"labels": fingerprint(self.all_labels), "held-out sequences": fingerprint(self.held_out)}
        return super()._extra_identity() | fingerprints

    def validation_steps(self) -> float:
        """A task costs about as much as a batch."""
        return FORWARD_SHARE * len(self.validation_tasks)

    def validate(self) -> float:
        """The mean loss of fixed tasks.

        The accuracy of a few queries would soon reach 1, and later improvements would be discarded.
        """
        task_losses = []
        for task, n_way in self.validation_tasks:
            batch = task.match_module(self.module)
            task_losses.append((float(self._task_loss(batch, n_way)[0]), len(batch)))
        return weighted_mean(task_losses)


def class_scores(
    network: DistanceNetwork, queries: Features, support: Features, labels: Tensor, n_way: int, *, dual: bool = True
) -> Tensor:
    """The score of each query for each class, (query, class): −Σ d(q, s) + d(s, q) over its support (eq. 8).

    `labels` (support,) are the classes 0 … n_way − 1 of the support; `dual=False` leaves out d(s, q).

    >>> import torch
    >>> from timelike.metric import AlignedFramesNetwork
    >>> network = AlignedFramesNetwork(1, aligner="softdtw", transform=False)
    >>> support = network.features(torch.tensor([[[0.0]], [[1.0]]]), torch.tensor([1, 1]))
    >>> class_scores(network, support, support, torch.tensor([0, 1]), 2)
    tensor([[ 0., -2.],
            [-2.,  0.]])
    """
    return _scores_from_distances(
        network, network.distance_matrix(queries, support), queries, support, labels, n_way, dual=dual
    )


def _scores_from_distances(
    network: DistanceNetwork,
    there: Tensor,
    queries: Features,
    support: Features,
    labels: Tensor,
    n_way: int,
    *,
    dual: bool,
) -> Tensor:
    """`class_scores` from precomputed distances between queries and support."""
    if dual:
        there = 2 * there if network.symmetric else there + network.distance_matrix(support, queries).mT
    return -there @ F.one_hot(labels, n_way).to(there.dtype)


def episode_loss(
    network: DistanceNetwork,
    queries: Features,
    query_labels: Tensor,
    support: Features,
    support_labels: Tensor,
    n_way: int,
    *,
    dual: bool = True,
) -> Tensor:
    """Cross-entropy of the classes of the queries (eq. 9), averaged over them."""
    return F.cross_entropy(class_scores(network, queries, support, support_labels, n_way, dual=dual), query_labels)
