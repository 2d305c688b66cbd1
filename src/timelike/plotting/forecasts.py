"""Forecasts: a past with its future and an interval, swapped contents and motions, and scores over the horizon."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .image_grids import CONTENT, MOTION
from .style import COLORS, escape_mathtext, style_axes, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PAST_HORIZONS = 3  # horizons of the past
_MIN_PAST = 20  # steps of it, however short the horizon
_MAX_MARKED = 40  # steps up to which each has a dot
_COLUMNS = 3  # panels side by side

Band = Sequence[NDArray[Any]]
Curve = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Means, low and high bounds, each (step,)."""


def plot_fan(
    past: NDArray[Any],
    mean: NDArray[Any],
    band: Band | None,
    *,
    truth: NDArray[Any] | None = None,
    times: tuple[NDArray[Any], NDArray[Any]] | None = None,
    level: float | None = None,
    name: str = "",
) -> Figure:
    """The end of a past (time,) in grey, its forecast (step,), the `band` (low, high) as a shade, the truth dashed.

    At most three horizons of the past are shown. `times` are the times of the past and of the future.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 3.4), layout="constrained")
    axes = figure.subplots()
    n_past = min(len(past), max(_PAST_HORIZONS * len(mean), _MIN_PAST))
    before, after = _default_times(len(past), len(mean)) if times is None else times
    ending, began = past[len(past) - n_past :], before[len(past) - n_past :]
    # the first step of the future begins at the last of the past, so that there is no gap between the two
    joined = np.concatenate([began[-1:], after])
    if band is not None:
        low, high = (np.concatenate([ending[-1:], end]) for end in band)
        label = "interval" if level is None else f"{100 * level:g} % interval"
        axes.fill_between(joined, low, high, color=COLORS[0], alpha=0.2, linewidth=0, label=label)
    axes.plot(began, ending, color=COLORS[6], linewidth=1.2, label="past")
    axes.plot(joined, np.concatenate([ending[-1:], mean]), color=COLORS[0], linewidth=1.6, label="forecast")
    if truth is not None:
        real = np.concatenate([ending[-1:], truth])
        axes.plot(joined[: len(real)], real, "--", color=text_color(), linewidth=1.1, label="truth")
    if len(mean) == 1:
        axes.plot(after, mean, "o", color=COLORS[0], markersize=4)
    axes.axvline(began[-1], color=COLORS[6], linewidth=0.7, linestyle=":")
    style_axes(axes, counts=times is None)
    axes.set_xlabel("steps from the last one known" if times is None else "time")
    axes.set_ylabel(escape_mathtext(name))
    _add_legend(figure, axes)
    return figure


def _default_times(n_past: int, n_future: int) -> tuple[NDArray[Any], NDArray[Any]]:
    return np.arange(1 - n_past, 1), np.arange(1, n_future + 1)


def _add_legend(figure: Figure, axes: Axes) -> None:
    """Above the axes, where no line can run through it; the interval last."""
    handles, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i].endswith("interval"))
    _place_legend(figure, [labels[i] for i in order], [handles[i] for i in order])


def _place_legend(figure: Figure, labels: Sequence[str], handles: Sequence[Any]) -> None:
    figure.legend(
        handles, labels, loc="outside upper center", ncols=min(len(labels), 5), frameon=False, fontsize="small"
    )


def plot_swapped_series(
    contents: Sequence[NDArray[Any]],
    motions: NDArray[Any],
    swapped: NDArray[Any],
    *,
    truth: NDArray[Any] | None = None,
    names: Sequence[str] | None = None,
) -> Figure:
    """Contents down the left side, motions along the top, and what has the one and the other where they meet.

    `contents` are pasts (time, channel), `motions` (motion, step, channel) and `swapped` (content, motion, step,
    channel) futures, a line for each channel; `truth`, of the shape of `swapped`, is dashed.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    n, m, n_steps, n_channels = swapped.shape
    figure = Figure(figsize=(1.9 * (m + 1), 1.45 * (n + 1) + 0.3), layout="constrained")
    grid = figure.subplots(n + 1, m + 1, sharey=True, squeeze=False)
    ahead = np.arange(1, n_steps + 1)
    grid[0, 0].set_axis_off()
    for i, past in enumerate(contents):
        shown = past[-_PAST_HORIZONS * n_steps :]
        _plot_channels(grid[i + 1, 0], np.arange(1 - len(shown), 1), shown)
        _frame_panel(grid[i + 1, 0], CONTENT, f"content {i + 1}")
    for j, motion in enumerate(motions):
        _plot_channels(grid[0, j + 1], ahead, motion)
        _frame_panel(grid[0, j + 1], MOTION, f"motion {j + 1}")
        for i in range(n):
            _plot_channels(grid[i + 1, j + 1], ahead, swapped[i, j])
            if truth is not None:
                grid[i + 1, j + 1].plot(ahead, truth[i, j], "--", color=text_color(), linewidth=1.0)
            style_axes(grid[i + 1, j + 1])
    for axes in grid.flat:
        axes.tick_params(labelsize="small")
        axes.xaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))  # panels are narrow
    for axes in grid[-1]:
        axes.set_xlabel("step", fontsize="small")
    for axes in grid[:-1].flat:
        axes.tick_params(labelbottom=False)
    handles = [_legend_line(COLORS[channel % len(COLORS)]) for channel in range(n_channels)]
    labels = [escape_mathtext(name) for name in names or [f"channel {i}" for i in range(n_channels)]]
    if truth is not None:
        handles, labels = [*handles, _legend_line(text_color(), "--")], [*labels, "truth"]
    _place_legend(figure, labels, handles)
    return figure


