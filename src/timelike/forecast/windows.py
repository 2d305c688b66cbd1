"""Windows of sequences: pasts that end at an origin, their futures, step durations and future times."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.validation import arrays
from ..sequences import Sequences, timestamps
from .cells import Cells

_MIN_FULL_WINDOWS = 39  # windows with a full horizon: as many as a 95 % interval needs
N_SAMPLED_FRAMES = 1000  # frames used to estimate means and standard deviations
_FLAT_SHARE = 1e-7  # deviation of a constant channel, relative to its level
_MIN_TIMESTAMPS = 3  # fewest timestamps that distinguish months from 28 or 30 days


def select_windows(sequences: Sequences, need: int, horizon: int, most: int) -> ForecastWindows:
    """At most `most` pasts of at least `need` steps that have a future, spread evenly over all origins.

    Some of them are followed by the whole horizon, if there are any such: windows near the end of a sequence say
    nothing about the last steps of the horizon.
    """
    item, origin = _all_origins(sequences, need)
    whole = thin_evenly(
        np.flatnonzero(sequences.lengths[item] - origin >= horizon), min(_MIN_FULL_WINDOWS, -(-most // 2))
    )
    others = thin_evenly(np.arange(len(item)), most - len(whole))
    selection = np.union1d(whole, others) if most < len(item) else np.arange(len(item))
    return windows_at_origins(sequences, item[selection], origin[selection])


def calibration_horizons(horizon: int) -> list[int]:
    """Horizons up to this one, each at most a quarter longer than the previous one.

    >>> calibration_horizons(20)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 20]
    """
    horizons = [horizon]
    while horizons[-1] > 1:
        horizons.append(min(horizons[-1] - 1, -(-4 * horizons[-1] // 5)))
    return horizons[::-1]


def _all_origins(sequences: Sequences, need: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every (item, origin) with at least `need` steps before the origin and one step after it."""
    counts = np.maximum(0, sequences.lengths - need)
    item = np.repeat(np.arange(len(counts)), counts)
    return item, need + np.arange(len(item)) - (np.cumsum(counts) - counts)[item]


