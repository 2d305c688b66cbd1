"""Learned distances: the base of all that learn from classes, and of those whose network compares two sequences."""

from __future__ import annotations

import abc
import math
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..align import FittedMetric
from ..align.matrix import Report
from ..models import options
from ..sequences import Sequences
from ..sequences.doors import read_targets
from ..train import Objective, Plateau, Trained
from ..train.trained import exact, torch_threads
from . import losses
from .comparer import Comparer, Features
from .losses.finding import known, option as loss_option
from .objectives.given_pairs import ByPairs
from .objectives.labels import Judged, Supervised
from .pairs import Part, compare, fill, parts, picked
from .positions import checked_pairs

_WIDEST = 64  # sequences in a batch, if there are many classes
_LEAST = 4  # members a class must have before some are held out


class MetricEstimator(Trained, FittedMetric):
    """A distance that is trained from classes."""

    classes_: NDArray[Any]
    _call = "fit(X, y)"

    def _targets(self, sequences: Sequences, y: Any) -> Any:
        """The class of every sequence, as a number."""
        labels = read_targets(self, sequences, y, "class")
        self.classes_, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(counts) < 2:
            pairs = (
                "; without classes, fit_pairs(X, pairs, same) learns from pairs" if hasattr(self, "fit_pairs") else ""
            )
            raise ValueError(
                f"y holds one class, {self.classes_.tolist()[0]!r}: a distance is learned from two or more{pairs}"
            )
        if counts.max() < 2:
            raise ValueError(
                f"every class has one member only ({len(counts)} classes): nothing says what alike means; give some "
                "class two members or more"
            )
        return classes.astype(np.int64)

    def _refuse(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        super()._refuse(x, y, names)
        for side, name in zip((x, y), names, strict=True):
            if side is not None:
                self.moments_.refuse(side, name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class LearnedMetric(MetricEstimator):
    """A network that compares two sequences, trained so that those of one class are near each other.

    A subclass says which network, and names its own options.
    """

    loss = loss_option()
    per_class = options.maybe(options.whole(2, "training"))
    learning_rate = options.real(above=0, role="free")
    weight_decay = options.real(0, role="free")
    max_epochs = options.maybe(options.whole(1, "free"))
    patience = options.maybe(options.whole(1, "free"))
    validation = options.real(0, 0.9, role="free")  # a checkpoint knows which sequences were held out

    network_: Comparer

    @abc.abstractmethod
    def _comparer(self, n_channels: int) -> Comparer:
        """A new network for frames of so many numbers."""

    _epochs: int = 60  # unless max_epochs says otherwise
    _clip: float = 6.0

    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        return self._comparer(math.prod(frame))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes, those of X unless y is given.

        A part of them, `validation`, is held out (whole groups, where the sequences have groups): the weights that
        find its classes best among the others, by mean average precision, are kept.
        """
        return super().fit(X, y)

    def fit_pairs(self, X: Any, pairs: Any, same: Any) -> Self:
        """Learn from pairs of positions in X, (pair, 2), of which `same` (pair,) says whether the two are alike.

        No part is held out: training goes on to `max_epochs`.
        """
        with self._fitting():
            sequences, criterion = self._learn_from(X), losses.find(self.loss)
            given, alike = checked_pairs(pairs, same, len(sequences))
            if type(criterion).pairs is losses.Loss.pairs:
                criterion.pairs(torch.zeros(0), torch.zeros(0, dtype=torch.bool))  # it says what to use instead
            ready = self._begin(sequences)
            rates: dict[str, Any] = {"learning_rate": self.learning_rate, "weight_decay": self.weight_decay}
            self._train(ByPairs(self.network_, ready, given, alike, criterion, **rates), sequences)
        return self

    def _objective(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        rng = self._rng()
        held_out = self._held_out(ready, targets, rng)
        criterion, how = losses.find(self.loss), self._options(int(targets.max()) + 1)
        if len(held_out):
            return Judged(self.network_, ready, targets, held_out, criterion, rng, **how)
        return Supervised(self.network_, ready, targets, criterion, **how)

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

    def _limits(self) -> dict[str, Any]:
        epochs = self._epochs if self.max_epochs is None else self.max_epochs
        return {
            "max_epochs": epochs,
            "patience": epochs if self.patience is None else self.patience,  # the best weights are kept in any case
            "gradient_clip": self._clip,
            "schedule": Plateau(patience=10, watch="loss"),
        }

    def _held_out(
        self, sequences: Sequences, classes: NDArray[np.int64], rng: np.random.Generator, *, stay: int = 2
    ) -> NDArray[np.int64]:
        """Positions of those by which training is judged: whole groups, unless that would take too much of a class.

        Of every class that has as many, `stay` members are left to learn from.
        """
        if self.validation == 0:
            return np.empty(0, np.int64)
        if sequences.groups is not None and len(np.unique(sequences.groups)) > 1:
            held = _whole_groups(np.unique(sequences.groups, return_inverse=True)[1], classes, self.validation, rng)
            left = np.bincount(np.delete(classes, held), minlength=int(classes.max()) + 1)
            if (left >= np.minimum(np.bincount(classes), stay)).all():
                return held
        return _of_every_class(classes, self.validation, rng, stay)

    def _known(self, sequences: Sequences, threads: int) -> list[Part]:
        """What the network computes of each sequence alone."""
        with torch_threads(threads):
            return parts(exact(self.network_), self._ready(sequences))

    def _some(self, known: list[Part], items: NDArray[np.int64] | slice) -> list[Part]:
        return picked(known, np.arange(items.start, items.stop) if isinstance(items, slice) else items)

    def _against(self, asked: Any, known: Any, out: NDArray[Any], threads: int) -> None:
        with torch_threads(threads):
            compare(self.network_, asked, known, out)

    def _fill(self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report) -> None:
        if y is not None and out.size == 1:  # one distance is asked for by the million, and needs no blocks
            out[0, 0] = self._one_distance(x, y, threads)
            return
        first = self._ready(x)
        second = first if y is x else None if y is None else self._ready(y)
        with torch_threads(threads):
            fill(self.network_, first, second, out, report, exact=exact(self.network_))

    def _one_distance(self, x: Sequences, y: Sequences, threads: int) -> float:
        with torch_threads(threads), torch.no_grad():
            return float(self.network_.matrix(self._features(x), self._features(y)))

    def _features(self, one: Sequences) -> Features:
        """What the network computes of a single sequence: in double precision, and rounded, as for many."""
        x, lengths = self._ready(one).tensor()
        found = exact(self.network_).features(x.double(), lengths)
        rounded = next((weight.dtype for weight in self.network_.parameters()), torch.float32)
        return replace(found, values=found.values.to(rounded))

    def _refuse_to_save(self) -> None:
        super()._refuse_to_save()
        if not isinstance(self.loss, str) and type(self.loss) not in known().values():
            raise TypeError(
                f"loss is a {type(self.loss).__name__}, which no file can hold: distances no longer depend on it, so "
                "set_params(loss='triplet') and save again"
            )


def _whole_groups(
    groups: NDArray[np.int64], classes: NDArray[np.int64], share: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Positions of whole groups, with every class among them where the classes are in several groups."""
    in_several = all(len(np.unique(groups[classes == kind])) > 1 for kind in np.unique(classes))
    places = Sequences(np.zeros((len(groups), 1)), groups=groups, ids=np.arange(len(groups)))
    held = places.split(share, stratify=classes if in_several else False, random_state=rng)[1]
    return np.asarray(held.ids, np.int64)


def _of_every_class(classes: NDArray[np.int64], share: float, rng: np.random.Generator, stay: int) -> NDArray[np.int64]:
    """Positions of the same share of every class that has enough members, `stay` of which are left in any case."""
    held = [np.empty(0, np.int64)]
    for members in (np.flatnonzero(classes == kind) for kind in np.unique(classes)):
        if len(members) >= max(_LEAST, stay + 1):
            size = min(max(1, round(share * len(members))), len(members) - stay)
            held.append(rng.permutation(members)[:size])
    return np.sort(np.concatenate(held))
