"""Curves: losses, rates and scores over the steps of a training, and distances over a level of noise."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .style import COLORS, escape_mathtext, page_theme, style_axes, text_color

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = tuple[NDArray[Any], NDArray[Any]]  # steps and values


def plot_training(losses: Curve, rates: Curve, scores: Curve | None = None, *, best: int | None = None) -> Figure:
    """Losses with their running mean, learning rate, and scores if there are any, one above the other."""
    from matplotlib.figure import Figure

    rows = 2 if scores is None else 3
    figure = Figure(figsize=(6.5, 1.2 + 1.5 * rows), layout="constrained")
    axes = figure.subplots(rows, 1, sharex=True)
    axes[0].plot(*losses, color=COLORS[6], linewidth=0.7, alpha=0.6)
    axes[0].plot(losses[0], running_mean(losses[1]), color=COLORS[0], linewidth=1.6)
    axes[0].set_ylabel("loss")
    axes[-1].plot(*rates, color=COLORS[2], linewidth=1.2)
    axes[-1].set_ylabel("learning rate")
    axes[-1].set_xlabel("step")
    if scores is not None:
        axes[1].plot(*scores, color=COLORS[1], marker=".", linewidth=1.2)
        axes[1].set_ylabel("score")
        if best is not None:
            axes[1].axvline(best, color=COLORS[6], linewidth=0.8, linestyle="--")
    for one in axes:
        style_axes(one)
    return figure


def plot_cluster_numbers(
    ks: NDArray[Any],
    inertias: NDArray[Any],
    silhouettes: NDArray[Any],
    *,
    knee: int,
    best: int | None,
    dark: bool = False,
) -> Figure:
    """Inertia and silhouette over the number of clusters, one above the other, with the numbers they speak for."""
    from matplotlib.figure import Figure

    with page_theme(dark):
        figure = Figure(figsize=(6.5, 4.2), layout="constrained")
        axes = figure.subplots(2, 1, sharex=True)
        # words are where the curve is not: one falls away from the top, the other is there at its best
        both = ((inertias, knee, "inertia", "knee", 1), (silhouettes, best, "silhouette", "largest", 0))
        for one, color, (values, chosen, name, word, at) in zip(axes, COLORS, both, strict=False):
            one.plot(ks, values, color=color, marker=".", linewidth=1.4)
            one.set_ylabel(name)
            if chosen is not None:
                one.axvline(chosen, color=text_color(), linewidth=0.8, linestyle="--")
                one.annotate(f"{word}: {chosen}", (chosen, at), (4, 4 - 8 * at), va="top" if at else "bottom",
                             fontsize="small", xycoords=("data", "axes fraction"),
                             textcoords="offset points")  # fmt: skip
            style_axes(one)
        axes[-1].set_xlabel("clusters")
        return figure


def plot_noise_curves(levels: NDArray[Any], metrics: Mapping[str, Mapping[str, NDArray[Any]]]) -> Figure:
    """Mean distances (repeat, level) over the level of noise: each metric has a colour, each curve a kind of line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.subplots()
    for color, (metric, kinds) in zip(itertools.cycle(COLORS), metrics.items(), strict=False):
        for style, (kind, values) in zip(itertools.cycle(("-", "--", ":")), kinds.items(), strict=False):
            label = escape_mathtext(", ".join(filter(None, (metric, kind))))
            axes.plot(levels, values.mean(axis=0), style, color=color, label=label)
            if len(values) > 1:
                axes.fill_between(levels, values.min(axis=0), values.max(axis=0), color=color, alpha=0.15, linewidth=0)
    axes.set(xlabel="standard deviation of white noise", ylabel="mean distance")
    if all(values.min() >= 0 for kinds in metrics.values() for values in kinds.values()):  # some divergences are not
        axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize="small")
    style_axes(axes, counts=False)
    return figure


def plot_state_distances(groups: Mapping[str, Sequence[NDArray[Any]]], *, dark: bool = False) -> Figure:
    """Distances of two states over time, a line for every pair of sequences; each group of pairs has a colour."""
    from matplotlib.figure import Figure

    with page_theme(dark):
        figure = Figure(figsize=(6.0, 3.4), layout="constrained")
        axes = figure.subplots()
        for color, (name, curves) in zip(itertools.cycle(COLORS), groups.items(), strict=False):
            for i, values in enumerate(curves):
                label = None if i else escape_mathtext(name)
                axes.plot(np.arange(len(values)), values, color=color, linewidth=1.0, alpha=0.6, label=label)
        axes.set(xlabel="time step", ylabel="distance of the two states")
        axes.set_ylim(bottom=0)
        # beside the curves, which may be anywhere
        legend = figure.legend(loc="outside upper center", ncols=max(1, len(groups)), frameon=False, fontsize="small")
        for line in legend.get_lines():
            line.set(alpha=1.0, linewidth=2.0)
        style_axes(axes)
    return figure


def running_mean(values: NDArray[Any], share: float = 0.05) -> NDArray[np.float64]:
    """The mean of the values so far, at most the last `share` of all of them.

    >>> running_mean(np.array([4.0, 2.0, 0.0]), share=0.67)
    array([4., 3., 1.])
    """
    width = max(1, round(share * len(values)))
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(0, ends - width)
    return np.asarray((sums[ends] - sums[starts]) / (ends - starts))
