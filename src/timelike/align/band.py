"""The `window` option of every elastic distance: what it may be, and whether it leaves a path."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..native import Window as Bound

Window = int | float | None


def bound(window: Window) -> Bound:
    """An int is a number of cells, a float a share of the longer sequence, None no bound.

    >>> bound(0.1).radius(60, 60)
    array(6)
    """
    if window is None:
        return Bound()
    if isinstance(window, bool) or not isinstance(window, int | float | np.integer | np.floating):
        raise TypeError(f"window={window!r}: expected an int (cells), a float (share of the longer length) or None")
    if isinstance(window, int | np.integer):
        if window < 0:
            raise ValueError(f"window={window}: expected 0 or more cells")
        return Bound(cells=int(window))
    if not 0 <= window <= 1:
        raise ValueError(f"window={window}: a float is a share of the longer length, 0 to 1; use an int for cells")
    return Bound(share=float(window))


def refuse_infeasible(window: Window, x_lengths: NDArray[np.int64], y_lengths: NDArray[np.int64]) -> None:
    """Raise if some pair of lengths has no path inside the window."""
    if window is None:
        return
    limit = bound(window)
    n, m = np.unique(x_lengths)[:, None], np.unique(y_lengths)[None, :]
    blocked = np.argwhere(np.abs(n - m) > limit.radius(n, m))
    if blocked.size:
        a, b = int(n[blocked[0][0], 0]), int(m[0, blocked[0][1]])
        raise ValueError(
            f"window={window} admits no path between lengths {a} and {b}: use window >= {limit.narrowest(a, b)}, "
            "window=None, or resample to equal lengths"
        )
