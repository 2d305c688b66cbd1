"""Base classes of learned distances: trained from classes, and those whose network compares two sequences."""

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
from ..align.distance_matrix import ProgressCallback
from ..core.parameters import format_value
from ..models import options, schema
from ..sequences import Sequences
from ..sequences.augment import Augmentation
from ..sequences.time_pool import UNLIMITED, TimePool
from ..sequences.validation import validate_targets
from ..train import Objective, OneCycle, Plateau, Schedule, Trained
from ..train.base import double_precision_copy, torch_threads
from . import losses
from .distance_network import DistanceNetwork, Features
from .losses.registry import loss_option, losses_by_name
from .objectives.base import MetricObjective
from .objectives.pairs import PairObjective
from .objectives.perturbation import BatchPerturbation, PerItemAugmentation, Perturbation, check_perturb
from .objectives.supervised import SupervisedObjective, ValidatedSupervisedObjective
from .objectives.validation_split import sample_validation
from .pair_labels import validate_pair_labels
from .pairwise import FeatureBatch, compare_batches, feature_batches, fill_distances, select_features
from .strided_convolutions import StridedConvolutions, choose_strides

_MAX_BATCH_SEQUENCES = 64  # sequences in a batch, if there are many classes
_MIN_SPLIT_SEQUENCES = 400  # sequences, of which some can be spared to judge by
_N_VALIDATIONS = 20  # at the score of those held out, where steps are counted