def _plot_channels(axes: Axes, steps: NDArray[Any], series: NDArray[Any]) -> None:
    for channel, values in enumerate(series.T):
        axes.plot(steps, values, color=COLORS[channel % len(COLORS)], linewidth=1.4)


def _frame_panel(axes: Axes, color: str, title: str) -> None:
    """A frame in the colour of what the panel shows."""
    style_axes(axes)
    axes.spines[:].set(visible=True, color=color, linewidth=2)
    axes.set_title(title, color=color, fontsize="small")


def plot_horizons(
    scores: Mapping[str, Mapping[str, Curve]], *, marks: Mapping[str, float] | None = None, trained: float | None = None
) -> Figure:
    """A panel for every score, in which a line over the horizon and a shade between its bounds stand for every method.

    `scores` is {score: {method: (mean, low, high)}}; `marks` are scores that should be met, such as a level of
    coverage, drawn as a dashed line. Bounds that are not finite are left out. A dark bar is where sequences ended in
    training, `trained` steps ahead.
    """
    from matplotlib.figure import Figure

    n_columns = 2 if len(scores) == 4 else min(len(scores), _COLUMNS)
    n_rows = -(-len(scores) // n_columns)
    size = (6.0, 3.3) if len(scores) == 1 else (1 + 3.0 * n_columns, 0.8 + 2.5 * n_rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False)
    methods = dict.fromkeys(method for curves in scores.values() for method in curves)
    colors = dict(zip(methods, itertools.cycle((COLORS[0], COLORS[6], *COLORS[1:6])), strict=False))
    for axes in grid.flat[len(scores) :]:
        axes.remove()
    for axes, (name, curves) in zip(grid.flat, scores.items(), strict=False):
        for method, curve in curves.items():
            _plot_curve(axes, curve, colors[method])
        if marks is not None and name in marks:
            axes.axhline(marks[name], color=text_color(), linewidth=0.8, linestyle="--")
        if trained is not None:
            axes.axvline(trained, color=text_color(), linewidth=2.5, alpha=0.8, zorder=1.5)
        axes.set_title(escape_mathtext(name), fontsize="medium")
        style_axes(axes)
    for axes in grid.flat[max(0, len(scores) - n_columns) : len(scores)]:
        axes.set_xlabel("steps ahead")
    _place_legend(
        figure, [escape_mathtext(method) for method in methods], [_legend_line(colors[method]) for method in methods]
    )
    return figure


def _plot_curve(axes: Axes, curve: Curve, color: str) -> None:
    mean, low, high = curve
    steps = np.arange(1, len(mean) + 1)
    axes.plot(steps, mean, color=color, linewidth=1.5, marker="." if len(mean) <= _MAX_MARKED else "", markersize=5)
    bounded = np.isfinite(low) & np.isfinite(high)
    if len(mean) == 1 and bounded.all():  # of one step a shade would have no width
        axes.plot([1, 1], [low[0], high[0]], color=color, linewidth=4, alpha=0.3)
    else:
        axes.fill_between(steps, low, high, where=bounded.tolist(), color=color, alpha=0.18, linewidth=0)


def _legend_line(color: Any, style: Any = "-") -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, linewidth=1.5, linestyle=style)
