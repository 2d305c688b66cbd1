"""Matrices as images: the distances of all pairs of steps, and the weights of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .signals import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PIXELS = 600  # a cost image need not be finer than this


def cost_image(axes: Axes, x: NDArray[Any], y: NDArray[Any]) -> None:
    """The distance of every step of x to every step of y, dark where they are near."""
    from matplotlib.ticker import MaxNLocator

    rows, columns = (np.unique(np.linspace(0, len(s) - 1, min(len(s), _PIXELS)).astype(int)) for s in (x, y))
    a, b = x[rows].reshape(len(rows), -1), y[columns].reshape(len(columns), -1)
    squares = (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T
    image = np.sqrt(np.maximum(squares, 0))
    extent = (-0.5, len(y) - 0.5, -0.5, len(x) - 0.5)
    axes.imshow(image, origin="lower", aspect="auto", cmap="Greys_r", extent=extent, interpolation="nearest")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("step of y")
    axes.set_ylabel("step of x")


def plan_image(axes: Axes, plan: NDArray[Any]) -> None:
    """The plan as colour that is as opaque as the weight is large."""
    from matplotlib.colors import to_rgb

    n, m = plan.shape
    image = np.empty((n, m, 4))
    image[..., :3] = to_rgb(COLORS[1])
    image[..., 3] = np.clip(plan / (plan.max() or 1.0), 0, 1) ** 0.7
    axes.imshow(image, origin="lower", aspect="auto", extent=(-0.5, m - 0.5, -0.5, n - 0.5), interpolation="nearest")
