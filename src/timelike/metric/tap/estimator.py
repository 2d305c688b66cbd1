"""`TAP`: a distance whose alignment is predicted by a small network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import store_parameters
from ...core.threads import check_n_jobs
from ...models import options
from ...sequences import as_sequences
from ...sequences.augment import Augmentation
from ...sequences.container import Sequences
from ...sequences.sampling import RandomState
from ...train.base import torch_threads
from ...train.processes import Accelerator, Precision
from ..aligned_frames.estimator import AlignedFrames, Supervision
from ..aligned_frames.network import ALIGNERS_BY_NAME
from ..aligned_frames.options import aligner_option
from ..distance_network import DistanceNetwork
from ..objectives.supervised import ConsistencyWeight, check_consistency_weight
from ..pairwise import compare_batches
from .network import TAPNetwork


class TAP(AlignedFrames):
    """The distance ⟨T, D⟩ of an alignment T that a network predicts from the distances D of frames that a network made.

    S = −(D + g(D, D_t)) with g a convolutional network and D_t the distances of relative positions; T is the softmax
    of S over the steps of y, divided by the number of steps of x (Su and Wen, "Temporal Alignment Prediction for
    Supervised Representation Learning and Few-Shot Sequence Classification", ICLR 2022). From x to y is not from y to
    x, and a sequence is not at distance 0 from itself. `metric.AlignedFrames` has an aligner in the network's place.

    Use it where the alignment is wanted as much as the distance, to order again what a cheaper metric has found
    (`neighbors(…, among=…)`), or in few-shot tasks. Every pair costs a small convolution; where only distances count,
    try `Discriminant` and `SiameseGRU` first, which are cheaper.

    Parameters
    ----------
    loss : str or loss of `timelike.metric.losses`
        What is minimised over the distances of the augmented sequences of a batch from all of it.
    variant : {"cnn", "cnn_large", "cnn_deep", "attention"}
        What g is: three convolutions; larger ones; one more of them; or attention in their place.
    aligner : "tap"
        Another is deprecated: `metric.AlignedFrames(aligner=…)` is the family of methods with a chosen aligner.
    supervision : {"labels", "augmentation", "alignment", "episodes"}
        What is learned from: classes; sequences and augmentations of them, without classes; how augmentations line up;
        few-shot tasks (`n_way` classes, `k_shot` members of each to learn from and `n_query` to be judged on),
        `n_episodes` of them in an epoch.
    hidden, n_outputs, normalize, self_attention
        The network for frames: units of a layer, outputs, whether these have length 1, and SA-TAP's attention.
    n_kernels, last_relu
        Of g: kernels of a layer, and whether the paper's last ReLU, which the authors' code does not have, is there.
    symmetrize : bool
        Whether both directions are averaged.
    augment : bool, augmentation or None
        Whether queries are augmented, by default blurred or merged (appendix A.1), or by which of
        `timelike.sequences.augment`: `Merge(even=True)`, `choose([Blur(), TimeWarp()])`. None: where augmentations are
        what is learned from, and not with labels, where the paper has them and `perturb` does better.
    consistency : float or "paper"
        With labels, the weight of eq. 10, that a sequence is near its augmentation and lines up with it as it was made,
        beside the loss; both are means over the batch. In the paper the loss is a sum, so that eq. 10 weighs
        1 / `batch_size`: "paper". Of this, 1 and 0 it did best on held-out parts of training data (decision 0019).
    dual : bool
        Whether eq. 10 also has its terms from the sequence to its augmentation, and eq. 8 of few-shot tasks also the
        distance from the support to the query.
    joint : bool or None
        Whether the network for frames is learned together with the alignment; otherwise frames are compared as they
        are. None: with labels and in few-shot tasks it is, from augmentations it is not, for without negatives it makes
        all frames the same.
    n_per_class : int or None
        Members of a class in a batch; None draws batches of `batch_size` at random.
    gradient_clip : float or None
        Norm to which longer gradients are shortened; the paper shortens none.
    halving : int or None
        With `schedule="plateau"`, epochs in which the loss does not fall before the rate is halved; None keeps it.
    front : "strided" or None
        Convolutions that read the sequences before the perceptron does, so that a frame knows of those before it and
        there are a quarter as many: an alignment costs a sixteenth. None compares frames one by one, as the paper.
    batch_size, perturb, max_frames, learning_rate, weight_decay, optimizer, schedule, max_steps, max_epochs, \
max_time, patience, validation, standardize, checkpoint, progress, accelerator, devices, precision, random_state
        As for `SiameseGRU`, with at least 500 steps and at most 1000. `TAP.preset("paper")` takes random batches of 64
        and 100 epochs, which takes long on a CPU: a batch compares all its pairs.

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
    >>> metric = tl.TAP(hidden=8, n_kernels=4, max_steps=2, random_state=0).fit(X, np.repeat([0, 1], 8))
    >>> metric.pairwise(X).shape
    (16, 16)
    >>> metric.align(X[0], X[9]).plan.sum().round(6)
    np.float64(1.0)
    """

    variant = options.choice("cnn", "cnn_large", "cnn_deep", "attention")
    aligner = aligner_option(tuple(ALIGNERS_BY_NAME))
    _trainable_aligner_hint = "aligner='tap'"
    n_kernels = options.width(1)
    last_relu = options.boolean()
    symmetrize = options.boolean()
    consistency = options.Option(check_consistency_weight, "training")
    dual = options.boolean("training")
    joint = options.nullable(options.boolean())

    contract_exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "a_sequence_is_at_distance_zero_from_itself": "a softmax spreads every step over several of the other",
            "distances_are_symmetric": "every step of x is aligned, not every step of y; symmetrize=True averages",
        }
    )

    _presets = MappingProxyType({"paper": AlignedFrames.PAPER_PRESET | {"n_kernels": 30}})

    def __init__(
        self,
        *,
        loss: Any = "supervised-contrastive",
        variant: Literal["cnn", "cnn_large", "cnn_deep", "attention"] = "cnn",
        aligner: Any = "tap",
        supervision: Supervision = "labels",
        hidden: int = 256,
        n_outputs: int | None = None,
        normalize: bool = True,
        self_attention: bool = False,
        front: Literal["strided"] | None = "strided",
        n_kernels: int = 8,
        last_relu: bool = False,
        symmetrize: bool = False,
        augment: bool | Augmentation | None = None,
        perturb: bool | Augmentation = False,
        consistency: ConsistencyWeight = "paper",
        dual: bool = True,
        joint: bool | None = None,
        n_per_class: int | None = 4,
        batch_size: int = 24,
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

    def _validate_fit_input(self, X: Any) -> Sequences:
        if not self._predicts_alignment():
            raise ValueError(
                f"aligner={self.aligner!r}: TAP predicts its alignments; use "
                f"timelike.metric.AlignedFrames(aligner={self.aligner!r})"
            )
        return super()._validate_fit_input(X)

    def norm_ratio(self, X: Any, Y: Any = None, *, n_jobs: int | None = None) -> NDArray[np.float32]:
        """‖g‖ / ‖D‖ of all pairs, (len X, len Y), in Frobenius' norm; of X with itself when Y is None.

        How much the network changes the distances from which the alignment follows (Su and Wen, ICLR 2022, table 3);
        infinite where all frames of both are the same.
        """
        x, y = self._validate_predict_input(X), None if Y is None else as_sequences(Y, "Y")
        self._validate_sides(x, y, ("X", "Y"))
        network, threads = self.network_, check_n_jobs(n_jobs)
        if not isinstance(network, TAPNetwork):
            raise NotImplementedError(f"aligner={self.aligner!r} has no g: use aligner='tap'")
        rows = self._precompute_items(x, threads)
        columns = rows if y is None else self._precompute_items(y, threads)
        found = np.empty((len(x), len(x if y is None else y)), np.float32)
        with torch_threads(threads):
            compare_batches(network, rows, columns, found, measure=network.norm_ratios)
        return found

    def _predicts_alignment(self) -> bool:
        return isinstance(self.aligner, str) and self.aligner == "tap"

    def _trains_frames(self) -> bool:
        return super()._trains_frames() if self.joint is None else self.joint

    def _objective_terms(self) -> dict[str, Any]:
        return {"dual": self.dual}

    def _consistency_weight(self) -> ConsistencyWeight:
        return self.consistency if self._predicts_alignment() else super()._consistency_weight()

    def _build_distance_network(self, n_channels: int) -> DistanceNetwork:
        if not self._predicts_alignment():
            return super()._build_distance_network(n_channels)
        return TAPNetwork(
            n_channels,
            variant=self.variant,
            n_kernels=self.n_kernels,
            last_relu=self.last_relu,
            symmetrize=self.symmetrize,
            **self._frame_options(),
        )

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether exchanging two sequences changes nothing."""
        return bool(self.network_.symmetric) if hasattr(self, "network_") else self.symmetrize
