"""GroundMetric: frames mapped by what was learned, then compared by an aligner that learns nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ...align import DTW, OPW, Aligner
from ...align.matrix import Report, threads_of
from ...models import Model, options
from ...sequences import Sequences
from ...sequences.arguments import one_of
from ...train import Diverged, Objective
from ...train.trained import exact, torch_threads
from ..base import MetricEstimator

_STEPS_AT_ONCE = 1 << 13  # between two looks for Ctrl-C
_LOOKED_AT = 4


def _aligner(value: Any, name: str) -> Aligner:
    if isinstance(value, Aligner) and not isinstance(value, Model):
        return value
    return DTW() if one_of(value, name, ("dtw", "opw")) == "dtw" else OPW()


class GroundMetric(MetricEstimator):
    """Frames mapped by what was learned, then compared by an aligner that learns nothing."""

    aligner = options.Option(_aligner)

    def _train(self, objective: Objective, sequences: Sequences, targets: Any = None) -> None:
        super()._train(objective, sequences, targets)
        # after Ctrl-C nobody waits until all frames are mapped: a few sequences tell weights that are not finite
        some = sequences[:_LOOKED_AT] if self.history_.stopped == "Ctrl-C" else sequences
        self._refuse_diverged(self._ready(some))

    def _refuse_diverged(self, ready: Sequences) -> None:
        """After the last step, which no loss follows that would show it."""
        bad = np.flatnonzero(~np.isfinite(mapped_frames(exact(self.network_), ready)).all(axis=1))
        if len(bad):
            ids = np.unique(np.searchsorted(ready.offsets, bad, side="right") - 1).tolist()
            raise Diverged(
                f"the map makes NaN or infinity of frames of the sequence {ids[0]} after step {self.history_.n_steps}, "
                f"the last: lower the learning rate (now {self.history_.last('rate'):g}), or standardize the sequences "
                "first",
                self.history_.n_steps,
                ids,
            )

    def _refuse(self, x: Sequences, y: Sequences | None, names: tuple[str, str]) -> None:
        super()._refuse(x, y, names)
        self._chosen()._refuse(x, y, names)  # lengths, which are the same after the map

    def _chosen(self) -> Aligner:
        """The aligner that the word stands for with which it was fitted."""
        given = getattr(self, "_made_with", {}).get("aligner", self.aligner)
        return _aligner(given, "aligner")

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether exchanging two sequences changes nothing: as the aligner has it."""
        return self._chosen().symmetric

    def mapped(self, X: Any) -> Sequences:
        """The sequences in the space that was learned."""
        return self._mapped(self._asked(X), threads_of(None))

    def _mapped(self, sequences: Sequences, threads: int) -> Sequences:
        ready = self._ready(sequences)
        with torch_threads(threads):
            frames = mapped_frames(exact(self.network_), ready)
        return Sequences.from_packed(frames, ready.offsets)  # outputs of a network have neither names nor a clock

    def _known(self, sequences: Sequences, threads: int) -> Sequences:
        return self._mapped(sequences, threads)

    def _against(self, asked: Any, known: Any, out: NDArray[Any], threads: int) -> None:
        self._chosen()._fill(asked, known, out, threads, None)

    def _fill(self, x: Sequences, y: Sequences | None, out: NDArray[Any], threads: int, report: Report) -> None:
        first = self._mapped(x, threads)
        second = None if y is None else first if y is x else self._mapped(y, threads)
        self._chosen()._fill(first, second, out, threads, report)


def mapped_frames(doubled: nn.Module, ready: Sequences) -> NDArray[np.float32]:
    """Every frame through a network in double precision, (step, output): see `train.trained.exact` for why."""
    values = torch.tensor(ready.values)
    with torch.no_grad():
        pieces = [doubled(piece.double()).float() for piece in torch.split(values, _STEPS_AT_ONCE)]
    return torch.cat(pieces).numpy()
