"""`LearnedMetric`, the base class of metrics with a network, and `AlignmentMetric`, for networks that align frames."""

from __future__ import annotations

import abc
import math
import warnings
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ..align import Aligner, Alignment, FittedMetric
from ..align.distance_matrix import ProgressCallback
from ..core.threads import check_n_jobs
from ..core.warnings import find_stack_level
from ..models import options, schema
from ..sequences import Sequences
from ..sequences.augment import Augmentation
from ..sequences.time_pool import UNLIMITED, TimePool
from ..sequences.validation import validate_targets
from ..train import Objective, Trained, Trainer
from ..train.budget import DefaultBudget
from ..train.double_precision import double_precision_copy
from ..train.torch_threads import torch_threads
from ..train.trainer import ValidationScore
from ..train.validation_split import sample_class_validation
from . import losses
from .distance_network import (
    AlignmentNetwork,
    DistanceNetwork,
    FeatureBatch,
    Features,
    compare_batches,
    feature_batches,
    fill_distances,
    select_features,
)
from .losses.registry import loss_option, losses_by_name
from .objectives.episodes import EpisodeObjective, ValidatedEpisodeObjective
from .objectives.pairs import PairObjective
from .objectives.perturbation import BatchPerturbation, PerItemAugmentation, Perturbation
from .objectives.self_supervised import SelfSupervisedObjective, ValidatedSelfSupervisedObjective
from .objectives.supervised import SupervisedObjective, ValidatedSupervisedObjective
from .strided_convolutions import choose_strides
from .supervision import SUPERVISIONS, ConsistencyWeight, Episodes, Labels, SelfSupervision, Supervision, check_augment
from .targets import encode_classes, validate_pair_labels

_MIN_SPLIT_SEQUENCES = 400  # sequences from which some are held out for validation by default
_N_BATCH_PAIRS = 32  # default number of pairs in a batch of `fit_pairs`


