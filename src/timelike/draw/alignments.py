"""How two sequences line up, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .signals import COLORS, as_channel, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = 60  # matching lines that can still be told apart
_PIXELS = 600  # a cost image need not be finer than this


def figure(
    x: NDArray[Any], y: NDArray[Any], path: NDArray[np.int64], *, cost: float | None = None, channel: int = 0
) -> Figure:
    """Two panels: the signals joined where they match, and the path over the costs of all pairs of steps."""
    from matplotlib.figure import Figure

    whole = Figure(figsize=(9.5, 3.8), layout="constrained")
    joined, costs = whole.subplots(1, 2, width_ratios=(1.5, 1))
    matched_signals(joined, as_channel(x, channel), as_channel(y, channel), path)
    path_over_costs(costs, x, y, path)
    if cost is not None:
        costs.set_title(f"cost {cost:.4g}", fontsize="medium")
    return whole


def matched_signals(axes: Axes, x: NDArray[Any], y: NDArray[Any], path: NDArray[np.int64]) -> None:
    """x above, y below, thin lines between matched steps."""
    spread = max(float(np.ptp(x)), float(np.ptp(y))) or 1.0
    lift = float(np.max(y) - np.min(x)) + 0.25 * spread
    for i, j in path[:: max(1, len(path) // _LINES)]:
        axes.plot([i, j], [x[i] + lift, y[j]], color="#B0B0B0", linewidth=0.6, zorder=1)
    axes.plot(x + lift, color=COLORS[0], linewidth=1.6, label="x", zorder=2)
    axes.plot(y, color=COLORS[1], linewidth=1.6, label="y", zorder=2)
    axes.set_yticks([])
    axes.set_xlabel("time step")
    plain(axes)
    axes.spines["left"].set_visible(False)
    axes.legend(frameon=False, loc="upper right", fontsize="small")


def path_over_costs(axes: Axes, x: NDArray[Any], y: NDArray[Any], path: NDArray[np.int64]) -> None:
    """The distance of every step of x to every step of y, dark where they are near, and the path through it."""
    from matplotlib.ticker import MaxNLocator

    rows, columns = (np.unique(np.linspace(0, len(s) - 1, min(len(s), _PIXELS)).astype(int)) for s in (x, y))
    a, b = x[rows].reshape(len(rows), -1), y[columns].reshape(len(columns), -1)
    squares = (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T
    image = np.sqrt(np.maximum(squares, 0))
    extent = (-0.5, len(y) - 0.5, -0.5, len(x) - 0.5)
    axes.imshow(image, origin="lower", aspect="auto", cmap="Greys_r", extent=extent, interpolation="nearest")
    axes.plot(path[:, 1], path[:, 0], color=COLORS[1], linewidth=1.8)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step of y")
    axes.set_ylabel("step of x")
