"""Climatology: what is usual at this time of the cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models import options
from ...sequences import Sequences
from ...sequences.arguments import store
from ..request import Futures, Request
from ..ticks import time_steps
from .base import Baseline, Ids, Matrix

_GAP = 1.5  # usual steps, beyond which a step is a gap


class Climatology(Baseline):
    """The mean of the training steps at each phase of a cycle: x̂_{t+h} = mean of x_s with s ≡ t + h (mod P).

    Without timestamps the phase is counted from the first step of every sequence, so a past must begin where a training
    sequence would. With timestamps it is read from the clock, (time − first training time)/(mean step) rounded, so that
    a part of a past, or a past with a gap, keeps its phase; the mean step, and not the median, because months are of
    unequal lengths.

    Better than `SeasonalNaive` where the cycle stays as it is, worse where its level drifts. `n_samples` above 1 draws
    errors, after `calibrate`.

    Parameters
    ----------
    period : int
        How many steps a cycle has. Every phase must be there in training.

    Examples
    --------
    >>> import timelike as tl
    >>> model = tl.forecast.Climatology(2).fit([[1.0, 10.0, 3.0, 20.0]])
    >>> model.predict([[5.0], [5.0, 7.0]], horizon=3).mean[:, :, 0]
    array([[15.,  2., 15.],
           [ 2., 15.,  2.]])
    """

    period = options.whole(1)

    table_: Matrix
    """What is usual at every phase, (phase, cell)."""
    first_: int | float | None
    """The first training time, nanoseconds since 1970 for datetimes; None without timestamps."""
    step_: float | None
    """The mean time between two steps, in the unit of `first_`."""

    _counts_steps = False  # it reads the clock where there is one

    def __init__(self, period: int) -> None:
        store(self, locals())

    @classmethod
    def _small(cls) -> dict[str, Any]:
        return {"period": 2}

    def _conditioning(self) -> int:
        return 1

    def _learn(self, sequences: Sequences) -> None:
        self._note_clock(sequences)
        phase = self._steps(sequences) % self.period
        counts = np.bincount(phase, minlength=self.period)
        if not counts.all():
            raise ValueError(
                f"period={self.period}: no step of X has phase {int(np.argmin(counts))} of the cycle: expected whole "
                f"cycles, and the longest sequence has {sequences.lengths.max()} steps; give longer ones or a shorter "
                "period"
            )
        order = np.argsort(phase, kind="stable")
        starts = np.cumsum(counts) - counts
        self.table_ = np.add.reduceat(self._rows(sequences)[order], starts, axis=0) / counts[:, None]

    def _continued(self, past: Sequences, request: Request) -> Futures:
        last = self._steps(past)[past.offsets[1:] - 1]
        return Futures(self.table_[(last[:, None] + np.arange(1, request.horizon + 1)) % self.period])

    # --- the clock ---------------------------------------------------------------------------------------------------

    def _note_clock(self, sequences: Sequences) -> None:
        self.first_ = self.step_ = None
        if sequences.times is None or self.interval_ is None:
            return
        self.dated_ = sequences.times.dtype.kind == "M"
        clock = _numbers(sequences.times)
        self.first_ = clock.min().item()
        steps = time_steps(sequences)
        mean = float(steps[steps <= _GAP * self.interval_].mean())
        self.step_ = mean * 1e9 if self.dated_ else mean

    def _steps(self, sequences: Sequences) -> Ids:
        """The number of every step: since the first training time, or since the first of its sequence."""
        if self.first_ is None or self.step_ is None:
            return np.asarray(np.arange(sequences.offsets[-1]) - np.repeat(sequences.offsets[:-1], sequences.lengths))
        if sequences.times is None or (sequences.times.dtype.kind == "M") != self.dated_:
            has = "no timestamps" if sequences.times is None else f"timestamps of {sequences.times.dtype}"
            kind = "datetimes" if self.dated_ else "numbers"
            raise ValueError(
                f"past has {has}: this Climatology was fitted with {kind} as timestamps, by which it knows the phase "
                "of the cycle; give times, or fit without"
            )
        passed = _numbers(sequences.times) - self.first_  # whole nanoseconds: nothing is lost before the division
        return np.asarray(np.rint(passed / self.step_), np.int64)


def _numbers(times: NDArray[Any]) -> NDArray[Any]:
    return times.view(np.int64) if times.dtype.kind == "M" else times
