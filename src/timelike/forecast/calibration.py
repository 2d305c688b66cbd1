"""Conformal calibration: errors on held-out sequences, and the margins derived from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float, format_count
from ..core.progress import TimedProgressMeter
from ..models import schema
from ..sequences import Sequences
from .windows import ForecastWindows, futures_after, known_futures_after

if TYPE_CHECKING:
    from .base import Forecaster

_BLOCK_NUMBERS = 1 << 24  # numbers forecast at a time
_MIN_SPREAD_SAMPLES = 10  # fewest samples whose spread is a unit of errors: that of two is often nearly 0
_MEDIAN_SHARE = 0.5  # smallest spread of samples, relative to the median size of an error
_RMS_SHARE = 1e-6  # the same, relative to the root mean squared error: most errors may be 0
_RANK_TOLERANCE = 1e-9  # rounding error of q · (n + 1)
_MORE_DATA_HINT = "give calibrate more or longer sequences"
_MEMORY_HINT = (
    "memory does not hold the errors of more windows of frames this large; calibrate a shorter horizon, or use "
    "n_samples=1 if the method is probabilistic"
)


class ConformalCalibration(NamedTuple):
    """Errors (truth − forecast) of windows, (window, step, *frame); NaN where a window ends before a step.

    If the forecast is the mean of 10 or more samples, errors are relative to the spread of these samples, so that
    intervals are wide where futures differ and narrow elsewhere (Lei et al., 2018, section 5.2). The unit of an error
    is √(s² + c²), with the standard deviation s of the samples and the smallest spread c of its step and channel,
    `min_spread` (step, channel): half the median size of an error, since samples may agree and still be wrong.

    Split conformal prediction: if the next window is exchangeable with these n, its error is at most their k-th
    smallest with probability k/(n + 1) or more (Vovk, Gammerman and Shafer, 2005; Lei et al., 2018). Both tails are
    treated separately, per step and channel, so that the interval of level 1 − α covers with at least that probability.

    `n_samples` is the number of samples whose mean was the forecast, for methods without another center. Intervals must
    be centered on means of the same number of samples, because the mean of more samples has smaller errors.
    `is_memory_limited` is True if windows were left out to save memory.
    """

    errors: NDArray[np.float32]
    n_samples: int = 1
    is_memory_limited: bool = False
    min_spread: NDArray[np.float32] | None = None

    @property
    def horizon(self) -> int:
        """The number of calibrated steps."""
        return int(self.errors.shape[1])

    def error_unit(self, samples: NDArray[Any], steps: NDArray[np.int64]) -> Any:
        """The unit of the errors for a forecast with these samples (sample, item, frame, …) at these steps."""
        if self.min_spread is None:
            return 1.0
        return _combine_spreads(samples[: self.n_samples].std(axis=0, ddof=1), self.min_spread[steps])

    def window_counts(self) -> NDArray[np.int64]:
        """The number of windows that reach each step, (step,)."""
        flat = self.errors.reshape(*self.errors.shape[:2], -1)
        return np.asarray((~np.isnan(flat)).any(axis=2).sum(axis=0), np.int64)

    def margin(self, q: float, n_steps: int) -> NDArray[np.float64]:
        """The margin, in units of the errors, below which an error lies with probability q, (step, *frame).

        The rank is rounded up above one half and down below it, so that intervals never cover less than requested.
        """
        if n_steps > self.horizon:
            raise ValueError(
                f"the model is calibrated for {self.horizon} steps and the forecast has {n_steps}: give calibrate "
                "longer sequences, or use a shorter horizon"
            )
        margins = np.full((n_steps, *self.errors.shape[2:]), np.nan)
        counts = self.window_counts()[:n_steps]
        need = min_windows(q)
        if counts.min() < need:
            step = int(np.argmin(counts >= need))
            windows = format_count(int(counts[step]), "window")
            raise ValueError(
                f"calibrated by {windows} at step {step + 1}, and {need} are needed for the quantile {q:g}: "
                f"{_MEMORY_HINT if self.is_memory_limited else _MORE_DATA_HINT}, or use a quantile closer to 0.5"
            )
        for count in np.unique(counts):
            steps = np.flatnonzero(counts == count)
            # NaN sorts to the end, so the first `count` are the errors of the windows that reach these steps
            ordered = np.sort(self.errors[:, steps], axis=0)[:count].astype(np.float64)
            margins[steps] = ordered[quantile_rank(q, int(count)) - 1]
        return margins

    def sample_errors(self, n_samples: int, n_steps: int, rngs: list[np.random.Generator]) -> NDArray[np.float32]:
        """Sample whole windows of errors, (sample, item, step, *frame), which preserves their dependence over time.

        Each item has its own generator. Only windows that reach the last step are sampled.
        """
        if n_steps > self.horizon:
            self.margin(0.5, n_steps)
        flat = self.errors[:, n_steps - 1].reshape(len(self.errors), -1)
        whole = np.flatnonzero(~np.isnan(flat).all(axis=1))
        if not len(whole):
            self.margin(0.5, n_steps)
        rows = np.stack([rng.integers(len(whole), size=n_samples) for rng in rngs], axis=1)
        return self.errors[whole[rows], :n_steps]


def _check_errors(calibration: ConformalCalibration, name: str, scope: schema.CheckScope) -> None:
    """Check that errors are finite; NaN is valid in masked cells and after the end of a window."""
    if np.isinf(calibration.errors).any():
        raise ValueError(f"{name}.errors holds infinity: expected finite numbers, or NaN after the end of a window")
    ended = np.isnan(calibration.errors[:, :, scope.model.cells_.valid_mask])  # (window, step, cell)
    if (ended != ended[:, :, :1]).any() or (ended[:, :-1] & ~ended[:, 1:]).any():
        raise ValueError(f"{name}.errors holds NaN before the end of a window: expected finite numbers")
    if calibration.min_spread is not None and not (calibration.min_spread > 0).all():
        raise ValueError(f"{name}.min_spread holds {calibration.min_spread.min()}: expected numbers above 0")


CALIBRATION_SCHEMA = schema.record(
    ConformalCalibration,
    check=_check_errors,
    errors=schema.array("calibration window", "step", lambda model: model.cells_.frame, dtype="float32", finite=False),
    n_samples=schema.integer(1, 1 << 31),
    is_memory_limited=schema.boolean(),
    min_spread=schema.nullable(schema.array("step", lambda model: model.cells_.frame[0], dtype="float32")),
)
"""The schema of a calibration as an attribute of a forecaster."""


def measure_errors(
    model: Forecaster,
    sequences: Sequences,
    windows: ForecastWindows,
    steps: int,
    counts: list[int],
    meter: TimedProgressMeter,
) -> list[ConformalCalibration]:
    """The errors of means of each number of samples."""
    frames, rng = model.cells_.target_frames(sequences), np.random.default_rng(0)
    shape = (len(counts), len(windows.item), steps, *frames.frame)
    error_arrays = np.empty(shape, np.float32)
    spreads = {count: np.empty(shape[1:], np.float32) for count in counts if count >= _MIN_SPREAD_SAMPLES}
    at_once = max(1, _BLOCK_NUMBERS // (counts[-1] * steps * model.cells_.valid_mask.size))
    for begin in range(0, len(windows.item), at_once):
        rows = slice(begin, begin + at_once)
        some = ForecastWindows(windows.pasts[rows], windows.item[rows], windows.origin[rows])
        covariates = known_futures_after(model.cells_, sequences, some, steps)
        # one generator for all blocks, so that equal pasts in two blocks have different samples
        forecast = model.predict(some.pasts, steps, n_samples=counts[-1], known_covariates=covariates, random_state=rng)
        truth = futures_after(frames, some, steps)
        for row, count in enumerate(counts):
            error_arrays[row, rows] = truth - forecast._mean_of_first(count)
            if count in spreads:
                spreads[count][rows] = forecast.samples[:count].std(axis=0, ddof=1)
        meter.step(len(some.item))
    return [
        _relative_to_spread(errors, spreads[count], count) if count in spreads else ConformalCalibration(errors, count)
        for errors, count in zip(error_arrays, counts, strict=True)
    ]


def _relative_to_spread(
    errors: NDArray[np.float32], spreads: NDArray[np.float32], n_samples: int
) -> ConformalCalibration:
    """A calibration by errors (window, step, channel, …) in units of the spreads of samples."""
    axes, valid = (0, *range(3, errors.ndim)), ~np.isnan(errors)
    squares = np.square(errors, dtype=np.float64).sum(axis=axes, where=valid) / np.maximum(1, valid.sum(axis=axes))
    sizes = np.where(valid.any(axis=axes, keepdims=True), np.abs(errors), 0.0)  # of a masked channel: no empty median
    shares = _MEDIAN_SHARE * np.nanmedian(sizes, axis=axes), _RMS_SHARE * np.sqrt(squares)
    min_spread = np.maximum(np.maximum(*shares), np.finfo(np.float32).tiny).astype(np.float32)
    relative = np.divide(errors, _combine_spreads(spreads, min_spread), out=errors)
    return ConformalCalibration(relative, n_samples, min_spread=min_spread)


def _combine_spreads(spreads: NDArray[Any], min_spread: NDArray[np.float32]) -> NDArray[Any]:
    """√(s² + c²) for s (item, step, channel, …) and c (step, channel)."""
    smallest = min_spread.reshape(*min_spread.shape, *[1] * (spreads.ndim - 3))
    return np.asarray(np.hypot(spreads, smallest))


def quantile_rank(q: float, count: int) -> int:
    """The rank, from 1, of the error that bounds the next one with probability q.

    >>> [quantile_rank(q, 9) for q in (0.1, 0.5, 0.9)]
    [1, 5, 9]
    """
    exact = q * (count + 1)
    rank = math.ceil(exact - _RANK_TOLERANCE) if q >= 0.5 else math.floor(exact + _RANK_TOLERANCE)
    return min(max(rank, 1), count)


def sample_counts(most: int) -> list[int]:
    """The numbers of samples whose means are calibrated: 1, 2, 5, 10 and so on, and `most`.

    >>> sample_counts(1), sample_counts(30)
    ([1], [1, 2, 5, 10, 20, 30])
    """
    steps = (digit * 10**power for power in range(len(str(most))) for digit in (1, 2, 5))
    return [*(count for count in steps if count < most), most]


def min_windows(q: float) -> int:
    """The number of windows that a quantile needs.

    >>> [min_windows(q) for q in (0.5, 0.9, 0.1, 0.975)]
    [1, 9, 9, 39]
    """
    tail = min(q, 1 - q)
    return max(1, math.ceil(1 / tail - 1 - _RANK_TOLERANCE))


def tail_quantiles(level: Any) -> tuple[float, float]:
    """The quantiles of the lower and upper bound of an interval."""
    level = check_float(level, "level", above=0.0)
    if level >= 1:
        raise ValueError(f"level={level}: expected a number between 0 and 1, such as 0.8")
    return (1 - level) / 2, (1 + level) / 2
