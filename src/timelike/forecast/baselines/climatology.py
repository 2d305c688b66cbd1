"""Climatology: the mean at each phase of a cycle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import store_parameters
from ...models import options, schema
from ...sequences import Sequences
from ..base import ForecastRequest, Futures, SequenceSource
from ..cells import n_cells
from .base import Baseline, Ids, Matrix


class Climatology(Baseline):
    """The mean of the training steps at each phase of a cycle: x̂_{t+h} = mean of x_s with s ≡ t + h (mod P).

    Without timestamps the phase is counted from the first step of every sequence, so a past must begin at the same
    phase as the training sequences. With timestamps it is (time − first training time)/step, rounded, so that a part of
    a past, or a past with a gap, keeps its phase; the step is that of the even clock nearest to the training times,
    because months have unequal lengths and clocks jitter.

    Better than `SeasonalNaive` for a constant cycle, worse if its level drifts. `n_samples` above 1 samples errors and
    needs `calibrate`.

    Parameters
    ----------
    period : int
        Number of steps in a cycle. Every phase must occur in the training data.

    Examples
    --------
    >>> import timelike as tl
    >>> model = tl.forecast.Climatology(2).fit([[1.0, 10.0, 3.0, 20.0]])
    >>> model.predict([[5.0], [5.0, 7.0]], horizon=3).mean[:, :, 0]
    array([[15.,  2., 15.],
           [ 2., 15.,  2.]])
    """

    period = options.integer(1)

    phase_means_: Matrix = schema.array("period", n_cells)
    """The mean at each phase, (phase, cell)."""
    first_time_: int | float | None = schema.nullable(schema.real())
    """The first training time on an even clock, nanoseconds since 1970 for datetimes; None without timestamps."""
    clock_step_: float | None = schema.nullable(schema.real(math.ulp(0)))
    """The time between two steps of that clock, in the unit of `first_time_`."""
    uses_datetimes_: bool = schema.boolean()
    """Whether timestamps are datetimes."""

    def __init__(self, period: int) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"period": 2}

    def _ignores_times(self) -> bool:
        return False  # it uses timestamps if there are any

    def _min_past_steps(self) -> int:
        return 1

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        self._fit_clock(sequences)
        phase = self._step_numbers(sequences) % self.period
        some = np.arange(min(self.period, len(phase) + 1))  # of more phases than steps one must be missing
        missing = np.setdiff1d(some, phase)
        if len(missing):
            raise ValueError(
                f"period={self.period}: no step of X has phase {missing[0]} of the cycle: expected whole cycles, and "
                f"the longest sequence has {sequences.lengths.max()} steps; use longer sequences or a shorter period"
            )
        order, counts = np.argsort(phase, kind="stable"), np.bincount(phase)
        starts = np.cumsum(counts) - counts
        self.phase_means_ = np.add.reduceat(self._target_rows(sequences)[order], starts, axis=0) / counts[:, None]

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        last = past.lengths - 1 if self.first_time_ is None else self._step_numbers(past.crop(-1))
        return Futures(self.phase_means_[(last[:, None] + np.arange(1, request.horizon + 1)) % self.period])

    # --- the clock ---------------------------------------------------------------------------------------------------

    def _fit_clock(self, sequences: Sequences) -> None:
        self.first_time_ = self.clock_step_ = None
        self.uses_datetimes_ = sequences.times is not None and sequences.times.dtype.kind == "M"
        if sequences.times is None or sequences.elapsed_times is None or self.step_duration_ is None:
            return
        clock = _time_numbers(sequences.times)
        item = np.repeat(np.arange(len(sequences)), sequences.lengths)
        self.clock_step_ = even_step(sequences.elapsed_times, item, self.step_duration_) * (
            1e9 if self.uses_datetimes_ else 1.0
        )
        begin = clock.min().item()
        # the first time jitters like the others, so the mean phase of all corrects it
        late = _mean_phase((clock - begin) / self.clock_step_) * self.clock_step_
        self.first_time_ = begin + (round(late) if self.uses_datetimes_ else late)

    def _step_numbers(self, sequences: Sequences) -> Ids:
        """The number of each step: since the first training time, or since the start of its sequence."""
        if self.first_time_ is None or self.clock_step_ is None:
            return np.asarray(np.arange(sequences.offsets[-1]) - np.repeat(sequences.offsets[:-1], sequences.lengths))
        if sequences.times is None or (sequences.times.dtype.kind == "M") != self.uses_datetimes_:
            timestamps = "no timestamps" if sequences.times is None else f"timestamps of {sequences.times.dtype}"
            kind = "datetimes" if self.uses_datetimes_ else "numbers"
            raise ValueError(
                f"past has {timestamps}: this Climatology was fitted with {kind} as timestamps, which give the phase "
                "of the cycle; pass times of that kind, or fit without timestamps"
            )
        passed = _time_numbers(sequences.times) - self.first_time_  # whole nanoseconds, exact before the division
        return np.asarray(np.rint(passed / self.clock_step_), np.int64)


def even_step(elapsed: Matrix, item: Ids, usual: float) -> float:
    """The step of the even clock nearest to times since the start of their sequence, (total_time,) like `item`.

    A slightly wrong step still counts the steps between close times correctly, and their mean is accurate enough for
    times twice as far apart, until all are counted; a final least-squares fit gives the step. Gaps of whole steps do
    no harm.

    >>> times = np.array([0.0, 1.1, 1.9, 3.0, 7.1, 7.9, 9.0])
    >>> round(even_step(times, np.zeros(7, int), 1.1), 3)
    0.997
    """
    lag, longest = 1, int(np.bincount(item).max())
    while lag < longest:
        apart = (elapsed[lag:] - elapsed[:-lag])[item[lag:] == item[:-lag]]
        apart = apart[apart <= 2 * lag * usual]  # ignore long gaps while the step is uncertain
        counts = np.rint(apart / usual).sum()
        usual = float(apart.sum() / counts) if counts else usual
        lag *= 2
    number, sizes = np.rint(elapsed / usual), np.bincount(item)
    time, number = (row - (np.bincount(item, row) / sizes)[item] for row in (elapsed, number))
    return float(time @ number / (number @ number)) if number.any() else usual


def _mean_phase(steps: Matrix) -> float:
    """The circular mean of the fractional parts of `steps`."""
    return float(np.angle(np.exp(2j * np.pi * steps).mean()) / (2 * np.pi))


def _time_numbers(times: NDArray[Any]) -> NDArray[Any]:
    return times.view(np.int64) if times.dtype.kind == "M" else times
