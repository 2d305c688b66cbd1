"""Animated forecasts: frames of fields, and growing lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .animation_writer import check_target, write_animation
from .maps import DIFFERENCE, add_color_bar, plot_field, step_label, value_range
from .signals import COLORS, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PICTURES = 200  # of a growing line; more steps come several at a time
_LONG = 4  # of the past no more than so many futures are drawn


def animate_frames(
    past: NDArray[Any],
    future: NDArray[Any],
    path: str | Path,
    *,
    truth: NDArray[Any] | None = None,
    rate: float = 8,
) -> Path:
    """Frames (time, height, width) of a past and then of its future, `rate` of them a second, written to `path`.

    With a `truth` (step, height, width) it moves at the left, and what the future is more than it at the right. The
    frame is grey in the past and has a colour in the future. The file appears whole or not at all.
    """
    target = check_target(path, rate)
    panels = _named_frames(np.asarray(past), np.asarray(future), None if truth is None else np.asarray(truth))
    figure, draw = _prepare_frames(panels, len(past))
    write_animation(figure, range(len(past) + len(future)), draw, target, rate)
    return target


def animate_line(
    past: NDArray[Any],
    future: NDArray[Any],
    path: str | Path,
    *,
    truth: NDArray[Any] | None = None,
    rate: float = 8,
) -> Path:
    """The line of a past (time,) that its future (step,) continues, a step at a time, beside the `truth`.

    A future of more than 200 steps grows by several at a time; of a long past the end is shown. The file appears whole
    or not at all.
    """
    target = check_target(path, rate)
    past, future = np.asarray(past, np.float64), np.asarray(future, np.float64)
    known = None if truth is None else np.asarray(truth, np.float64)
    if past.ndim != 1 or future.ndim != 1 or not len(future):
        raise ValueError(f"past has shape {past.shape}, future {future.shape}: expected (time,) and (step,)")
    _refuse_other_shape(known, future)
    past = past[-_LONG * len(future) :]
    figure, draw = _prepare_lines(past, future, known)
    shown = np.unique(np.linspace(0, len(future), min(len(future), _PICTURES) + 1).round().astype(int))
    write_animation(figure, shown.tolist(), draw, target, rate)
    return target


def _named_frames(past: NDArray[Any], future: NDArray[Any], truth: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
    """What moves, by name, each (time, height, width)."""
    if past.ndim != 3 or future.ndim != 3 or past.shape[1:] != future.shape[1:] or not len(future):
        raise ValueError(
            f"past has shape {past.shape}, future {future.shape}: expected (time, height, width), frames of one size"
        )
    _refuse_other_shape(truth, future)
    forecast = np.concatenate([past, future]).astype(np.float64)
    if truth is None:
        return {"forecast": forecast}
    right = np.concatenate([past, truth]).astype(np.float64)
    return {"truth": right, "forecast": forecast, DIFFERENCE: forecast - right}


def _refuse_other_shape(truth: NDArray[Any] | None, future: NDArray[Any]) -> None:
    if truth is not None and truth.shape != future.shape:
        raise ValueError(f"truth has shape {truth.shape}: expected {future.shape}, that of the future")


def _prepare_frames(panels: dict[str, NDArray[Any]], n_past: int) -> tuple[Figure, Callable[[int], None]]:
    """A figure of the first frames, and what shows others in it."""
    from matplotlib.figure import Figure

    height, width = next(iter(panels.values())).shape[1:]
    tall = float(np.clip(2.6 * height / width, 1.0, 5.0))
    figure = Figure(figsize=(2.6 * len(panels) + 0.9, tall + 0.6), layout="compressed")
    columns = figure.subplots(1, len(panels), squeeze=False)[0]
    common = value_range([frames for name, frames in panels.items() if name != DIFFERENCE])
    images = []
    for axes, (name, frames) in zip(columns, panels.items(), strict=True):
        differs = name == DIFFERENCE
        limits = value_range([frames], difference=True) if differs else common
        images.append(plot_field(axes, frames[0], limits=limits, difference=differs, bar=differs))
        axes.set_xlabel(name)
    add_color_bar([axes for axes, name in zip(columns, panels, strict=True) if name != DIFFERENCE], images[0], "")
    heading = figure.suptitle(step_label(1 - n_past), fontsize="medium")

    def draw(step: int) -> None:
        for image, frames in zip(images, panels.values(), strict=True):
            image.set_data(frames[step])
        heading.set_text(step_label(step + 1 - n_past))
        for axes in columns:
            axes.spines[:].set(color=COLORS[6] if step < n_past else COLORS[1], linewidth=2)

    return figure, draw


def _prepare_lines(
    past: NDArray[Any], future: NDArray[Any], truth: NDArray[Any] | None
) -> tuple[Figure, Callable[[int], None]]:
    """A figure with the past in it, and what lets its future grow to so many steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 3.2), layout="constrained")
    axes: Axes = figure.subplots()
    known = [past, future] if truth is None else [past, future, truth]
    low, high = value_range(known)
    room = 0.05 * (high - low)
    axes.set(xlim=(1 - len(past) - 0.5, len(future) + 0.5), ylim=(low - room, high + room), xlabel="step")
    axes.plot(np.arange(1 - len(past), 1), past, color=COLORS[6], label="past")
    last, start = (past[-1:], 0) if len(past) else (past, 1)
    steps = np.arange(start, len(future) + 1)  # a line begins where the past ends
    curves = {"forecast": (np.concatenate([last, future]), COLORS[1], 1.8)}
    if truth is not None:
        curves = {"truth": (np.concatenate([last, truth]), COLORS[0], 1.2), **curves}
    grown = {name: axes.plot([], [], color=color, linewidth=w, label=name)[0] for name, (_, color, w) in curves.items()}
    axes.axvline(0, color=COLORS[6], linewidth=0.8, linestyle=":")
    style_axes(axes)
    axes.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=len(known), borderpad=0)

    def draw(count: int) -> None:
        for name, line in grown.items():
            shown = steps <= count
            line.set_data(steps[shown], curves[name][0][shown])

    return figure, draw
