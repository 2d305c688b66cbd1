"""Durations between time steps, in the time unit of the collection, and intervals without samples."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float
from .. import timestamps

if TYPE_CHECKING:
    from ..container import Sequences


def elapsed_times_or_steps(self: Sequences, who: str) -> NDArray[np.float64]:
    """Time since the first sample of each sequence, (total_time,); steps if there are no timestamps."""
    self.refuse_disorder(who)
    steps = np.arange(len(self.values), dtype=np.float64)
    return timestamps.elapsed_since_first(steps if self.times is None else self.times, self.lengths)


def elapsed_between(self: Sequences, begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.float64]:
    """Time from rows to later rows: seconds for datetimes, steps if there are no timestamps."""
    if self.times is None:
        return (end - begin).astype(np.float64)
    between = self.times[end] - self.times[begin]
    return np.asarray(between.astype(np.int64) / 1e9 if self.times.dtype.kind == "M" else between)


def is_longer(
    self: Sequences, begin: NDArray[np.int64], end: NDArray[np.int64], than: float | NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Whether more time passes, by more than the rounding of timestamps: 0.3 − 0.2 is not more than 0.1."""
    slack: Any = 0.5e-9
    if self.times is None:
        slack = 0.0
    elif self.times.dtype.kind == "f":
        slack = 4 * np.spacing(np.maximum(np.abs(self.times[begin]), np.abs(self.times[end])))
    return np.asarray(elapsed_between(self, begin, end) > than + slack)


def check_duration(self: Sequences, value: Any, name: str) -> float:
    """A duration in the time unit of the collection; for dates, seconds or a timedelta."""
    if isinstance(value, timedelta | np.timedelta64):
        if self.times is None or self.times.dtype.kind != "M":
            raise TypeError(f"{name} is a duration, and these times are not dates: give a number in their own unit")
        value = value / (timedelta(seconds=1) if isinstance(value, timedelta) else np.timedelta64(1, "s"))
    return check_float(value, name, 0.0)


class TypicalSteps(NamedTuple):
    """The median step of every sequence, and the median deviation from it, (item,); NaN with fewer than two samples."""

    step: NDArray[np.float64]
    deviation: NDArray[np.float64]


def typical_steps(self: Sequences) -> TypicalSteps:
    """The typical time between samples of each sequence, unaffected by gaps; repeated times do not count."""
    same = timestamps.same_sequence_mask(self.lengths)
    if self.times is None:
        step = np.where(self.lengths > 1, 1.0, np.nan)
        return TypicalSteps(step, step - step)
    steps = np.diff(self.times)
    forward = same & (steps > np.zeros((), steps.dtype))
    steps = steps[forward].astype(np.int64) / 1e9 if steps.dtype.kind == "m" else steps[forward]
    item = np.repeat(np.arange(len(self)), self.lengths)[:-1][forward]
    counts = np.bincount(item, minlength=len(self))
    middle = segment_medians(steps, counts)
    return TypicalSteps(middle, segment_medians(np.abs(steps - middle[item]), counts))


def segment_medians(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The median of each of several consecutive parts of `values`; NaN for an empty part.

    >>> segment_medians(np.array([5.0, 1.0, 3.0, 7.0]), np.array([3, 0, 1]))
    array([ 3., nan,  7.])
    """
    medians = np.full(len(counts), np.nan)
    begin = np.cumsum(counts) - counts
    size = np.where(counts > 0, np.exp2(np.ceil(np.log2(np.maximum(counts, 1)))), 0).astype(np.int64)
    for width in np.unique(size[size > 0]).tolist():  # parts of like size are sorted together, as rows
        parts = np.flatnonzero(size == width)
        inside = np.arange(width) < counts[parts, None]
        rows = np.full(inside.shape, np.inf)
        rows[inside] = values[(begin[parts, None] + np.arange(width))[inside]]
        rows.sort(axis=1)
        line = np.arange(len(parts))
        medians[parts] = rows[line, (counts[parts] - 1) // 2] / 2 + rows[line, counts[parts] // 2] / 2
    return medians


class SamplingIntervals(NamedTuple):
    """Segments between two samples, or an end of the sequence and a sample: rows `begin` and `end`.

    The rows `first` to `stop` (not with it) lie inside and have no value.
    """

    item: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    first: NDArray[np.int64]
    stop: NDArray[np.int64]

    def select(self, mask: NDArray[np.bool_]) -> SamplingIntervals:
        """The intervals that the mask selects."""
        return SamplingIntervals(*(part[mask] for part in self))


def intervals_between_samples(present: NDArray[np.bool_], lengths: NDArray[np.int64]) -> SamplingIntervals:
    """Every segment between neighbouring samples of a sequence, in order, where `present` says which rows are one.

    Ends without a sample are segments too, from the first row or to the last; so is a sequence that has none at all.
    """
    starts = np.cumsum(lengths) - lengths
    ends = starts + lengths
    rows = np.flatnonzero(present)
    low, high = np.searchsorted(rows, starts), np.searchsorted(rows, ends)
    some = low < high
    early, late = starts.copy(), ends - 1  # the first and the last sample, if there is any
    early[some], late[some] = rows[low[some]], rows[high[some] - 1]
    item = np.repeat(np.arange(len(lengths)), lengths)[rows]
    pair = np.flatnonzero(item[1:] == item[:-1])
    before, after, none = some & (early > starts), some & (late < ends - 1), ~some
    parts = [
        (item[pair], rows[pair], rows[pair + 1], rows[pair] + 1, rows[pair + 1]),
        (np.flatnonzero(before), starts[before], early[before], starts[before], early[before]),
        (np.flatnonzero(after), late[after], ends[after] - 1, late[after] + 1, ends[after]),
        (np.flatnonzero(none), starts[none], ends[none] - 1, starts[none], ends[none]),
    ]
    intervals = SamplingIntervals(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    if not (before | after | none).any():
        return intervals
    order = np.argsort(intervals.begin, kind="stable")  # no two begin at the same sample
    return SamplingIntervals(*(column[order] for column in intervals))
