"""`AlignedFrames`: a network of frames, trained through a differentiable aligner such as soft-DTW."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from ...align import Aligner, Alignment
from ...core.parameters import store_parameters
from ...core.threads import check_n_jobs
from ...core.warnings import find_stack_level
from ...models import options
from ...sequences import Sequences
from ...sequences.augment import Augmentation
from ...sequences.sampling import RandomState
from ...train import Objective, Plateau, Schedule
from ...train.base import double_precision_copy, torch_threads
from ...train.processes import Accelerator, Precision
from ..base import LearnedMetric
from ..distance_network import AlignmentNetwork, DistanceNetwork
from ..objectives.episodes import EpisodeObjective, ValidatedEpisodeObjective
from ..objectives.self_supervised import BLUR_OR_MERGE, SelfSupervisedObjective, ValidatedSelfSupervisedObjective
from ..objectives.supervised import ConsistencyWeight
from ..pairwise import feature_batches
from ..strided_convolutions import StridedConvolutions
from .network import ALIGNERS_BY_NAME, AlignedFramesNetwork
from .options import aligner_option, check_augment, is_module

Supervision = Literal["labels", "augmentation", "alignment", "episodes"]


class AlignedFrames(LearnedMetric, Aligner):
    """A perceptron of frames, learned through an aligner with a gradient that then compares the sequences.

    d(x, y) = aligner(h(x), h(y)), such as Lifted + SoftDTW (Su and Wen, "Temporal Alignment Prediction for Supervised
    Representation Learning and Few-Shot Sequence Classification", ICLR 2022, table 1). In `TAP` a network predicts the
    alignment; here an aligner computes it, and h is all that is learned.

    Parameters
    ----------
    aligner : {"softdtw", "opw", "tcot", "sinkhorn"}, aligner or torch module
        What aligns the frames. One with options is `tl.SoftDTW(gamma=0.1)`, `tl.OPW(…)` and so on. A module of your own
        is copied; a model with one is not saved.
    loss : str or loss of `timelike.metric.losses`
        What is minimised over the distances of the sequences of a batch.
    supervision : {"labels", "augmentation", "alignment", "episodes"}
        What is learned from: classes; sequences and augmentations of them, without classes; how augmentations line up;
        few-shot tasks (`n_way` classes, `k_shot` members of each to learn from and `n_query` to be judged on),
        `n_episodes` of them in an epoch.
        Augmentations teach the alignment alone, so they need an aligner that has something to learn.
    hidden, n_outputs, normalize, self_attention
        The network for frames: units of a layer, outputs, whether these have length 1, and SA-TAP's attention.
    augment : bool, augmentation or None
        Whether queries are augmented, by default blurred or merged, or by which of `timelike.sequences.augment`. None:
        where augmentations are what is learned from.
    n_per_class : int or None
        Members of a class in a batch; None draws batches of `batch_size` at random.
    gradient_clip : float or None
        Norm to which longer gradients are shortened.
    halving : int or None
        With `schedule="plateau"`, epochs in which the loss does not fall before the rate is halved; None keeps it.
    batch_size, front, perturb, max_frames, learning_rate, weight_decay, optimizer, schedule, max_steps, max_epochs, \
max_time, patience, validation, standardize, checkpoint, progress, accelerator, devices, precision, random_state
        As for `SiameseGRU`, with at least 500 steps and at most 1000.

    Attributes
    ----------
    network_ : Aligned
        The torch module.
    history_ : History
        Losses and validation scores.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(12) * np.repeat([0.5, 1.5], 8)[:, None]) + 0.1 * rng.standard_normal((16, 12))
    >>> metric = tl.metric.AlignedFrames(aligner="softdtw", hidden=8, max_steps=2, random_state=0)
    >>> metric.fit(X, np.repeat([0, 1], 8)).pairwise(X).shape
    (16, 16)
    """

    aligner = aligner_option(tuple(word for word in ALIGNERS_BY_NAME if word != "tap"))
    supervision = options.choice(*get_args(Supervision))
    hidden = options.width(1)
    n_outputs = options.nullable(options.width(1))
    normalize = options.boolean()
    self_attention = options.boolean()
    front = options.nullable(options.choice("strided"))
    augment = options.nullable(options.Option(check_augment, "training"))
    batch_size = options.integer(2, "training")
    n_way = options.integer(2, "training")
    k_shot = options.integer(1, "training")
    n_query = options.integer(1, "training")
    n_episodes = options.integer(1, "training")
    gradient_clip = options.nullable(options.real(above=0, role="free"))
    halving = options.nullable(options.integer(1, "free"))

    contract_exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "a_sequence_is_at_distance_zero_from_itself": "soft-DTW and entropic plans are not 0 on the diagonal",
            "distances_are_finite_and_not_negative": "soft-DTW is below the least of all paths; divergence=True is not",
        }
    )

    PAPER_PRESET: ClassVar[dict[str, Any]] = {
        "front": None,
        "perturb": False,
        "augment": True,
        "max_frames": None,
        "loss": "triplet",
        "hidden": 1024,
        "n_outputs": None,
        "n_per_class": None,
        "batch_size": 64,
        "learning_rate": 1e-4,
        "optimizer": "adam",
        "schedule": "constant",
        "gradient_clip": None,
        "max_epochs": 100,
        "validation": 0.2,
    }
    """How TAP's paper trains, beside its own network."""

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"paper": PAPER_PRESET})

    network_: AlignmentNetwork
    _step_range = (500, 1000)
    _trainable_aligner_hint: ClassVar[str] = "tl.TAP"  # what does, where there are no classes to learn frames from

    def __init__(
        self,
        *,
        aligner: Any = "softdtw",
        loss: Any = "triplet",
        supervision: Supervision = "labels",
        hidden: int = 1024,
        n_outputs: int | None = None,
        normalize: bool = True,
        self_attention: bool = False,
        front: Literal["strided"] | None = "strided",
        augment: bool | Augmentation | None = None,
        perturb: bool | Augmentation = False,
        n_per_class: int | None = 4,
        batch_size: int = 16,
        n_way: int = 5,
        k_shot: int = 1,
        n_query: int = 5,
        n_episodes: int = 100,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        optimizer: Literal["adamw", "adam"] = "adamw",
        schedule: Literal["one_cycle", "plateau", "constant"] = "one_cycle",
        gradient_clip: float | None = 6.0,
        halving: int | None = 10,
        max_frames: int | None = 128,
        max_steps: int | None = None,
        max_epochs: int | None = None,
        max_time: float | None = None,
        patience: int | None = None,
        validation: float | None = None,
        standardize: bool = True,
        checkpoint: str | Path | None = None,
        progress: bool | None = None,
        accelerator: Accelerator = "cpu",
        devices: int = 1,
        precision: Precision = "32-true",
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences, and from their classes where `supervision` needs them, those of X unless y is given.

        A part of them, `validation`, is held out, and the weights that do best on it are kept: by mean average
        precision with labels, by the loss of tasks whose queries are held out with episodes, and by the loss of
        augmentations of what is held out without classes.
        """
        return super().fit(X, y)

    def _validate_targets(self, sequences: Sequences, y: Any) -> Any:
        return super()._validate_targets(sequences, y) if self._is_supervised() else None

    def _make_objective(self, ready: Sequences, targets: NDArray[np.int64] | None) -> Objective:
        if not self._trains_frames():
            self._refuse_nothing_to_learn()
        if targets is None:
            return self._self_supervised_objective(ready)
        return (
            super()._make_objective(ready, targets)
            if self.supervision == "labels"
            else self._episode_objective(ready, targets)
        )

    def _self_supervised_objective(self, ready: Sequences) -> Objective:
        augmentation = self._resolve_augmentation()
        if augmentation is None:
            raise ValueError(
                f"augment=False leaves nothing to learn from: supervision={self.supervision!r} learns from "
                "augmentations; use augment=True, or one such as Merge()"
            )
        rng = self._rng()
        held_out = self._validation_positions(ready, np.zeros(len(ready), np.int64), rng)
        how: dict[str, Any] = self._objective_terms() | {
            "augmentation": augmentation,
            "joint": self._trains_frames(),
            "distance": 1.0 if self.supervision == "augmentation" else 0.0,
            "batch_size": self.batch_size,
            **self._optimizer_options(),
        }
        if len(held_out):
            return ValidatedSelfSupervisedObjective(self.network_, ready, held_out, rng, **how)
        self._warn_no_validation("fewer than 4 sequences", self._validation_share(len(ready)))
        return SelfSupervisedObjective(self.network_, ready, **how)

    def _episode_objective(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        rng = self._rng()
        held_out = self._validation_positions(ready, targets, rng, min_kept=self.k_shot + self.n_query)
        how: dict[str, Any] = self._objective_terms() | {
            "n_way": self.n_way,
            "k_shot": self.k_shot,
            "n_query": self.n_query,
            "n_episodes": self.n_episodes,
            **self._optimizer_options(),
        }
        if len(np.unique(targets[held_out])) > 1:  # a task needs two classes to tell apart
            return ValidatedEpisodeObjective(self.network_, ready, targets, held_out, rng, **how)
        objective = EpisodeObjective(self.network_, ready, targets, **how)
        next(iter(objective.batches(0, np.random.default_rng(0))))  # says where there is not even one task
        least = max(4, self.k_shot + self.n_query + 1)
        share = self._validation_share(len(ready))
        self._warn_no_validation(f"fewer than two classes of {least} members, of which k_shot + n_query stay", share)
        return objective

    def _warn_no_validation(self, why: str, share: float) -> None:
        if share > 0:
            warnings.warn(
                f"validation={share}, but there are {why}: nothing is held out, the last weights are kept "
                "and patience has no effect; give more sequences, or validation=0 to say that this is meant",
                stacklevel=find_stack_level(),
            )

    def _is_supervised(self) -> bool:
        return self.supervision in ("labels", "episodes")

    def _trains_frames(self) -> bool:
        """Whether the network for frames is learned: without negatives it would make all frames the same."""
        return self._is_supervised()

    def _objective_terms(self) -> dict[str, Any]:
        """Which terms of the objective there are beside those of every method."""
        return {}

    def _resolve_augmentation(self) -> Augmentation | None:
        if isinstance(self.augment, Augmentation):
            return self.augment
        asked = self.supervision in ("augmentation", "alignment") if self.augment is None else self.augment
        return BLUR_OR_MERGE if asked else None

    def _fit_options(self, objective: Objective) -> dict[str, Any]:
        return super()._fit_options(objective) | {"gradient_clip": self.gradient_clip}

    def _make_schedule(self, objective: Objective) -> Schedule | None:
        if self.schedule != "plateau":
            return super()._make_schedule(objective)
        return None if self.halving is None else Plateau(patience=self.halving, monitor="loss")

    def _objective_options(self, n_classes: int) -> dict[str, Any]:
        return self._objective_terms() | {
            "augmentation": self._resolve_augmentation(),
            "consistency": self._consistency_weight(),
            "n_per_class": self.n_per_class,
            "batch_size": self.batch_size,
            "perturbation": self._make_perturbation(),
            **self._optimizer_options(),
        }

    def _consistency_weight(self) -> ConsistencyWeight:
        """The weight of eq. 10: soft-DTW collapses if it is trained to be near its own augmentation."""
        return 0.0

    def _refuse_nothing_to_learn(self) -> None:
        if all(name.startswith("transformation.") for name, _ in self.network_.named_parameters()):
            asked = "joint=False" if self._is_supervised() else f"supervision={self.supervision!r}"
            other = "joint=True" if self._is_supervised() else "supervision='labels'"
            raise ValueError(
                f"{asked} learns how to align, and aligner={self.aligner!r} has nothing to learn: use "
                f"{self._trainable_aligner_hint}, or {other}"
            )

    def _frame_options(self) -> dict[str, Any]:
        """How the network h of the frames is made."""
        return {
            "hidden": self.hidden,
            "n_outputs": self.n_outputs,
            "normalize": self.normalize,
            "self_attention": self.self_attention,
            "front": self.front if self._trains_frames() else None,
            "strides": self.strides_,
            "transform": self._trains_frames(),
        }

    def _build_distance_network(self, n_channels: int) -> DistanceNetwork:
        # a module is copied, as training would change the one that was given
        return AlignedFramesNetwork(n_channels, aligner=copy.deepcopy(self.aligner), **self._frame_options())

    def _refuse_to_save(self) -> None:
        if is_module(self.aligner):
            raise TypeError(
                f"aligner is a {type(self.aligner).__name__}, a module, which no file can hold: expected a word or a "
                "value such as tl.SoftDTW(gamma=0.1); of a module of your own, keep network_.state_dict()"
            )
        super()._refuse_to_save()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._is_supervised()
        return tags

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether exchanging two sequences changes nothing."""
        if hasattr(self, "network_"):
            return bool(self.network_.symmetric)
        return not is_module(self.aligner)

    def pool_frames(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float32]:
        """The mean of the frames of each sequence after the network for frames, (item, output).

        The vector that a linear probe classifies (Su and Wen, ICLR 2022, appendix A.9).
        """
        asked, network = self._validate_predict_input(X), double_precision_copy(self.network_)
        found = np.empty((len(asked), network.transformation.n_outputs), np.float32)
        with torch_threads(check_n_jobs(n_jobs)):
            for part in feature_batches(network, self._standardize(asked, "X"), torch.float64):
                found[part.ids] = network.pool_frames(part.features).numpy()
        return found

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        with torch.no_grad():
            sides = self._sequence_features(x), self._sequence_features(y)
            cost = float(self.network_.pair_distances(*sides)[0])
            plan = self.network_.plan(*sides)[0].double().numpy()
        of_x, of_y = self._pooling_matrix(len(x[0])), self._pooling_matrix(len(y[0]))
        return Alignment(cost, None, x[0], y[0], weights=of_x.T @ plan @ of_y)

    def _get_front(self) -> StridedConvolutions | None:
        return self.network_.transformation.front
