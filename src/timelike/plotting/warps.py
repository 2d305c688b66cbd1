"""Several alignments of the same signals: one below the other, and estimated warps beside the true one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .alignments import AlignmentLike, path_lines, plan_lines, plot_matched_signals, warp_lines
from .signals import channel_values
from .style import COLORS, escape_mathtext, page_theme, style_axes, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WARP_COLORS = (COLORS[6], COLORS[1], COLORS[3], COLORS[0], COLORS[2])
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": "small", "loc": "outside right center"}


class SignalPair(NamedTuple):
    """A title, and two signals (time,) over steps."""

    title: str
    x: NDArray[Any]
    y: NDArray[Any]


def plot_matches(alignments: Mapping[str, AlignmentLike], *, channel: int = 0, dark: bool = False) -> Figure:
    """One panel below the other, by name: the two signals, joined where the alignment matches them."""
    from matplotlib.figure import Figure

    with page_theme(dark):
        figure = Figure(figsize=(6.5, 0.5 + 2.4 * len(alignments)), layout="constrained")
        panels = figure.subplots(len(alignments), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, alignment) in zip(panels, alignments.items(), strict=True):
            x, y = (channel_values(side, channel) for side in (alignment.x, alignment.y))
            plot_matched_signals(axes, x, y, _matching_lines(alignment))
            axes.get_legend().remove()
            axes.set_xlabel("")
            axes.set_title(escape_mathtext(name), fontsize="medium")
        panels[-1].set_xlabel("step")
        figure.legend(*panels[0].get_legend_handles_labels(), **_LEGEND)
    return figure


def _matching_lines(alignment: AlignmentLike) -> list[tuple[float, float, float]]:
    if alignment.warp is not None:
        return warp_lines(alignment.warp, len(alignment.y))
    return plan_lines(alignment.plan) if alignment.path is None else path_lines(alignment.path)


def plot_warp_estimates(
    warps: Mapping[str, NDArray[Any]], truth: NDArray[Any], signals: Sequence[SignalPair] = (), *, dark: bool = False
) -> Figure:
    """Signals side by side, and below them warps by name (step of x,), in steps of y, beside the true one."""
    from matplotlib.figure import Figure

    with page_theme(dark):
        figure = Figure(figsize=(6.5, 5.6 if signals else 3.6), layout="constrained")
        below: Any = figure
        if signals:
            halves: Any = figure.subfigures(2, 1, height_ratios=[1, 1.8])
            above, below = halves
            panels = above.subplots(1, len(signals), squeeze=False)[0]
            for axes, pair in zip(panels, signals, strict=True):
                _plot_signals(axes, pair)
            above.legend(*panels[0].get_legend_handles_labels(), **_LEGEND)
        axes, steps = below.subplots(), np.arange(len(truth))
        axes.plot(steps, truth, color=text_color(), linewidth=5, alpha=0.25, label="true")
        for (name, values), color in zip(warps.items(), _WARP_COLORS, strict=False):
            axes.plot(steps, values, color=color, linewidth=1.5, label=escape_mathtext(name))
        axes.set(xlabel="step of x", ylabel="step of y")
        style_axes(axes)
        below.legend(**_LEGEND)
    return figure


def _plot_signals(axes: Axes, pair: SignalPair) -> None:
    for name, values, color in (("x", pair.x, COLORS[0]), ("y", pair.y, COLORS[1])):
        axes.plot(np.arange(len(values)), values, color=color, linewidth=1.1, label=name)
    axes.set_title(escape_mathtext(pair.title), fontsize="medium")
    axes.set_xlabel("step")
    axes.set_yticks([])
    style_axes(axes)
    axes.spines["left"].set_visible(False)
