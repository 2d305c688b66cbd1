"""TAP: a small network predicts how two sequences line up, and learns to."""

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

from ..align import Aligner, Alignment
from ..models import options
from ..sequences import Sequences
from ..sequences.arguments import one_of, store
from ..sequences.sampling import RandomState
from ..train import Objective
from ..train.processes import Accelerator, Precision
from ..train.trained import exact
from .aligned import ALIGNERS, LAYERS, Aligned
from .aligning import Aligning
from .alignment_objectives import Episodes, SelfSupervised
from .augmentation import BLUR_OR_MERGE
from .base import LearnedMetric
from .blocks import parts
from .comparer import Comparer
from .learning import JudgedAugmentations, JudgedEpisodes
from .tap_network import TAPNetwork

Supervision = Literal["labels", "augmentation", "alignment", "episodes"]


def _aligner(value: Any, name: str) -> Any:
    if isinstance(value, (torch.nn.Module, *LAYERS)):
        return value
    if isinstance(value, Aligner):
        known = ", ".join(f"tl.{kind.__name__}" for kind in LAYERS)
        raise ValueError(f"{name}={value!r} has no gradient: expected a module or one of 'tap', {known}")
    return one_of(value, name, tuple(ALIGNERS))


def _is_module(aligner: Any) -> bool:
    return isinstance(aligner, torch.nn.Module)


