"""`ElementWise`: a perceptron trained on frames labelled with their sequence's class, followed by an aligner."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...core.parameters import store_parameters
from ...models import options
from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ...train import Batch, Objective, Trainer, class_batches
from ...train.budget import DefaultBudget
from ...train.optimizers import make_optimizer
from .. import losses
from ..frame_transform import make_mlp, paired_frame_distances
from ..losses.registry import loss_option
from .base import GroundMetric


class ElementWise(GroundMetric):
    """A perceptron trained on frames as samples of their sequence's class, followed by an aligner.

    The deep baselines of Su and Wen (ICLR 2022, table 1): any loss on distances of frames, followed by DTW or OPW.

    Parameters
    ----------
    aligner : "dtw", "opw" or Aligner
        Compares the transformed sequences.
    loss : str or loss of `timelike.metric.losses`
        The loss over all pairs of a batch of frames.
    hidden : int
        Units of both hidden layers.
    n_per_class : int
        Frames of each class in a batch.
    max_steps, max_time : optional
        Stop after this many steps or seconds, whichever comes first. If neither these nor the trainer's `max_epochs`
        are given, after 2000 steps.
    trainer : Trainer or None
        How to train. Its own choices: `learning_rate=1e-4`, `weight_decay=1e-4`. A batch has frames of all classes.
    standardize, progress, random_state
        As for `SiameseGRU`.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = np.random.default_rng(0).standard_normal((6, 10, 2))
    >>> metric = tl.metric.ElementWise(hidden=8, max_steps=2, random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    >>> metric.pairwise(X).shape
    (6, 6)
    """

    loss = loss_option()
    hidden = options.width(1)
    n_per_class = options.integer(2, "training")

    _default_budget = DefaultBudget(step_range=(2000, 2000), seconds=None)
    _own_trainer = Trainer(learning_rate=1e-4, weight_decay=1e-4)
    _unused_trainer_fields = ("batch_size",)

    def __init__(
        self,
        *,
        aligner: Any = "dtw",
        loss: Any = "triplet",
        hidden: int = 1024,
        n_per_class: int = 6,
        standardize: bool = True,
        max_steps: int | None = None,
        max_time: float | None = None,
        trainer: Trainer | None = None,
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        n_channels = math.prod(frame)
        return nn.Sequential(make_mlp(n_channels, self.hidden, max(2, n_channels)), L2Normalize())

    def _make_objective(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        return _FrameObjective(
            self.network_,
            ready,
            targets,
            losses.resolve_loss(self.loss),
            n_per_class=self.n_per_class,
            trainer=self.trainer_,
        )


class L2Normalize(nn.Module):
    """Scales frames to length 1, as the thresholds of the losses assume."""

    def forward(self, x: Tensor) -> Tensor:
        """(step, feature) → (step, feature)."""
        return nn.functional.normalize(x, dim=-1)


class _FrameObjective(Objective):
    """Frames as samples of their sequence's class."""

    def __init__(
        self,
        network: nn.Module,
        ready: Sequences,
        classes: NDArray[np.int64],
        criterion: losses.Loss,
        *,
        n_per_class: int,
        trainer: Trainer,
    ) -> None:
        self.module, self.frames, self.criterion = network, ready.values, criterion
        self.n_per_class, self.trainer = n_per_class, trainer
        self.classes, self.sequence_positions = (
            np.repeat(each, ready.lengths) for each in (classes, np.arange(len(ready)))
        )

    def optimizers(self) -> torch.optim.Optimizer:
        """The optimizer of the trainer."""
        return make_optimizer(self.module.parameters(), self.trainer)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Some frames of each class."""
        for ids in class_batches(self.classes, self.n_per_class, rng):
            yield Batch(self.sequence_positions[ids], x=self.frames[ids], classes=self.classes[ids])

    def loss(self, batch: Batch) -> Tensor:
        """The criterion on all pairs of frames."""
        frames = self.module(batch["x"])
        return self.criterion(paired_frame_distances(frames[None], frames[None])[0], batch["classes"])
