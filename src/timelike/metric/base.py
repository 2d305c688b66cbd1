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

from ..align.base import Report, computed
from ..align.candidates import Ids
from ..sequences import Sequences, as_sequences
from ..sequences.arguments import flag, real, whole
from ..sequences.moments import Moments
from ..sequences.reading import keep_size
from ..sequences.sampling import RandomState, generator
from ..train import History, Plateau, fit, seeded
from . import losses
from .alignment_objectives import Comparing, Supervised
from .blocks import compare, exactly, fill, parts, picked
from .comparer import Comparer
from .estimator import MetricEstimator
from .gallery import PreparedGallery
from .learning import ByPairs, Judged
from .losses.finding import KNOWN
from .threads import torch_threads

_WIDEST = 64  # sequences in a batch, if there are many classes
_LEAST = 4  # members a class must have before some are held out
# options that may be others when a training continues, and those whose effect the objective tells apart
_TRAINING = ("learning_rate", "weight_decay", "max_epochs", "patience", "validation", "checkpoint", "progress")
_LEARNED_FROM = ("loss", "per_class", "batch_size", "n_way", "k_shot", "n_query", "augment", "supervision")
_NO_IDENTITY = (*_TRAINING, *_LEARNED_FROM, "random_state")


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
        find its classes best among the others, by mean average precision, are kept.
        """
        self._refuse_options()
        sequences = self._read(X)
        with self._fitting():
            classes = self._classes(sequences, y)
            ready = self._start(sequences)
            rng = self._rng()
            held_out = self._held_out(sequences, classes, rng)
            objective = self._objective(ready, classes, held_out, rng)
            self._train(objective, sequences, judged=len(held_out) > 0)
        return self

    def fit_pairs(self, X: Any, pairs: Any, same: Any) -> Self:
        """Learn from pairs of positions in X, (pair, 2), of which `same` (pair,) says whether the two are alike.

        No part is held out: training goes on to `max_epochs`.
        """
        self._refuse_options()
        sequences, criterion = self._read(X), losses.find(self.loss)
        given, alike = _checked_pairs(pairs, same, len(sequences))
        if type(criterion).pairs is losses.Loss.pairs:
            criterion.pairs(torch.zeros(0), torch.zeros(0, dtype=torch.bool))  # it says what to use instead
        with self._fitting():
            self._no_classes()
            ready = self._start(sequences)
            rates: dict[str, Any] = {"learning_rate": self.learning_rate, "weight_decay": self.weight_decay}
            self._train(ByPairs(self.network_, ready, given, alike, criterion, **rates), sequences, judged=False)
        return self

    def _objective(
        self,
        ready: Sequences,
        classes: NDArray[np.int64],
        held_out: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> Comparing:
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

    def _train(self, objective: Comparing, original: Sequences, *, judged: bool) -> None:
        objective.original, objective.owner = original, type(self).__name__
        options = self.get_params(deep=False).items()
        objective.settings = {name: repr(value) for name, value in options if name not in _NO_IDENTITY}
        epochs = self._epochs if self.max_epochs is None else self.max_epochs
        patience = epochs if self.patience is None else self.patience  # the best weights are kept in any case
        self.history_: History = fit(
            objective,
            max_epochs=epochs,
            patience=patience if judged else None,
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
        flag(self.standardize, "standardize")
        flag(self.progress, "progress")
        if not isinstance(self.random_state, np.random.Generator):
            generator(self.random_state)  # refused before anything is touched
        for name in ("max_epochs", "patience"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name, 1)

    def _held_out(
        self, sequences: Sequences, classes: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Positions of those by which training is judged: whole groups, unless that would take too much of a class."""
        if self.validation == 0:
            return np.empty(0, np.int64)
        if sequences.groups is not None and len(np.unique(sequences.groups)) > 1:
            held = _whole_groups(np.unique(sequences.groups, return_inverse=True)[1], classes, self.validation, rng)
            left = np.bincount(np.delete(classes, held), minlength=int(classes.max()) + 1)
            if (left >= np.minimum(np.bincount(classes), 2)).all():
                return held
        return _of_every_class(classes, self.validation, rng)

    def _rng(self) -> np.random.Generator:
        """A training that may be continued holds out the same sequences every time, with or without a seed."""
        continued = self.random_state is None and self.checkpoint is not None
        return generator(0 if continued else self.random_state)

    def _start(self, sequences: Sequences) -> Sequences:
        """A new network, and the sequences as it takes them."""
        keep_size(self, sequences)
        frame = sequences.frame
        self._begin(Moments.of(sequences) if self.standardize else Moments.none(frame))
        return self.moments_.applied(sequences)

    def _begin(self, moments: Moments) -> None:
        self.moments_ = moments
        with seeded(self.random_state):
            self.network_ = self._network(math.prod(moments.mean.shape))

    def prepared(self, X: Any) -> PreparedGallery:
        """X made ready for many searches: what the network computes of X alone is computed once."""
        return PreparedGallery(self, as_sequences(X, "X"))

    def _among(self, collection: Sequences, asked: Sequences, chosen: Ids, threads: int) -> NDArray[Any]:
        """Each query and each candidate of any query is prepared once."""
        known, places = np.unique(chosen, return_inverse=True)
        out = np.empty(chosen.shape, computed(asked, collection))
        exact = exactly(self.network_.eval())
        with torch_threads(threads):
            gallery = parts(exact, self.moments_.applied(collection[known]))
            queries = parts(exact, self.moments_.applied(asked))
            for query, wanted in enumerate(places.reshape(chosen.shape)):
                one, own = picked(queries, np.array([query])), out[query : query + 1]
                compare(self.network_, one, picked(gallery, wanted), own)
        return out

    def _fill(self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report) -> None:
        first = self.moments_.applied(x)
        second = first if y is x else None if y is None else self.moments_.applied(y)
        with torch_threads(threads):
            fill(self.network_.eval(), first, second, out, report)

    def _learned(self) -> tuple[dict[str, Tensor], Any]:
        self._require_fitted()
        if not isinstance(self.loss, str) and type(self.loss) not in KNOWN.values():
            raise TypeError(
                f"loss is a {type(self.loss).__name__}, which no file can hold: distances no longer depend on it, so "
                "set_params(loss='triplet') and save again"
            )
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


