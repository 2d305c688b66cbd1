"""Linear interpolation of missing values. A method of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .durations import check_duration, elapsed_times_or_steps, intervals_between_samples, is_longer

if TYPE_CHECKING:
    from ..container import Sequences


def interpolate(self: Sequences, *, max_gap: Any = None) -> Sequences:
    """Fill missing values: linearly in time between neighbours, with the nearest value at the ends.

    With `max_gap`, a value is filled only if its neighbours (at an end: the nearest value and the end) are at most that
    far apart, in the unit of the times (seconds for datetimes, or a timedelta; steps if there are no times). Longer
    gaps stay missing. No steps are added; use `resample` for that.

    >>> import timelike as tl
    >>> nan = float("nan")
    >>> tl.Sequences([[1.0, nan, 3.0]]).interpolate()[0].ravel()
    array([1., 2., 3.])
    >>> tl.Sequences([[1.0, nan, 3.0, nan, nan, nan, 7.0]]).interpolate(max_gap=2)[0].ravel()
    array([ 1.,  2.,  3., nan, nan, nan,  7.])
    """
    limit = None if max_gap is None else check_duration(self, max_gap, "max_gap")
    if not self.has_missing:
        return self
    return self._with_values(fill_missing(self, elapsed_times_or_steps(self, "interpolate()"), limit, ends=True))


def fill_missing(self: Sequences, clock: NDArray[np.float64], limit: float | None, *, ends: bool) -> NDArray[Any]:
    """The values with missing ones interpolated between values of a channel and, with `ends`, extended to the ends."""
    if not self.has_missing:
        return self.values
    values = self.values.reshape(len(self.values), -1).copy()
    absent = np.isnan(values)
    for column in np.flatnonzero(absent.any(axis=0)).tolist():
        _fill_channel(self, values[:, column], ~absent[:, column], clock, limit, column, ends)
    return values.reshape(self.values.shape)


def _fill_channel(
    self: Sequences,
    values: NDArray[Any],
    present: NDArray[np.bool_],
    clock: NDArray[np.float64],
    limit: float | None,
    column: int,
    ends: bool,
) -> None:
    """One channel of all sequences, in place."""
    holes = intervals_between_samples(present, self.lengths)
    if not ends:
        holes = holes.select(present[holes.begin] & present[holes.end])
    empty = ~present[holes.begin] & ~present[holes.end]  # a sequence without any value
    if limit is None and empty.any():
        item = int(holes.item[empty][0])
        raise ValueError(
            f"sequence {item} has no value at all in channel {column}: nothing to interpolate from; drop the "
            "sequence or the channel"
        )
    wanted = (holes.stop > holes.first) & ~empty
    if limit is not None:
        wanted &= ~is_longer(self, holes.begin, holes.end, limit)
    holes = holes.select(wanted)
    sizes = holes.stop - holes.first
    rows = np.arange(sizes.sum()) + np.repeat(holes.first - (np.cumsum(sizes) - sizes), sizes)
    begin, end = np.repeat(holes.begin, sizes), np.repeat(holes.end, sizes)
    begin, end = np.where(present[begin], begin, end), np.where(present[end], end, begin)  # the nearest at the ends
    values[rows] = _interpolate_rows(values, begin, end, clock, rows)


def _interpolate_rows(
    values: NDArray[Any],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    clock: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> NDArray[np.float64]:
    low, high = values[begin].astype(np.float64), values[end].astype(np.float64)
    span = clock[end] - clock[begin]
    share = np.divide(clock[rows] - clock[begin], span, out=np.zeros(len(rows)), where=span > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        interpolated = low + share * (high - low)  # equal neighbours give themselves, to the last digit
        return np.where(
            np.isfinite(interpolated), interpolated, low * (1 - share) + high * share
        )  # a difference may overflow
