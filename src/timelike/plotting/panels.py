"""Panels of curves: small multiples, a panel for every kind of sequence, and groups with one curve highlighted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .signals import isolated_steps
from .style import COLORS, escape_mathtext, page_theme, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
GREY = 6  # the number of the colour for the background
_MAX_COLUMNS = 3  # panels side by side
_MAX_NAME_LENGTH = 22  # characters of a name in a legend
_NAME_HEIGHT = 0.12  # of one name in a legend, as a share of the height of a panel


class PlotCurve(NamedTuple):
    """Values over times, with the numbers of a colour and a line style; `name` is for the legend of its panel."""

    times: NDArray[Any]
    values: NDArray[Any]
    color: int = 0
    style: int = 0
    name: str | None = None


class CurvePanel(NamedTuple):
    """The title of a panel, the name of its values, and its lines."""

    title: str
    unit: str
    curves: Sequence[PlotCurve]


def plot_multiples(
    panels: Sequence[CurvePanel],
    *,
    time: str,
    colors: Sequence[str] = (),
    columns: int | None = None,
    title: str = "",
    dark: bool = False,
) -> Figure:
    """All panels over the same axes, row by row; with `columns`, those of one column share the value axis.

    `colors` names the colours in one legend for all, `time` labels the time axis ("time step" has whole numbers), and
    `title` is a line at the top.
    """
    n_columns = min(len(panels), _MAX_COLUMNS) if columns is None else columns
    n_rows = -(-len(panels) // n_columns)
    size = (6.5, 3.4) if len(panels) == 1 else (1 + 3.2 * n_columns, 0.7 + 2.1 * n_rows)
    with page_theme(dark):
        figure, grid = _create_panels(len(panels), (n_rows, n_columns), size, True if columns is None else "col")
        for axes, panel in zip(grid.flat, panels, strict=False):
            _plot_panel(axes, panel)
        _label_time(grid, len(panels), time)
        for axes, panel in _labelled_panels(grid, panels, all_columns=columns is not None):
            axes.set_ylabel(escape_mathtext(panel.unit))
        _add_headroom(grid, panels)
        if len(colors) > 1:
            _add_legend(figure, colors)
        if title:
            figure.suptitle(escape_mathtext(title), fontsize="medium")
    return figure


def _create_panels(
    n_panels: int, shape: tuple[int, int], size: tuple[float, float], sharey: Literal["col"] | bool
) -> tuple[Figure, Any]:
    """A figure and its axes (row, column) with one time axis, without the places that stay empty."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(*shape, sharex=True, sharey=sharey, squeeze=False)
    for axes in grid.flat[n_panels:]:
        axes.remove()
    return figure, grid


def _label_time(grid: Any, n_panels: int, time: str) -> None:
    """Style the time axes, and label that of the lowest panel of every column."""
    for place, axes in enumerate(grid.flat[:n_panels]):
        style_axes(axes, counts=time == "time step")
        if place + grid.shape[1] >= n_panels:
            axes.set_xlabel(time)
            axes.tick_params(labelbottom=True)  # also above a place that is left empty


def _plot_panel(axes: Axes, panel: CurvePanel) -> None:
    """The lines of one panel, and a legend of those that have names."""
    for curve in panel.curves:
        (line,) = axes.plot(
            curve.times,
            curve.values,
            STYLES[curve.style % len(STYLES)],
            color=COLORS[curve.color % len(COLORS)],
            linewidth=0.9,
            alpha=0.85,
        )
        line.set(marker=".", markevery=isolated_steps(curve.values))
    axes.set_title(escape_mathtext(panel.title), fontsize="medium")
    _add_panel_legend(axes, panel.curves)


def _add_panel_legend(axes: Axes, curves: Sequence[PlotCurve]) -> None:
    """The legend of a panel: sequences by colour, or by line style if colours mean something else."""
    from matplotlib.lines import Line2D

    named = [curve for curve in curves if curve.name is not None]
    if not named:
        return
    styled = any(curve.style for curve in named) or len(named) < len(curves)
    lines = [
        Line2D([], [], color=COLORS[6 if styled else c.color % len(COLORS)], linestyle=STYLES[c.style % len(STYLES)])
        for c in named
    ]
    labels = [escape_mathtext(shorten_name(str(curve.name))) for curve in named]
    # a fixed place: searching for the best one takes long with many samples
    axes.legend(lines, labels, loc="upper right", fontsize="x-small", handlelength=1.8, borderpad=0.2, frameon=False)


def _add_headroom(grid: Any, panels: Sequence[CurvePanel]) -> None:
    """Space above the lines for the longest legend."""
    names = [sum(curve.name is not None for curve in panel.curves) for panel in panels]
    if max(names):
        low, high = grid.flat[0].get_ylim()
        grid.flat[0].set_ylim(low, high + (high - low) * _NAME_HEIGHT * max(names) * (1 if len(panels) > 1 else 0.6))


