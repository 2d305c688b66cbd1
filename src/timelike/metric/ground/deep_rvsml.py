"""DeepRVSML: a perceptron of frames, by regression to virtual sequences that are aligned anew before every epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ...align import Aligner
from ...models import learned, options
from ...sequences import Sequences
from ...sequences.arguments import store
from ...sequences.sampling import RandomState
from ...train import Batch, Objective, shuffled
from ...train.processes import Accelerator, Precision
from ...train.trained import exact
from ..frames import perceptron
from .base import GroundMetric, mapped_frames
from .rvsml import Virtual


class DeepRVSML(GroundMetric):
    """`RVSML` with a three-layer perceptron in place of the linear map (Su and Wu, 2020), trained by Adam.

    Parameters
    ----------
    aligner, virtual
        As for `RVSML`.
    hidden : int
        Units of both hidden layers.
    max_epochs : int
        Passes over the frames; alignments are made anew before each.
    learning_rate, standardize, checkpoint, progress, accelerator, devices, precision, random_state
        As for `SiameseGRU`.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = np.random.default_rng(0).standard_normal((6, 10, 2))
    >>> metric = tl.metric.DeepRVSML(hidden=8, max_epochs=1, random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    >>> metric.pairwise(X).shape
    (6, 6)
    """

    virtual = options.width(1)
    hidden = options.width(1)
    learning_rate = options.real(above=0, role="free")
    max_epochs = options.whole(1, "free")

    def __init__(
        self,
        *,
        aligner: Any = "dtw",
        virtual: int = 4,
        hidden: int = 1024,
        learning_rate: float = 1e-4,
        max_epochs: int = 20,
        standardize: bool = True,
        checkpoint: str | Path | None = None,
        progress: bool | None = None,
        accelerator: Accelerator = "cpu",
        devices: int = 1,
        precision: Precision = "32-true",
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        return perceptron(math.prod(frame), self.hidden, self.virtual * len(self.classes_))

    def _objective(self, ready: Sequences, targets: NDArray[np.int64]) -> Objective:
        virtual = Virtual(ready, targets, self.virtual)
        return _Regression(self.network_, ready, virtual, self._chosen(), self.learning_rate)

    def _limits(self, objective: Objective) -> dict[str, Any]:
        return {"max_epochs": self.max_epochs}


class _Regression(Objective):
    """Frames to their virtual ones, which are looked for anew before every epoch."""

    def __init__(self, network: nn.Module, ready: Sequences, virtual: Virtual, aligner: Aligner, rate: float) -> None:
        self.module, self.ready, self.virtual, self.aligner, self.rate = network, ready, virtual, aligner, rate
        self.places = np.repeat(np.arange(len(ready)), ready.lengths)
        self.aligned_for = 0  # the epoch whose alignments these are

    def optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.module.parameters(), lr=self.rate, weight_decay=1e-4)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Frames in any order."""
        if epoch != self.aligned_for:  # after a pause within an epoch, its alignments are there already
            mapped = mapped_frames(exact(self.module), self.ready)
            if np.isfinite(mapped).all():  # otherwise the loss of these frames will say that training has diverged
                self.virtual.align(mapped.astype(np.float64), self.aligner)
            self.aligned_for = epoch  # not before: Ctrl-C may give them up, and a checkpoint is written then
        targets, frames = self.virtual.targets().astype(np.float32), self.ready.values
        total = self.virtual.weights.sum(axis=1).astype(np.float32)
        for ids in shuffled(len(frames), 256, rng):
            yield Batch(self.places[ids], x=frames[ids], targets=targets[ids], total=total[ids])

    def loss(self, batch: Batch) -> Tensor:
        """Σ_j T_ij ‖f(x_i) − v_j‖², averaged over frames."""
        found = self.module(batch["x"])
        squares = batch["total"] * (1 + found.square().sum(-1)) - 2 * (found * batch["targets"]).sum(-1)
        mean: Tensor = squares.mean()
        return mean

    def state(self) -> dict[str, Any]:
        """The alignments of this epoch, which weights of another moment would not give again."""
        return {"aligned_for": self.aligned_for, "alignments": torch.from_numpy(self.virtual.weights)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take them up."""
        alignments = state["alignments"].numpy().copy()
        learned.check_one(alignments, "alignments", learned.array(*self.virtual.weights.shape))
        learned.check_one(state["aligned_for"], "aligned_for", learned.whole())
        self.aligned_for, self.virtual.weights = state["aligned_for"], alignments
