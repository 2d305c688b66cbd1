"""Forecast, the result of `predict`: futures, their mean, quantiles, intervals and plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float, check_int, format_count
from ..core.validation.arrays import count_axes
from ..sequences import Sequences
from .calibration import ConformalCalibration, min_windows, tail_quantiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .frame_images import RankingScore

_MIN_SAMPLES = 2  # fewest samples for a spread
_DEFAULT_RATE = 8.0  # frames per second without usable timestamps
_WATCHABLE_SECONDS = 0.02, 0.5  # step durations that can be played in real time


@dataclass(frozen=True, eq=False, kw_only=True)
class Forecast:
    """Futures of some pasts. Converted to an array it is its mean; `shape` and `[...]` refer to the mean too.

    `samples` (sample, item, step, *frame) are the futures, with `horizon × frames_per_step` steps; `past` are the
    sequences they follow; `times` (item, step) are the times of the frames, or None; `calibration` holds the errors
    measured by `calibrate`, or None; `method` is the name of the forecaster.
    """

    samples: NDArray[Any]
    past: Sequences
    times: NDArray[Any] | None = None
    frames_per_step: int = 1
    center: NDArray[Any] | None = None
    calibration: ConformalCalibration | None = None
    channel_names: tuple[str, ...] | None = None
    method: str = ""

    @property
    def mean(self) -> NDArray[Any]:
        """The expected future, (item, step, *frame): the method's own, or the mean of its samples."""
        return self._mean_of_first(len(self.samples))

    def _mean_of_first(self, count: int) -> NDArray[Any]:
        """The method's own expected future, or the mean of its first `count` samples."""
        return self.samples[:count].mean(axis=0) if self.center is None else self.center

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.mean, dtype=dtype)

    def __len__(self) -> int:
        return int(self.samples.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the mean: (item, step, *frame)."""
        return self.samples.shape[1:]

    def __getitem__(self, where: Any) -> Any:
        return self.mean[where]

    def __repr__(self) -> str:
        n_samples, n_items, n_steps, *frame = self.samples.shape
        words = [
            f"{n_items} {'future' if n_items == 1 else 'futures'} of {format_count(n_steps, 'step')}",
            f"frames {tuple(frame)}",
        ]
        words += [f"{n_samples} samples"] if n_samples > 1 else []
        words += ["calibrated"] if self.calibration is not None else []
        return f"Forecast({', '.join(words)}{f', by {self.method}' if self.method else ''})"

    def quantile(self, q: float) -> NDArray[Any]:
        """The value below which the truth lies with probability q, (item, step, *frame).

        After `calibrate` this is the mean plus a quantile of the calibration errors, per step and channel (split
        conformal). If the forecast is the mean of samples, the first k samples are used, where k is one of the numbers
        that `calibrate` measures (1, 2, 5, 10 …), and from 10 samples on errors are relative to their spread. Without
        calibration it is a quantile of the samples, which must be several.
        """
        q = check_float(q, "q", above=0.0)
        if q >= 1:
            raise ValueError(f"q={q}: expected a number between 0 and 1, such as 0.9")
        if self.calibration is not None:
            steps, center = self._step_indices(), self._mean_of_first(self.calibration.n_samples)
            margin = self.calibration.margin(q, self._n_steps())[steps]
            return np.asarray(center + margin * self.calibration.error_unit(self.samples, steps))
        need = max(_MIN_SAMPLES, min_windows(q))
        if 1 < len(self.samples) < need:
            raise ValueError(
                f"{len(self.samples)} samples are too few for the quantile {q:g}: use n_samples={need} or more, or a "
                "quantile closer to 0.5"
            )
        if len(self.samples) < _MIN_SAMPLES:
            raise ValueError(
                f"one future has no quantiles: call {self.method or 'the model'}.calibrate(X) on sequences that were "
                "not used in fit, then predict; or set n_samples if the method is probabilistic"
            )
        return np.asarray(np.quantile(self.samples, q, axis=0))

    def interval(self, level: float = 0.8) -> tuple[NDArray[Any], NDArray[Any]]:
        """The bounds between which the truth lies with probability `level`: `(low, high)`, each (item, step, *frame).

        The probability holds per step and channel, not jointly for a whole future.
        """
        low, high = tail_quantiles(level)
        return self.quantile(low), self.quantile(high)

    def to_sequences(self) -> Sequences:
        """The mean as sequences, with their times."""
        return Sequences(self.mean, times=self.times, ids=self.past.ids, channel_names=self.channel_names)

    def _n_steps(self) -> int:
        return int(-(-self.samples.shape[2] // self.frames_per_step))

    def _step_indices(self) -> NDArray[np.int64]:
        """The data step at or after each frame, whose errors are used for the frame."""
        return np.asarray(np.arange(self.samples.shape[2]) // self.frames_per_step)

    def plot(self, item: int = 0, *, channel: int = 0, level: float | None = 0.8, truth: Any = None) -> Figure:
        """Plot the end of a past and its future: lines with an interval for series, a strip of frames for images.

        `truth` (step, *frame) of the item, or of all items, is drawn beside the forecast. `level=None` draws no
        interval; nor does a forecast without intervals.
        """
        item = self._check_item(item)
        truth_values = self._truth_channel(truth, channel, item)
        if len(self.samples.shape) > 4:
            from ..plotting.maps import plot_field_strips

            rows = {"forecast": self.mean[item][:, channel]}
            if truth_values is not None:
                rows = {"truth": truth_values, **rows, "difference": rows["forecast"] - truth_values}
            return plot_field_strips(rows, past=self.past[item][:, channel])
        from ..plotting.forecasts import plot_fan

        band = None
        if level is not None and self.has_interval(level):
            band = tuple(end[item][:, channel] for end in self.interval(level))
        return plot_fan(
            self.past[item][:, channel],
            self.mean[item][:, channel],
            band,
            truth=truth_values,
            times=self._time_axes(item),
            level=level,
            name="" if self.channel_names is None else self.channel_names[channel],
        )

    def animate(self, path: str | Path, item: int = 0, *, channel: int = 0, truth: Any = None, rate: float = 8) -> Path:
        """Write the past and the future as a `.gif` or `.mp4` animation; the file is written atomically."""
        from ..plotting.animations import animate_frames, animate_line

        item = self._check_item(item)
        truth_values = self._truth_channel(truth, channel, item)
        past, future = self.past[item][:, channel], self.mean[item][:, channel]
        if len(self.samples.shape) > 4:
            return animate_frames(past, future, path, truth=truth_values, rate=rate)
        return animate_line(past, future, path, truth=truth_values, rate=rate)

    def plot_images(
        self,
        item: int = 0,
        *,
        truth: Any = None,
        score: str | Callable[..., Any] = "psnr",
        higher: bool | None = None,
        others: Mapping[str, Forecast] | None = None,
        value_range: float = 1.0,
        channel: int | None = None,
        every: int | None = None,
    ) -> Figure:
        """Plot the futures of one past as images over time: truth, best and worst sample, marked in-between frames.

        For grey or RGB images from 0 to `value_range`; `plot` draws other fields. With a `truth`, of the item or of
        all items at whole steps, samples are ranked by the mean of `score` over all steps (see `score.best_of_n`);
        without one the first samples are shown. `others` are further forecasts of the same pasts, by name; the best
        sample of each is shown. A long future is thinned to some of its steps, each with the frames that lead to it;
        `every=n` shows every n-th frame. `animate_images` shows all frames as an animation.
        """
        from ..plotting import image_grids

        rows, past = self._image_rows(item, truth, (score, higher), others, (value_range, channel))
        return image_grids.plot_image_strips(rows, past=past, between=self.frames_per_step, every=every)

    def animate_images(
        self,
        path: str | Path,
        item: int = 0,
        *,
        truth: Any = None,
        score: str | Callable[..., Any] = "psnr",
        higher: bool | None = None,
        others: Mapping[str, Forecast] | None = None,
        value_range: float = 1.0,
        channel: int | None = None,
        rate: float | None = None,
    ) -> Path:
        """Write the rows of `plot_images` as videos side by side, `.gif` or `.mp4`; the file is written atomically.

        `rate` is in frames per second. The default is real time if the timestamps are in seconds with 2 to 50 steps per
        second, otherwise 8. A .gif has at most 50 frames per second.
        """
        from ..plotting import animations

        rows, past = self._image_rows(item, truth, (score, higher), others, (value_range, channel))
        pace = self._playback_rate(self._check_item(item)) if rate is None else rate
        return animations.animate_image_strips(rows, path, past=past, between=self.frames_per_step, rate=pace)

    def _image_rows(
        self,
        item: int,
        truth: Any,
        judge: RankingScore,
        others: Mapping[str, Forecast] | None,
        range_and_channel: tuple[float, int | None],
    ) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
        """The image rows of `plot_images` and `animate_images` for an item, and its past."""
        from .frame_images import image_rows

        return image_rows(
            self, self._check_item(item), truth, judge, {} if others is None else others, *range_and_channel
        )

    def _truth_channel(self, truth: Any, channel: int, item: int) -> NDArray[Any] | None:
        """One channel of the truth, (step, …)."""
        n_steps, *frame = self.samples.shape[2:]
        check_position(channel, "channel", frame[0], "channel")
        if truth is None:
            return None
        frames = item_truth(truth, item, len(self), tuple(frame))
        if frames.shape != (n_steps, *frame):
            raise ValueError(
                f"truth has shape {frames.shape}: expected {(n_steps, *frame)}, as the forecast of an item"
            )
        return np.asarray(frames[:, channel])

    def _check_item(self, item: int) -> int:
        return check_position(item, "item", len(self), "future")

    def has_interval(self, level: float) -> bool:
        """Whether an interval of this level exists at all steps."""
        need, steps = min_windows(tail_quantiles(level)[0]), self._n_steps()
        if self.calibration is None:
            return len(self.samples) >= max(_MIN_SAMPLES, need)
        return steps <= self.calibration.horizon and int(self.calibration.window_counts()[:steps].min()) >= need

    def _playback_rate(self, item: int) -> float:
        """Frames per second: real time if the step duration allows it, otherwise the default."""
        if self.times is None or self.past.times is None:
            return _DEFAULT_RATE
        last = self.past.times[self.past.offsets[item + 1] - 1]
        steps = np.diff(np.append(last, self.times[item, self.frames_per_step - 1 :: self.frames_per_step]))
        step = float(np.median(steps / np.timedelta64(1, "s") if steps.dtype.kind == "m" else steps))
        return (
            self.frames_per_step / step
            if _WATCHABLE_SECONDS[0] <= round(step, 6) <= _WATCHABLE_SECONDS[1]
            else _DEFAULT_RATE
        )

    def _time_axes(self, item: int) -> tuple[NDArray[Any], NDArray[Any]] | None:
        if self.times is None or self.past.times is None:
            if self.frames_per_step == 1:
                return None
            n_past, n_frames = int(self.past.lengths[item]), self.samples.shape[2]
            return np.arange(1.0 - n_past, 1.0), np.arange(1, n_frames + 1) / self.frames_per_step
        begin, end = self.past.offsets[item : item + 2]
        return self.past.times[begin:end], self.times[item]


def check_position(value: Any, name: str, count: int, what: str) -> int:
    """A valid position among `count` things; negative positions count from the end.

    >>> check_position(-1, "item", 3, "future")
    2
    """
    position = check_int(value, name)
    if not -count <= position < count:
        expected = "0" if count == 1 else f"0 to {count - 1}"
        raise ValueError(
            f"{name}={value}: there {'is' if count == 1 else 'are'} {format_count(count, what)}, expected {expected}, "
            f"or {-count} to -1 from the end"
        )
    return position % count


def item_truth(truth: Any, item: int, n_items: int, frame: tuple[int, ...]) -> NDArray[Any]:
    """The truth of one item, (step, *frame), from a truth of the item or of all items."""
    n_axes = count_axes(truth)
    if n_axes <= 1 + len(frame):
        return np.asarray(truth)
    if n_axes != 2 + len(frame) or len(truth) != n_items:
        raise ValueError(
            f"truth has shape {np.shape(truth)}: expected (step, *frame) of the item, or (item, step, *frame) of all "
            f"{n_items} that are forecast"
        )
    return np.asarray(truth[item])
