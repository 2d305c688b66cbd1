"""Distances whose ground metric is learned: frames are mapped first and then aligned as ever."""

from __future__ import annotations

import abc
import copy
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..align import DTW, OPW, Aligner
from ..align.base import Report
from ..sequences import Sequences
from ..sequences.arguments import flag, one_of
from ..sequences.moments import Moments
from ..sequences.reading import keep_size
from ..sequences.sampling import RandomState
from ..train import seeded
from .estimator import MetricEstimator

_STEPS_AT_ONCE = 1 << 16


class GroundMetric(MetricEstimator):
    """Frames mapped by what was learned, then compared by an aligner that learns nothing."""

    aligner: Any
    standardize: bool
    random_state: RandomState

    network_: nn.Module

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from sequences and their classes, those of X unless y is given."""
        self._refuse_options()
        sequences = self._read(X)
        with self._fitting():
            classes = self._classes(sequences, y)
            keep_size(self, sequences)
            self.moments_ = Moments.of(sequences) if self.standardize else Moments.none(sequences.frame)
            with seeded(self.random_state):
                self.network_ = self._learn(self.moments_.applied(sequences), classes)
        return self

    @abc.abstractmethod
    def _learn(self, ready: Sequences, classes: NDArray[np.int64]) -> nn.Module:
        """A map of frames (step, channel), from standardized sequences and the classes of each."""

    @abc.abstractmethod
    def _empty(self, n_channels: int, n_outputs: int) -> nn.Module:
        """The map before it has learned."""

    def _refuse_options(self) -> None:
        self._aligner()
        flag(self.standardize, "standardize")

    def _refuse(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        super()._refuse(x, y, names)
        self._aligner()._refuse(x, y, names)  # lengths, which are the same after the map

    def _aligner(self) -> Aligner:
        if isinstance(self.aligner, Aligner) and not isinstance(self.aligner, MetricEstimator):
            return self.aligner
        return DTW() if one_of(self.aligner, "aligner", ("dtw", "opw")) == "dtw" else OPW()

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether exchanging two sequences changes nothing: as the aligner has it."""
        return self._aligner().symmetric

    def mapped(self, X: Any) -> Sequences:
        """The sequences in the space that was learned."""
        sequences = self._read(X)
        MetricEstimator._refuse(self, sequences, None, ("X", "X"))
        ready = self.moments_.applied(sequences)
        return Sequences.from_packed(mapped_frames(self.network_, ready), ready.offsets)

    def _fill(self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report) -> None:
        self._aligner()._fill(self.mapped(x), None if y is None else self.mapped(y), out, threads, report)

    def _learned(self) -> tuple[dict[str, Tensor], Any]:
        self._require_fitted()
        tensors = {f"network.{name}": tensor for name, tensor in self.network_.state_dict().items()}
        tensors |= {"mean": torch.from_numpy(self.moments_.mean), "scale": torch.from_numpy(self.moments_.scale)}
        n_outputs = self.mapped(Sequences(np.zeros((1, 1, *self.moments_.mean.shape)))).frame[0]
        return tensors, {"classes": self.classes_.tolist(), "n_outputs": n_outputs}

    def _restore(self, tensors: dict[str, Tensor], extra: Any) -> None:
        self.moments_ = Moments(tensors["mean"].numpy(), tensors["scale"].numpy())
        self.network_ = self._empty(self.moments_.mean.size, extra["n_outputs"])
        prefix = "network."
        weights = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        self.network_.load_state_dict(weights)
        self.classes_ = np.array(extra["classes"])


def mapped_frames(network: nn.Module, ready: Sequences) -> NDArray[np.float32]:
    """Every frame through the network, (step, output)."""
    values, exact = torch.tensor(ready.values), copy.deepcopy(network).double()  # as `blocks.parts` has it, and why
    with torch.no_grad():
        pieces = [exact(piece.double()).float() for piece in torch.split(values, _STEPS_AT_ONCE)]
    return torch.cat(pieces).numpy()
