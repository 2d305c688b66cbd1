"""The options `window` and `band` of elastic distances: their checks, and the error if they admit no path."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..native import BAND_SHAPES, BandShape, WarpingBand as Bound

Window = int | float | None
Band = BandShape


def check_band(window: Window, band: Band = "sakoe") -> Bound:
    """The checked band; a fractional Sakoe–Chiba band is widened by the difference of the lengths.

    >>> check_band(0.1)
    WarpingBand(shape='widened', cells=None, share=0.1)
    >>> check_band(0.1).radius(60, 60)
    array(6)
    """
    if band not in BAND_SHAPES:
        raise ValueError(f"band={band!r}: expected one of {', '.join(map(repr, BAND_SHAPES))}")
    if window is not None and (
        isinstance(window, bool) or not isinstance(window, int | float | np.integer | np.floating)
    ):
        raise TypeError(f"window={window!r}: expected an int (cells), a float (share of the length) or None")
    if band == "itakura":
        slope = 2.0 if window is None else float(window)
        if not 1 <= slope < math.inf:
            raise ValueError(f'window={window}: with band="itakura" it is the largest slope, a number of at least 1')
        return Bound(band, share=slope)
    if window is None:
        return Bound(band)
    if isinstance(window, int | np.integer):
        if window < 0:
            raise ValueError(f"window={window}: expected 0 or more cells")
        return Bound(band, cells=min(int(window), 2**31 - 1))
    if not 0 <= window <= 1:
        raise ValueError(f"window={window}: a float is a share of the length, 0 to 1; use an int for cells")
    return Bound("widened" if band == "sakoe" else band, share=float(window))


def refuse_infeasible(limit: Bound, x_lengths: NDArray[np.int64], y_lengths: NDArray[np.int64]) -> None:
    """Raise if some pair of lengths has no path inside the band."""
    blocked = _find_blocked_lengths(limit, x_lengths, y_lengths)
    if blocked is not None:
        _raise_infeasible(limit, *blocked)


def is_feasible(limit: Bound, x_lengths: NDArray[np.int64], y_lengths: NDArray[np.int64]) -> bool:
    """Whether all pairs of lengths have a path inside the band."""
    return _find_blocked_lengths(limit, x_lengths, y_lengths) is None


def _find_blocked_lengths(
    limit: Bound, x_lengths: NDArray[np.int64], y_lengths: NDArray[np.int64]
) -> tuple[int, int] | None:
    """Two lengths without a path, if there are any."""
    if limit.is_unbounded or limit.shape in (
        "slanted",
        "widened",
        "aeon",
    ):  # these always hold a way from corner to corner
        return None
    n, m = np.unique(x_lengths), np.unique(y_lengths)
    if limit.shape == "sakoe":
        gaps = np.abs(n[:, None] - m)
        blocked: Any = np.argwhere(gaps > limit.radius(n[:, None], m)).tolist()
    else:
        blocked = [(a, b) for a, i in enumerate(n) for b, j in enumerate(m) if not _is_connected(limit, int(i), int(j))]
    return (int(n[blocked[0][0]]), int(m[blocked[0][1]])) if blocked else None


def _is_connected(limit: Bound, n: int, m: int) -> bool:
    lo, hi = limit.bounds(n, m)
    steps = lo[1:] <= hi[:-1] + 1
    return bool(lo[0] == 0 and hi[-1] == m - 1 and (lo <= hi).all() and steps.all())


def _raise_infeasible(limit: Bound, n: int, m: int) -> None:
    if limit.shape == "itakura":
        raise ValueError(
            f'band="itakura" with slope {limit.share:g} admits no path between lengths {n} and {m}: use a larger '
            'window (the slope) or band="slanted"'
        )
    raise ValueError(
        f"window={limit.cells} admits no path between lengths {n} and {m}: use window >= {abs(n - m)}, a share "
        '(window=0.1) or band="widened"'
    )
