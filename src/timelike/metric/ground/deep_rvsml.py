"""`DeepRVSML`: a perceptron of frames, trained by regression to virtual sequences realigned before each epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...align import Aligner
from ...core.parameters import INT64_MAX, store_parameters
from ...models import options, schema
from ...sequences import Sequences
from ...sequences.sampling import RandomState
from ...train import Batch, Objective, Trainer, shuffled_batches
from ...train.budget import DefaultBudget
from ...train.double_precision import double_precision_copy
from ...train.optimizers import make_optimizer
from ..frame_transform import make_mlp
from .base import GroundMetric, apply_to_frames
from .rvsml import VirtualSequences


class DeepRVSML(GroundMetric):
    """`RVSML` with a three-layer perceptron in place of the linear map (Su and Wu, 2020), trained by Adam.

    Parameters
    ----------
    aligner, n_virtual_frames
        As for `RVSML`.
    hidden : int
        Units of both hidden layers.
    max_steps, max_time : optional
        Stop after this many steps or seconds, whichever comes first. If neither these nor the trainer's `max_epochs`
        are given, after 20 passes over the frames; sequences are realigned before each pass.
    trainer : Trainer or None
        How to train. Its own choices: `batch_size=256` frames, `learning_rate=1e-4`, `weight_decay=1e-4`.
    standardize, progress, random_state
        As for `SiameseGRU`.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = np.random.default_rng(0).standard_normal((6, 10, 2))
    >>> metric = tl.metric.DeepRVSML(hidden=8, max_steps=1, random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    >>> metric.pairwise(X).shape
    (6, 6)
    """

    n_virtual_frames = options.width(1)
    hidden = options.width(1)

    _default_budget = DefaultBudget(step_range=(1, INT64_MAX), seconds=None)
    _own_trainer = Trainer(batch_size=256, learning_rate=1e-4, weight_decay=1e-4)

    def __init__(
        self,
        *,
        aligner: Any = "dtw",
        n_virtual_frames: int = 4,
        hidden: int = 1024,
        standardize: bool = True,
        max_steps: int | None = None,
        max_time: float | None = None,
        trainer: Trainer | None = None,
        progress: bool | None = None,
        random_state: RandomState = None,
    ) -> None:
        store_parameters(self, locals())

    def _build_network(self, frame: tuple[int, ...]) -> nn.Module:
        return make_mlp(math.prod(frame), self.hidden, self.n_virtual_frames * len(self.classes_))

    def _make_objective(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        virtual = VirtualSequences(ready, targets, self.n_virtual_frames)
        return _VirtualRegressionObjective(self.network_, ready, virtual, self._resolve_aligner(), self.trainer_)


class _VirtualRegressionObjective(Objective):
    """Regression of frames to their virtual frames, realigned before each epoch."""

    def __init__(
        self, network: nn.Module, ready: Sequences, virtual: VirtualSequences, aligner: Aligner, trainer: Trainer
    ) -> None:
        self.module, self.ready, self.virtual, self.aligner, self.trainer = network, ready, virtual, aligner, trainer
        self.batch_size = trainer.batch_size or len(ready.values)
        self.sequence_positions = np.repeat(np.arange(len(ready)), ready.lengths)
        self.aligned_epoch = 0  # the epoch whose alignments these are

    def optimizers(self) -> torch.optim.Optimizer:
        """The optimizer of the trainer."""
        return make_optimizer(self.module.parameters(), self.trainer)

    def n_batches(self) -> float:
        """The number of batches that show each frame once."""
        return math.ceil(len(self.ready.values) / self.batch_size)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Frames in random order."""
        if epoch != self.aligned_epoch:  # a checkpoint within an epoch restores its alignments
            mapped = apply_to_frames(double_precision_copy(self.module), self.ready)
            if np.isfinite(mapped).all():  # otherwise the loss of these frames reports the divergence
                self.virtual.align(mapped.astype(np.float64), self.aligner)
            self.aligned_epoch = epoch  # set last: Ctrl-C during alignment writes a checkpoint
        targets, frames = self.virtual.targets().astype(np.float32), self.ready.values
        total = self.virtual.weights.sum(axis=1).astype(np.float32)
        for ids in shuffled_batches(len(frames), self.batch_size, rng):
            yield Batch(self.sequence_positions[ids], x=frames[ids], targets=targets[ids], total=total[ids])

    def loss(self, batch: Batch) -> Tensor:
        """Σ_j T_ij ‖f(x_i) − v_j‖², averaged over frames."""
        outputs = self.module(batch["x"])
        squares = batch["total"] * (1 + outputs.square().sum(-1)) - 2 * (outputs * batch["targets"]).sum(-1)
        mean: Tensor = squares.mean()
        return mean

    def state(self) -> dict[str, Any]:
        """The alignments of this epoch, which cannot be recomputed from later weights."""
        return {"aligned_epoch": self.aligned_epoch, "alignments": torch.from_numpy(self.virtual.weights)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore the alignments."""
        alignments = state["alignments"].numpy().copy()
        schema.check_value(alignments, "alignments", schema.array(*self.virtual.weights.shape))
        schema.check_value(state["aligned_epoch"], "aligned_epoch", schema.integer())
        self.aligned_epoch, self.virtual.weights = state["aligned_epoch"], alignments
