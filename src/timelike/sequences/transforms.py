"""Sequences → Sequences: scaling, filling, resampling, cutting. Each is a method of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import clocks, doors
from .arguments import one_of, real, whole
from .moments import mean_and_deviation

if TYPE_CHECKING:
    from .container import Sequences


_MOST = 1e10  # samples of one sequence; 80 GB


class Statistics(NamedTuple):
    """Mean and standard deviation of every channel, each (*frame); missing values do not count."""

    mean: NDArray[np.float64]
    std: NDArray[np.float64]


def statistics(self: Sequences) -> Statistics:
    """Mean and standard deviation per channel over the whole collection, to be reused on other data.

    >>> import timelike as tl
    >>> tl.Sequences([[1.0, 3.0], [5.0]]).statistics().mean
    array([3.])
    """
    if len(self) == 0:
        raise ValueError("there are no sequences to take statistics of: expected at least one")
    return Statistics(*mean_and_deviation(self.values))


def standardize(
    self: Sequences,
    like: Sequences | Statistics | None = None,
    *,
    per: Literal["collection", "sequence"] = "collection",
) -> Sequences:
    """Every channel to mean 0 and standard deviation 1; a constant channel becomes 0.

    `like` takes the statistics from elsewhere, so that test data is scaled by the training data and nothing leaks.
    `per="sequence"` scales every sequence by itself (z-normalisation).

    >>> import timelike as tl
    >>> train, test = tl.Sequences([[0.0, 2.0]]), tl.Sequences([[3.0]])
    >>> test.standardize(like=train)[0]
    array([[2.]])
    """
    if isinstance(like, str):
        raise TypeError(f"like={like!r}: expected Sequences or Statistics; did you mean standardize(per={like!r})?")
    if one_of(per, "per", ("collection", "sequence")) == "collection":
        mean, std = _collected(self, like)
    elif like is not None:
        raise ValueError('like goes with per="collection": per="sequence" scales every sequence by itself')
    elif len(self) == 0:
        raise ValueError("there are no sequences to standardize: expected at least one")
    else:
        each = mean_and_deviation(self.values, self.lengths)
        mean, std = (np.repeat(moment, self.lengths, axis=0) for moment in each)
    unit = np.where(std > 0, std, 1)
    values, dtype = self.values, doors.computed_dtype(self.dtype)
    if max(np.abs(mean).max(initial=0), unit.max(initial=0)) > 1e300:  # a difference of such numbers may overflow
        values, mean, unit = values / 4, mean / 4, unit / 4
    with np.errstate(over="ignore"):
        scaled = ((values - mean) / unit).astype(dtype, copy=False)
    if np.isinf(scaled).any():
        raise ValueError(f"like has a standard deviation of {unit.min():.3g}, by which these values become infinite")
    return self._with_values(scaled)


def _collected(self: Sequences, like: Sequences | Statistics | None) -> Statistics:
    """The statistics that a collection is scaled by."""
    if like is None:
        return statistics(self)
    if not isinstance(like, tuple):
        like = like.statistics() if hasattr(like, "statistics") else like
    if not isinstance(like, tuple) or len(like) != 2:
        raise TypeError(f"like is a {type(like).__name__}: expected Sequences or Statistics; wrap it in Sequences(...)")
    if np.shape(like[0]) != self.frame or np.shape(like[1]) != self.frame:
        raise ValueError(f"like has frames {np.shape(like[0])} but these sequences have {self.frame}")
    return Statistics(*(np.asarray(moment, np.float64) for moment in like))


def interpolate(self: Sequences) -> Sequences:
    """Missing values filled: linearly in time between neighbours, with the nearest value at the ends.

    >>> import timelike as tl
    >>> tl.Sequences([[1.0, float("nan"), 3.0]]).interpolate()[0].ravel()
    array([1., 2., 3.])
    """
    if not self.missing:
        return self
    values = self.values.reshape(len(self.values), -1).copy()
    gaps = np.isnan(values)
    clock = _clock(self)
    begins = self.offsets[:-1]
    for item, channel in np.argwhere(np.logical_or.reduceat(gaps, begins)):
        rows = slice(begins[item], begins[item] + self.lengths[item])
        gap = gaps[rows, channel]
        if gap.all():
            raise ValueError(
                f"sequence {item} has no value at all in channel {channel}: nothing to interpolate from; drop the "
                "sequence or the channel"
            )
        now = clock[rows]
        values[rows, channel][gap] = np.interp(now[gap], now[~gap], values[rows, channel][~gap])
    return self._with_values(values.reshape(self.values.shape))


def resample(self: Sequences, length: int | None = None, *, rate: float | None = None) -> Sequences:
    """Linear interpolation at evenly spaced times: to `length` samples each, or to `rate` samples per unit of time.

    Timestamps are honoured where there are any (seconds for datetimes); otherwise a step is one unit of time. The
    first sample is kept, and with `length` the last one too. A result next to a missing value is missing.

    >>> import timelike as tl
    >>> tl.Sequences([[0.0, 2.0], [1.0, 2.0, 3.0]]).resample(3).padded().values[:, :, 0]
    array([[0., 1., 2.],
           [1., 2., 3.]])
    """
    if (length is None) == (rate is None):
        raise ValueError(f"length={length}, rate={rate}: give exactly one of them")
    length = None if length is None else whole(length, "length", 1)
    rate = None if rate is None else real(rate, "rate", above=0.0)
    times, clock = self.times, _clock(self)
    positions, new_times = [np.empty(0)], [np.empty(0) if times is None else times[:0]]
    lengths = np.empty(len(self), np.int64)
    for item, (begin, old) in enumerate(zip(self.offsets[:-1].tolist(), self.lengths.tolist(), strict=True)):
        rows = slice(begin, begin + old)
        grain = _grain(clock[rows], None if times is None else times[rows])
        wanted = _even(clock[begin + old - 1], length, rate, grain)
        positions.append(begin + _positions(wanted, None if times is None else clock[rows], grain))
        lengths[item] = len(wanted)
        if times is not None:
            new_times.append(_stamped(wanted, times[rows], length))
    new = None if times is None else np.concatenate(new_times)
    if new is not None:
        _refuse_dense(new, lengths, f"length={length}" if rate is None else f"rate={rate}")
    return self._with_values(_between(self.values, np.concatenate(positions)), lengths, new)


def _clock(self: Sequences) -> NDArray[np.float64]:
    """Time since the first sample of each sequence, (total_time,); steps where there are no timestamps."""
    steps = np.arange(len(self.values), dtype=np.float64)
    return clocks.since_first(steps if self.times is None else self.times, self.lengths)


def _grain(now: NDArray[np.float64], times: NDArray[Any] | None) -> float:
    """Times closer than this are the same up to rounding."""
    if times is not None and times.dtype.kind == "M":
        return max(0.5e-9, 4 * float(np.spacing(now[-1])))
    return 4 * float(np.spacing(np.abs(now if times is None else times).max()))


def _even(end: float, length: int | None, rate: float | None, grain: float) -> NDArray[np.float64]:
    """Evenly spaced times from 0 to `end`; the last is reached although end · rate may be just below an integer."""
    if length is not None:
        return np.linspace(0, end, length)
    assert rate is not None
    count = end * rate
    if count > _MOST:
        raise ValueError(
            f"rate={rate} asks for {count:.3g} samples of a sequence that lasts {end:.6g}: use a lower rate"
        )
    slack = min(0.5, grain * rate + 4 * float(np.spacing(count)))
    return np.asarray(np.arange(int(count + slack) + 1) / rate)


def _positions(wanted: NDArray[np.float64], now: NDArray[np.float64] | None, grain: float) -> NDArray[np.float64]:
    """Where the wanted times are among the samples, on a sample exactly if they are so up to rounding."""
    found = wanted if now is None else np.interp(wanted, now, np.arange(len(now)))
    nearest = np.round(found)
    there = nearest if now is None else now[nearest.astype(np.int64)]
    return np.where(np.abs(there - wanted) <= grain, nearest, found)


def _stamped(wanted: NDArray[np.float64], times: NDArray[Any], length: int | None) -> NDArray[Any]:
    """The wanted times as timestamps; the last sample, if kept, has its own."""
    new = clocks.later(times[0], wanted)
    if length is not None and length > 1:
        new[-1] = times[-1]
    return new


def _refuse_dense(clock: NDArray[Any], lengths: NDArray[np.int64], asked: str) -> None:
    try:
        clocks.refuse_disorder(clock, lengths)
    except ValueError:
        raise ValueError(
            f"{asked} puts samples closer together than timestamps can tell apart: ask for fewer"
        ) from None


def _between(values: NDArray[Any], positions: NDArray[np.float64]) -> NDArray[Any]:
    """Values at fractional rows."""
    low = np.floor(positions).astype(np.int64)
    share = (positions - low).reshape(-1, *[1] * (values.ndim - 1))
    high = np.minimum(low + 1, len(values) - 1)
    # on a sample exactly, its neighbour must not count at all: it may be missing, or belong to the next sequence
    mixed = np.where(share == 0, values[low], values[low] * (1 - share) + values[high] * share)
    return np.asarray(mixed, doors.computed_dtype(values.dtype))


def windows(self: Sequences, size: int, step: int = 1) -> Sequences:
    """All stretches of `size` steps, every `step` steps, without copying the data.

    Labels are repeated, and so are groups: where there are none, the number of the sequence becomes the group, so that
    a split by group does not put overlapping windows on both sides. Shorter sequences give no window.

    >>> import timelike as tl
    >>> tl.Sequences([[1.0, 2.0, 3.0, 4.0]]).windows(2, 2)
    Sequences(2 sequences, length 2, 1 channel, float64, 1 group)
    """
    size, step = whole(size, "size", 1), whole(step, "step", 1)
    if len(self) == 0:
        raise ValueError("there are no sequences to cut windows from: expected at least one")
    counts = np.maximum(0, (self.lengths - size) // step + 1)
    if counts.sum() == 0:
        raise ValueError(f"size={size} is longer than every sequence (the longest has {self.shape[1]} steps)")
    source = np.repeat(np.arange(len(self)), counts)
    shift = (np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)) * step
    _, starts, _ = self.buffers()
    cut = self._spawn(starts[source] + shift, np.full(len(source), size, np.int64))
    cut._labels = None if self.labels is None else self.labels[source]
    cut._groups = source if self.groups is None else self.groups[source]
    if self.ids is not None:
        cut._ids = np.array([f"{self.ids[i]}[{s}:{s + size}]" for i, s in zip(source, shift, strict=True)])
    return cut


def crop(self: Sequences, start: int | None = None, stop: int | None = None) -> Sequences:
    """Steps `start` to `stop` of every sequence, counted as in a slice; a view.

    >>> import timelike as tl
    >>> tl.Sequences([[1.0, 2.0, 3.0], [4.0, 5.0]]).crop(-2).lengths
    array([2, 2])
    """
    first, last = _bound(start, "start", self.lengths, 0), _bound(stop, "stop", self.lengths, self.lengths)
    lengths = last - first
    if (lengths < 1).any():
        item = int(np.flatnonzero(lengths < 1)[0])
        raise ValueError(
            f"crop({start}, {stop}) leaves nothing of sequence {item}, which has {self.lengths[item]} time steps"
        )
    _, starts, _ = self.buffers()
    cut = self._spawn(starts + first, lengths)
    cut._labels, cut._groups, cut._ids = self.labels, self.groups, self.ids
    return cut


def _bound(value: int | None, name: str, lengths: NDArray[np.int64], default: Any) -> NDArray[np.int64]:
    """One end of a slice in every sequence."""
    if value is None:
        return np.broadcast_to(default, lengths.shape)
    step = min(max(whole(value, name), -(2**62)), 2**62)
    return np.clip(step + lengths * (step < 0), 0, lengths)


def derivative(self: Sequences, *, rule: Literal["central", "keogh"] = "central") -> Sequences:
    """The slope at every step, same lengths.

    `"central"` is the second-order difference quotient in the sequence's own time, one-sided at the ends. `"keogh"` is
    the estimate of derivative DTW, ((x_i − x_{i−1}) + (x_{i+1} − x_{i−1})/2)/2 with the ends repeated, which ignores
    timestamps. A sequence of one step has slope 0.

    >>> import timelike as tl
    >>> tl.Sequences([[0.0, 1.0, 4.0]]).derivative()[0].ravel()
    array([0., 2., 4.])
    """
    if rule not in ("central", "keogh"):
        raise ValueError(f'rule={rule!r}: expected "central" or "keogh"')
    dtype = doors.computed_dtype(self.dtype)
    result = np.empty(self.values.shape, dtype)
    clock = _clock(self) if rule == "central" and self.times is not None else None
    for begin, length in zip(self.offsets[:-1], self.lengths, strict=True):
        rows = slice(begin, begin + length)
        x = self.values[rows].astype(dtype)
        result[rows] = _keogh(x) if rule == "keogh" else _central(x, None if clock is None else clock[rows])
    return self._with_values(result)


def _central(x: NDArray[Any], now: NDArray[np.float64] | None) -> NDArray[Any]:
    if len(x) == 1:
        return np.zeros_like(x)
    spacing = () if now is None else (now,)
    return np.asarray(np.gradient(x, *spacing, axis=0, edge_order=2 if len(x) > 2 else 1), x.dtype)


def _keogh(x: NDArray[Any]) -> NDArray[Any]:
    if len(x) < 3:
        return _central(x, None)
    inner = ((x[1:-1] - x[:-2]) + (x[2:] - x[:-2]) / 2) / 2
    return np.concatenate([inner[:1], inner, inner[-1:]])
