"""AlignedFrames: frames are learned through an aligner with a gradient, such as soft-DTW, that compares them."""

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
from ...align.matrix import threads_of
from ...models import options
from ...sequences import Sequences
from ...sequences.arguments import store
from ...sequences.augment import Augmentation
from ...sequences.callers import outside
from ...sequences.sampling import RandomState
from ...train import Objective, Plateau, Schedule
from ...train.processes import Accelerator, Precision
from ...train.trained import exact, torch_threads
from ..base import LearnedMetric
from ..comparer import Aligning, Comparer
from ..objectives.augmentations import BLUR_OR_MERGE, JudgedAugmentations, SelfSupervised
from ..objectives.episodes import Episodes, JudgedEpisodes
from ..objectives.labels import Weight
from ..pairs import parts
from ..strided import Strided
from .network import ALIGNERS, Aligned
from .options import aligner_option, checked_augment, is_module

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
    per_class : int or None
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

    aligner = aligner_option(tuple(word for word in ALIGNERS if word != "tap"))
    supervision = options.one_of(*get_args(Supervision))
    hidden = options.width(1)
    n_outputs = options.maybe(options.width(1))
    normalize = options.flag()
    self_attention = options.flag()
    front = options.maybe(options.one_of("strided"))
    augment = options.maybe(options.Option(checked_augment, "training"))
    batch_size = options.whole(2, "training")
    n_way = options.whole(2, "training")
    k_shot = options.whole(1, "training")
    n_query = options.whole(1, "training")
    n_episodes = options.whole(1, "training")
    gradient_clip = options.maybe(options.real(above=0, role="free"))
    halving = options.maybe(options.whole(1, "free"))

    departs: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "a_sequence_is_at_distance_zero_from_itself": "soft-DTW and entropic plans are not 0 on the diagonal",
            "distances_are_finite_and_not_negative": "soft-DTW is below the least of all paths; divergence=True is not",
        }
    )

    PAPER: ClassVar[dict[str, Any]] = {
        "front": None,
        "perturb": False,
        "augment": True,
        "max_frames": None,
        "loss": "triplet",
        "hidden": 1024,
        "n_outputs": None,
        "per_class": None,
        "batch_size": 64,
        "learning_rate": 1e-4,
        "optimizer": "adam",
        "schedule": "constant",
        "gradient_clip": None,
        "max_epochs": 100,
        "validation": 0.2,
    }
    """How TAP's paper trains, beside its own network."""

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"paper": PAPER})

    network_: Aligning
    _steps = (500, 1000)
    _learns_to_align: ClassVar[str] = "tl.TAP"  # what does, where there are no classes to learn frames from

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
        per_class: int | None = 4,
        batch_size: int = 16,
        n_way: int = 5,
        k_shot: int = 1,
        n_query: int = 5,
        n_episodes: int = 100,
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        optimizer: Literal["adamw", "adam"] = "adamw",
        schedule: Literal["cycle", "plateau", "constant"] = "cycle",
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
        store(self, locals())

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences, and from their classes where `supervision` needs them, those of X unless y is given.

        A part of them, `validation`, is held out, and the weights that do best on it are kept: by mean average
        precision with labels, by the loss of tasks whose queries are held out with episodes, and by the loss of
        augmentations of what is held out without classes.
        """
        return super().fit(X, y)

    def _targets(self, sequences: Sequences, y: Any) -> Any:
        return super()._targets(sequences, y) if self._supervised() else None

    def _objective(self, ready: Sequences, targets: NDArray[np.int64] | None) -> Objective:
        if not self._jointly():
            self._refuse_nothing_to_learn()
        if targets is None:
            return self._from_augmentations(ready)
        return super()._objective(ready, targets) if self.supervision == "labels" else self._from_tasks(ready, targets)

    def _from_augmentations(self, ready: Sequences) -> Objective:
        augmentation = self._augmentation()
        if augmentation is None:
            raise ValueError(
                f"augment=False leaves nothing to learn from: supervision={self.supervision!r} learns from "
                "augmentations; use augment=True, or one such as Merge()"
            )
        rng = self._rng()
        held_out = self._held_out(ready, np.zeros(len(ready), np.int64), rng)
        how: dict[str, Any] = self._terms() | {
            "augmentation": augmentation,
            "joint": self._jointly(),
            "distance": 1.0 if self.supervision == "augmentation" else 0.0,
            "batch_size": self.batch_size,
            **self._rates(),
        }
        if len(held_out):
            return JudgedAugmentations(self.network_, ready, held_out, rng, **how)
        self._warn_unjudged("fewer than 4 sequences", self._share(len(ready)))
        return SelfSupervised(self.network_, ready, **how)

    def _from_tasks(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        rng = self._rng()
        held_out = self._held_out(ready, targets, rng, stay=self.k_shot + self.n_query)
        how: dict[str, Any] = self._terms() | {
            "n_way": self.n_way,
            "k_shot": self.k_shot,
            "n_query": self.n_query,
            "n_episodes": self.n_episodes,
            **self._rates(),
        }
        if len(np.unique(targets[held_out])) > 1:  # a task needs two classes to tell apart
            return JudgedEpisodes(self.network_, ready, targets, held_out, rng, **how)
        objective = Episodes(self.network_, ready, targets, **how)
        next(iter(objective.batches(0, np.random.default_rng(0))))  # says where there is not even one task
        least = max(4, self.k_shot + self.n_query + 1)
        share = self._share(len(ready))
        self._warn_unjudged(f"fewer than two classes of {least} members, of which k_shot + n_query stay", share)
        return objective

    def _warn_unjudged(self, why: str, share: float) -> None:
        if share > 0:
            warnings.warn(
                f"validation={share}, but there are {why}: nothing is held out, the last weights are kept "
                "and patience has no effect; give more sequences, or validation=0 to say that this is meant",
                stacklevel=outside(),
            )

    def _supervised(self) -> bool:
        return self.supervision in ("labels", "episodes")

    def _jointly(self) -> bool:
        """Whether the network for frames is learned: without negatives it would make all frames the same."""
        return self._supervised()

    def _terms(self) -> dict[str, Any]:
        """Which terms of the objective there are beside those of every method."""
        return {}

    def _augmentation(self) -> Augmentation | None:
        if isinstance(self.augment, Augmentation):
            return self.augment
        asked = self.supervision in ("augmentation", "alignment") if self.augment is None else self.augment
        return BLUR_OR_MERGE if asked else None

    def _limits(self, objective: Objective) -> dict[str, Any]:
        return super()._limits(objective) | {"gradient_clip": self.gradient_clip}

    def _schedule(self, objective: Objective) -> Schedule | None:
        if self.schedule != "plateau":
            return super()._schedule(objective)
        return None if self.halving is None else Plateau(patience=self.halving, watch="loss")

    def _options(self, n_classes: int) -> dict[str, Any]:
        return self._terms() | {
            "augmentation": self._augmentation(),
            "consistency": self._consistency(),
            "n_per_class": self.per_class,
            "batch_size": self.batch_size,
            "change": self._change(),
            **self._rates(),
        }

    def _consistency(self) -> Weight:
        """The weight of eq. 10: soft-DTW collapses where it is asked to be near its own augmentation."""
        return 0.0

    def _refuse_nothing_to_learn(self) -> None:
        if all(name.startswith("transformation.") for name, _ in self.network_.named_parameters()):
            asked = "joint=False" if self._supervised() else f"supervision={self.supervision!r}"
            other = "joint=True" if self._supervised() else "supervision='labels'"
            raise ValueError(
                f"{asked} learns how to align, and aligner={self.aligner!r} has nothing to learn: use "
                f"{self._learns_to_align}, or {other}"
            )

    def _frame_options(self) -> dict[str, Any]:
        """How the network h of the frames is made."""
        return {
            "hidden": self.hidden,
            "n_outputs": self.n_outputs,
            "normalize": self.normalize,
            "self_attention": self.self_attention,
            "front": self.front if self._jointly() else None,
            "strides": self.strides_,
            "transform": self._jointly(),
        }

    def _comparer(self, n_channels: int) -> Comparer:
        # a module is copied, as training would change the one that was given
        return Aligned(n_channels, aligner=copy.deepcopy(self.aligner), **self._frame_options())

    def _refuse_to_save(self) -> None:
        if is_module(self.aligner):
            raise TypeError(
                f"aligner is a {type(self.aligner).__name__}, a module, which no file can hold: expected a word or a "
                "value such as tl.SoftDTW(gamma=0.1); of a module of your own, keep network_.state_dict()"
            )
        super()._refuse_to_save()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._supervised()
        return tags

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether exchanging two sequences changes nothing."""
        if hasattr(self, "network_"):
            return bool(self.network_.symmetric)
        return not is_module(self.aligner)

    def mean_pooled(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.float32]:
        """The mean of the frames of each sequence after the network for frames, (item, output).

        The vector that a linear probe classifies (Su and Wen, ICLR 2022, appendix A.9).
        """
        asked, network = self._asked(X), exact(self.network_)
        found = np.empty((len(asked), network.transformation.n_outputs), np.float32)
        with torch_threads(threads_of(n_jobs)):
            for part in parts(network, self._ready(asked, "X"), torch.float64):
                found[part.ids] = network.mean_pooled(part.features).numpy()
        return found

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        with torch.no_grad():
            sides = self._features(x), self._features(y)
            cost = float(self.network_.rows(*sides)[0])
            plan = self.network_.plan(*sides)[0].double().numpy()
        of_x, of_y = self._shares(len(x[0])), self._shares(len(y[0]))
        return Alignment(cost, None, x[0], y[0], weights=of_x.T @ plan @ of_y)

    def _front(self) -> Strided | None:
        return self.network_.transformation.front
