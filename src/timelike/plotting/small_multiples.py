"""Small multiples: a panel for every kind of sequence, lines over the same axes, and legends of what they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .signals import COLORS, escape_mathtext, isolated_steps, style_axes
from .style import page_theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
_COLUMNS = 3  # panels side by side
_MAX_NAME_LENGTH = 22  # characters of a name in a legend
_NAME_HEIGHT = 0.12  # of the height of a panel that one name takes


class PlotCurve(NamedTuple):
    """Values over times, with numbers of a colour and of a kind of line; `name` stands in the legend of its panel."""

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
    """All panels over the same axes, row by row, those of one column with the same values if `columns` is given.

    `colors` names the colours in one legend for all, `time` is what is below the panels ("time step" counts in whole
    ones), and `title` a line at the top.
    """
    from matplotlib.figure import Figure

    n_columns = min(len(panels), _COLUMNS) if columns is None else columns
    n_rows = -(-len(panels) // n_columns)
    size = (6.5, 3.4) if len(panels) == 1 else (1 + 3.2 * n_columns, 0.7 + 2.1 * n_rows)
    shared: Literal["col"] | bool = True if columns is None else "col"
    with page_theme(dark):
        whole = Figure(figsize=size, layout="constrained")
        grid = whole.subplots(n_rows, n_columns, sharex=True, sharey=shared, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.remove()
        for place, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
            _plot_panel(axes, panel, time)
            if place + n_columns < len(panels):
                axes.set_xlabel("")
            else:
                axes.tick_params(labelbottom=True)  # also above a place that is left empty
        for axes, panel in _labelled_panels(grid, panels, all_columns=columns is not None):
            axes.set_ylabel(escape_mathtext(panel.unit))
        _add_headroom(grid, panels)
        if len(colors) > 1:
            _add_legend(whole, colors)
        if title:
            whole.suptitle(escape_mathtext(title), fontsize="medium")
    return whole


def _plot_panel(axes: Axes, panel: CurvePanel, time: str) -> None:
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
    style_axes(axes, counts=time == "time step")
    axes.set_xlabel(time)
    axes.set_title(escape_mathtext(panel.title), fontsize="medium")
    _add_panel_legend(axes, panel.curves)


def _add_panel_legend(axes: Axes, curves: Sequence[PlotCurve]) -> None:
    """The legend of a panel: sequences by their colours, or by their kinds of line if colours are something else."""
    from matplotlib.lines import Line2D

    named = [curve for curve in curves if curve.name is not None]
    if not named:
        return
    styled = any(curve.style for curve in named) or len(named) < len(curves)
    lines = [
        Line2D([], [], color=COLORS[6 if styled else c.color % len(COLORS)], linestyle=STYLES[c.style % len(STYLES)])
        for c in named
    ]
    words = [escape_mathtext(shorten_name(str(curve.name))) for curve in named]
    # a place that is said: the best one is searched for, which takes long with many samples
    legend = axes.legend(lines, words, loc="upper right", fontsize="x-small", handlelength=1.8, borderpad=0.2)
    legend.get_frame().set(alpha=0.8, linewidth=0)


def _add_headroom(grid: Any, panels: Sequence[CurvePanel]) -> None:
    """Space above the lines for the longest legend."""
    names = [sum(curve.name is not None for curve in panel.curves) for panel in panels]
    if max(names):
        low, high = grid.flat[0].get_ylim()
        grid.flat[0].set_ylim(low, high + (high - low) * _NAME_HEIGHT * max(names) * (1 if len(panels) > 1 else 0.6))


def _labelled_panels(
    grid: Any, panels: Sequence[CurvePanel], *, all_columns: bool
) -> Iterator[tuple[Axes, CurvePanel]]:
    """Panels that say what their values are: the first of every row, or all of them."""
    for place, panel in enumerate(panels):
        if all_columns or place % grid.shape[1] == 0:
            yield grid.flat[place], panel


def _add_legend(whole: Figure, names: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], color=COLORS[i % len(COLORS)], linewidth=1.6) for i in range(len(names))]
    words = [escape_mathtext(shorten_name(name)) for name in names]
    columns = min(len(names), 6)
    whole.legend(lines, words, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def shorten_name(name: str) -> str:
    """Both ends of a long name, of which the first or the last part may be what tells it from others."""
    half = (_MAX_NAME_LENGTH - 1) // 2
    return name if len(name) <= _MAX_NAME_LENGTH else f"{name[:half]}…{name[-half:]}"


def break_line(
    times: NDArray[Any], values: NDArray[Any], after: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The line interrupted after these steps, where nothing was recorded for long.

    >>> break_line(np.array([0.0, 1.0, 99.0]), np.array([5.0, 6.0, 7.0]), np.array([1]))
    (array([ 0.,  1.,  1., 99.]), array([ 5.,  6., nan,  7.]))
    """
    if not len(after):
        return times, values
    return np.insert(times, after + 1, times[after]), np.insert(values.astype(np.float64), after + 1, np.nan)
