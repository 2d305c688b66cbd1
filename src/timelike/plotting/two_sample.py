"""Figures of two samples: a statistic among those of permutations, evidence over batches, what differs most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .style import COLORS, escape_mathtext, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_TICKS = 20  # batches whose names are written below them; of more, some are numbered
_LINE_LETTERS = 70  # letters that there is room for in one line
_MAX_NAME_LENGTH = 24  # letters of a name


def plot_null(values: NDArray[Any], observed: float, p_value: float, measured: str) -> Figure:
    """How often permutations have which statistic, and where the observed one is among them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 3.4), layout="constrained")
    axes = figure.subplots()
    low, high = min(float(values.min()), observed), max(float(values.max()), observed)
    room = 0.04 * (high - low) or 0.5
    bins = np.linspace(low - room, high + room, 52).tolist()  # an odd number of bars: equal values are in the middle
    beyond = values >= observed
    parts = {"smaller": (values[~beyond], COLORS[6]), "as large or larger": (values[beyond], COLORS[1])}
    shown = {name: part for name, part in parts.items() if len(part[0])}
    colors = [color for _, color in shown.values()]
    axes.hist([part for part, _ in shown.values()], bins=bins, stacked=True, color=colors, alpha=0.7, label=[*shown])
    axes.axvline(observed, color=COLORS[0], linewidth=2, label="observed")
    axes.set(xlabel=escape_mathtext(measured), ylabel="permutations")
    axes.set_title(f"p = {p_value:.3g}, {len(values)} permutations", fontsize="medium")
    figure.legend(frameon=False, fontsize="small", loc="outside lower center", ncols=3)
    style_axes(axes, counts=False)
    return figure


def plot_named_items(methods: Mapping[str, NDArray[Any]], rows: Sequence[str], kinds: tuple[str, str]) -> Figure:
    """The items that methods named, a square for each in the order of naming: filled if right, empty if not.

    `methods` are {name: (row, item) of truth values}, one panel each; `kinds` say what filled and empty squares are.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 1.1 + 0.26 * len(rows)), layout="constrained")
    panels = figure.subplots(1, len(methods), sharey=True, squeeze=False)[0]
    for axes, (name, right) in zip(panels, methods.items(), strict=True):
        row, place = np.nonzero(right)
        axes.scatter(place + 1, row, s=60, marker="s", color=COLORS[1], label=kinds[0])
        row, place = np.nonzero(~right)
        axes.scatter(place + 1, row, s=60, marker="s", facecolor="none", edgecolor=COLORS[6], label=kinds[1])
        axes.set_title(f"{escape_mathtext(name)}: {int(right.sum())} of {right.size}", fontsize="medium")
        axes.set_xlim(0.3, right.shape[1] + 0.7)
        axes.set_xlabel("named as number")
        style_axes(axes)
    panels[0].set_yticks(range(len(rows)), [escape_mathtext(row) for row in rows])
    panels[0].set_ylim(len(rows) - 0.4, -0.6)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False, fontsize="small")
    return figure


def plot_evidence(values: NDArray[Any], threshold: float, since: int | None, ticks: Sequence[str]) -> Figure:
    """Evidence against "nothing has changed" after every batch, on a logarithmic axis, and where it is an alarm."""
    from matplotlib.figure import Figure

    named = [_shorten_name(tick) for tick in ticks] if len(ticks) <= _MAX_TICKS else []
    longest = max(map(len, named), default=0)
    aslant = longest * len(named) > _LINE_LETTERS
    figure = Figure(figsize=(6.5, 3.2 + 0.06 * longest * aslant), layout="constrained")
    axes = figure.subplots()
    places = np.arange(1, len(values) + 1)
    axes.plot(places, values, color=COLORS[0], marker="o", markersize=3.5, linewidth=1.4)
    axes.axhline(threshold, color=COLORS[1], linestyle="--", linewidth=1.2, label=f"alarm at {threshold:g}")
    # with 1, where everybody begins; what is far beyond the alarm would press everything else to the ground
    top = min(2 * max(float(values.max()), threshold), 1e6 * threshold)
    axes.set(yscale="log", ylim=(0.6 * min(float(values.min()), 1.0), top))
    if since is not None:
        axes.axvspan(since - 0.5, len(values) + 0.5, color=COLORS[1], alpha=0.12, linewidth=0, label="since the change")
    if named:
        axes.set_xticks(places.tolist(), [escape_mathtext(tick) for tick in named])
        if aslant:
            axes.tick_params(axis="x", labelrotation=40, labelsize="small")
            for label in axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
    axes.set(xlabel="batch", ylabel="evidence (e-value)", xlim=(0.5, len(values) + 0.5))
    # above the axes: inside it would lie on the line of the alarm, or on the evidence
    axes.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    style_axes(axes, counts=False)
    return figure


def plot_power(sizes: NDArray[Any], values: NDArray[Any], target: float, needed: int | None, unit: str) -> Figure:
    """The probability to see a difference over the number of items in each sample."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(sizes, values, color=COLORS[0], linewidth=1.8)
    axes.axhline(target, color=COLORS[6], linestyle="--", linewidth=1)
    if needed is not None:
        axes.axvline(needed, color=COLORS[1], linewidth=1.4, label=f"{needed} {unit}")
        axes.legend(frameon=False, fontsize="small", loc="lower right")
    axes.set_xscale("log")
    axes.set(xlabel=f"{unit} in each sample", ylabel="power", ylim=(0, 1.02))
    style_axes(axes, counts=False)
    return figure


def _shorten_name(name: str) -> str:
    return name if len(name) <= _MAX_NAME_LENGTH else f"{name[: _MAX_NAME_LENGTH - 1]}…"
