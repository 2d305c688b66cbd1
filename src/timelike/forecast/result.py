"""Forecast, the record that `predict` gives: futures, their mean, quantiles and intervals, drawn by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..sequences import Sequences
from ..sequences.arguments import counted, real, whole
from ..sequences.doors import count_axes
from .calibration import Calibration, level_tails, windows_needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .screening import Judge

_FEW = 2  # samples without which there is no spread
_RATE = 8.0  # frames a second of a film without a clock
_WATCHED = 0.02, 0.5  # seconds of a step that can be watched as they pass


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
    calibration: Calibration | None = None
    channel_names: tuple[str, ...] | None = None
    method: str = ""

    @property
    def mean(self) -> NDArray[Any]:
        """The expected future, (item, step, *frame): the method's own, or the mean of its samples."""
        return self._mean_of(len(self.samples))

    def _mean_of(self, count: int) -> NDArray[Any]:
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
            f"{n_items} {'future' if n_items == 1 else 'futures'} of {counted(n_steps, 'step')}",
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
        q = real(q, "q", above=0.0)
        if q >= 1:
            raise ValueError(f"q={q}: expected a number between 0 and 1, such as 0.9")
        if self.calibration is not None:
            margin = self.calibration.margin(q, self._steps())
            return np.asarray(self._mean_of(self.calibration.n_samples) + margin[self._whole_steps()])
        need = max(_FEW, windows_needed(q))
        if 1 < len(self.samples) < need:
            raise ValueError(
                f"{len(self.samples)} samples say nothing about the quantile {q:g}: ask for n_samples={need} or more, "
                "or for a level nearer to the middle"
            )
        if len(self.samples) < _FEW:
            raise ValueError(
                f"one future has no quantiles: call {self.method or 'the model'}.calibrate(X) on sequences that were "
                "not learned from, then predict; or ask for n_samples, where the method draws"
            )
        return np.asarray(np.quantile(self.samples, q, axis=0))

    def interval(self, level: float = 0.8) -> tuple[NDArray[Any], NDArray[Any]]:
        """Between which numbers the truth lies with probability `level`: `(low, high)`, each (item, step, *frame).

        Per step and channel, not for a whole future at once: more than one of ten steps of a future may be outside.
        """
        low, high = level_tails(level)
        return self.quantile(low), self.quantile(high)

    def sequences(self) -> Sequences:
        """The mean as sequences, with their times."""
        return Sequences(self.mean, times=self.times, ids=self.past.ids, channel_names=self.channel_names)

    def _steps(self) -> int:
        return int(-(-self.samples.shape[2] // self.frames_per_step))

    def _whole_steps(self) -> NDArray[np.int64]:
        """The original step at or after each frame: between two of them, errors of the later one are taken."""
        return np.asarray(np.arange(self.samples.shape[2]) // self.frames_per_step)

    def plot(self, item: int = 0, *, channel: int = 0, level: float | None = 0.8, truth: Any = None) -> Figure:
        """The end of a past and its future: lines with an interval for numbers, a strip of pictures for images.

        `truth` (step, *frame), what really came, or that of all items, is drawn beside it. `level=None` draws no
        interval, and so does a forecast that has none.
        """
        item = self._item(item)
        known = self._truth(truth, channel, item)
        if len(self.samples.shape) > 4:
            from ..draw.maps import strips

            rows = {"forecast": self.mean[item][:, channel]}
            if known is not None:
                rows = {"truth": known, **rows, "difference": rows["forecast"] - known}
            return strips(rows, past=self.past[item][:, channel])
        from ..draw.forecasts import fan

        band = None
        if level is not None and self._reaches(level):
            band = tuple(end[item][:, channel] for end in self.interval(level))
        return fan(
            self.past[item][:, channel],
            self.mean[item][:, channel],
            band,
            truth=known,
            clocks=self._clocks(item),
            level=level,
            name="" if self.channel_names is None else self.channel_names[channel],
        )

    def animate(self, path: str | Path, item: int = 0, *, channel: int = 0, truth: Any = None, rate: float = 8) -> Path:
        """A moving picture of the past and the future, a `.gif` or `.mp4`; the file appears whole or not at all."""
        from ..draw.moving import animation, growing

        item = self._item(item)
        known = self._truth(truth, channel, item)
        past, future = self.past[item][:, channel], self.mean[item][:, channel]
        if len(self.samples.shape) > 4:
            return animation(past, future, path, truth=known, rate=rate)
        return growing(past, future, path, truth=known, rate=rate)

    def strip(
        self,
        item: int = 0,
        *,
        truth: Any = None,
        score: str | Callable[..., Any] = "psnr",
        higher: bool | None = None,
        beside: Mapping[str, Forecast] | None = None,
        value_range: float = 1.0,
        channel: int | None = None,
        every: int | None = None,
    ) -> Figure:
        """The futures of one past as pictures over time: truth, best and worst sample, frames in between marked.

        For pictures, grey or of three colours, from 0 to `value_range`; fields are drawn by `plot`. With a `truth`, of
        the item or of all, at whole steps, best and worst are by the mean of this `score` over all steps (see
        `score.best_of`); without one the first samples are shown. `beside` has other forecasts of the same pasts, by
        name, of which the best is shown too. Of a long future some steps are shown, to its end, each with the frames
        that lead to it; `every` shows one of so many frames. `film` is the same, moving, and shows all.
        """
        from ..draw import pictures

        rows, past = self._rows(item, truth, (score, higher), beside, (value_range, channel))
        return pictures.strip(rows, past=past, between=self.frames_per_step, every=every)

    def film(
        self,
        path: str | Path,
        item: int = 0,
        *,
        truth: Any = None,
        score: str | Callable[..., Any] = "psnr",
        higher: bool | None = None,
        beside: Mapping[str, Forecast] | None = None,
        value_range: float = 1.0,
        channel: int | None = None,
        rate: float | None = None,
    ) -> Path:
        """What `strip` shows, as videos side by side in a `.gif` or `.mp4`; the file appears whole or not at all.

        `rate` frames a second; unless told, by the clock: as fast as the past has its steps, where it has times in
        seconds and 2 to 50 steps in each, otherwise 8. A .gif has no more than 50 frames a second.
        """
        from ..draw import films

        rows, past = self._rows(item, truth, (score, higher), beside, (value_range, channel))
        pace = self._pace(self._item(item)) if rate is None else rate
        return films.strip(rows, path, past=past, between=self.frames_per_step, rate=pace)

    def _rows(
        self, item: int, truth: Any, judge: Judge, beside: Mapping[str, Forecast] | None, seen: tuple[float, int | None]
    ) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
        """What `strip` and `film` show of an item, and its past; `seen` is the range of values and the channel."""
        from .screening import rows_of

        return rows_of(self, self._item(item), truth, judge, {} if beside is None else beside, *seen)

    def _truth(self, truth: Any, channel: int, item: int) -> NDArray[Any] | None:
        """One channel of what really came, (step, …)."""
        n_steps, *frame = self.samples.shape[2:]
        checked_position(channel, "channel", frame[0], "channel")
        if truth is None:
            return None
        found = truth_of(truth, item, len(self), tuple(frame))
        if found.shape != (n_steps, *frame):
            raise ValueError(f"truth has shape {found.shape}: expected {(n_steps, *frame)}, as the forecast of an item")
        return np.asarray(found[:, channel])

    def _item(self, item: int) -> int:
        return checked_position(item, "item", len(self), "future")

    def _reaches(self, level: float) -> bool:
        """Whether there is an interval of this level at all steps."""
        need, steps = windows_needed(level_tails(level)[0]), self._steps()
        if self.calibration is None:
            return len(self.samples) >= max(_FEW, need)
        return steps <= self.calibration.horizon and int(self.calibration.counts()[:steps].min()) >= need

    def _pace(self, item: int) -> float:
        """Frames a second, by the clock of the past where there is one that can be watched."""
        if self.times is None or self.past.times is None:
            return _RATE
        last = self.past.times[self.past.offsets[item + 1] - 1]
        steps = np.diff(np.append(last, self.times[item, self.frames_per_step - 1 :: self.frames_per_step]))
        step = float(np.median(steps / np.timedelta64(1, "s") if steps.dtype.kind == "m" else steps))
        return self.frames_per_step / step if _WATCHED[0] <= round(step, 6) <= _WATCHED[1] else _RATE

    def _clocks(self, item: int) -> tuple[NDArray[Any], NDArray[Any]] | None:
        if self.times is None or self.past.times is None:
            if self.frames_per_step == 1:
                return None
            n_past, n_frames = int(self.past.lengths[item]), self.samples.shape[2]
            return np.arange(1.0 - n_past, 1.0), np.arange(1, n_frames + 1) / self.frames_per_step
        begin, end = self.past.offsets[item : item + 2]
        return self.past.times[begin:end], self.times[item]


def checked_position(value: Any, name: str, count: int, what: str) -> int:
    """A position among `count` things, counted from the end where it is negative.

    >>> checked_position(-1, "item", 3, "future")
    2
    """
    position = whole(value, name)
    if not -count <= position < count:
        expected = "0" if count == 1 else f"0 to {count - 1}"
        raise ValueError(
            f"{name}={value}: there {'is' if count == 1 else 'are'} {counted(count, what)}, expected {expected}, or "
            f"{-count} to -1 from the end"
        )
    return position % count


def truth_of(truth: Any, item: int, n_items: int, frame: tuple[int, ...]) -> NDArray[Any]:
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
