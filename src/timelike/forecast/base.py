"""Forecaster, the base class of all forecasters: requests, input validation, timestamps, and calibration."""

from __future__ import annotations

import warnings
import zlib
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..core.memory import refuse_beyond_memory
from ..core.parameters import check_int, format_count
from ..core.progress import TimedProgressMeter
from ..core.random import RandomState, check_random_state
from ..core.validation import arrays
from ..core.warnings import find_stack_level
from ..models import Model, options, schema
from ..models.options import Option
from ..sequences import Sequences, timestamps
from ..sequences.validation import as_sequences, set_n_features_in, validate_estimator_input
from .calibration import CALIBRATION_SCHEMA, ConformalCalibration, measure_errors, sample_counts
from .cells import CELLS_SCHEMA, Cells, check_known
from .result import Forecast
from .validation import (
    describe_item,
    refuse_huge,
    refuse_single_steps,
    refuse_time_indexed_table,
    sample_source,
    validate_known,
    warn_of_channels_last,
    warn_of_unequal_rates,
)
from .windows import (
    calibration_horizons,
    future_times,
    known_futures_after,
    median_step,
    months_per_step,
    select_windows,
    step_durations,
)

_GAP_FACTOR = 1.5  # a step longer than this many median steps is a gap
_MAX_HORIZON = 500  # largest horizon calibrated by default
_MAX_WINDOWS = 500  # most windows used for calibration
_MAX_ERRORS = 1 << 26  # most errors kept in memory, a quarter of a gigabyte; while measured, as many spreads


SequenceSource = Callable[[np.random.Generator], Any]
"""A function that `fit` accepts in place of sequences: it takes a random generator and returns sequences."""


class ForecastRequest(NamedTuple):
    """Horizon, number of samples and time resolution of a forecast.

    `known_covariates` (item, horizon, channel) are the channels known in advance, or None.
    """

    horizon: int
    n_samples: int
    frames_per_step: int
    substeps: int | None
    known_covariates: NDArray[Any] | None
    rng: np.random.Generator

    @property
    def n_frames(self) -> int:
        """The number of frames to forecast."""
        return self.horizon * self.frames_per_step

    def refuse_large(self, n_items: int, n_cells: int, itemsize: int) -> None:
        """Raise an error if the result does not fit into memory."""
        refuse_beyond_memory(
            self.n_samples * n_items * self.n_frames * n_cells * itemsize,
            f"horizon={self.horizon} with n_samples={self.n_samples} of {format_count(n_items, 'past')}",
            "use a shorter horizon or fewer samples, or predict fewer pasts at a time",
        )


class Futures(NamedTuple):
    """The output of a method in rows of cells: `center` (item, frame, cell), `samples` (sample, item, frame, cell).

    Either may be None. Without samples the center is the only future; without a center the mean of the samples is the
    forecast.
    """

    center: NDArray[Any] | None
    samples: NDArray[Any] | None = None


