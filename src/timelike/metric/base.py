"""Learned distances: the base of all that learn from classes, and of those whose network compares two sequences."""

from __future__ import annotations

import abc
import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..align import FittedMetric
from ..align.matrix import Report
from ..models import learned, options
from ..sequences import Sequences
from ..sequences.arguments import shown
from ..sequences.augment import Augmentation
from ..sequences.coarse import ANY, Coarse
from ..sequences.doors import read_targets
from ..train import Objective, OneCycle, Plateau, Schedule, Trained
from ..train.trained import exact, torch_threads
from . import losses
from .comparer import Comparer, Features
from .losses.finding import known, option as loss_option
from .objectives.base import Comparing
from .objectives.given_pairs import ByPairs
from .objectives.holding_out import held_out
from .objectives.labels import Judged, Supervised
from .objectives.perturbation import Change, OneByOne, Perturbation, checked_perturb
from .pairs import Part, compare, fill, parts, picked
from .positions import checked_pairs
from .strided import Strided, strides_for

_WIDEST = 64  # sequences in a batch, if there are many classes
_MANY = 400  # sequences, of which some can be spared to judge by
_LOOKS = 20  # at the score of those held out, where steps are counted


class MetricEstimator(Trained, FittedMetric):
    """A distance that is trained from classes."""

    classes_: NDArray[Any] = learned.later(learned.labels("class"))  # there are none where pairs are given
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
                f"y holds one class, {shown(self.classes_.tolist()[0])}: a distance is learned from two or more{pairs}"
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
    optimizer = options.otherwise(options.one_of("adamw", "adam", role="training"), "adam")
    schedule = options.otherwise(options.one_of("cycle", "plateau", "constant", role="free"), "plateau")
    perturb = options.otherwise(options.Option(checked_perturb, "training"), False)
    max_frames = options.otherwise(options.maybe(options.whole(4)), None)
    max_steps = options.otherwise(options.maybe(options.whole(1, "free")), None)
    max_epochs = options.maybe(options.whole(1, "free"))
    max_time = options.otherwise(options.maybe(options.real(above=0, role="free")), None)
    patience = options.maybe(options.whole(1, "free"))
    validation = options.maybe(options.real(0, 0.9, role="free"))  # a checkpoint knows which sequences were held out

    network_: Comparer
    coarse_: Coarse = learned.coarse()
    strides_: tuple[int, int] = learned.together(learned.whole(1, 64), learned.whole(1, 64))

    _steps: ClassVar[tuple[int, int]] = (500, 2000)  # at least and at most, where nothing says how many
    _passes: ClassVar[int] = 20  # through the data, between the two
    _seconds: ClassVar[float] = 120.0  # where nothing says how long
    _clip: ClassVar[float | None] = 6.0

    @abc.abstractmethod
    def _comparer(self, n_channels: int) -> Comparer:
        """A new network for frames of so many numbers."""

    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        return self._comparer(math.prod(frame))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes, those of X unless y is given.

        Where a part of them, `validation`, is held out (whole groups, where the sequences have groups), the weights
        that find its classes best among the others, by mean average precision, are kept.
        """
        return super().fit(X, y)

    def fit_pairs(self, X: Any, pairs: Any, same: Any) -> Self:
        """Learn from pairs of positions in X, (pair, 2), of which `same` (pair,) says whether the two are alike.

        No part is held out: training goes on to its end. A loss for single pairs is needed, such as "contrastive".
        """
        with self._fitting():
            sequences, criterion = self._learn_from(X), losses.find(self.loss)
            given, alike = checked_pairs(pairs, same, len(sequences))
            if type(criterion).pairs is losses.Loss.pairs:
                criterion.pairs(torch.zeros(0), torch.zeros(0, dtype=torch.bool))  # it says what to use instead
            ready = self._begin(sequences)
            how = {"change": self._change(), **self._rates()}
            self._train(ByPairs(self.network_, ready, given, alike, criterion, **how), sequences)
        return self

    def _begin(self, sequences: Sequences) -> Sequences:
        self.coarse_ = Coarse.of(sequences.lengths, self.max_frames)
        self.strides_ = strides_for(self.coarse_.lengths(sequences.lengths))
        return super()._begin(sequences)

    def _ready(self, sequences: Sequences, name: str | None = None) -> Sequences:
        return self.coarse_.applied(super()._ready(sequences, name))

    def _front(self) -> Strided | None:
        """What of the network reads sequences first, and leaves some steps out."""
        return None

    def _shares(self, length: int) -> NDArray[np.float64]:
        """Of which steps of a sequence so long, in which shares, the network's frames are made: (frame, step)."""
        shares, front = self.coarse_.shares(length), self._front()
        return shares if front is None else Coarse(float(front.stride), ANY).shares(len(shares)) @ shares

    def _objective(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        rng = self._rng()
        held = self._held_out(ready, targets, rng)
        criterion, how = losses.find(self.loss), self._options(int(targets.max()) + 1)
        if len(held):
            return Judged(self.network_, ready, targets, held, criterion, rng, **how)
        return Supervised(self.network_, ready, targets, criterion, **how)

    def _rates(self) -> dict[str, Any]:
        """What the optimiser is told."""
        names = ("learning_rate", "weight_decay", "optimizer")
        return {name: getattr(self, name) for name in names}

    def _options(self, n_classes: int) -> dict[str, Any]:
        """How the objective is to learn."""
        size = 6 if self.per_class is None else self.per_class
        widest = min(n_classes, max(2, _WIDEST // size))
        how = {"augmentation": None, "n_per_class": size, "batch_size": size * widest, "change": self._change()}
        return how | self._rates()

    def _change(self) -> Change | None:
        """What is done to the sequences of a batch before it is learned from."""
        if isinstance(self.perturb, Augmentation):
            return OneByOne(self.perturb)
        if not self.perturb:
            return None
        return Perturbation() if self.standardize else Perturbation(jitter=0.0)  # noise needs a unit

    def _limits(self, objective: Objective) -> dict[str, Any]:
        counted = self._by_epochs() if self._counts_epochs() else self._by_steps(objective)
        return counted | {"gradient_clip": self._clip, "schedule": self._schedule(objective)}

    def _counts_epochs(self) -> bool:
        """Whether the budget is in epochs: then patience counts them too, and each ends with a look at the score."""
        return self.max_epochs is not None and self.max_steps is None

    def _by_epochs(self) -> dict[str, Any]:
        # the best weights are kept in any case
        patience = self.max_epochs if self.patience is None else self.patience
        return {"max_epochs": self.max_epochs, "max_time": self.max_time, "patience": patience}

    def _by_steps(self, objective: Objective) -> dict[str, Any]:
        assert isinstance(objective, Comparing)
        usual = int(np.clip(self._passes * objective.n_batches(), *self._steps))
        steps = usual if self.max_steps is None else self.max_steps
        free = self.max_steps is None and self.max_time is None
        every = max(1, steps // _LOOKS)
        looks = {"validate_every": every} if objective.validates else {}
        patience = steps if self.patience is None else self.patience
        return looks | {
            "max_steps": steps,
            "max_epochs": self.max_epochs,
            "max_time": self._seconds if free else self.max_time,
            "patience": -(-patience // every),
        }

    def _schedule(self, objective: Objective) -> Schedule | None:
        if self.schedule == "cycle":
            return OneCycle(steps=self._steps_of_epochs(objective))
        return Plateau(patience=10, watch="loss") if self.schedule == "plateau" else None

    def _steps_of_epochs(self, objective: Objective) -> int | None:
        assert isinstance(objective, Comparing)
        return None if self.max_epochs is None else math.ceil(self.max_epochs * objective.n_batches())

    def _share(self, count: int) -> float:
        """Which part of so many sequences is held out: a few are too many to lose where there are few."""
        if self.validation is not None:
            return self.validation
        if self._counts_epochs() or self.patience is not None:  # there is something to be patient about
            return 0.2
        return 0.1 if count >= _MANY else 0.0

    def _held_out(
        self, sequences: Sequences, classes: NDArray[np.int64], rng: np.random.Generator, *, stay: int = 2
    ) -> NDArray[np.int64]:
        """Positions of those by which training is judged."""
        return held_out(sequences.groups, classes, self._share(len(sequences)), rng, stay)

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


class Twins(LearnedMetric):
    """A learned metric whose network is one recurrent network for both sequences."""

    front = options.maybe(options.one_of("strided"))

    PLAIN: ClassVar[dict[str, Any]] = {
        "hidden": 20,
        "front": None,
        "loss": "structural",
        "perturb": False,
        "max_frames": None,
        "learning_rate": 1e-3,
        "weight_decay": 1e-4,
        "optimizer": "adam",
        "schedule": "plateau",
        "max_epochs": 60,
        "patience": 20,
        "validation": 0.2,
    }
    """How the coupled GRU's paper trains twins, where it says so."""

    def _front(self) -> Strided | None:
        found = self.network_.front
        return found if isinstance(found, Strided) else None
