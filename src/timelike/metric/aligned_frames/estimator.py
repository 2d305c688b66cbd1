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
from torch import nn

from ...align import Aligner, Alignment
from ...models import options
from ...sequences import Sequences
from ...sequences.arguments import one_of, store
from ...sequences.callers import outside
from ...sequences.sampling import RandomState
from ...train import Objective
from ...train.processes import Accelerator, Precision
from ..base import LearnedMetric
from ..comparer import Aligning, Comparer
from ..objectives.augmentations import BLUR_OR_MERGE, JudgedAugmentations, SelfSupervised
from ..objectives.episodes import Episodes, JudgedEpisodes
from .network import ALIGNERS, LAYERS, Aligned

Supervision = Literal["labels", "augmentation", "alignment", "episodes"]


def checked_aligner(value: Any, name: str, words: tuple[str, ...]) -> Any:
    """A word, an aligner that has a layer with a gradient, or a module."""
    if is_module(value) or isinstance(value, tuple(LAYERS)):
        return value
    if isinstance(value, Aligner):
        known = ", ".join(f"tl.{kind.__name__}" for kind in LAYERS)
        raise ValueError(
            f"{name}={value!r} has no gradient: expected a module or one of {', '.join(map(repr, words))}, {known}"
        )
    return one_of(value, name, words)


def is_module(aligner: Any) -> bool:
    """Whether it is a module of the caller's own."""
    return isinstance(aligner, nn.Module)


def aligner_option(words: tuple[str, ...]) -> options.Option[Any]:
    """An estimator's option `aligner`, one of these words among others."""
    return options.Option(
        lambda value, name: checked_aligner(value, name, words),
        said=lambda value: type(value).__name__ if is_module(value) else repr(value),
    )


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
        few-shot tasks (`n_way` classes, `k_shot` members of each to learn from and `n_query` to be judged on).
        Augmentations teach the alignment alone, so they need an aligner that has something to learn.
    hidden, n_outputs, normalize, self_attention
        The network for frames: units of a layer, outputs, whether these have length 1, and SA-TAP's attention.
    augment : bool
        Whether queries are augmented (blurred or merged).
    per_class : int or None
        Members of a class in a batch; None draws batches of `batch_size` at random.
    batch_size, learning_rate, weight_decay, max_epochs, patience, validation, standardize, checkpoint, progress, \
accelerator, devices, precision, random_state
        As for `SiameseGRU`; the default of `max_epochs` is 30.

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
    >>> metric = tl.metric.AlignedFrames(aligner="softdtw", hidden=8, max_epochs=2, random_state=0)
    >>> metric.fit(X, np.repeat([0, 1], 8)).pairwise(X).shape
    (16, 16)
    """

    aligner = aligner_option(tuple(word for word in ALIGNERS if word != "tap"))
    supervision = options.one_of(*get_args(Supervision))
    hidden = options.whole(1)
    n_outputs = options.maybe(options.whole(1))
    normalize = options.flag()
    self_attention = options.flag()
    augment = options.flag("training")
    batch_size = options.whole(2, "training")
    n_way = options.whole(2, "training")
    k_shot = options.whole(1, "training")
    n_query = options.whole(1, "training")

    departs: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "a_sequence_is_at_distance_zero_from_itself": "soft-DTW and entropic plans are not 0 on the diagonal",
            "distances_are_finite_and_not_negative": "soft-DTW is below the least of all paths; divergence=True is not",
        }
    )

    network_: Aligning
    _epochs = 30
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
        augment: bool = True,
        per_class: int | None = 4,
        batch_size: int = 16,
        n_way: int = 5,
        k_shot: int = 1,
        n_query: int = 5,
        learning_rate: float = 1e-4,
        weight_decay: float = 1e-4,
        max_epochs: int | None = None,
        patience: int | None = 10,
        validation: float = 0.2,
        standardize: bool = True,
        checkpoint: str | Path | None = None,
        progress: bool = False,
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
        if targets is None:
            return self._from_augmentations(ready)
        return super()._objective(ready, targets) if self.supervision == "labels" else self._from_tasks(ready, targets)

    def _from_augmentations(self, ready: Sequences) -> Objective:
        self._refuse_nothing_to_learn()
        rng = self._rng()
        held_out = self._held_out(ready, np.zeros(len(ready), np.int64), rng)
        how: dict[str, Any] = {
            "distance": 1.0 if self.supervision == "augmentation" else 0.0,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
        }
        if len(held_out):
            return JudgedAugmentations(self.network_, ready, held_out, rng, **how)
        self._warn_unjudged("fewer than 4 sequences")
        return SelfSupervised(self.network_, ready, **how)

    def _from_tasks(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        rng = self._rng()
        held_out = self._held_out(ready, targets, rng, stay=self.k_shot + self.n_query)
        how: dict[str, Any] = {
            "n_way": self.n_way,
            "k_shot": self.k_shot,
            "n_query": self.n_query,
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
        }
        if len(np.unique(targets[held_out])) > 1:  # a task needs two classes to tell apart
            return JudgedEpisodes(self.network_, ready, targets, held_out, rng, **how)
        objective = Episodes(self.network_, ready, targets, **how)
        next(iter(objective.batches(0, np.random.default_rng(0))))  # says where there is not even one task
        least = max(4, self.k_shot + self.n_query + 1)
        self._warn_unjudged(f"fewer than two classes of {least} members, of which k_shot + n_query stay")
        return objective

    def _warn_unjudged(self, why: str) -> None:
        if self.validation > 0:
            warnings.warn(
                f"validation={self.validation}, but there are {why}: nothing is held out, the last weights are kept "
                "and patience has no effect; give more sequences, or validation=0 to say that this is meant",
                stacklevel=outside(),
            )

    def _supervised(self) -> bool:
        return self.supervision in ("labels", "episodes")

    def _predicts(self) -> bool:
        """Whether the alignment is learned: soft-DTW collapses where it is asked to be near its own augmentation."""
        return False

    def _options(self, n_classes: int) -> dict[str, Any]:
        return {
            "augmentation": BLUR_OR_MERGE if self.augment else None,
            "consistency": 1.0 if self._predicts() else 0.0,
            "n_per_class": self.per_class,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
        }

    def _refuse_nothing_to_learn(self) -> None:
        if all(name.startswith("transformation.") for name, _ in self.network_.named_parameters()):
            raise ValueError(
                f"supervision={self.supervision!r} learns how to align, and aligner={self.aligner!r} has nothing to "
                f"learn: use {self._learns_to_align}, or supervision='labels'"
            )

    def _frame_options(self) -> dict[str, Any]:
        """How the network h of the frames is made."""
        return {
            "hidden": self.hidden,
            "n_outputs": self.n_outputs,
            "normalize": self.normalize,
            "self_attention": self.self_attention,
            "transform": self._supervised(),  # without negatives there is none to learn
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

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        with torch.no_grad():
            sides = self._features(x), self._features(y)
            cost = float(self.network_.rows(*sides)[0])
            plan = self.network_.plan(*sides)[0].double().numpy()
        return Alignment(cost, None, x[0], y[0], weights=plan)