class Forecaster(Model):
    """past → futures: `fit`, then `predict`; call `calibrate` in between for intervals with the stated coverage.

    A subclass implements `_fit_sequences(sequences, source)`, `_predict_rows(past, request)` and `_min_past_steps()`,
    the number of past steps it needs. Frames may have masked cells (NaN at all times); `self.cells_.target_rows`
    returns rows of the valid cells only. Channels known in advance are passed separately.
    """

    known_channels = options.with_default(options.nullable(Option[Sequence[int | str]](check_known)), None)

    cells_: Cells = CELLS_SCHEMA
    step_duration_: float | None = schema.nullable(schema.real(0))
    """Median time between two training steps; None without timestamps."""
    channel_names_: tuple[str, ...] | None = schema.nullable(schema.channel_names(lambda model: model.cells_.frame[0]))
    input_names_: tuple[str, ...] | None = schema.nullable(schema.channel_names(lambda model: model.frame_[0]))
    has_datetimes_: bool = schema.boolean()
    """Whether the training timestamps were dates."""
    months_per_step_: int = schema.integer(0, 12 * 600)  # dates in nanoseconds span less
    """Number of months between two steps, 0 if steps are not whole months."""

    calibration_: ConformalCalibration = schema.not_required(CALIBRATION_SCHEMA)
    shorter_calibrations_: list[ConformalCalibration] = schema.not_required(
        schema.list_of(CALIBRATION_SCHEMA), with_="calibration_"
    )
    """Errors at shorter horizons, for methods whose first steps depend on the horizon, and of means of fewer samples,
    for methods whose forecast is the mean of their samples."""

    _depends_on_horizon: ClassVar[bool] = False  # whether the first steps depend on the horizon
    _is_probabilistic: ClassVar[bool] = False  # whether it samples futures without calibration

    _allows_single_steps: bool = False  # whether series of one step are valid, as at the start of a backtest
    _has_substeps: ClassVar[bool] = False  # whether it can forecast frames between two steps

    # --- learning ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to sequences, or to a source `callable(rng) -> Sequences`, which a method may call repeatedly."""
        with self._atomic_fit():
            self._fit_sequences(self._validate_fit_input(X), X if callable(X) else None)
        return self

    @abstractmethod
    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        """Fit to validated sequences; `source` is X if X was a callable, from which they were sampled."""

    def _validate_fit_input(self, X: Any) -> Sequences:
        self._refuse_options()
        sequences = self._validate_sequences(sample_source(X, self._rng()) if callable(X) else X)
        if not self._allows_single_steps:
            refuse_single_steps(sequences, X, type(self).__name__, "fit([x])")
        self.frame_ = sequences.frame
        set_n_features_in(self, sequences)
        self.cells_ = Cells.from_sequences(sequences, self.known_channels)
        self.channel_names_ = self.cells_.target_names(sequences)
        self.input_names_ = None if sequences.channel_names is None else tuple(sequences.channel_names)
        self.step_duration_, self.months_per_step_ = median_step(sequences), months_per_step(sequences)
        self.has_datetimes_ = sequences.times is not None and sequences.times.dtype.kind == "M"
        refuse_huge(sequences, "X")
        self._warn_of_unusual_input(sequences)
        return sequences

    def _warn_of_unusual_input(self, sequences: Sequences) -> None:
        """Warn about inputs that are valid but usually a mistake."""
        who = type(self).__name__
        warn_of_channels_last(sequences, who)
        if not (self._ignores_times() and self.months_per_step_ == 0 and warn_of_unequal_rates(sequences, who)):
            self._warn_of_gaps(sequences, "X")

    def _rng(self) -> np.random.Generator:
        """The generator used in `fit`."""
        return check_random_state(getattr(self, "random_state", None))

    def _takes_missing(self) -> bool:
        return True  # as masked cells; `Cells` raises an error if the mask changes over time

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False  # in scikit-learn it means that any value may be missing
        return tags

    @abstractmethod
    def _min_past_steps(self) -> int:
        """The number of past steps that the method needs."""

    # --- forecasting -------------------------------------------------------------------------------------------------

    def predict(
        self,
        past: Any,
        horizon: int = 1,
        *,
        n_samples: int = 1,
        frames_per_step: int = 1,
        substeps: int | None = None,
        known_covariates: Any = None,
        random_state: RandomState = None,
    ) -> Forecast:
        """Forecast what follows each past.

        Parameters
        ----------
        past : sequences
            Sequences with the frame shape of the training data, each at least as long as the method needs.
        horizon : int
            Number of steps to forecast, in steps of the data.
        n_samples : int
            Number of futures. A probabilistic method samples them itself; any other method adds errors measured by
            `calibrate` to its forecast.
        frames_per_step : int
            Number of frames per step of the data, for methods with a state in continuous time.
        substeps : int, optional
            Number of substeps per step, for methods that have substeps. Default: the number used in training.
        known_covariates : array (item, horizon, channel) or sequences, optional
            The channels known in advance, over the horizon. Required if the method was fitted with `known_channels`.
        random_state
            Seed of the samples. Default: the `random_state` of the model, if it has one.
        """
        self._require_fitted()
        past_sequences = self._validate_past(past)
        request = self._make_request(
            past_sequences, horizon, n_samples, frames_per_step, substeps, known_covariates, random_state
        )
        center, samples = self._predict_frames(past_sequences, request)
        return self._make_forecast(past_sequences, request, center, samples, calibrated=hasattr(self, "calibration_"))

    def _make_forecast(
        self,
        past: Sequences,
        request: ForecastRequest,
        center: NDArray[Any] | None,
        samples: NDArray[Any],
        *,
        calibrated: bool = False,
    ) -> Forecast:
        """Build the `Forecast` from futures in the shape of frames."""
        return Forecast(
            samples=samples,
            past=self.cells_.target_frames(past),
            times=self._future_times(past, request),
            frames_per_step=request.frames_per_step,
            center=center,
            calibration=self._select_calibration(request.horizon, request.n_samples) if calibrated else None,
            channel_names=self.channel_names_,
            method=type(self).__name__,
        )

    def _make_request(
        self,
        past: Sequences,
        horizon: Any,
        n_samples: Any,
        frames_per_step: Any,
        substeps: Any,
        known_covariates: Any,
        random_state: RandomState,
    ) -> ForecastRequest:
        """Validate the arguments of `predict` and build the request."""
        self._refuse_changed_options("predict")
        steps = check_int(horizon, "horizon", 1)
        request = ForecastRequest(
            steps,
            check_int(n_samples, "n_samples", 1),
            check_int(frames_per_step, "frames_per_step", 1),
            None if substeps is None else check_int(substeps, "substeps", 1),
            validate_known(known_covariates, self.cells_, self.known_channels, past, steps, type(self).__name__),
            self._resolve_generator(random_state),
        )
        self._validate_request(request)
        request.refuse_large(len(past), self.cells_.n_cells, arrays.computed_dtype(past.dtype).itemsize)
        return request

    def _resolve_generator(self, random_state: RandomState) -> np.random.Generator:
        """The generator of sampled futures: from the argument, or else from the seed of the model."""
        return check_random_state(getattr(self, "random_state", None) if random_state is None else random_state)

    @abstractmethod
    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        """Forecast validated pasts, in rows of cells."""

    def _predict_frames(self, past: Sequences, request: ForecastRequest) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        """Center and samples in the shape of frames."""
        futures, dtype = self._predict_rows(past, request), arrays.computed_dtype(past.dtype)
        center = None if futures.center is None else self.cells_.to_frames(futures.center).astype(dtype, copy=False)
        if futures.samples is not None:
            return center, self.cells_.to_frames(futures.samples).astype(dtype, copy=False)
        assert center is not None
        if request.n_samples == 1:
            return center, center[None]
        if not hasattr(self, "calibration_"):
            raise ValueError(
                f"n_samples={request.n_samples}: {type(self).__name__} has one future for a past; call calibrate(X) on "
                "sequences that were not used in fit, to sample futures with the errors measured there"
            )
        rngs = self._past_generators(past, request)
        errors = self._select_calibration(request.horizon).sample_errors(request.n_samples, request.horizon, rngs)
        steps = np.arange(request.n_frames) // request.frames_per_step
        return center, np.asarray(center + errors[:, :, steps].astype(center.dtype))

    def _past_generators(self, past: Sequences, request: ForecastRequest) -> list[np.random.Generator]:
        """One random generator per past, for sampling its futures."""
        last = self.cells_.target_rows(past.crop(-max(1, self._min_past_steps())))
        return spawn_generators(request.rng, last)

    def _validate_request(self, request: ForecastRequest) -> None:
        """Raise an error if the method does not support the request."""
        if self._has_substeps:
            return
        for name, value in (("frames_per_step", request.frames_per_step), ("substeps", request.substeps)):
            if value not in (None, 1):
                raise ValueError(
                    f"{name}={value}: {type(self).__name__} forecasts at the steps of the data only, expected 1; "
                    "Separation has a state that moves between two steps"
                )

    def _validate_sequences(self, X: Any) -> Sequences:
        refuse_time_indexed_table(X, "X")
        return super()._validate_sequences(X)

    def _validate_past(self, past: Any, name: str = "past") -> Sequences:
        refuse_time_indexed_table(past, name)
        arrays.refuse_column_vector(past, name)
        sequences = past if isinstance(past, Sequences) else as_sequences(validate_estimator_input(past), name)
        if len(sequences) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        self._refuse_mismatch(sequences, name)
        need = self._min_past_steps()
        if sequences.lengths.min() < need:
            item = int(np.argmin(sequences.lengths))
            raise ValueError(
                f"{name}: {describe_item(sequences, item)} has {format_count(sequences.lengths[item], 'time step')}: "
                f"this {type(self).__name__} needs at least {need}{self._single_input_hint(past, sequences)}"
            )
        self._warn_of_gaps(sequences, name)
        return sequences

    def _as_collection(self, one: Any) -> Any:
        """Wrap a single sequence in a list; `Sequences` and arrays with an item axis are returned unchanged."""
        several = isinstance(one, Sequences) or arrays.count_axes(one) == 2 + len(self.frame_)
        return one if several else [one]

    def _validate_full_sequences(self, X: Any, name: str = "X") -> Sequences:
        """Validate whole sequences, of which a part will be the past."""
        sequences = X if isinstance(X, Sequences) else as_sequences(validate_estimator_input(X), name)
        if len(sequences) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        self._refuse_mismatch(sequences, name)
        return sequences

    def _refuse_frame(self, frame: tuple[int, ...], name: str) -> None:
        """Raise an error for a different frame shape, with a hint if X looks like a single sequence."""
        expected = self._expected_frame()
        frame_of_one = (
            (1,) if expected is not None and len(expected) == 1 else None if expected is None else expected[1:]
        )
        if frame != expected and frame == frame_of_one:
            raise ValueError(
                f"{name} has frames of shape {frame}: this {type(self).__name__} was fitted on {expected}; "
                f"{_single_sequence_hint(name)}"
            )
        super()._refuse_frame(frame, name)

    @staticmethod
    def _single_input_hint(value: Any, sequences: Sequences) -> str:
        """A hint if all sequences have one step: the input may be a single sequence without an item axis."""
        return "" if isinstance(value, Sequences) or sequences.lengths.max() > 1 else f"; {_single_sequence_hint('it')}"

    def _refuse_mismatch(self, sequences: Sequences, name: str) -> None:
        """Raise an error if frames, channels, timestamps or mask differ from those of the training data."""
        self._refuse_frame(sequences.frame, name)
        names = sequences.channel_names
        if names is not None and self.input_names_ is not None and tuple(names) != self.input_names_:
            raise ValueError(
                f"{name} has the channels {', '.join(names)}: this {type(self).__name__} was fitted on "
                f"{', '.join(self.input_names_)}; give them in that order, or without names"
            )
        times = sequences.times if self.step_duration_ is not None else None
        if times is not None and (times.dtype.kind == "M") != self.has_datetimes_:
            kinds = ("dates", "numbers") if self.has_datetimes_ else ("numbers", "dates")
            raise ValueError(
                f"{name} has times that are {kinds[1]}: this {type(self).__name__} was fitted on times that are "
                f"{kinds[0]}; give the same kind, or none"
            )
        refuse_huge(sequences, name)
        self.cells_.validate(sequences, name)

    # --- calibration -------------------------------------------------------------------------------------------------

    def _max_horizon(self) -> int | None:
        """The largest horizon that the training data allow, or None if there is no limit."""
        return None

    def calibrate(
        self, X: Any, *, horizon: int | None = None, n_samples: int = 100, progress: bool | None = None
    ) -> Self:
        """Measure errors on sequences that were not used in `fit`, for `interval` and `quantile`.

        This is split conformal prediction, per step and channel (see `ConformalCalibration`): in windows like those of
        X the interval of level 0.8 covers the truth with probability 0.8 or slightly more. Windows of one sequence
        overlap and are similar, so many sequences are better than one long one. The errors are saved with the model.

        Parameters
        ----------
        X : sequences
            Sequences with the frame shape of the training data. Level 0.8 needs 9 windows, level 0.95 needs 39.
        horizon : int, optional
            Number of steps to cover. Default: as many as X and the method allow, at most 500.
        n_samples : int
            For methods whose forecast is the mean of their samples, such as `SRVP`: the largest number of samples to
            calibrate. Errors are measured for means of 1, 2, 5, 10 … samples up to this number (for very large frames,
            only for 1 and this number, to save memory). The interval of a forecast is centered on the mean of its
            first k samples, where k is the largest calibrated number; from 10 samples on, it is wide where they differ
            and narrow where they agree. Other methods ignore this argument.
        progress : bool or None
            Whether to show a progress bar. None shows it on a terminal if calibration takes more than two seconds;
            elsewhere it prints the expected duration once if that exceeds ten seconds.
        """
        self._require_fitted()
        sequences = self._validate_full_sequences(X)
        refuse_single_steps(sequences, X, type(self).__name__, "calibrate([x])")
        need = self._min_past_steps()
        most = int(sequences.lengths.max()) - need
        if most < 1:
            raise ValueError(
                f"X: the longest sequence has {format_count(sequences.lengths.max(), 'time step')}, and "
                f"{type(self).__name__} needs {need} as the past and at least one more to forecast"
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
        n_candidates = min(_MAX_WINDOWS, int(np.maximum(0, sequences.lengths - need).sum()))
        room = int(
            _MAX_ERRORS // (sum(horizons) * self.cells_.valid_mask.size)
        )  # windows, summed over all sample counts
        if room < n_candidates * len(counts):  # large frames: windows matter more than sample counts
            counts = [1, counts[-1]] if len(counts) > 1 else counts
        most = min(_MAX_WINDOWS, max(1, room // len(counts)))
        windows = [select_windows(sequences, need, some, most) for some in horizons]
        with TimedProgressMeter(
            sum(len(one.item) for one in windows), progress, f"{type(self).__name__}.calibrate"
        ) as meter:
            calibrations = [
                one
                for windows_and_horizon in zip(windows, horizons, strict=True)
                for one in measure_errors(self, sequences, *windows_and_horizon, counts, meter)
            ]
        calibrations = [one._replace(is_memory_limited=most < n_candidates) for one in calibrations]
        self.calibration_, self.shorter_calibrations_ = calibrations[-1], calibrations[:-1]
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
        """Whether the forecast is the mean of samples, tested on one window."""
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
        """The errors of the shortest calibrated horizon that covers this one, and of the largest calibrated number of
        samples up to `n_samples`.
        """
        every = [*self.shorter_calibrations_, self.calibration_]
        reached = min((one.horizon for one in every if one.horizon >= horizon), default=self.calibration_.horizon)
        same = [one for one in every if one.horizon == reached and one.n_samples <= n_samples]
        return max(same, key=lambda one: one.n_samples)

    # --- time --------------------------------------------------------------------------------------------------------

    def _future_times(self, past: Sequences, request: ForecastRequest) -> NDArray[Any] | None:
        """The times of future frames, (item, frame), continued from the last time of each past at its usual step."""
        if past.times is None:
            return None
        rows = [past.times[begin:end] for begin, end in pairwise(past.offsets)]
        step_layout = self.months_per_step_, request.horizon, request.frames_per_step
        return np.stack([future_times(row, self._past_step_duration(row), *step_layout) for row in rows])

    def _past_step_duration(self, times: NDArray[Any]) -> float:
        """The step duration of a past: its own median, or that of the training data if the method uses timestamps."""
        trained_duration = self.step_duration_
        if len(times) > 1 and (trained_duration is None or self._ignores_times()):
            return float(np.median(np.diff(timestamps.elapsed_since_first(times, np.array([len(times)])))))
        return 1.0 if trained_duration is None else trained_duration

    def _ignores_times(self) -> bool:
        """Whether the method counts steps and ignores the time between them."""
        return True

    def _warn_of_gaps(self, sequences: Sequences, name: str) -> None:
        if not self._ignores_times() or sequences.times is None:
            return
        usual, steps = median_step(sequences), step_durations(sequences)
        if usual is not None and steps.max() > _GAP_FACTOR * usual:
            warnings.warn(
                f"{name} has gaps of up to {steps.max():.4g} between timestamps that are usually {usual:.4g} apart, "
                f"and {type(self).__name__} counts steps: resample(rate={1 / usual:.4g}) makes them even",
                stacklevel=find_stack_level(),
            )


def spawn_generators(rng: np.random.Generator, windows: Iterable[NDArray[Any]]) -> list[np.random.Generator]:
    """One generator per past, seeded by its values, so that futures are independent of the rest of the batch.

    Equal pasts in one batch get different generators.

    >>> first, second = spawn_generators(np.random.default_rng(0), [np.zeros(3), np.ones(3)])
    >>> (alone,) = spawn_generators(np.random.default_rng(0), [np.ones(3)])
    >>> bool(second.random() == alone.random())
    True
    """
    seed, occurrences, generators = int(rng.integers(2**62)), Counter[int](), []
    for window in windows:
        key = window_checksum(window)
        occurrences[key] += 1
        generators.append(np.random.default_rng([seed, key, occurrences[key]]))
    return generators


def window_checksum(window: NDArray[Any]) -> int:
    """A checksum of the values of a window."""
    with np.errstate(over="ignore", under="ignore"):
        narrow = np.ascontiguousarray(window, np.float32)
    fits = np.isfinite(narrow).all() and np.array_equal(narrow == 0, window == 0)
    return zlib.crc32((narrow if fits else np.ascontiguousarray(window, np.float64)).tobytes())


def _single_sequence_hint(name: str) -> str:
    return f"if {name} is a single sequence x (time, *frame), give x[None], or X[:1] of several"
