"""`AlignedFrames`: a network of frames, trained through a differentiable aligner such as soft-DTW."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ...align import Aligner
from ...core.parameters import check_choice, store_parameters
from ...models import options
from ...sequences import Sequences
from ...sequences.augment import Augmentation
from ...sequences.sampling import RandomState
from ...train import Objective, Trainer
from ..base import AlignmentMetric
from ..distance_network import DistanceNetwork
from ..supervision import Labels, Supervision, SupervisionName
from .network import ALIGNER_LAYERS, ALIGNERS_BY_NAME, AlignedFramesNetwork

PAPER_PRESET: dict[str, Any] = {
    "loss": "triplet",
    "supervision": Labels(augment=True),
    "hidden": 1024,
    "n_outputs": None,
    "front": None,
    "perturb": False,
    "n_per_class": None,
    "max_frames": None,
    "trainer": Trainer(
        batch_size=64,
        learning_rate=1e-4,
        optimizer="adam",
        schedule="constant",
        gradient_clip=math.inf,
        max_epochs=100,
        validation=0.2,
    ),
}
"""The training of TAP's paper, for networks other than its own."""

_ALIGNER_NAMES = tuple(name for name in ALIGNERS_BY_NAME if name != "tap")


def _check_aligner(value: Any, name: str) -> Any:
    """Check `aligner`: a name, an aligner with a differentiable layer, or a module."""
    if isinstance(value, (nn.Module, *ALIGNER_LAYERS)):
        return value
    if isinstance(value, Aligner):
        layers = ", ".join(f"tl.{kind.__name__}" for kind in ALIGNER_LAYERS)
        raise ValueError(
            f"{name}={value!r} has no gradient: expected a module or one of {', '.join(map(repr, _ALIGNER_NAMES))}, "
            f"{layers}"
        )
    return check_choice(value, name, _ALIGNER_NAMES)


def _describe_aligner(aligner: Any) -> str:
    return type(aligner).__name__ if isinstance(aligner, nn.Module) else repr(aligner)


class AlignedFrames(AlignmentMetric):
    """A perceptron of frames, trained through a differentiable aligner that compares the sequences.

    d(x, y) = aligner(h(x), h(y)), such as Lifted + SoftDTW (Su and Wen, "Temporal Alignment Prediction for Supervised
    Representation Learning and Few-Shot Sequence Classification", ICLR 2022, table 1). `TAP` predicts the alignment
    with a network; here an aligner computes it, and only h is learned.

    Parameters
    ----------
    aligner : {"softdtw", "opw", "tcot", "sinkhorn"}, aligner or torch module
        Aligns the frames. Pass `tl.SoftDTW(gamma=0.1)`, `tl.OPW(…)` and so on to set options. A module of your own is
        copied, and the model cannot be saved.
    loss : str or loss of `timelike.metric.losses`
        The loss over the distances of the sequences of a batch.
    supervision : {"labels", "episodes", "augmentation", "alignment"}, Labels, Episodes or SelfSupervision
        The training signal: classes; few-shot tasks; augmentations of the sequences, without classes; or the alignment
        of augmentations. Pass a value of `timelike.metric` to set options: `Episodes(n_way=5, k_shot=1)`. Augmentations
        train only the alignment, so they need an aligner with parameters.
    hidden, n_outputs, normalize, self_attention
        The network for frames: units of a layer, outputs, whether these have length 1, and SA-TAP's attention.
    n_per_class : int or None
        Members of a class in a batch, which has two classes or more; None draws batches at random.
    max_steps, max_time : optional
        When to stop, as for `SiameseGRU`, with at least 500 steps and at most 1000.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=16`, `learning_rate=1e-3`, `optimizer="adamw"`, `weight_decay=1e-4`,
        `schedule="one_cycle"`, `gradient_clip=6.0`. Validation is as for `SiameseGRU`; what is not learned from labels
        is validated by its loss.
    front, perturb, max_frames, standardize, progress, random_state
        As for `SiameseGRU`.

    Attributes
    ----------
    network_ : AlignedFramesNetwork
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

    aligner = options.Option(_check_aligner, to_text=_describe_aligner)

    contract_exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "a_sequence_is_at_distance_zero_from_itself": "soft-DTW and entropic plans are not 0 on the diagonal",
            "distances_are_finite_and_not_negative": "soft-DTW is below the least of all paths; divergence=True is not",
        }
    )

    _own_trainer = Trainer(
        batch_size=16, learning_rate=1e-3, optimizer="adamw", weight_decay=1e-4, schedule="one_cycle", gradient_clip=6.0
    )
    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({"paper": PAPER_PRESET})

    def __init__(
        self,
        *,
        aligner: Any = "softdtw",
        loss: Any = "triplet",
        supervision: SupervisionName | Supervision = "labels",
        hidden: int = 1024,
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

    def _make_objective(self, ready: Sequences, targets: NDArray[np.int64] | None) -> Objective:
        supervision = self._supervision()
        parameters = (name for name, _ in self.network_.named_parameters())
        if not supervision.joint and all(name.startswith("transformation.") for name in parameters):
            raise ValueError(
                f"supervision={self.supervision!r} learns how to align, and aligner={self.aligner!r} has nothing to "
                "learn: use tl.TAP, or train the network for frames with supervision='labels'"
            )
        return super()._make_objective(ready, targets)

    def _build_distance_network(self, n_channels: int) -> DistanceNetwork:
        # a copy, because training would change the user's module
        return AlignedFramesNetwork(n_channels, aligner=copy.deepcopy(self.aligner), **self._frame_options())

    def _refuse_to_save(self) -> None:
        if isinstance(self.aligner, nn.Module):
            raise TypeError(
                f"aligner is a {type(self.aligner).__name__}, a module, which no file can hold: expected a word or a "
                "value such as tl.SoftDTW(gamma=0.1); of a module of your own, keep network_.state_dict()"
            )
        super()._refuse_to_save()

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether d(x, y) = d(y, x)."""
        if hasattr(self, "network_"):
            return bool(self.network_.symmetric)
        return not isinstance(self.aligner, nn.Module)
