"""Forecast, the record that `predict` gives: futures, their mean, quantiles and intervals, drawn by itself."""

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

_MIN_SAMPLES = 2  # samples without which there is no spread
_DEFAULT_RATE = 8.0  # frames a second of a film without a clock
_WATCHABLE_SECONDS = 0.02, 0.5  # seconds of a step that can be watched as they pass


@dataclass(frozen=True, eq=False, kw_only=True)
class Forecast:
    """Futures of some pasts; as an array it is its mean, which `shape` and `[...]` are about too.

    `samples` (sample, item, step, *frame) are the futures, `step` counting `horizon × frames_per_step` frames; `past`
    what they follow; `times` (item, step) when each frame is, or None; `calibration` the errors that `calibrate` found,
    or None; `method` who says so.
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
        """The method's own expected future, or the mean of its first samples, so many of them."""
        return self.samples[:count].mean(axis=0) if self.center is None else self.center

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.mean, dtype=dtype)

    def __len__(self) -> int:
        return int(self.samples.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the mean: (item, step, *frame)."""
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
        """Below which the truth lies with probability q, (item, step, *frame).

        After `calibrate`: the mean plus a quantile of the errors on the windows that were calibrated on, per step and
        channel (split conformal). Where the mean is that of samples, it is that of as many as the errors are of, the
        first ones: `calibrate` measures those of 1, 2, 5, 10 … draws. Before it, a quantile of the samples, of which
        there must be several.
        """
        q = check_float(q, "q", above=0.0)
        if q >= 1:
            raise ValueError(f"q={q}: expected a number between 0 and 1, such as 0.9")
        if self.calibration is not None:
            margin = self.calibration.margin(q, self._n_steps())
            return np.asarray(self._mean_of_first(self.calibration.n_samples) + margin[self._step_indices()])
        need = max(_MIN_SAMPLES, min_windows(q))
        if 1 < len(self.samples) < need:
            raise ValueError(
                f"{len(self.samples)} samples say nothing about the quantile {q:g}: ask for n_samples={need} or more, "
                "or for a level nearer to the middle"
            )
        if len(self.samples) < _MIN_SAMPLES:
            raise ValueError(
                f"one future has no quantiles: call {self.method or 'the model'}.calibrate(X) on sequences that were "
                "not learned from, then predict; or ask for n_samples, where the method draws"
            )
        return np.asarray(np.quantile(self.samples, q, axis=0))

    def interval(self, level: float = 0.8) -> tuple[NDArray[Any], NDArray[Any]]:
        """Between which numbers the truth lies with probability `level`: `(low, high)`, each (item, step, *frame).

        Per step and channel, not for a whole future at once: more than one of ten steps of a future may be outside.
        """
        low, high = tail_quantiles(level)
        return self.quantile(low), self.quantile(high)

    def to_sequences(self) -> Sequences:
        """The mean as sequences, with their times."""
        return Sequences(self.mean, times=self.times, ids=self.past.ids, channel_names=self.channel_names)

    def _n_steps(self) -> int:
        return int(-(-self.samples.shape[2] // self.frames_per_step))

    def _step_indices(self) -> NDArray[np.int64]:
        """The original step at or after each frame: between two of them, errors of the later one are taken."""
        return np.asarray(np.arange(self.samples.shape[2]) // self.frames_per_step)

    def plot(self, item: int = 0, *, channel: int = 0, level: float | None = 0.8, truth: Any = None) -> Figure:
        """The end of a past and its future: lines with an interval for numbers, a strip of pictures for images.

        `truth` (step, *frame), what really came, or that of all items, is drawn beside it. `level=None` draws no
        interval, and so does a forecast that has none.
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
        if level is not None and self._has_interval(level):
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
        """A moving picture of the past and the future, a `.gif` or `.mp4`; the file appears whole or not at all."""
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
        """The futures of one past as pictures over time: truth, best and worst sample, frames in between marked.

        For pictures, grey or of three colours, from 0 to `value_range`; fields are drawn by `plot`. With a `truth`, of
        the item or of all, at whole steps, best and worst are by the mean of this `score` over all steps (see
        `score.best_of_n`); without one the first samples are shown. `others` has other forecasts of the same pasts, by
        name, of which the best is shown too. Of a long future some steps are shown, to its end, each with the frames
        that lead to it; `every` shows one of so many frames. `animate_images` is the same, moving, and shows all.
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
        """What `plot_images` shows, as videos side by side in a `.gif` or `.mp4`; the file appears whole or not at all.

        `rate` frames a second; unless told, by the clock: as fast as the past has its steps, where it has times in
        seconds and 2 to 50 steps in each, otherwise 8. A .gif has no more than 50 frames a second.
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
        """What `plot_images` and `animate_images` show of an item, and its past.

        `seen` is the range of values and the channel.
        """
        from .frame_images import image_rows

        return image_rows(
            self, self._check_item(item), truth, judge, {} if others is None else others, *range_and_channel
        )

    def _truth_channel(self, truth: Any, channel: int, item: int) -> NDArray[Any] | None:
        """One channel of what really came, (step, …)."""
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

    def _has_interval(self, level: float) -> bool:
        """Whether there is an interval of this level at all steps."""
        need, steps = min_windows(tail_quantiles(level)[0]), self._n_steps()
        if self.calibration is None:
            return len(self.samples) >= max(_MIN_SAMPLES, need)
        return steps <= self.calibration.horizon and int(self.calibration.window_counts()[:steps].min()) >= need

    def _playback_rate(self, item: int) -> float:
        """Frames a second, by the clock of the past where there is one that can be watched."""
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
    """A position among `count` things, counted from the end where it is negative.

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
    """What really came of an item, (step, *frame), given alone or with that of all others."""
    n_axes = count_axes(truth)
    if n_axes <= 1 + len(frame):
        return np.asarray(truth)
    if n_axes != 2 + len(frame) or len(truth) != n_items:
        raise ValueError(
            f"truth has shape {np.shape(truth)}: expected (step, *frame) of the item, or (item, step, *frame) of all "
            f"{n_items} that are forecast"
        )
    return np.asarray(truth[item])