def thin_evenly(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most `most` rows, evenly spaced from the first to the last."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(np.int64))]


def windows_at_origins(sequences: Sequences, item: NDArray[Any], origin: NDArray[Any]) -> ForecastWindows:
    """Pasts that end before `origin`, as views from the start of each sequence."""
    starts = sequences.buffers()[1]
    pasts = sequences._with_spans(np.ascontiguousarray(starts[item]), np.ascontiguousarray(origin, np.int64))
    return ForecastWindows(pasts, np.asarray(item, np.int64), np.asarray(origin, np.int64))


def futures_after(frames: Sequences, windows: ForecastWindows, horizon: int) -> NDArray[Any]:
    """The frames after each window, (window, horizon, *frame); NaN after the end of its sequence."""
    base, first, lengths, steps = _steps_after(frames, windows, horizon)
    futures: NDArray[Any] = base[first + np.minimum(steps, lengths - 1)]
    futures = futures.astype(arrays.dtype_with_fill(frames.dtype, np.nan), copy=False)
    futures[steps >= lengths] = np.nan
    return futures


def known_futures_after(
    cells: Cells, sequences: Sequences, windows: ForecastWindows, horizon: int
) -> NDArray[Any] | None:
    """The known channels after each window; the last ones are repeated after the end of a sequence and never used."""
    covariates = cells.covariates(sequences)
    if covariates is None:
        return None
    base, first, lengths, steps = _steps_after(covariates, windows, horizon)
    return np.asarray(base[first + np.minimum(steps, lengths - 1)], np.float64)


def _steps_after(frames: Sequences, windows: ForecastWindows, horizon: int) -> tuple[NDArray[Any], ...]:
    """Concatenated values, start and length of each window's sequence, (window, 1), and the steps after its origin."""
    base, starts, lengths = frames.buffers()
    item = windows.item[:, None]
    return base, starts[item], lengths[item], windows.origin[:, None] + np.arange(horizon)


class ForecastWindows(NamedTuple):
    """Pasts, each from the first step of its sequence to an origin, with item and origin of each."""

    pasts: Sequences
    item: NDArray[np.int64]
    origin: NDArray[np.int64]


# --- the clock --------------------------------------------------------------------------------------------------------


def step_durations(sequences: Sequences) -> NDArray[np.float64]:
    """The time between consecutive steps of each sequence, concatenated."""
    elapsed = sequences.elapsed_times
    if elapsed is None:
        return np.zeros(0)
    inside = np.ones(max(len(elapsed) - 1, 0), bool)
    inside[sequences.offsets[1:-1] - 1] = False
    return np.asarray(np.diff(elapsed)[inside])


def median_step(sequences: Sequences) -> float | None:
    """The median time between two steps; None without timestamps, or with single steps only."""
    steps = step_durations(sequences)
    return float(np.median(steps)) if len(steps) else None


def months_per_step(sequences: Sequences) -> int:
    """The number of months between two steps, if it is the same in all sequences; otherwise 0."""
    if sequences.times is None or sequences.lengths.max() < _MIN_TIMESTAMPS:
        return 0
    month_steps = {
        find_month_step(sequences.times[begin:end]) for begin, end in pairwise(sequences.offsets) if end - begin > 1
    }
    only = month_steps.pop() if len(month_steps) == 1 else None
    return 0 if only is None else only[0]


def future_times(times: NDArray[Any], step: float, months: int, n_steps: int, frames_per_step: int) -> NDArray[Any]:
    """The times of the frames that follow a row of timestamps, `step` apart, or `months` apart if steps are months.

    A row of at least three timestamps shows by itself whether its steps are months.

    >>> middle, last = np.array([["2024-01-15", "2024-02-15"], ["2024-01-31", "2024-02-29"]], "M8[ns]")
    >>> future_times(middle, 31 * 86400.0, 1, 2, 1).astype("M8[D]")
    array(['2024-03-15', '2024-04-15'], dtype='datetime64[D]')
    >>> future_times(last, 29 * 86400.0, 1, 2, 1).astype("M8[D]")
    array(['2024-03-31', '2024-04-30'], dtype='datetime64[D]')
    """
    _refuse_beyond_2262(times[-1], step, n_steps)
    fractions = np.arange(1, n_steps * frames_per_step + 1) / frames_per_step
    month_step = find_month_step(times)
    if month_step is None or (month_step[0] != months and len(times) < _MIN_TIMESTAMPS):
        return timestamps.add_elapsed(times[-1], step * fractions)
    n_months, ends = month_step
    first = times[-1].astype("M8[M]") + ends
    grid = first + n_months * np.arange(n_steps + 1)
    stamps = grid.astype("M8[ns]") + (times[-1] - first)
    before = np.ceil(fractions - 1e-9).astype(np.int64) - 1
    gaps = (stamps[before + 1] - stamps[before]).astype(np.float64) * (fractions - before)
    return np.asarray(stamps[before] + gaps.round().astype("m8[ns]"))


def _refuse_beyond_2262(last: Any, step: float, n_steps: int) -> None:
    """Raise an error for dates beyond 2262, the last year that 64-bit nanoseconds represent."""
    if isinstance(last, np.datetime64):
        seconds_left = (np.datetime64("2262-04-01", "s") - last.astype("M8[s]")).astype(np.int64)
        if step * n_steps > seconds_left:
            raise ValueError(
                f"horizon={n_steps} extends from {last.astype('M8[D]')} beyond the year 2262, the last that dates "
                "support: use numbers as times, such as years, or a shorter horizon"
            )


def find_month_step(times: NDArray[Any]) -> tuple[int, int] | None:
    """The constant number of months between timestamps, and where day and hour are counted from: 0 for the start of
    the month, 1 for its end. None if the step is not a constant number of months.
    """
    if times.dtype.kind != "M" or len(times) < 2:
        return None
    months = times.astype("M8[M]")
    steps = np.diff(months).astype(np.int64)
    if steps[0] < 1 or (steps != steps[0]).any():
        return None
    for ends in (0, 1):
        apart = times - (months + ends)
        if (apart == apart[0]).all() and not (ends == 0 and _is_late_in_month(times[-1])):
            return int(steps[0]), ends
    return None


def _is_late_in_month(time: Any) -> bool:
    """Whether some months lack this day."""
    return bool((time.astype("M8[D]") - time.astype("M8[M]").astype("M8[D]")).astype(int) > 27)


def channel_deviations(frames: NDArray[Any]) -> NDArray[np.float64]:
    """The standard deviation of each channel, (channel, 1, …), estimated from some of the frames.

    It is infinite for constant channels, so that their errors are ignored.
    """
    some = frames[thin_evenly(np.arange(len(frames)), N_SAMPLED_FRAMES)].astype(np.float64)
    axes, is_valid = (0, *range(2, frames.ndim)), ~np.isnan(some)
    count = np.maximum(is_valid.sum(axis=axes, keepdims=True), 1)
    apart = some - np.nansum(some, axis=axes, keepdims=True) / count
    deviations = np.sqrt(np.nansum(np.square(apart), axis=axes, keepdims=True) / count)[0]
    level = np.sqrt(np.nansum(np.square(some), axis=axes, keepdims=True) / count)[0]
    return np.where(deviations > _FLAT_SHARE * level, deviations, np.inf)
