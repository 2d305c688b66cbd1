"""A ground metric learned frame by frame: each frame a sample of its sequence's class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..sequences import Sequences
from ..sequences.arguments import real, store, whole
from ..sequences.sampling import RandomState
from ..train import Batch, Objective, fit, per_class
from . import losses
from .divergence import refuse_diverged
from .frame_distances import rowwise
from .ground import GroundMetric
from .transformation import perceptron


class ElementWise(GroundMetric):
    """Frames through a perceptron trained as if each were a sample of its sequence's class; then an aligner.

    The deep baselines of Su and Wen (ICLR 2022, table 1): any loss on distances of frames, followed by DTW or OPW.

    Parameters
    ----------
    aligner : "dtw", "opw" or Aligner
        What compares sequences afterwards.
    loss : str or loss of `timelike.metric.losses`
        What is minimised over all pairs of a batch of frames.
    hidden : int
        Units of both hidden layers.
    per_class : int
        Frames of each class in a batch.
    max_steps : int
        Batches.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> X = np.random.default_rng(0).standard_normal((6, 10, 2))
    >>> metric = tl.metric.ElementWise(hidden=8, max_steps=2, random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    >>> metric.pairwise(X).shape
    (6, 6)
    """

    loss: Any
    hidden: int
    per_class: int
    learning_rate: float
    max_steps: int
    progress: bool

    def __init__(
        self,
        *,
        aligner: Any = "dtw",
        loss: Any = "triplet",
        hidden: int = 1024,
        per_class: int = 6,
        learning_rate: float = 1e-4,
        max_steps: int = 2000,
        standardize: bool = True,
        progress: bool = False,
        random_state: RandomState = None,
    ) -> None:
        store(self, locals())

    def _refuse_options(self) -> None:
        super()._refuse_options()
        losses.find(self.loss)
        whole(self.per_class, "per_class", 2)
        for name in ("hidden", "max_steps"):
            whole(getattr(self, name), name, 1)
        real(self.learning_rate, "learning_rate", above=0)

    def _learn(self, ready: Sequences, classes: NDArray[np.int64]) -> nn.Module:
        network = self._empty(ready.frame[0], max(2, ready.frame[0]))
        objective = _Frames(network, ready, classes, self)
        history = fit(objective, max_steps=self.max_steps, progress=self.progress, random_state=self.random_state)
        refuse_diverged(network.eval(), ready, history)
        return network

    def _empty(self, n_channels: int, n_outputs: int) -> nn.Module:
        return nn.Sequential(perceptron(n_channels, self.hidden, n_outputs), UnitLength())


class UnitLength(nn.Module):
    """Frames scaled to length 1, as the thresholds of the losses take them to be."""

    def forward(self, x: Tensor) -> Tensor:
        """(step, feature) → (step, feature)."""
        return nn.functional.normalize(x, dim=-1)


class _Frames(Objective):
    def __init__(self, network: nn.Module, ready: Sequences, classes: NDArray[np.int64], how: ElementWise) -> None:
        self.module, self.frames, self.how = network, ready.values, how
        self.owner = type(how).__name__
        self.classes, self.places = (np.repeat(each, ready.lengths) for each in (classes, np.arange(len(ready))))
        self.criterion = losses.find(how.loss)

    def optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.module.parameters(), lr=self.how.learning_rate, weight_decay=1e-4)

    def batches(self, epoch: int, rng: np.random.Generator) -> Iterator[Batch]:
        """Some frames of each class."""
        for ids in per_class(self.classes, self.how.per_class, rng):
            yield Batch(self.places[ids], x=self.frames[ids], classes=self.classes[ids])

    def loss(self, batch: Batch) -> Tensor:
        """The criterion on all pairs of frames."""
        frames = self.module(batch["x"])
        return self.criterion(rowwise(frames[None], frames[None])[0], batch["classes"])
