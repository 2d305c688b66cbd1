"""A distance that is learned: what all of them have in common, whatever their networks are."""

from __future__ import annotations

import abc
import math
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..align.base import Report
from ..sequences import Sequences
from ..sequences.arguments import real, whole
from ..sequences.moments import Moments
from ..sequences.reading import keep_size
from ..sequences.sampling import RandomState, generator
from ..train import History, Objective, Plateau, fit, seeded
from . import losses
from .alignment_objectives import Supervised
from .blocks import fill
from .comparer import Comparer
from .estimator import MetricEstimator
from .learning import ByPairs, Judged

_WIDEST = 64  # sequences in a batch, if there are many classes
_LEAST = 4  # members every class must have before some are held out


class LearnedMetric(MetricEstimator):
    """A network that compares two sequences, trained so that those of one class are near each other.

    A subclass says which network, and names its own options.
    """

    loss: Any
    per_class: int | None
    learning_rate: float
    weight_decay: float
    max_epochs: int | None
    patience: int | None
    validation: float
    standardize: bool
    checkpoint: str | Path | None
    progress: bool
    random_state: RandomState

    network_: Comparer

    @abc.abstractmethod
    def _network(self, n_channels: int) -> Comparer:
        """A new network for frames of so many numbers."""

    _epochs: int = 60  # unless max_epochs says otherwise
    _clip: float = 6.0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes, those of X unless y is given.

        A part of them, `validation`, is held out (whole groups, where the sequences have groups): the weights that
        classify it best by nearest neighbours are kept.
        """
        self._refuse_options()
        sequences = self._read(X)
        classes = self._classes(sequences, y)
        keep_size(self, sequences)
        ready = self._start(sequences)
        rng = generator(self.random_state if isinstance(self.random_state, int) else None)
        held_out = self._held_out(sequences, classes, rng)
        objective = self._objective(ready, classes, held_out, rng)
        self._train(objective, judged=len(held_out) > 0)
        return self

    def fit_pairs(self, X: Any, pairs: Any, same: Any) -> Self:
        """Learn from pairs of positions in X, (pair, 2), of which `same` (pair,) says whether the two are alike."""
        self._refuse_options()
        sequences = self._read(X)
        given, alike = _checked_pairs(pairs, same, len(sequences))
        keep_size(self, sequences)
        criterion = losses.find(self.loss)
        ready = self._start(sequences)
        objective = ByPairs(
            self.network_,
            ready,
            given,
            alike,
            criterion,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
        )
        self._train(objective, judged=False)
        return self

    def _objective(
        self,
        ready: Sequences,
        classes: NDArray[np.int64],
        held_out: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Objective:
        criterion, options = losses.find(self.loss), self._options(int(classes.max()) + 1)
        if len(held_out):
            return Judged(self.network_, ready, classes, held_out, criterion, rng, **options)
        return Supervised(self.network_, ready, classes, criterion, **options)

    def _options(self, n_classes: int) -> dict[str, Any]:
        """How the objective is to learn."""
        size = 6 if self.per_class is None else self.per_class
        widest = min(n_classes, max(2, _WIDEST // size))
        return {
            "augmentation": None,
            "n_per_class": size,
            "batch_size": size * widest,
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
        }

    def _train(self, objective: Objective, *, judged: bool) -> None:
        self.history_: History = fit(
            objective,
            max_epochs=self._epochs if self.max_epochs is None else self.max_epochs,
            patience=self.patience if judged else None,
            gradient_clip=self._clip,
            schedule=Plateau(patience=10, watch="loss"),
            checkpoint=self.checkpoint,
            progress=self.progress,
            random_state=self.random_state,
        )

    def _refuse_options(self) -> None:
        losses.find(self.loss)
        if self.per_class is not None:
            whole(self.per_class, "per_class", 2)
        real(self.learning_rate, "learning_rate", above=0)
        real(self.weight_decay, "weight_decay", 0)
        real(self.validation, "validation", 0, 0.9)
        for name in ("max_epochs", "patience"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, 1)

    def _held_out(
        self, sequences: Sequences, classes: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Positions of those by which training is judged: whole groups, unless that would take all of a class."""
        if self.validation == 0 or np.bincount(classes).min() < _LEAST:
            return np.empty(0, np.int64)
        places = Sequences(np.zeros((len(sequences), 1)), groups=sequences.groups, ids=np.arange(len(sequences)))
        options: dict[str, Any] = {"stratify": classes, "random_state": rng}
        if sequences.groups is not None and len(np.unique(sequences.groups)) > 1:
            kept, held = places.split(self.validation, **options | {"stratify": False})
            if len(np.unique(classes[np.asarray(kept.ids)])) == int(classes.max()) + 1:
                return np.asarray(held.ids, np.int64)
        least = int(classes.max()) + 1  # one of every class
        _, held = places.split(max(least, round(self.validation * len(classes))), groups=False, **options)
        return np.asarray(held.ids, np.int64)

    def _start(self, sequences: Sequences) -> Sequences:
        """A new network, and the sequences as it takes them."""
        frame = sequences.frame
        self._begin(Moments.of(sequences) if self.standardize else Moments.none(frame))
        return self.moments_.applied(sequences)

    def _begin(self, moments: Moments) -> None:
        self.moments_ = moments
        with seeded(self.random_state):
            self.network_ = self._network(math.prod(moments.mean.shape))

    def _fill(self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report) -> None:
        ready = self.moments_.applied(x), None if y is None else self.moments_.applied(y)
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            fill(self.network_.eval(), *ready, out, report)
        finally:
            torch.set_num_threads(before)

    def _learned(self) -> tuple[dict[str, Tensor], Any]:
        self._require_fitted()
        moments = {"mean": torch.from_numpy(self.moments_.mean), "scale": torch.from_numpy(self.moments_.scale)}
        weights = {f"network.{name}": tensor for name, tensor in self.network_.state_dict().items()}
        classes = None if not hasattr(self, "classes_") else self.classes_.tolist()
        return moments | weights, {"classes": classes}

    def _restore(self, tensors: dict[str, Tensor], extra: Any) -> None:
        self._begin(Moments(tensors["mean"].numpy(), tensors["scale"].numpy()))
        prefix = "network."
        weights = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        self.network_.load_state_dict(weights)
        if extra["classes"] is not None:
            self.classes_ = np.array(extra["classes"])


def _checked_pairs(pairs: Any, same: Any, count: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    given, alike = np.asarray(pairs), np.asarray(same)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu" or len(given) == 0:
        raise ValueError(f"pairs has shape {given.shape} of {given.dtype}: expected (pair, 2), two positions in X each")
    if given.min() < 0 or given.max() >= count:
        at = int(np.flatnonzero((given < 0).any(1) | (given >= count).any(1))[0])
        raise ValueError(f"pairs[{at}] is {given[at].tolist()}: expected positions 0 to {count - 1} in X")
    if alike.shape != (len(given),) or not np.isin(alike, (0, 1)).all():
        raise ValueError(f"same has shape {alike.shape}: expected True or False for each of the {len(given)} pairs")
    if alike.all() or not alike.any():
        raise ValueError("same is the same for all pairs: expected some that are alike and some that are not")
    return given.astype(np.int64), alike.astype(bool)