class MetricEstimator(Trained, FittedMetric):
    """A distance that is trained from classes."""

    classes_: NDArray[Any] = schema.not_required(schema.labels("class"))  # there are none where pairs are given
    _fit_call = "fit(X, y)"

    def _validate_targets(self, sequences: Sequences, y: Any) -> Any:
        """The class of every sequence, as a number."""
        labels = validate_targets(self, sequences, y, "class")
        self.classes_, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        if len(counts) < 2:
            pairs = (
                "; without classes, fit_pairs(X, pairs, same) learns from pairs" if hasattr(self, "fit_pairs") else ""
            )
            raise ValueError(
                f"y holds one class, {format_value(self.classes_.tolist()[0])}: a distance is learned from two or "
                f"more{pairs}"
            )
        if counts.max() < 2:
            raise ValueError(
                f"every class has one member only ({len(counts)} classes): nothing says what alike means; give some "
                "class two members or more"
            )
        return classes.astype(np.int64)

    def _validate_sides(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        super()._validate_sides(x, y, names)
        for side, name in zip((x, y), names, strict=True):
            if side is not None:
                self.scaler_.refuse_too_large(side, name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class LearnedMetric(MetricEstimator):
    """A network that compares two sequences, trained so that those of one class are near each other.

    A subclass says which network, and names its own options.
    """

    loss = loss_option()
    n_per_class = options.nullable(options.integer(2, "training"))
    learning_rate = options.real(above=0, role="free")
    weight_decay = options.real(0, role="free")
    optimizer = options.with_default(options.choice("adamw", "adam", role="training"), "adam")
    schedule = options.with_default(options.choice("one_cycle", "plateau", "constant", role="free"), "plateau")
    perturb = options.with_default(options.Option(check_perturb, "training"), False)
    max_frames = options.with_default(options.nullable(options.integer(4)), None)
    max_steps = options.with_default(options.nullable(options.integer(1, "free")), None)
    max_epochs = options.nullable(options.integer(1, "free"))
    max_time = options.with_default(options.nullable(options.real(above=0, role="free")), None)
    patience = options.nullable(options.integer(1, "free"))
    validation = options.nullable(options.real(0, 0.9, role="free"))  # a checkpoint knows which sequences were held out

    network_: DistanceNetwork
    time_pool_: TimePool = schema.time_pool()
    strides_: tuple[int, int] = schema.tuple_of(schema.integer(1, 64), schema.integer(1, 64))

    _step_range: ClassVar[tuple[int, int]] = (500, 2000)  # at least and at most, where nothing says how many
    _n_passes: ClassVar[int] = 20  # through the data, between the two
    _default_seconds: ClassVar[float] = 120.0  # where nothing says how long
    _gradient_clip: ClassVar[float | None] = 6.0

    @abc.abstractmethod
    def _build_distance_network(self, n_channels: int) -> DistanceNetwork:
        """A new network for frames of `n_channels` numbers."""

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        return self._build_distance_network(math.prod(frame))

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
        with self._atomic_fit():
            sequences, criterion = self._validate_fit_input(X), losses.resolve_loss(self.loss)
            given, alike = validate_pair_labels(pairs, same, len(sequences))
            if type(criterion).pair_loss is losses.Loss.pair_loss:
                criterion.pair_loss(torch.zeros(0), torch.zeros(0, dtype=torch.bool))  # it says what to use instead
            ready = self._prepare_fit(sequences)
            how = {"perturbation": self._make_perturbation(), **self._optimizer_options()}
            self._train(PairObjective(self.network_, ready, given, alike, criterion, **how), sequences)
        return self

    def _prepare_fit(self, sequences: Sequences) -> Sequences:
        self.time_pool_ = TimePool.from_lengths(sequences.lengths, self.max_frames)
        self.strides_ = choose_strides(self.time_pool_.lengths(sequences.lengths))
        return super()._prepare_fit(sequences)

    def _standardize(self, sequences: Sequences, name: str | None = None) -> Sequences:
        return self.time_pool_.apply(super()._standardize(sequences, name))

    def _get_front(self) -> StridedConvolutions | None:
        """What of the network reads sequences first, and leaves some steps out."""
        return None

    def _pooling_matrix(self, length: int) -> NDArray[np.float64]:
        """Of which steps of a sequence so long, in which shares, the network's frames are made: (frame, step)."""
        shares, front = self.time_pool_.pooling_matrix(length), self._get_front()
        return (
            shares if front is None else TimePool(float(front.stride), UNLIMITED).pooling_matrix(len(shares)) @ shares
        )

    def _make_objective(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        rng = self._rng()
        held = self._validation_positions(ready, targets, rng)
        criterion, how = losses.resolve_loss(self.loss), self._objective_options(int(targets.max()) + 1)
        if len(held):
            return ValidatedSupervisedObjective(self.network_, ready, targets, held, criterion, rng, **how)
        return SupervisedObjective(self.network_, ready, targets, criterion, **how)

    def _optimizer_options(self) -> dict[str, Any]:
        """Options of the optimizer."""
        names = ("learning_rate", "weight_decay", "optimizer")
        return {name: getattr(self, name) for name in names}

    def _objective_options(self, n_classes: int) -> dict[str, Any]:
        """Options of the objective."""
        size = 6 if self.n_per_class is None else self.n_per_class
        widest = min(n_classes, max(2, _MAX_BATCH_SEQUENCES // size))
        how = {
            "augmentation": None,
            "n_per_class": size,
            "batch_size": size * widest,
            "perturbation": self._make_perturbation(),
        }
        return how | self._optimizer_options()

    def _make_perturbation(self) -> BatchPerturbation | None:
        """What is done to the sequences of a batch before it is learned from."""
        if isinstance(self.perturb, Augmentation):
            return PerItemAugmentation(self.perturb)
        if not self.perturb:
            return None
        return Perturbation() if self.standardize else Perturbation(jitter=0.0)  # noise needs a unit

    def _fit_options(self, objective: Objective) -> dict[str, Any]:
        counted = self._epoch_budget() if self._has_epoch_budget() else self._step_budget(objective)
        return counted | {"gradient_clip": self._gradient_clip, "schedule": self._make_schedule(objective)}

    def _has_epoch_budget(self) -> bool:
        """Whether the budget is in epochs: then patience counts them too, and each ends with a validation."""
        return self.max_epochs is not None and self.max_steps is None

    def _epoch_budget(self) -> dict[str, Any]:
        # the best weights are kept in any case
        patience = self.max_epochs if self.patience is None else self.patience
        return {"max_epochs": self.max_epochs, "max_time": self.max_time, "patience": patience}

    def _step_budget(self, objective: Objective) -> dict[str, Any]:
        assert isinstance(objective, MetricObjective)
        usual = int(np.clip(self._n_passes * objective.n_batches(), *self._step_range))
        steps = usual if self.max_steps is None else self.max_steps
        free = self.max_steps is None and self.max_time is None
        every = max(1, steps // _N_VALIDATIONS)
        looks = {"validate_every": every} if objective.has_validation else {}
        patience = steps if self.patience is None else self.patience
        return looks | {
            "max_steps": steps,
            "max_epochs": self.max_epochs,
            "max_time": self._default_seconds if free else self.max_time,
            "patience": -(-patience // every),
        }

    def _make_schedule(self, objective: Objective) -> Schedule | None:
        if self.schedule == "one_cycle":
            return OneCycle(steps=self._schedule_steps(objective))
        return Plateau(patience=10, monitor="loss") if self.schedule == "plateau" else None

    def _schedule_steps(self, objective: Objective) -> int | None:
        assert isinstance(objective, MetricObjective)
        return None if self.max_epochs is None else math.ceil(self.max_epochs * objective.n_batches())

    def _validation_share(self, count: int) -> float:
        """Which part of so many sequences is held out: a few are too many to lose where there are few."""
        if self.validation is not None:
            return self.validation
        if self._has_epoch_budget() or self.patience is not None:  # there is something to be patient about
            return 0.2
        return 0.1 if count >= _MIN_SPLIT_SEQUENCES else 0.0

    def _validation_positions(
        self, sequences: Sequences, classes: NDArray[np.int64], rng: np.random.Generator, *, min_kept: int = 2
    ) -> NDArray[np.int64]:
        """Positions of the sequences held out for validation."""
        return sample_validation(sequences.groups, classes, self._validation_share(len(sequences)), rng, min_kept)

    def _precompute_items(self, sequences: Sequences, threads: int) -> list[FeatureBatch]:
        """What the network computes of each sequence alone."""
        with torch_threads(threads):
            return feature_batches(double_precision_copy(self.network_), self._standardize(sequences))

    def _select_items(self, known: list[FeatureBatch], items: NDArray[np.int64] | slice) -> list[FeatureBatch]:
        return select_features(known, np.arange(items.start, items.stop) if isinstance(items, slice) else items)

    def _compare_precomputed(self, asked: Any, known: Any, out: NDArray[Any], threads: int) -> None:
        with torch_threads(threads):
            compare_batches(self.network_, asked, known, out)

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        if y is not None and out.size == 1:  # a fast path without blocks: single distances are computed by the million
            out[0, 0] = self._single_distance(x, y, threads)
            return
        first = self._standardize(x)
        second = first if y is x else None if y is None else self._standardize(y)
        with torch_threads(threads):
            fill_distances(self.network_, first, second, out, report, exact=double_precision_copy(self.network_))

    def _single_distance(self, x: Sequences, y: Sequences, threads: int) -> float:
        with torch_threads(threads), torch.no_grad():
            return float(self.network_.distance_matrix(self._sequence_features(x), self._sequence_features(y)))

    def _sequence_features(self, one: Sequences) -> Features:
        """What the network computes of a single sequence: in double precision, and rounded, as for many."""
        x, lengths = self._standardize(one).to_tensor()
        found = double_precision_copy(self.network_).features(x.double(), lengths)
        rounded = next((weight.dtype for weight in self.network_.parameters()), torch.float32)
        return replace(found, values=found.values.to(rounded))

    def _refuse_to_save(self) -> None:
        super()._refuse_to_save()
        if not isinstance(self.loss, str) and type(self.loss) not in losses_by_name().values():
            raise TypeError(
                f"loss is a {type(self.loss).__name__}, which no file can hold: distances no longer depend on it, so "
                "set_params(loss='triplet') and save again"
            )


class RecurrentMetric(LearnedMetric):
    """A learned metric whose network is one recurrent network for both sequences."""

    front = options.nullable(options.choice("strided"))

    PAPER_PRESET: ClassVar[dict[str, Any]] = {
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
    """Training options of the coupled GRU's paper, as far as it states them."""

    def _get_front(self) -> StridedConvolutions | None:
        found = self.network_.front
        return found if isinstance(found, StridedConvolutions) else None
