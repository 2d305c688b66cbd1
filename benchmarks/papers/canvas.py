"""Empty figures for the papers' pages."""

from __future__ import annotations

from typing import Any


def blank(width: float, height: float, columns: int = 1) -> tuple[Any, list[Any]]:
    """A figure without a window, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=120)
    every = [figure.add_subplot(1, columns, i + 1) for i in range(columns)]
    for axes in every:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, every