class TAP(LearnedMetric, Aligner):
    """The distance ⟨T, D⟩ of an alignment T that a network predicts from the distances D of frames that a network made.

    S = −(D + g(D, D_t)) with g a convolutional network and D_t the distances of relative positions; T is the softmax
    of S over the steps of y, divided by the number of steps of x (Su and Wen, "Temporal Alignment Prediction for
    Supervised Representation Learning and Few-Shot Sequence Classification", ICLR 2022). From x to y is not from y to
    x, and a sequence is not at distance 0 from itself. Any aligner with a gradient can take the network's place.

    Parameters
    ----------
    loss : str or loss of `timelike.metric.losses`
        What is minimised over the distances of the augmented sequences of a batch from all of it.
    variant : {"cnn", "l", "d", "attention"}
        What g is: three convolutions; larger ones; one more of them; or attention in their place.
    aligner : {"tap", "softdtw", "opw", "tcot", "sinkhorn"}, aligner or torch module
        What aligns the frames: "softdtw" with loss="lifted" is the paper's Lifted+SoftDTW. One with options is
        `tl.SoftDTW(gamma=0.1)`, `tl.OPW(…)` and so on. A module of your own is copied; a model with one is not saved.
    supervision : {"labels", "augmentation", "alignment", "episodes"}
        What is learned from: classes; sequences and augmentations of them, without classes; how augmentations line up;
        few-shot tasks (`n_way` classes, `k_shot` members of each to learn from and `n_query` to be judged on).
        Augmentations teach the alignment alone: frames are compared as they are.
    hidden, n_outputs, normalize, self_attention
        The network for frames: units of a layer, outputs, whether these have length 1, and SA-TAP's attention.
    kernels, last_relu
        Of g: kernels of a layer, and whether the paper's last ReLU, which the authors' code does not have, is there.
    symmetrize : bool
        Whether both directions are averaged. Soft-DTW and transport are the same in both.
    augment : bool
        Whether queries are augmented (blurred or merged), and their distance to themselves is part of the loss.
    per_class : int or None
        Members of a class in a batch; None draws batches of `batch_size` at random.
    batch_size, learning_rate, weight_decay, max_epochs, patience, validation, standardize, checkpoint, progress, \
accelerator, devices, precision, random_state
        As for `SiameseGRU`; the default of `max_epochs` is 30. The paper takes random batches of 64 (`per_class=None,
        batch_size=64`) and 100 epochs, hours on a CPU: a batch compares all its pairs.

    Attributes
    ----------
    network_ : TAPNetwork or Aligned
        The torch module.
    history_ : History
        Losses and validation scores.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.arange(12) * np.repeat([0.5, 1.5], 8)[:, None]) + 0.1 * rng.standard_normal((16, 12))
    >>> metric = tl.TAP(hidden=8, kernels=4, max_epochs=2, random_state=0).fit(X, np.repeat([0, 1], 8))
    >>> metric.pairwise(X).shape
    (16, 16)
    >>> metric.align(X[0], X[9]).plan.sum().round(6)
    np.float64(1.0)
    """

    variant = options.one_of("cnn", "l", "d", "attention")
    aligner = options.Option(_aligner, said=lambda value: type(value).__name__ if _is_module(value) else repr(value))
    supervision = options.one_of(*get_args(Supervision))
    hidden = options.whole(1)
    n_outputs = options.maybe(options.whole(1))
    normalize = options.flag()
    self_attention = options.flag()
    kernels = options.whole(1)
    last_relu = options.flag()
    symmetrize = options.flag()
    augment = options.flag("training")
    batch_size = options.whole(2, "training")
    n_way = options.whole(2, "training")
    k_shot = options.whole(1, "training")
    n_query = options.whole(1, "training")

    departs: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "a_sequence_is_at_distance_zero_from_itself": "a softmax spreads every step over several of the other",
            "distances_are_symmetric": "every step of x is aligned, not every step of y; symmetrize=True averages",
        }
    )

    network_: Aligning
    _epochs = 30

    def __init__(
        self,
        *,
        loss: Any = "triplet",
        variant: Literal["cnn", "l", "d", "attention"] = "cnn",
        aligner: Any = "tap",
        supervision: Supervision = "labels",
        hidden: int = 1024,
        n_outputs: int | None = None,
        normalize: bool = True,
        self_attention: bool = False,
        kernels: int = 30,
        last_relu: bool = False,
        symmetrize: bool = False,
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
                stacklevel=6,
            )

    def _supervised(self) -> bool:
        return self.supervision in ("labels", "episodes")

    def _options(self, n_classes: int) -> dict[str, Any]:
        aligned = self._predicts()  # soft-DTW collapses where it is asked to be near its own augmentation
        return {
            "augmentation": BLUR_OR_MERGE if self.augment else None,
            "consistency": 1.0 if aligned else 0.0,
            "n_per_class": self.per_class,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "weight_decay": self.weight_decay,
        }

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.symmetrize and _is_module(self.aligner):
            raise ValueError("symmetrize=True is for aligner='tap': give a module that averages both directions itself")

    def _refuse_nothing_to_learn(self) -> None:
        if all(name.startswith("transformation.") for name, _ in self.network_.named_parameters()):
            raise ValueError(
                f"supervision={self.supervision!r} learns how to align, and aligner={self.aligner!r} has nothing to "
                "learn: use aligner='tap', or supervision='labels'"
            )

    def _predicts(self) -> bool:
        return isinstance(self.aligner, str) and self.aligner == "tap"

    def _comparer(self, n_channels: int) -> Comparer:
        frames: dict[str, Any] = {
            "hidden": self.hidden,
            "n_outputs": self.n_outputs,
            "normalize": self.normalize,
            "self_attention": self.self_attention,
            "transform": self._supervised(),  # without negatives there is none to learn
        }
        if not self._predicts():  # a module is copied, as training would change the one that was given
            return Aligned(n_channels, aligner=copy.deepcopy(self.aligner), **frames)
        return TAPNetwork(
            n_channels,
            variant=self.variant,
            kernels=self.kernels,
            last_relu=self.last_relu,
            symmetrize=self.symmetrize,
            **frames,
        )

    def _refuse_to_save(self) -> None:
        if _is_module(self.aligner):
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
        return bool(self.network_.symmetric) if hasattr(self, "network_") else self.symmetrize

    def _align(self, x: Sequences, y: Sequences) -> Alignment:
        sides = [parts(exact(self.network_), self._ready(side))[0].prepared for side in (x, y)]
        with torch.no_grad():
            cost = float(self.network_.rows(*sides)[0])
            plan = self.network_.plan(*sides)[0].double().numpy()
        return Alignment(cost, None, x[0], y[0], weights=plan)
