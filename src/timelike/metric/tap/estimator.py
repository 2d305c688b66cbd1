"""TAP: a small network predicts how two sequences line up, and learns to."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from ...models import options
from ...sequences import Sequences
from ...sequences.arguments import store
from ...sequences.callers import outside
from ...sequences.sampling import RandomState
from ...train.processes import Accelerator, Precision
from ..aligned_frames.estimator import AlignedFrames, Supervision, aligner_option, is_module
from ..aligned_frames.network import ALIGNERS
from ..comparer import Comparer
from .network import TAPNetwork


class TAP(AlignedFrames):
    """The distance ⟨T, D⟩ of an alignment T that a network predicts from the distances D of frames that a network made.

    S = −(D + g(D, D_t)) with g a convolutional network and D_t the distances of relative positions; T is the softmax
    of S over the steps of y, divided by the number of steps of x (Su and Wen, "Temporal Alignment Prediction for
    Supervised Representation Learning and Few-Shot Sequence Classification", ICLR 2022). From x to y is not from y to
    x, and a sequence is not at distance 0 from itself. `metric.AlignedFrames` has an aligner in the network's place.

    Parameters
    ----------
    loss : str or loss of `timelike.metric.losses`
        What is minimised over the distances of the augmented sequences of a batch from all of it.
    variant : {"cnn", "l", "d", "attention"}
        What g is: three convolutions; larger ones; one more of them; or attention in their place.
    aligner : "tap"
        Another is deprecated: `metric.AlignedFrames(aligner=…)` is the family of methods with a chosen aligner.
    supervision : {"labels", "augmentation", "alignment", "episodes"}
        What is learned from: classes; sequences and augmentations of them, without classes; how augmentations line up;
        few-shot tasks (`n_way` classes, `k_shot` members of each to learn from and `n_query` to be judged on).
        Augmentations teach the alignment alone: frames are compared as they are.
    hidden, n_outputs, normalize, self_attention
        The network for frames: units of a layer, outputs, whether these have length 1, and SA-TAP's attention.
    kernels, last_relu
        Of g: kernels of a layer, and whether the paper's last ReLU, which the authors' code does not have, is there.
    symmetrize : bool
        Whether both directions are averaged.
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
    network_ : TAPNetwork
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
    aligner = aligner_option(tuple(ALIGNERS))
    _learns_to_align = "aligner='tap'"
    kernels = options.whole(1)
    last_relu = options.flag()
    symmetrize = options.flag()

    departs: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "a_sequence_is_at_distance_zero_from_itself": "a softmax spreads every step over several of the other",
            "distances_are_symmetric": "every step of x is aligned, not every step of y; symmetrize=True averages",
        }
    )

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

    def _learn_from(self, X: Any) -> Sequences:
        sequences = super()._learn_from(X)
        if not self._predicts():
            warnings.warn(
                f"TAP(aligner={self.aligner!r}) is not TAP, and will be refused: use "
                f"timelike.metric.AlignedFrames(aligner={self.aligner!r})",
                DeprecationWarning,
                stacklevel=outside(),
            )
        return sequences

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.symmetrize and is_module(self.aligner):
            raise ValueError("symmetrize=True is for aligner='tap': give a module that averages both directions itself")

    def _predicts(self) -> bool:
        return isinstance(self.aligner, str) and self.aligner == "tap"

    def _comparer(self, n_channels: int) -> Comparer:
        if not self._predicts():
            return super()._comparer(n_channels)
        return TAPNetwork(
            n_channels,
            variant=self.variant,
            kernels=self.kernels,
            last_relu=self.last_relu,
            symmetrize=self.symmetrize,
            **self._frame_options(),
        )

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether exchanging two sequences changes nothing."""
        return bool(self.network_.symmetric) if hasattr(self, "network_") else self.symmetrize