def _labelled_panels(
    grid: Any, panels: Sequence[CurvePanel], *, all_columns: bool
) -> Iterator[tuple[Axes, CurvePanel]]:
    """Panels whose values are labelled: the first of every row, or all of them."""
    for place, panel in enumerate(panels):
        if all_columns or place % grid.shape[1] == 0:
            yield grid.flat[place], panel


def _add_legend(figure: Figure, names: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=COLORS[i % len(COLORS)], linewidth=1.6) for i in range(len(names))]
    labels = [escape_mathtext(shorten_name(name)) for name in names]
    columns = min(len(names), 6)
    figure.legend(lines, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


class CurveGroup(NamedTuple):
    """The title of a panel, its thin lines, and the highlighted one, if any."""

    title: str
    others: Sequence[PlotCurve]
    highlight: PlotCurve | None


def plot_groups(
    groups: Sequence[CurveGroup],
    *,
    time: str,
    unit: str = "",
    title: str = "",
    legend: Sequence[PlotCurve] = (),
    dark: bool = False,
) -> Figure:
    """A panel for every group over the same axes; `unit` labels the values, `title` is a line at the top.

    Named curves are in the legend of their panel; `legend` is one for all panels, below them.
    """
    n_columns = min(len(groups), _MAX_COLUMNS)
    n_rows = -(-len(groups) // n_columns)
    size = (6.5, 3.6) if len(groups) == 1 else (1 + 3.2 * n_columns, 0.8 + 2.3 * n_rows)
    with page_theme(dark):
        figure, grid = _create_panels(len(groups), (n_rows, n_columns), size, True)
        for axes, group in zip(grid.flat, groups, strict=False):
            _plot_group(axes, group)
        _label_time(grid, len(groups), time)
        for axes in grid[:, 0]:
            axes.set_ylabel(escape_mathtext(unit))
        if title:
            figure.suptitle(escape_mathtext(title), fontsize="medium")
        if legend:
            _place_legend(figure, legend)
    return figure


def _plot_group(axes: Axes, group: CurveGroup) -> None:
    many = len(group.others) > 1
    for curve in group.others:
        _plot_line(axes, curve, width=0.7 if many else 1.3, alpha=0.5 if many else 0.95, order=2)
    if (
        group.highlight is not None
    ):  # another curve with its own colour is drawn above it, to be visible where they coincide
        behind = any(curve.color != GREY for curve in group.others)
        _plot_line(axes, group.highlight, width=2.4, alpha=1.0, order=1 if behind else 3)
    if group.title:
        axes.set_title(escape_mathtext(group.title), fontsize="medium")
    if any(curve.name for curve in (*group.others, group.highlight) if curve is not None):
        axes.legend(frameon=False, fontsize="small", handlelength=1.6)


def _plot_line(axes: Axes, curve: PlotCurve, *, width: float, alpha: float, order: int) -> None:
    label = None if curve.name is None else escape_mathtext(shorten_name(curve.name))
    color = COLORS[curve.color % len(COLORS)]
    (line,) = axes.plot(curve.times, curve.values, color=color, linewidth=width, alpha=alpha, label=label, zorder=order)
    if isolated_steps(curve.values):
        line.set(marker=".", markevery=isolated_steps(curve.values))


def _place_legend(figure: Figure, curves: Sequence[PlotCurve]) -> None:
    from matplotlib.lines import Line2D

    widths = (2.4, *[1.3] * len(curves))  # the first stands out
    lines = [
        Line2D([], [], color=COLORS[curve.color % len(COLORS)], linewidth=width)
        for curve, width in zip(curves, widths, strict=False)
    ]
    names = [escape_mathtext(shorten_name(curve.name or "")) for curve in curves]
    figure.legend(lines, names, loc="outside lower center", ncols=len(curves), frameon=False, fontsize="small")


def shorten_name(name: str) -> str:
    """Both ends of a long name: either the first or the last part may distinguish it."""
    half = (_MAX_NAME_LENGTH - 1) // 2
    return name if len(name) <= _MAX_NAME_LENGTH else f"{name[:half]}…{name[-half:]}"


def break_line(
    times: NDArray[Any], values: NDArray[Any], after: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The line interrupted after these steps, where there is a long gap.

    >>> break_line(np.array([0.0, 1.0, 99.0]), np.array([5.0, 6.0, 7.0]), np.array([1]))
    (array([ 0.,  1.,  1., 99.]), array([ 5.,  6., nan,  7.]))
    """
    if not len(after):
        return times, values
    return np.insert(times, after + 1, times[after]), np.insert(values.astype(np.float64), after + 1, np.nan)