def _whole_groups(
    groups: NDArray[np.int64], classes: NDArray[np.int64], share: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Positions of whole groups, with every class among them where the classes are in several groups."""
    spread = all(len(np.unique(groups[classes == kind])) > 1 for kind in np.unique(classes))
    places = Sequences(np.zeros((len(groups), 1)), groups=groups, ids=np.arange(len(groups)))
    held = places.split(share, stratify=classes if spread else False, random_state=rng)[1]
    return np.asarray(held.ids, np.int64)


def _of_every_class(classes: NDArray[np.int64], share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of the same share of every class that has enough members, two of which stay in any case."""
    held = [np.empty(0, np.int64)]
    for members in (np.flatnonzero(classes == kind) for kind in np.unique(classes)):
        if len(members) >= _LEAST:
            size = min(max(1, round(share * len(members))), len(members) - 2)
            held.append(rng.permutation(members)[:size])
    return np.sort(np.concatenate(held))


def _checked_pairs(pairs: Any, same: Any, count: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    try:
        given, alike = np.asarray(pairs), np.asarray(same)
    except ValueError as error:
        raise ValueError(f"pairs and same are no (pair, 2) positions in X and a True or False each: {error}") from None
    if given.size == 0:
        raise ValueError("pairs is empty: expected (pair, 2), two positions in X for each of some pairs")
    if given.ndim != 2 or given.shape[1] != 2:
        raise ValueError(f"pairs has shape {given.shape}: expected (pair, 2), two positions in X each")
    if given.dtype.kind not in "iu":
        raise TypeError(f"pairs has dtype {given.dtype}: expected whole numbers, two positions in X each")
    if given.min() < 0 or given.max() >= count:
        at = int(np.flatnonzero((given < 0).any(1) | (given >= count).any(1))[0])
        raise ValueError(f"pairs[{at}] is {given[at].tolist()}: expected positions 0 to {count - 1} in X")
    if alike.shape != (len(given),):
        raise ValueError(f"same has shape {alike.shape}: expected True or False for each of the {len(given)} pairs")
    odd = np.flatnonzero(~np.isin(alike, (0, 1)))
    if len(odd):
        raise ValueError(f"same[{odd[0]}] is {alike.tolist()[odd[0]]!r}: expected True (or 1) or False (or 0)")
    if alike.all() or not alike.any():
        raise ValueError("same is the same for all pairs: expected some that are alike and some that are not")
    return given.astype(np.int64), alike.astype(bool)
