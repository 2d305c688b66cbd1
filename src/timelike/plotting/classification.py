"""Figures of decisions: error trade-offs (DET, ROC), confusion, reliability, and recognition among unknowns."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .panels import shorten_name
from .style import COLORS, contrasting_color, escape_mathtext, page_theme, style_axes, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curve = tuple[NDArray[Any], NDArray[Any], float]  # false accepts, false rejects, and the rate where both are equal
Band = tuple[Any, Any, Any]  # false accepts, and the lower and the upper bound of false rejects

_TICKS = (0.0001, 0.0003, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99)
_MAX_COUNTED = 16  # classes whose counts can still be read in their cells


def plot_det(curves: Mapping[str, Curve], band: Band | None = None) -> Figure:
    """False rejects over false accepts on probit axes, where two normal distributions give a straight line.

    A rate of 0 lies at −∞ there, so the axes end below the smallest rate that occurs.
    """
    floor, ceiling = _rate_range(curves)
    figure, axes = _square_axes()
    if band is not None:
        rates, low, high = (_probit(side, floor) for side in band)
        axes.fill_between(rates, low, high, color=COLORS[0], alpha=0.18, linewidth=0)
    axes.plot(*(_probit(np.array([floor, ceiling]), floor),) * 2, color=COLORS[6], linewidth=0.8, linestyle="--")
    for color, (name, (accepts, rejects, equal)) in zip(itertools.cycle(COLORS), curves.items(), strict=False):
        axes.plot(
            _probit(accepts, floor),
            _probit(rejects, floor),
            color=color,
            linewidth=1.6,
            label=_curve_label(name, equal),
        )
        axes.plot(*(_probit(np.array([equal]), floor),) * 2, "o", color=color, markersize=5)
    ticks = np.array([tick for tick in _TICKS if floor <= tick <= ceiling])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(_probit(ticks, floor), [f"{100 * tick:g}" for tick in ticks], fontsize="small")
    limits = _probit(np.array([floor, ceiling]), floor)
    axes.set(xlim=limits, ylim=limits, xlabel="false accepts, %", ylabel="false rejects, %")
    _finish_axes(axes)
    return figure


def plot_roc(curves: Mapping[str, Curve], band: Band | None = None) -> Figure:
    """True accepts over false accepts, beside the line of decisions by lot."""
    figure, axes = _square_axes()
    axes.plot([0, 1], [0, 1], color=COLORS[6], linewidth=0.8, linestyle="--")
    if band is not None:
        rates, low, high = (np.asarray(side) for side in band)
        axes.fill_between(rates, 1 - high, 1 - low, color=COLORS[0], alpha=0.18, linewidth=0)
    for color, (name, (accepts, rejects, equal)) in zip(itertools.cycle(COLORS), curves.items(), strict=False):
        axes.plot(accepts, 1 - rejects, color=color, linewidth=1.6, label=_curve_label(name, equal))
        axes.plot(equal, 1 - equal, "o", color=color, markersize=5)
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel="false accepts", ylabel="true accepts")
    _finish_axes(axes)
    return figure


def plot_confusion(counts: NDArray[Any], classes: Sequence[Any], *, shares: bool = True, dark: bool = False) -> Figure:
    """Rows are true classes, columns answers, blue where a large share of the row is; few classes have numbers in them.

    With `shares=False` the numbers are counts; the shade is that of the share all the same.
    """
    with page_theme(dark):
        return _plot_confusion(counts, classes, shares)


def _plot_confusion(counts: NDArray[Any], classes: Sequence[Any], shares: bool) -> Figure:
    from matplotlib.figure import Figure

    sums = counts.sum(axis=1, keepdims=True)
    part = np.divide(counts, sums, out=np.zeros(counts.shape), where=sums > 0)
    n = len(classes)
    side = min(3.0 + 0.42 * n, 11.0)
    figure = Figure(figsize=(side + 0.8, side), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(part, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    names = [escape_mathtext(shorten_name(str(name))) for name in classes]
    shown = range(0, n, max(1, -(-n // 40)))  # forty names fit
    turned = max(map(len, names), default=0) > 3
    axes.set_xticks(shown, [names[i] for i in shown], rotation=90 if turned else 0, fontsize="small")
    axes.set_yticks(shown, [names[i] for i in shown], fontsize="small")
    for i, j in itertools.product(range(n), repeat=2) if n <= _MAX_COUNTED else ():
        if counts[i, j]:
            text = f"{part[i, j]:.2f}".removeprefix("0") if shares else f"{counts[i, j]:g}"
            color = contrasting_color(image.cmap(part[i, j]))
            axes.text(j, i, text, ha="center", va="center", fontsize=8, color=color)
    axes.set(xlabel="answer", ylabel="truth")
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label="share of the row", shrink=0.8)
    return figure


def plot_reliability(
    edges: NDArray[Any], counts: NDArray[Any], confidence: NDArray[Any], accuracy: NDArray[Any], words: str
) -> Figure:
    """How often answers are right over how sure they are, a bar for each bin, above how many there are."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 5.6), layout="constrained")
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(3.2, 1))
    occupied, widths = counts > 0, np.diff(edges)
    axes.bar(
        edges[:-1][occupied],
        accuracy[occupied],
        widths[occupied],
        align="edge",
        color=COLORS[0],
        alpha=0.75,
        label="right",
    )
    gap = {"facecolor": "none", "edgecolor": COLORS[1], "hatch": "///", "linewidth": 0.8, "label": "how far from it"}
    axes.bar(
        edges[:-1][occupied],
        (confidence - accuracy)[occupied],
        widths[occupied],
        accuracy[occupied],
        align="edge",
        **gap,
    )
    axes.plot([0, 1], [0, 1], color=COLORS[6], linewidth=1, linestyle="--", label="as sure as right")
    axes.plot(confidence[occupied], accuracy[occupied], "o", color=text_color(), markersize=3)
    axes.set(ylim=(0, 1), ylabel="share that is right")
    axes.set_title(escape_mathtext(words), fontsize="medium")
    figure.legend(frameon=False, fontsize="small", loc="outside upper center", ncols=3)
    below.bar(edges[:-1], counts, widths, align="edge", color=COLORS[6], alpha=0.8)
    below.set(xlim=(0, 1), xlabel="probability of the answer", ylabel="items")
    for one in (axes, below):
        style_axes(one, counts=False)
    return figure


