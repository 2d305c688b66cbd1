"""Figures of regression: predicted numbers over the true ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .style import COLORS, page_theme, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_OPAQUE = 200  # points; more are drawn fainter, so that dense places stand out


def plot_predictions(truth: NDArray[Any], answers: NDArray[Any], *, dark: bool = False) -> Figure:
    """Predictions over true numbers, each (item,), on equal axes with the line on which both are equal."""
    from matplotlib.figure import Figure

    with page_theme(dark):
        figure = Figure(figsize=(4.2, 4.2), layout="constrained")
        axes = figure.subplots()
        numbers = np.concatenate([truth, answers])
        margin = 0.04 * (np.ptp(numbers) or 1.0)
        limits = float(numbers.min() - margin), float(numbers.max() + margin)
        axes.plot(limits, limits, color=COLORS[6], linewidth=0.8, linestyle="--")
        alpha = 0.8 if len(truth) <= _MAX_OPAQUE else 0.3
        axes.plot(truth, answers, "o", color=COLORS[0], markersize=4, markeredgewidth=0, alpha=alpha)
        axes.set(xlim=limits, ylim=limits, xlabel="truth", ylabel="prediction", aspect="equal")
        style_axes(axes)
        return figure
