"""Windows of sequences: pasts that end at an origin, and what came after them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.validation import arrays
from ..sequences import Sequences
from .cells import Cells

_MIN_FULL_WINDOWS = 39  # windows that see a whole horizon: as many as an interval of 95 % takes


def select_windows(sequences: Sequences, need: int, horizon: int, most: int) -> ForecastWindows:
    """At most `most` pasts of at least `need` steps after which something is left, evenly over all there are.

    Some of those after which the whole horizon is left are always among them, if there are any: a few windows late in
    their sequences would say nothing about its last steps.
    """
    item, origin = _all_origins(sequences, need)
    whole = thin_evenly(
        np.flatnonzero(sequences.lengths[item] - origin >= horizon), min(_MIN_FULL_WINDOWS, -(-most // 2))
    )
    others = thin_evenly(np.arange(len(item)), most - len(whole))
    chosen = np.union1d(whole, others) if most < len(item) else np.arange(len(item))
    return windows_at_origins(sequences, item[chosen], origin[chosen])


def calibration_horizons(horizon: int) -> list[int]:
    """Horizons up to this one, each at most a quarter longer than the one before.

    >>> calibration_horizons(20)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 20]
    """
    found = [horizon]
    while found[-1] > 1:
        found.append(min(found[-1] - 1, -(-4 * found[-1] // 5)))
    return found[::-1]


def _all_origins(sequences: Sequences, need: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every sequence and step of it before which there are `need` steps, and after which there is one at
    least.
    """
    counts = np.maximum(0, sequences.lengths - need)
    item = np.repeat(np.arange(len(counts)), counts)
    return item, need + np.arange(len(item)) - (np.cumsum(counts) - counts)[item]


def thin_evenly(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most so many of them, from the first to the last."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(np.int64))]


def windows_at_origins(sequences: Sequences, item: NDArray[Any], origin: NDArray[Any]) -> ForecastWindows:
    """Pasts that end before `origin`, each a view from the beginning of its sequence."""
    starts = sequences.buffers()[1]
    pasts = sequences._with_spans(np.ascontiguousarray(starts[item]), np.ascontiguousarray(origin, np.int64))
    return ForecastWindows(pasts, np.asarray(item, np.int64), np.asarray(origin, np.int64))


def futures_after(frames: Sequences, windows: ForecastWindows, horizon: int) -> NDArray[Any]:
    """What came after every window, (window, horizon, *frame); NaN after the end of its sequence."""
    base, first, left, steps = _steps_after(frames, windows, horizon)
    found: NDArray[Any] = base[first + np.minimum(steps, left - 1)]
    found = found.astype(arrays.dtype_with_fill(frames.dtype, np.nan), copy=False)
    found[steps >= left] = np.nan
    return found


def known_futures_after(
    cells: Cells, sequences: Sequences, windows: ForecastWindows, horizon: int
) -> NDArray[Any] | None:
    """The known channels after every window; after the end of a sequence the last ones again, which count nowhere."""
    covariates = cells.covariates(sequences)
    if covariates is None:
        return None
    base, first, left, steps = _steps_after(covariates, windows, horizon)
    return np.asarray(base[first + np.minimum(steps, left - 1)], np.float64)


def _steps_after(frames: Sequences, windows: ForecastWindows, horizon: int) -> tuple[NDArray[Any], ...]:
    """Values end to end, where each sequence begins and how long it is, and the steps after its origin: (window, 1)."""
    base, starts, lengths = frames.buffers()
    item = windows.item[:, None]
    return base, starts[item], lengths[item], windows.origin[:, None] + np.arange(horizon)


class ForecastWindows(NamedTuple):
    """Pasts, each from the first step of its sequence to an origin, and where each lies."""

    pasts: Sequences
    item: NDArray[np.int64]
    origin: NDArray[np.int64]