def plot_open_set(curves: Mapping[str, tuple[NDArray[Any], NDArray[Any], float]]) -> Figure:
    """The share of known items that are recognized over the share of unknown ones that are accepted (OSCR)."""
    figure, axes = _square_axes()
    for color, (name, (accepts, recognized, area)) in zip(itertools.cycle(COLORS), curves.items(), strict=False):
        label = ", ".join(filter(None, (escape_mathtext(name), f"area {area:.3f}")))
        axes.plot(accepts, recognized, color=color, linewidth=1.6, label=label)
    axes.set(xlim=(-0.01, 1.01), ylim=(0, 1.01))
    axes.set(xlabel="unknown items that are accepted", ylabel="known items that are recognized")
    _finish_axes(axes)
    return figure


def _square_axes() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 5.0), layout="constrained")
    axes = figure.subplots()
    axes.set_aspect("equal")
    return figure, axes


def _finish_axes(axes: Axes) -> None:
    axes.grid(linewidth=0.5, alpha=0.4)
    style_axes(axes, counts=False)
    figure, labels = axes.get_figure(), axes.get_legend_handles_labels()[1]
    if any(labels) and figure is not None:  # below the axes, where no curve can run through it
        figure.legend(frameon=False, fontsize="small", loc="outside lower center", ncols=2 if len(labels) > 3 else 1)


def _curve_label(name: str, equal: float) -> str:
    return ", ".join(filter(None, (escape_mathtext(name), f"EER {100 * equal:.3g} %")))


def _rate_range(curves: Mapping[str, Curve]) -> tuple[float, float]:
    """From below the smallest rate that is seen and not 0, up to where nothing is to be seen any more."""
    ceiling = 0.6 if max(equal for _, _, equal in curves.values()) < 0.4 else 0.99
    sides = [(one, other) for a, b, _ in curves.values() for one, other in ((a, b), (b, a))]
    rates = np.concatenate([one[(one > 0) & (other <= ceiling)] for one, other in sides])
    return min(max(0.7 * float(rates.min(initial=0.05)), _TICKS[0]), 0.05), ceiling


def _probit(rates: Any, floor: float) -> NDArray[np.float64]:
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(rates, floor / 2, 1 - floor / 2)), np.float64)  # just outside the axes, not at ∞
