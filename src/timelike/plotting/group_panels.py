"""Panels of curves with one highlighted: centres of clusters, queries over neighbours, averages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .signals import COLORS, escape_mathtext, isolated_steps, style_axes
from .small_multiples import PlotCurve, shorten_name
from .style import page_theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = 6  # the number of the colour that steps back
_COLUMNS = 3  # panels side by side


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
    """A panel for every group over the same axes; `unit` is what the values are, `title` a line above everything.

    What has a name is in the legend of its panel; `legend` has names that hold for all panels, below them.
    """
    from matplotlib.figure import Figure

    n_columns = min(len(groups), _COLUMNS)
    n_rows = -(-len(groups) // n_columns)
    size = (6.5, 3.6) if len(groups) == 1 else (1 + 3.2 * n_columns, 0.8 + 2.3 * n_rows)
    with page_theme(dark):
        whole = Figure(figsize=size, layout="constrained")
        grid = whole.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for place, axes in enumerate(grid.flat):
            if place >= len(groups):
                axes.remove()
                continue
            _plot_group(axes, groups[place], time)
            if place + n_columns < len(groups):
                axes.set_xlabel("")
            else:
                axes.tick_params(labelbottom=True)  # also above a place that is left empty
        for axes in grid[:, 0]:
            axes.set_ylabel(escape_mathtext(unit))
        if title:
            whole.suptitle(escape_mathtext(title), fontsize="medium")
        if legend:
            _place_legend(whole, legend)
    return whole


def _plot_group(axes: Axes, group: CurveGroup, time: str) -> None:
    many = len(group.others) > 1
    for curve in group.others:
        _plot_line(axes, curve, width=0.7 if many else 1.3, alpha=0.5 if many else 0.95, order=2)
    if group.highlight is not None:  # in a colour of its own, an other is seen upon it also where both are the same
        behind = any(curve.color != GREY for curve in group.others)
        _plot_line(axes, group.highlight, width=2.4, alpha=1.0, order=1 if behind else 3)
    style_axes(axes, counts=time == "time step")
    axes.set_xlabel(time)
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


def _place_legend(whole: Figure, curves: Sequence[PlotCurve]) -> None:
    from matplotlib.lines import Line2D

    widths = (2.4, *[1.3] * len(curves))  # the first stands out
    lines = [
        Line2D([], [], color=COLORS[one.color % len(COLORS)], linewidth=w)
        for one, w in zip(curves, widths, strict=False)
    ]
    names = [escape_mathtext(shorten_name(one.name or "")) for one in curves]
    whole.legend(lines, names, loc="outside lower center", ncols=len(curves), frameon=False, fontsize="small")
