"""Calibrating: errors on sequences that were not learned from, for every forecaster."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..core.parameters import check_int, format_count
from ..core.progress import TimedProgressMeter
from ..models import Model, schema
from ..sequences import Sequences
from .calibration import CALIBRATION_SCHEMA, ConformalCalibration, sample_counts
from .cells import Cells
from .validation import refuse_single_steps
from .windows import ForecastWindows, calibration_horizons, futures_after, known_futures_after, select_windows

_MAX_HORIZON = 500  # steps that are calibrated unless more are asked for
_MAX_WINDOWS = 500  # that are looked at
_MAX_ERRORS = 1 << 26  # errors that are kept at most: a quarter of a gigabyte
_BLOCK_NUMBERS = 1 << 24  # numbers that are forecast at a time


class CalibratedModel(Model):
    """A model that forecasts, and can be told how wrong it is."""

    cells_: Cells
    calibration_: ConformalCalibration = schema.not_required(CALIBRATION_SCHEMA)
    shorter_calibrations_: list[ConformalCalibration] = schema.not_required(
        schema.list_of(CALIBRATION_SCHEMA), with_="calibration_"
    )
    """Errors at shorter horizons, of a method whose first steps depend on how far it is asked to look, and of means of
    fewer draws, of one whose forecast is the mean of what it draws."""

    _depends_on_horizon: ClassVar[bool] = False  # whether the first steps depend on how far it is asked to look
    _is_probabilistic: ClassVar[bool] = False  # whether it draws futures of its own, without calibration

    @abstractmethod
    def predict(
        self, past: Any, horizon: int = 1, *, n_samples: int = 1, known_covariates: Any = None, random_state: Any = None
    ) -> Any:
        """What follows every past."""

    @abstractmethod
    def _min_past_steps(self) -> int:
        """How many steps of a past are needed."""

    @abstractmethod
    def _validate_full_sequences(self, X: Any) -> Sequences:
        """Sequences of which a part will be the past."""

    def _max_horizon(self) -> int | None:
        """How many steps can be forecast, where what was learned from sets an end to it."""
        return None

    def calibrate(
        self, X: Any, *, horizon: int | None = None, n_samples: int = 100, progress: bool | None = None
    ) -> Self:
        """Measure errors on sequences that were not learned from, which `interval` and `quantile` then use.

        Split conformal prediction, per step and channel (see `ConformalCalibration`): in windows like those of X the
        interval of level 0.8 holds the truth with probability 0.8 or a little more. Windows of one sequence overlap and
        are alike, so many sequences are better than one long one. What is found is kept in the saved model.

        Parameters
        ----------
        X : sequences
            Of the frames that were fitted. For a level of 0.8 there must be 9 windows, for 0.95 39.
        horizon : int, optional
            How many steps to cover: all that X and the method allow, at most 500, unless given.
        n_samples : int
            Of a method whose forecast is the mean of what it draws, such as `SRVP`: around the mean of how many draws
            intervals lie at most. Errors are measured for 1, 2, 5, 10 … draws up to this number (of frames so large
            that memory would not hold all, for 1 and this number), and the interval of a forecast is around the mean
            of as many of its samples as there are errors for, the first ones. Other methods have one forecast however
            many samples are drawn, and take no notice.
        progress : bool or None
            Whether a bar shows how far it is; None does so on a terminal, where it takes over two seconds, and
            elsewhere says once how long it will take if that is more than ten.
        """
        self._require_fitted()
        sequences = self._validate_full_sequences(X)
        refuse_single_steps(sequences, X, type(self).__name__, "calibrate([x])")
        need = self._min_past_steps()
        most = int(sequences.lengths.max()) - need
        if most < 1:
            raise ValueError(
                f"X: the longest sequence has {format_count(sequences.lengths.max(), 'time step')}, and "
                f"{type(self).__name__} needs {need} to go on from and one more to be judged by"
            )
        steps = (
            min(most, self._max_horizon() or most, _MAX_HORIZON)
            if horizon is None
            else check_int(horizon, "horizon", 1)
        )
        if steps > most:
            raise ValueError(
                f"horizon={steps}: the longest sequence of X allows {format_count(most, 'step')} after {need} of the "
                "past"
            )
        counts = sample_counts(check_int(n_samples, "n_samples", 1)) if self._forecasts_sample_mean(sequences) else [1]
        horizons = calibration_horizons(steps) if self._depends_on_horizon else [steps]
        wanted = min(_MAX_WINDOWS, int(np.maximum(0, sequences.lengths - need).sum()))
        room = int(_MAX_ERRORS // (sum(horizons) * self.cells_.valid_mask.size))  # windows, of all counts together
        if room < wanted * len(counts):  # of large frames: more windows say more than more counts do
            counts = [1, counts[-1]] if len(counts) > 1 else counts
        most = min(_MAX_WINDOWS, max(1, room // len(counts)))
        windows = [select_windows(sequences, need, some, most) for some in horizons]
        with TimedProgressMeter(
            sum(len(one.item) for one in windows), progress, f"{type(self).__name__}.calibrate"
        ) as meter:
            found = [
                one
                for asked in zip(windows, horizons, strict=True)
                for one in self._measure_errors(sequences, *asked, counts, meter)
            ]
        found = [one._replace(is_memory_limited=most < wanted) for one in found]
        self.calibration_, self.shorter_calibrations_ = found[-1], found[:-1]
        return self

    def _check_attributes(self, found: Mapping[str, Any]) -> None:
        super()._check_attributes(found)
        every = [*self.shorter_calibrations_, self.calibration_] if "calibration_" in found else []
        for horizon in {one.horizon for one in every} - {one.horizon for one in every if one.n_samples == 1}:
            raise ValueError(
                "calibration_ and shorter_calibrations_ have no errors with n_samples=1 of "
                f"{format_count(horizon, 'step')}"
            )

    def _forecasts_sample_mean(self, sequences: Sequences) -> bool:
        """Whether its forecast is the mean of what it draws, as far as one window tells."""
        if not self._is_probabilistic:
            return False
        one = select_windows(sequences, self._min_past_steps(), 1, 1)
        return (
            self.predict(
                one.pasts, known_covariates=known_futures_after(self.cells_, sequences, one, 1), random_state=0
            ).center
            is None
        )

    def _select_calibration(self, horizon: int, n_samples: int = 1) -> ConformalCalibration:
        """The errors of forecasts of this horizon, or of the next longer one that was looked at, and of the mean of as
        many draws as there are errors for.
        """
        every = [*self.shorter_calibrations_, self.calibration_]
        reached = min((one.horizon for one in every if one.horizon >= horizon), default=self.calibration_.horizon)
        same = [one for one in every if one.horizon == reached and one.n_samples <= n_samples]
        return max(same, key=lambda one: one.n_samples)

    def _measure_errors(
        self,
        sequences: Sequences,
        windows: ForecastWindows,
        steps: int,
        counts: list[int],
        meter: TimedProgressMeter,
    ) -> list[ConformalCalibration]:
        """Truth minus forecast, (window, step, *frame), by each number of draws; NaN after the end of a sequence."""
        frames, rng = self.cells_.target_frames(sequences), np.random.default_rng(0)
        shape = (len(counts), len(windows.item), steps, *frames.frame)
        found = np.empty(shape, np.float32)
        at_once = max(1, _BLOCK_NUMBERS // (counts[-1] * steps * self.cells_.valid_mask.size))
        for begin in range(0, len(windows.item), at_once):
            rows = slice(begin, begin + at_once)
            some = ForecastWindows(windows.pasts[rows], windows.item[rows], windows.origin[rows])
            known = known_futures_after(self.cells_, sequences, some, steps)
            # one generator for all pieces: equal pasts in two of them are to have other draws
            forecast = self.predict(some.pasts, steps, n_samples=counts[-1], known_covariates=known, random_state=rng)
            truth = futures_after(frames, some, steps)
            for row, count in enumerate(counts):
                found[row, rows] = truth - forecast._mean_of_first(count)
            meter.step(len(some.item))
        return [ConformalCalibration(errors, count) for errors, count in zip(found, counts, strict=True)]
