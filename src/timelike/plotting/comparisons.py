"""Scores of methods with their intervals, of many tasks, and critical-difference diagrams over several data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .style import COLORS, escape_mathtext, style_axes, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_scores(
    names: Sequence[str], bounds: Sequence[tuple[float, float, float]], folds: Sequence[Sequence[float]], unit: str
) -> Figure:
    """A line for every method, the first above: its mean, low and high bound, and a dot for every fold."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 0.9 + 0.36 * len(names)), layout="constrained")
    axes = figure.subplots()
    for place, ((mean, low, high), dots) in enumerate(zip(bounds, folds, strict=True)):
        axes.plot([low, high], [place, place], color=COLORS[0], linewidth=2.2, alpha=0.5, solid_capstyle="butt")
        axes.plot(dots, [place] * len(dots), ".", color=COLORS[6], markersize=4, alpha=0.8)
        axes.plot(mean, place, "o", color=COLORS[0], markersize=6)
    axes.set_yticks(range(len(names)), [escape_mathtext(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(unit)
    axes.grid(axis="x", linewidth=0.5, alpha=0.4)
    style_axes(axes, counts=False)
    return figure


def plot_task_accuracies(
    accuracies: NDArray[Any], bounds: tuple[float, float, float], chance: float, words: str
) -> Figure:
    """How many tasks have which accuracy, with the mean, its low and high bound, and what chance has."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.hist(accuracies, bins=[i / 30 for i in range(31)], color=COLORS[0], alpha=0.7)
    mean, low, high = bounds
    axes.axvspan(max(low, 0.0), min(high, 1.0), color=COLORS[1], alpha=0.3, linewidth=0)
    axes.axvline(mean, color=COLORS[1], linewidth=1.6, label="mean, 95 %")
    axes.axvline(chance, color=COLORS[6], linewidth=1, linestyle="--", label="chance")
    axes.set(xlim=(0, 1), xlabel="accuracy of a task", ylabel="tasks")
    axes.set_title(escape_mathtext(words), fontsize="medium")
    figure.legend(frameon=False, fontsize="small", loc="outside lower center", ncols=3)
    style_axes(axes, counts=False)
    return figure


def plot_critical_differences(
    names: Sequence[str], ranks: Sequence[float], cliques: Sequence[Sequence[int]], *, difference: float | None = None
) -> Figure:
    """Mean ranks on a line, 1 to the left, each with its name; a bar joins methods that cannot be told apart.

    `difference` is drawn as a length above the line, where one holds for all pairs (Demšar, 2006).
    """
    from matplotlib.figure import Figure

    order = sorted(range(len(names)), key=lambda i: ranks[i])
    half = (len(names) + 1) // 2
    last = max(len(names), 2)
    bars = 0.28 * len(cliques)
    depth = bars + 0.55 * half + 0.5
    figure = Figure(figsize=(7.5, 1.0 + 0.42 * depth), layout="constrained")
    axes = figure.subplots()
    axes.set_axis_off()
    _plot_rank_scale(axes, last, difference)
    for level, clique in enumerate(cliques):
        low, high = min(ranks[i] for i in clique), max(ranks[i] for i in clique)
        height = -0.3 - 0.28 * level
        axes.plot([low - 0.04, high + 0.04], [height, height], color=text_color(), linewidth=3.5, solid_capstyle="butt")
    for place, i in enumerate(order):
        right = place >= half
        row = len(order) - 1 - place if right else place
        height = -bars - 0.55 - 0.55 * row
        edge, side = (last + 0.25, "left") if right else (0.75, "right")
        axes.plot([ranks[i], ranks[i], edge], [0, height, height], color=COLORS[6], linewidth=0.9)
        axes.plot(ranks[i], 0, "o", color=COLORS[0], markersize=4.5)
        text = (
            f" {escape_mathtext(names[i])}  {ranks[i]:.2f}"
            if right
            else f"{ranks[i]:.2f}  {escape_mathtext(names[i])} "
        )
        axes.text(edge, height, text, ha=side, va="center", fontsize=9)
    room = 0.32 * (last - 1) + 1.2
    axes.set_xlim(0.75 - room, last + 0.25 + room)
    axes.set_ylim(-depth - 0.3, 1.4 if difference is not None else 0.9)
    return figure


def _plot_rank_scale(axes: Axes, last: int, difference: float | None) -> None:
    """The line of ranks with its ticks, and above it how far apart two must be."""
    axes.plot([1, last], [0, 0], color=text_color(), linewidth=1.2)
    for rank in range(1, last + 1):
        axes.plot([rank, rank], [0, 0.16], color=text_color(), linewidth=1.0)
        axes.text(rank, 0.25, str(rank), ha="center", va="bottom", fontsize=9)
    if difference is not None:
        axes.plot([1, 1 + difference], [1.0, 1.0], color=COLORS[1], linewidth=2.0)
        axes.text(1 + difference, 1.0, f"  CD {difference:.2f}", ha="left", va="center", fontsize=9)
