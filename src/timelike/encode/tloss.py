"""What every encoder trained by the T-Loss does alike, whatever its network is."""

from __future__ import annotations

import abc
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..sequences import Sequences
from ..sequences.arguments import flag, real, whole
from ..sequences.moments import RESCALE, Moments
from ..sequences.sampling import RandomState
from ..train import History, Savable, fit, seeded
from .base import Encoder
from .contrast import LONG, Contrast


class TLossEncoder(Savable, Encoder):
    """A network trained so that a series is near its parts and far from others; a subclass says which network."""

    n_negatives: int
    n_features: int
    batch_size: int
    learning_rate: float
    max_steps: int | None
    standardize: bool
    by_terms: bool | None
    checkpoint: str | Path | None
    progress: bool
    random_state: RandomState

    network_: nn.Module
    _sizes: ClassVar[tuple[str, ...]] = ()  # parameters of the network that are whole numbers from 1 on
    _steps_at_once: ClassVar[int] = 1 << 17  # of a batch to encode, so that memory stays bounded

    @abc.abstractmethod
    def _network(self, frame: tuple[int, ...]) -> nn.Module:
        """A new network from frames, flattened, to `n_features`: called as `network(x, lengths)`."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the sequences X; labels are not looked at."""
        self._refuse_options()
        with self._fitting():
            self._train(self._learn_from(X))
        return self

    def _train(self, sequences: Sequences) -> None:
        self._start(sequences.frame, self._moments(sequences))
        objective = Contrast(
            self.network_,
            self._standardized(sequences),
            n_negatives=self.n_negatives,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            by_terms=bool(sequences.lengths.max() > LONG) if self.by_terms is None else self.by_terms,
            original=sequences,
            owner=type(self).__name__,
        )
        steps = (2000 if self.n_negatives >= 10 else 1500) if self.max_steps is None else self.max_steps
        self.history_: History = fit(
            objective,
            max_steps=steps,
            checkpoint=self.checkpoint,
            progress=self.progress,
            random_state=self.random_state,
        )

    def _refuse_options(self) -> None:
        for name in ("n_negatives", "n_features", "batch_size", *self._sizes):
            whole(getattr(self, name), name, 1)
        real(self.learning_rate, "learning_rate", above=0)
        flag(self.standardize, "standardize")
        if self.by_terms is not None:
            flag(self.by_terms, "by_terms")
        if self.max_steps is not None:
            whole(self.max_steps, "max_steps", 1)

    def _start(self, frame: tuple[int, ...], moments: Moments) -> None:
        with seeded(self.random_state):
            self.network_ = self._network(frame)
        self.mean_, self.scale_ = moments

    def _moments(self, sequences: Sequences) -> Moments:
        """Mean and deviation, both of the shape of a frame."""
        return Moments.of(sequences)

    def _standardized(self, sequences: Sequences) -> Sequences:
        """Flat frames in float32."""
        return self._scales().applied(sequences, "X")

    def _encode(self, sequences: Sequences) -> NDArray[np.float32]:
        ready = self._standardized(sequences)
        vectors = np.empty((len(ready), self.n_features), np.float32)
        order = np.argsort(ready.lengths, kind="stable")
        network = self.network_.eval()
        begin = 0
        while begin < len(order):
            end = _fitting(ready.lengths[order], begin, self._steps_at_once)
            chosen = order[begin:end]
            x, lengths = ready[chosen].tensor()
            same = bool((lengths == x.shape[1]).all())
            with torch.no_grad():
                vectors[chosen] = network(x, None if same else lengths).numpy()
            begin = end
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise ValueError(f"X: sequence {bad[0]} has values so large that its vector overflows: {RESCALE}")
        return vectors

    def _frame(self) -> tuple[int, ...]:
        return self.mean_.shape

    def _scales(self) -> Moments:
        """What a stream subtracts, and what it divides by."""
        if self.standardize:
            return Moments(self.mean_, self.scale_)
        return Moments.none(self.mean_.shape)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def _learned(self) -> tuple[dict[str, Tensor], Any]:
        self._require_fitted()
        moments = {"mean": torch.from_numpy(self.mean_), "scale": torch.from_numpy(self.scale_)}
        return moments | {f"network.{name}": tensor for name, tensor in self.network_.state_dict().items()}, None

    def _restore(self, tensors: dict[str, Tensor], extra: Any) -> None:
        mean, scale = tensors["mean"].numpy(), tensors["scale"].numpy()
        self._start(mean.shape, Moments(mean, scale))
        prefix = "network."
        weights = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        self.network_.load_state_dict(weights)


def _fitting(lengths: NDArray[np.int64], begin: int, most: int) -> int:
    """How many of the sorted lengths from `begin` on fit in one batch, padded to the longest."""
    steps = np.arange(1, len(lengths) - begin + 1) * lengths[begin:]
    alike = lengths[begin:] <= 1.25 * lengths[begin] + 8  # little padding
    return begin + max(1, int(np.count_nonzero((steps <= most) & alike)))
