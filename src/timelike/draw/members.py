"""One sequence that stands out among others, a panel for each group of them: centres of clusters, queries, averages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .multiples import Curve, shortened
from .signals import COLORS, alone, literal, plain
from .style import ground

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = 6  # the number of the colour that steps back
_COLUMNS = 3  # panels side by side


class Group(NamedTuple):
    """What stands above a panel, its thin lines, and the thick one, if there is one."""

    title: str
    others: Sequence[Curve]
    one: Curve | None


def figure(
    groups: Sequence[Group],
    *,
    time: str,
    unit: str = "",
    said: str = "",
    legend: Sequence[Curve] = (),
    dark: bool = False,
) -> Figure:
    """A panel for every group over the same axes; `unit` is what the values are, `said` a line above everything.

    What has a name is in the legend of its panel; `legend` has names that hold for all panels, below them.
    """
    from matplotlib.figure import Figure

    n_columns = min(len(groups), _COLUMNS)
    n_rows = -(-len(groups) // n_columns)
    size = (6.5, 3.6) if len(groups) == 1 else (1 + 3.2 * n_columns, 0.8 + 2.3 * n_rows)
    with ground(dark):
        whole = Figure(figsize=size, layout="constrained")
        grid = whole.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False)
        for place, axes in enumerate(grid.flat):
            if place >= len(groups):
                axes.remove()
                continue
            _panel(axes, groups[place], time)
            if place + n_columns < len(groups):
                axes.set_xlabel("")
            else:
                axes.tick_params(labelbottom=True)  # also above a place that is left empty
        for axes in grid[:, 0]:
            axes.set_ylabel(literal(unit))
        if said:
            whole.suptitle(literal(said), fontsize="medium")
        if legend:
            _below(whole, legend)
    return whole


def _panel(axes: Axes, group: Group, time: str) -> None:
    many = len(group.others) > 1
    for curve in group.others:
        _line(axes, curve, width=0.7 if many else 1.3, alpha=0.5 if many else 0.95, order=2)
    if group.one is not None:  # in a colour of its own, an other is seen upon it also where both are the same
        behind = any(curve.color != GREY for curve in group.others)
        _line(axes, group.one, width=2.4, alpha=1.0, order=1 if behind else 3)
    plain(axes, counts=time == "time step")
    axes.set_xlabel(time)
    if group.title:
        axes.set_title(literal(group.title), fontsize="medium")
    if any(curve.name for curve in (*group.others, group.one) if curve is not None):
        axes.legend(frameon=False, fontsize="small", handlelength=1.6)


def _line(axes: Axes, curve: Curve, *, width: float, alpha: float, order: int) -> None:
    label = None if curve.name is None else literal(shortened(curve.name))
    color = COLORS[curve.color % len(COLORS)]
    (line,) = axes.plot(curve.times, curve.values, color=color, linewidth=width, alpha=alpha, label=label, zorder=order)
    if alone(curve.values):
        line.set(marker=".", markevery=alone(curve.values))


def _below(whole: Figure, curves: Sequence[Curve]) -> None:
    from matplotlib.lines import Line2D

    widths = (2.4, *[1.3] * len(curves))  # the first stands out
    lines = [
        Line2D([], [], color=COLORS[one.color % len(COLORS)], linewidth=w)
        for one, w in zip(curves, widths, strict=False)
    ]
    names = [literal(shortened(one.name or "")) for one in curves]
    whole.legend(lines, names, loc="outside lower center", ncols=len(curves), frameon=False, fontsize="small")