class LearnedMetric(Trained, FittedMetric):
    """A network that compares two sequences, trained so that sequences of one class are close to each other.

    A subclass builds the network in `_build_distance_network` and declares its own options.
    """

    loss = loss_option()
    front = options.with_default(options.nullable(options.choice("strided")), None)
    n_per_class = options.nullable(options.integer(2, "training"))
    perturb = options.with_default(options.Option(partial(check_augment, example="Jitter()"), "training"), False)
    max_frames = options.with_default(options.nullable(options.integer(4)), None)

    network_: DistanceNetwork
    classes_: NDArray[Any] = schema.not_required(schema.labels("class"))  # absent after fit_pairs
    time_pool_: TimePool = schema.time_pool()
    strides_: tuple[int, int] = schema.tuple_of(schema.integer(1, 64), schema.integer(1, 64))

    _fit_call = "fit(X, y)"
    _free_trainer_fields = ("validation",)  # a checkpoint stores the held-out sequences
    _validation_scores = ("average_precision", "loss")

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.trainer_.batch_size == 1:
            raise ValueError("trainer.batch_size=1: expected at least 2, as a loss compares the sequences of a batch")

    @abc.abstractmethod
    def _build_distance_network(self, n_channels: int) -> DistanceNetwork:
        """A new network for frames of `n_channels` numbers."""

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        return self._build_distance_network(math.prod(frame))

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes: `y`, or the labels of X.

        If a fraction `trainer.validation` is held out (whole groups, if the sequences have groups), the weights with
        the best validation score are kept: the mean average precision of searching the other sequences, or the loss,
        depending on `trainer.validation_score`.
        """
        return super().fit(X, y)

    def fit_pairs(self, X: Any, pairs: Any, same: Any) -> Self:
        """Learn from pairs of positions in X, (pair, 2), and whether the two are alike, `same` (pair,).

        Nothing is held out, so training uses its whole budget. A batch has 32 pairs, or `trainer.batch_size`. The loss
        must accept single pairs, such as "contrastive".
        """
        with self._atomic_fit():
            sequences, criterion = self._validate_fit_input(X), losses.resolve_loss(self.loss)
            positions, alike = validate_pair_labels(pairs, same, len(sequences))
            if type(criterion).pair_loss is losses.Loss.pair_loss:
                criterion.pair_loss(torch.zeros(0), torch.zeros(0, dtype=torch.bool))  # raises an error
            ready = self._prepare_fit(sequences)
            trainer = self.trainer_.replace(Trainer(batch_size=_N_BATCH_PAIRS)).replace(self.trainer)
            how: dict[str, Any] = {"perturbation": self._make_perturbation(), "trainer": trainer}
            self._train(PairObjective(self.network_, ready, positions, alike, criterion, **how), sequences)
        return self

    def _validate_targets(self, sequences: Sequences, y: Any) -> Any:
        """The class of each sequence, as an integer."""
        labels = validate_targets(self, sequences, y, "class")
        self.classes_, codes = encode_classes(labels, "; without classes, fit_pairs(X, pairs, same) learns from pairs")
        return codes

    def _prepare_fit(self, sequences: Sequences) -> Sequences:
        self.time_pool_ = TimePool.from_lengths(sequences.lengths, self.max_frames)
        self.strides_ = choose_strides(self.time_pool_.lengths(sequences.lengths))
        return super()._prepare_fit(sequences)

    def _standardize(self, sequences: Sequences, name: str | None = None) -> Sequences:
        return self.time_pool_.apply(super()._standardize(sequences, name))

    def _make_objective(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        rng = self._rng()
        held_out = self._validation_positions(ready, targets, rng)
        criterion, how = losses.resolve_loss(self.loss), self._objective_options()
        if len(held_out):
            score = self._validation_score()
            return ValidatedSupervisedObjective(
                self.network_, ready, targets, held_out, criterion, rng, score=score, **how
            )
        return SupervisedObjective(self.network_, ready, targets, criterion, **how)

    def _objective_options(self) -> dict[str, Any]:
        """Options of the supervised objective."""
        return {
            "augmentation": None,
            "n_per_class": self.n_per_class,
            "perturbation": self._make_perturbation(),
            "trainer": self.trainer_,
        }

    def _make_perturbation(self) -> BatchPerturbation | None:
        """The random change of a batch before each training step, or None."""
        if isinstance(self.perturb, Augmentation):
            return PerItemAugmentation(self.perturb)
        if not self.perturb:
            return None
        return Perturbation() if self.standardize else Perturbation(jitter=0.0)  # noise needs a unit

    def _validation_score(self) -> ValidationScore:
        return self.trainer_.validation_score or self._validation_scores[0]

    def _validation_share(self, count: int) -> float:
        """The fraction of `count` sequences to hold out; 0 by default for small data sets."""
        trainer = self.trainer_
        if trainer.validation is not None:
            return trainer.validation
        in_epochs = trainer.max_epochs is not None and self.max_steps is None
        if in_epochs or (trainer.patience or math.inf) < math.inf:  # patience needs validation scores
            return 0.2
        return 0.1 if count >= _MIN_SPLIT_SEQUENCES else 0.0

    def _validation_positions(
        self, sequences: Sequences, classes: NDArray[np.int64], rng: np.random.Generator, *, min_kept: int = 2
    ) -> NDArray[np.int64]:
        """Positions of the sequences held out for validation."""
        return sample_class_validation(sequences.groups, classes, self._validation_share(len(sequences)), rng, min_kept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _refuse_to_save(self) -> None:
        super()._refuse_to_save()
        if not isinstance(self.loss, str) and type(self.loss) not in losses_by_name().values():
            raise TypeError(
                f"loss is a {type(self.loss).__name__}, which no file can hold: distances no longer depend on it, so "
                "call set_params(loss='triplet') and save again"
            )

    # --- comparing ---------------------------------------------------------------------------------------------------

    def _validate_sides(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        super()._validate_sides(x, y, names)
        self.scaler_.refuse_too_large(x, names[0])
        self.scaler_.refuse_too_large(y, names[1])

    def _pooling_matrix(self, length: int) -> NDArray[np.float64]:
        """The weights of the steps of a sequence of this length in each frame of the network, (frame, step)."""
        weights, stride = self.time_pool_.pooling_matrix(length), self.network_.stride
        return weights if stride == 1 else TimePool(float(stride), UNLIMITED).pooling_matrix(len(weights)) @ weights

    def _precompute_items(self, sequences: Sequences, threads: int) -> list[FeatureBatch]:
        """The features of each sequence, computed by the network in double precision."""
        with torch_threads(threads):
            return feature_batches(double_precision_copy(self.network_), self._standardize(sequences))

    def _select_items(self, batches: list[FeatureBatch], items: NDArray[np.int64] | slice) -> list[FeatureBatch]:
        return select_features(batches, np.arange(items.start, items.stop) if isinstance(items, slice) else items)

    def _compare_precomputed(self, queries: Any, references: Any, out: NDArray[Any], threads: int) -> None:
        with torch_threads(threads):
            compare_batches(self.network_, queries, references, out)

    def _fill_matrix(
        self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: ProgressCallback
    ) -> None:
        if y is not None and out.size == 1:  # fast path: single distances are computed by the million
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
        """The features of a single sequence, computed in double precision and rounded, as for many."""
        x, lengths = self._standardize(one).to_tensor()
        features = double_precision_copy(self.network_).features(x.double(), lengths)
        rounded = next((weight.dtype for weight in self.network_.parameters()), torch.float32)
        return replace(features, values=features.values.to(rounded))


class AlignmentMetric(LearnedMetric, Aligner):
    """Base class of `AlignedFrames` and `TAP`: a network h transforms the frames, which are then aligned."""

    supervision = options.word_or_value(Supervision, SUPERVISIONS, "metric.Episodes(n_way=5)")
    hidden = options.width(1)
    n_outputs = options.nullable(options.width(1))
    normalize = options.boolean()
    self_attention = options.boolean()

    network_: AlignmentNetwork
    _default_budget = DefaultBudget(step_range=(500, 1000))
    _own_consistency: ClassVar[ConsistencyWeight] = 0.0  # the weight of eq. 10 where `Labels.consistency` is None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and, if `supervision` needs them, their classes: `y`, or the labels of X.

        If a fraction `trainer.validation` is held out, the weights with the best validation score are kept. With labels
        the score is the mean average precision or the loss, depending on `trainer.validation_score`; with episodes, the
        loss of tasks with held-out queries; without classes, the loss of augmentations of held-out sequences.
        """
        return super().fit(X, y)

    def pool_frames(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float32]:
        """The mean of the transformed frames of each sequence, (item, output).

        Su and Wen (ICLR 2022, appendix A.9) classify this vector with a linear probe.
        """
        sequences, network = self._validate_predict_input(X), double_precision_copy(self.network_)
        pooled = np.empty((len(sequences), network.transformation.n_outputs), np.float32)
        with torch_threads(check_n_jobs(n_jobs)):
            for part in feature_batches(network, self._standardize(sequences, "X"), torch.float64):
                pooled[part.ids] = network.pool_frames(part.features).numpy()
        return pooled

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        with torch.no_grad():
            sides = self._sequence_features(x), self._sequence_features(y)
            cost = float(self.network_.pair_distances(*sides)[0])
            plan = self.network_.plan(*sides)[0].double().numpy()
        of_x, of_y = self._pooling_matrix(len(x[0])), self._pooling_matrix(len(y[0]))
        return Alignment(cost, None, x[0], y[0], weights=of_x.T @ plan @ of_y)

    def _supervision(self) -> Supervision:
        supervision: Supervision = type(self).supervision.check(self.supervision, "supervision")
        return supervision

    def _refuse_options(self) -> None:
        super()._refuse_options()
        score = self.trainer_.validation_score
        if score == "average_precision" and not isinstance(self._supervision(), Labels):
            raise ValueError(
                f"trainer.validation_score={score!r}: supervision={self.supervision!r} is validated by its loss"
            )

    def _validate_targets(self, sequences: Sequences, y: Any) -> Any:
        return super()._validate_targets(sequences, y) if self._supervision().needs_labels else None

    def _make_objective(self, ready: Sequences, targets: NDArray[np.int64] | None) -> Objective:
        supervision = self._supervision()
        if isinstance(supervision, SelfSupervision):
            return self._self_supervised_objective(ready, supervision)
        assert targets is not None
        if isinstance(supervision, Episodes):
            return self._episode_objective(ready, targets, supervision)
        return super()._make_objective(ready, targets)

    def _objective_options(self) -> dict[str, Any]:
        labels = self._supervision()
        assert isinstance(labels, Labels)
        weight = self._own_consistency if labels.consistency is None else labels.consistency
        own = {"augmentation": labels.augmentation, "consistency": weight, "dual": labels.dual}
        return super()._objective_options() | own

    def _self_supervised_objective(self, ready: Sequences, supervision: SelfSupervision) -> Objective:
        rng = self._rng()
        held_out = self._validation_positions(ready, np.zeros(len(ready), np.int64), rng)
        how: dict[str, Any] = {
            "augmentation": supervision.augmentation,
            "distance": supervision.distance_weight,
            "dual": supervision.dual,
            "joint": supervision.joint,
            "trainer": self.trainer_,
        }
        if len(held_out):
            return ValidatedSelfSupervisedObjective(self.network_, ready, held_out, rng, **how)
        self._warn_no_validation("fewer than 4 sequences", self._validation_share(len(ready)))
        return SelfSupervisedObjective(self.network_, ready, **how)

    def _episode_objective(self, ready: Sequences, targets: NDArray[np.int64], tasks: Episodes) -> Objective:
        rng = self._rng()
        task_size = tasks.k_shot + tasks.n_query
        held_out = self._validation_positions(ready, targets, rng, min_kept=task_size)
        sizes = ("n_way", "k_shot", "n_query", "n_episodes", "dual")
        how: dict[str, Any] = {name: getattr(tasks, name) for name in sizes} | {"trainer": self.trainer_}
        if len(np.unique(targets[held_out])) > 1:  # a task needs two classes to tell apart
            return ValidatedEpisodeObjective(self.network_, ready, targets, held_out, rng, **how)
        objective = EpisodeObjective(self.network_, ready, targets, **how)
        next(iter(objective.batches(0, np.random.default_rng(0))))  # raises an error if no task can be sampled
        least, share = max(4, task_size + 1), self._validation_share(len(ready))
        self._warn_no_validation(f"fewer than two classes of {least} members, of which k_shot + n_query stay", share)
        return objective

    def _warn_no_validation(self, why: str, share: float) -> None:
        if share > 0:
            warnings.warn(
                f"validation={share}, but there are {why}: nothing is held out, the last weights are kept and patience "
                "has no effect; give more sequences, or trainer=Trainer(validation=0) to confirm this",
                stacklevel=find_stack_level(),
            )

    def _frame_options(self) -> dict[str, Any]:
        """The options of the network h of the frames."""
        joint = self._supervision().joint
        return {
            "hidden": self.hidden,
            "n_outputs": self.n_outputs,
            "normalize": self.normalize,
            "self_attention": self.self_attention,
            "front": self.front if joint else None,
            "strides": self.strides_,
            "transform": joint,
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._supervision().needs_labels
        return tags
