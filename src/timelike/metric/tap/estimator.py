"""`TAP`: temporal alignment prediction, a distance with an alignment predicted by a small network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_bool, check_int, store_parameters
from ...core.threads import check_n_jobs
from ...models import options
from ...sequences import as_sequences
from ...sequences.augment import Augmentation
from ...sequences.sampling import RandomState
from ...train import Trainer
from ...train.torch_threads import torch_threads
from ..aligned_frames.estimator import PAPER_PRESET
from ..base import AlignmentMetric
from ..distance_network import DistanceNetwork, compare_batches
from ..supervision import Supervision, SupervisionName
from .network import TAPNetwork, VariantName


@dataclass(frozen=True, kw_only=True)
class AlignmentPredictor:
    """Options of the network g of `TAP`, apart from its `variant`.

    Parameters
    ----------
    n_kernels : int
        Kernels per layer; the paper uses 30, and 64 for few-shot tasks.
    last_relu : bool
        Whether a ReLU follows the last layer, as in the paper but not in the authors' code.
    symmetrize : bool
        Whether to average both directions.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.TAP().set_params(alignment__n_kernels=30).alignment
    AlignmentPredictor(n_kernels=30, last_relu=False, symmetrize=False)
    """

    n_kernels: int = 8
    last_relu: bool = False
    symmetrize: bool = False

    def __post_init__(self) -> None:
        check_int(self.n_kernels, "n_kernels", 1, most=2**24)
        check_bool(self.last_relu, "last_relu")
        check_bool(self.symmetrize, "symmetrize")


def _check_alignment(value: Any, name: str) -> AlignmentPredictor:
    if not isinstance(value, AlignmentPredictor):
        raise TypeError(f"{name}={value!r:.60}: expected a metric.AlignmentPredictor, such as one with n_kernels=30")
    return value


class TAP(AlignmentMetric):
    """The distance ⟨T, D⟩, with an alignment T that a network predicts from the distances D of transformed frames.

    S = −(D + g(D, D_t)) with g a convolutional network and D_t the distances of relative positions; T is the softmax
    of S over the steps of y, divided by the number of steps of x (Su and Wen, "Temporal Alignment Prediction for
    Supervised Representation Learning and Few-Shot Sequence Classification", ICLR 2022). The distance is not
    symmetric, and not 0 from a sequence to itself. `metric.AlignedFrames` uses a fixed aligner instead of the network.

    Use it if you need the alignment as well as the distance, to rerank the results of a cheaper metric
    (`neighbors(…, among=…)`), or in few-shot tasks. Every pair costs a small convolution; where only distances count,
    try `Discriminant` and `SiameseGRU` first, which are cheaper.

    Parameters
    ----------
    loss : str or loss of `timelike.metric.losses`
        The loss over the distances from the augmented sequences of a batch to the whole batch.
    variant : {"cnn", "cnn_large", "cnn_deep", "attention"}
        The network g: three convolutions; larger ones; four convolutions; or attention instead.
    alignment : AlignmentPredictor or None
        The size of g, and whether to average both directions: `metric.AlignmentPredictor(n_kernels=8)`.
    supervision : {"labels", "episodes", "augmentation", "alignment"}, Labels, Episodes or SelfSupervision
        The training signal: classes; few-shot tasks; augmentations of the sequences, without classes; or the alignment
        of augmentations. Pass a value of `timelike.metric` to set options: `Episodes(n_way=5, k_shot=1)`,
        `Labels(augment=True)`, `SelfSupervision(augment=Merge(even=True))`.
    hidden, n_outputs, normalize, self_attention
        The network for frames: units of a layer, outputs, whether these have length 1, and SA-TAP's attention.
    front : "strided" or None
        Convolutions before the perceptron, so that a frame depends on earlier frames and there are a quarter as many:
        an alignment costs a sixteenth. None compares single frames, as in the paper.
    n_per_class : int or None
        Members of a class in a batch, which has two classes or more; None draws batches at random.
    max_steps, max_time : optional
        When to stop, as for `SiameseGRU`, with at least 500 steps and at most 1000.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=24`, `learning_rate=1e-3`, `optimizer="adamw"`, `weight_decay=1e-4`,
        `schedule="one_cycle"`, `gradient_clip=6.0`. Validation is as for `SiameseGRU`; what is not learned from labels
        is validated by its loss. `TAP.preset("paper")` takes random batches of 64 and 100 epochs, which takes long on
        a CPU: a batch compares all its pairs.
    perturb, max_frames, standardize, progress, random_state
        As for `SiameseGRU`.

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
    >>> metric = tl.TAP(hidden=8, max_steps=2, random_state=0).fit(X, np.repeat([0, 1], 8))
    >>> metric.pairwise(X).shape
    (16, 16)
    >>> metric.align(X[0], X[9]).plan.sum().round(6)
    np.float64(1.0)
    """

    variant = options.choice("cnn", "cnn_large", "cnn_deep", "attention")
    alignment = options.Option(_check_alignment, from_word=lambda word: AlignmentPredictor(), optional=True)

    contract_exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "a_sequence_is_at_distance_zero_from_itself": "a softmax spreads every step over several of the other",
            "distances_are_symmetric": "every step of x is aligned, not every step of y; symmetrize=True averages",
        }
    )

    network_: TAPNetwork

    _own_trainer = Trainer(
        batch_size=24, learning_rate=1e-3, optimizer="adamw", weight_decay=1e-4, schedule="one_cycle", gradient_clip=6.0
    )
    _own_consistency = "paper"
    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"paper": PAPER_PRESET | {"alignment": AlignmentPredictor(n_kernels=30)}}
    )

    def __init__(
        self,
        *,
        loss: Any = "supervised-contrastive",
        variant: VariantName = "cnn",
        alignment: AlignmentPredictor | None = None,
        supervision: SupervisionName | Supervision = "labels",
        hidden: int = 256,
        n_outputs: int | None = None,
        normalize: bool = True,
        self_attention: bool = False,
        front: Literal["strided"] | None = "strided",
        n_per_class: int | None = 4,
        perturb: bool | Augmentation = False,
        max_frames: int | None = 128,
        standardize: bool = True,
        max_steps: int | None = None,
        max_time: float | None = None,
        trainer: Trainer | None = None,
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def norm_ratio(self, X: Any, Y: Any = None, *, n_jobs: int | None = None) -> NDArray[np.float32]:
        """‖g‖ / ‖D‖ of all pairs, (len X, len Y), in Frobenius' norm; of X with itself when Y is None.

        It measures how much g changes the distances that determine the alignment (Su and Wen, ICLR 2022, table 3); it
        is infinite if all frames of both sequences are equal.
        """
        x, y = self._validate_predict_input(X), None if Y is None else as_sequences(Y, "Y")
        self._validate_sides(x, y, ("X", "Y"))
        threads = check_n_jobs(n_jobs)
        rows = self._precompute_items(x, threads)
        columns = rows if y is None else self._precompute_items(y, threads)
        ratios = np.empty((len(x), len(x if y is None else y)), np.float32)
        with torch_threads(threads):
            compare_batches(self.network_, rows, columns, ratios, measure=self.network_.norm_ratios)
        return ratios

    def _predictor(self) -> AlignmentPredictor:
        return AlignmentPredictor() if self.alignment is None else self.alignment

    def _build_distance_network(self, n_channels: int) -> DistanceNetwork:
        return TAPNetwork(n_channels, variant=self.variant, **asdict(self._predictor()), **self._frame_options())

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether d(x, y) = d(y, x)."""
        return bool(self.network_.symmetric) if hasattr(self, "network_") else self._predictor().symmetrize
