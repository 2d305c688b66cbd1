"""Figures of how two sequences line up: signals joined where they match, costs, path, plan and warp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .maps import plot_costs, plot_plan, value_range
from .signals import channel_values
from .style import COLORS, escape_mathtext, page_theme, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_THREAD = "#9a9a9a"
_LINES = 60  # matching lines that can still be told apart
_FAINT = 0.05  # share of a row's largest weight below which two steps are not joined


class WarpLike(Protocol):
    """What is drawn of a warp: `values` in y's time at x's `times`."""

    times: NDArray[Any]
    values: NDArray[Any]
    y_times: NDArray[Any]


class AlignmentLike(Protocol):
    """What is drawn of an alignment."""

    @property
    def cost(self) -> float: ...
    @property
    def path(self) -> NDArray[Any] | None: ...
    @property
    def x(self) -> NDArray[Any]: ...
    @property
    def y(self) -> NDArray[Any]: ...
    @property
    def plan(self) -> NDArray[Any]: ...
    @property
    def warp(self) -> Any: ...
    def apply(self, y: Any = None) -> NDArray[Any]: ...


class SignalLabels(NamedTuple):
    """What is known of two signals beside their values: names, clocks, and what time and values are called."""

    names: tuple[str, str] = ("x", "y")
    times: tuple[NDArray[Any], NDArray[Any]] | None = None
    time: str = "time step"
    unit: str = ""


def plot_alignment(
    alignment: AlignmentLike, *, channel: int = 0, labels: SignalLabels | None = None, dark: bool = False
) -> Figure:
    """Panels: the signals joined where they match, path or plan over the costs, and the warp where there is one."""
    from matplotlib.figure import Figure

    labels, warp = SignalLabels() if labels is None else labels, alignment.warp
    x, y = (channel_values(side, channel) for side in (alignment.x, alignment.y))
    if warp is not None:
        lines = warp_lines(warp, len(y))
        labels = labels._replace(
            times=(warp.times, warp.y_times), time="time" if labels.time == "time step" else labels.time
        )
    else:
        lines = plan_lines(alignment.plan) if alignment.path is None else path_lines(alignment.path)
    with page_theme(dark):
        figure = Figure(figsize=(9.5 if warp is None else 13, 3.8), layout="constrained")
        ratios = (1.5, 1) if warp is None else (1.5, 1, 1)
        joined, costs, *rest = figure.subplots(1, len(ratios), width_ratios=ratios)
        plot_matched_signals(joined, x, y, lines, labels)
        plot_costs(costs, alignment.x, alignment.y)
        plot_over_costs(costs, alignment)
        costs.set_title(f"cost {alignment.cost:.4g}", fontsize="medium")
        if rest:
            plot_warp(rest[0], warp)
    return figure


def plot_alignments(alignments: Mapping[str, AlignmentLike], *, dark: bool = False) -> Figure:
    """Several alignments of the same two sequences, named above: a panel each, path, plan or warp over the costs."""
    from matplotlib.figure import Figure

    n = len(alignments)
    n_columns = 3 if n == 3 else min(n, 2)
    n_rows = -(-n // n_columns)
    with page_theme(dark):
        side = 5.8 / max(n_columns, 2)
        figure = Figure(figsize=(0.6 + n_columns * side, 0.4 + n_rows * (side - 0.3)), layout="constrained")
        panels = figure.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False).flat
        for unused in panels[n:]:
            unused.set_axis_off()
        for axes, (name, alignment) in zip(panels, alignments.items(), strict=False):
            plot_costs(axes, alignment.x, alignment.y)
            plot_over_costs(axes, alignment)
            axes.set_title(escape_mathtext(name), fontsize="medium")
            axes.label_outer()
    return figure


def path_lines(path: NDArray[Any]) -> list[tuple[float, float, float]]:
    """Steps to join, with how strongly: all alike."""
    return [(float(i), float(j), 1.0) for i, j in path[:: max(1, len(path) // _LINES)]]


def plan_lines(plan: NDArray[Any]) -> list[tuple[float, float, float]]:
    """The pairs that carry most of the plan, each as strong as its share of its row."""
    largest = plan.max(axis=1, keepdims=True)
    share = np.divide(plan, largest, out=np.zeros_like(plan), where=largest > 0)
    rows = range(0, len(plan), max(1, len(plan) // (_LINES // 2)))
    return [(float(i), float(j), float(share[i, j])) for i in rows for j in np.flatnonzero(share[i] > _FAINT)]


def warp_lines(warp: WarpLike, n_steps: int) -> list[tuple[float, float, float]]:
    """Each of x's knots and the place between y's steps it falls on, counted in steps."""
    places = np.interp(warp.values, warp.y_times, np.arange(n_steps))
    chosen = range(0, len(places), max(1, len(places) // _LINES))
    return [(float(i), float(places[i]), 1.0) for i in chosen]


def plot_matched_signals(
    axes: Axes,
    x: NDArray[Any],
    y: NDArray[Any],
    lines: list[tuple[float, float, float]],
    labels: SignalLabels | None = None,
) -> None:
    """x above, y below, thin lines between what is matched; both over their own clocks where these are given."""
    labels = SignalLabels() if labels is None else labels
    (low_x, high_x), (low_y, high_y) = value_range([x]), value_range([y])  # of what is not missing
    height = max(high_x - low_x, high_y - low_y)
    lift = high_y - low_x + 0.25 * height
    steps = np.arange(len(x)), np.arange(len(y))
    first, second = steps if labels.times is None else labels.times
    for i, j, strength in lines:
        ends = np.interp(i, steps[0], first), np.interp(j, steps[1], second)
        heights = np.interp(i, steps[0], x) + lift, np.interp(j, steps[1], y)
        axes.plot(ends, heights, color=_THREAD, linewidth=0.6, alpha=strength, zorder=1)
    axes.plot(first, x + lift, color=COLORS[0], linewidth=1.6, label=escape_mathtext(labels.names[0]), zorder=2)
    axes.plot(second, y, color=COLORS[1], linewidth=1.6, label=escape_mathtext(labels.names[1]), zorder=2)
    axes.set_yticks([])
    axes.set_xlabel(labels.time)
    axes.set_ylabel(escape_mathtext(labels.unit))
    style_axes(axes, counts=labels.times is None)
    axes.spines["left"].set_visible(False)
    axes.legend(frameon=False, loc="best", fontsize="small")


def plot_over_costs(axes: Axes, alignment: AlignmentLike) -> None:
    """The path, the warp or the plan, in colour over the costs."""
    if alignment.warp is not None:
        places = np.interp(alignment.warp.values, alignment.warp.y_times, np.arange(len(alignment.y)))
        axes.plot(places, np.arange(len(alignment.x)), color=COLORS[1], linewidth=1.8)
    elif alignment.path is not None:
        axes.plot(alignment.path[:, 1], alignment.path[:, 0], color=COLORS[1], linewidth=1.8)
    else:
        plot_plan(axes, alignment.plan)


def plot_warp(axes: Axes, warp: WarpLike) -> None:
    """The warp, beside the straight line between the ends of both clocks."""
    ends = warp.times[[0, -1]], warp.y_times[[0, -1]]
    axes.plot(*ends, color=_THREAD, linewidth=1, linestyle="--", label="no warp")
    axes.plot(warp.times, warp.values, color=COLORS[0], linewidth=1.8, label="warp")
    axes.set_xlabel("time of x")
    axes.set_ylabel("time of y")
    axes.set_title("warp", fontsize="medium")
    style_axes(axes)
    axes.legend(frameon=False, fontsize="small", loc="upper left")
