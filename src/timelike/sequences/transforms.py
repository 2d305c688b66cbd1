"""Sequences → Sequences: scaling, filling, resampling, cutting. Each is a method of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .container import Sequences


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
    return Statistics(*(moment[0] for moment in _moments(self.values, np.zeros(1, np.int64))))


def _moments(values: NDArray[Any], starts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of every stretch, in float64.

    Values are taken relative to the first of their stretch and in two passes, so that a large offset does no harm and
    a constant has a spread of exactly 0.
    """
    present = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(values.shape, bool)
    lengths = np.diff(np.append(starts, len(values)))
    count = np.maximum(np.add.reduceat(present, starts, dtype=np.float64), 1)
    first = np.where(present[starts], values[starts], 0).astype(np.float64)
    shifted = np.where(present, values - np.repeat(first, lengths, axis=0), 0)
    shift = np.add.reduceat(shifted, starts) / count
    centred = np.where(present, shifted - np.repeat(shift, lengths, axis=0), 0)
    return first + shift, np.sqrt(np.add.reduceat(centred * centred, starts) / count)


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
    dtype = np.float64 if self.dtype == np.float64 else np.float32
    if per == "sequence":
        if like is not None:
            raise ValueError('like goes with per="collection": per="sequence" scales every sequence by itself')
        mean, std = (np.repeat(m, self.lengths, axis=0) for m in _moments(self.values, self.offsets[:-1]))
    elif per == "collection":
        given = self.statistics() if like is None else like if isinstance(like, tuple) else like.statistics()
        mean, std = given
        if np.shape(mean) != self.frame or np.shape(std) != self.frame:
            raise ValueError(f"like has frames {np.shape(mean)} but these sequences have {self.frame}")
    else:
        raise ValueError(f'per={per!r}: expected "collection" or "sequence"')
    scaled = (self.values - mean) / np.where(std > 0, std, 1)
    return self._rebuilt(scaled.astype(dtype), self.lengths, self.times)


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
    clock = np.arange(len(values), dtype=np.float64) if self.elapsed is None else self.elapsed
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
    return self._rebuilt(values.reshape(self.values.shape), self.lengths, self.times)


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
    if length is not None and length < 1:
        raise ValueError(f"length={length}: expected at least 1")
    if rate is not None and not 0 < rate < np.inf:
        raise ValueError(f"rate={rate}: expected a positive number of samples per unit of time")
    clock = self.elapsed
    positions, new_times = [], []
    for begin, old in zip(self.offsets[:-1], self.lengths, strict=True):
        now = np.arange(old, dtype=np.float64) if clock is None else clock[begin : begin + old]
        wanted = _even(now, length, rate)
        positions.append(begin + (wanted if clock is None else np.interp(wanted, now, np.arange(old))))
        new_times.append(wanted)
    values = _between(self.values, np.concatenate(positions))
    lengths = np.array([len(wanted) for wanted in new_times], np.int64)
    return self._rebuilt(values, lengths, None if clock is None else _clock_like(self.times, np.concatenate(new_times)))


def _even(now: NDArray[np.float64], length: int | None, rate: float | None) -> NDArray[np.float64]:
    if length is not None:
        return np.linspace(now[0], now[-1], length)
    assert rate is not None
    # the last sample is reached although (now[-1] - now[0]) * rate may round to just below an integer
    return np.asarray(now[0] + np.arange(int((now[-1] - now[0]) * rate + 1e-9) + 1) / rate)


def _between(values: NDArray[Any], positions: NDArray[np.float64]) -> NDArray[Any]:
    """Values at fractional rows."""
    low = np.floor(positions).astype(np.int64)
    share = (positions - low).reshape(-1, *[1] * (values.ndim - 1))
    high = np.minimum(low + 1, len(values) - 1)
    dtype = np.float64 if values.dtype == np.float64 else np.float32
    # on a sample exactly, its neighbour must not count at all: it may be missing, or belong to the next sequence
    mixed = np.where(share == 0, values[low], values[low] * (1 - share) + values[high] * share)
    return np.asarray(mixed, dtype)


def _clock_like(times: NDArray[Any] | None, elapsed: NDArray[np.float64]) -> NDArray[Any]:
    if times is None or times.dtype.kind == "f":
        return elapsed
    return np.round(elapsed * 1e9).astype(np.int64).astype("datetime64[ns]")


def windows(self: Sequences, size: int, step: int = 1) -> Sequences:
    """All stretches of `size` steps, every `step` steps, without copying the data.

    Labels are repeated, and so are groups: where there are none, the number of the sequence becomes the group, so that
    a split by group does not put overlapping windows on both sides. Shorter sequences give no window.

    >>> import timelike as tl
    >>> tl.Sequences([[1.0, 2.0, 3.0, 4.0]]).windows(2, 2)
    Sequences(2 sequences, length 2, 1 channel, float64, 1 group)
    """
    if size < 1 or step < 1:
        raise ValueError(f"size={size}, step={step}: expected both at least 1")
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
    first, last = (_clip(bound, self.lengths, default) for bound, default in ((start, 0), (stop, self.lengths)))
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


def _clip(bound: int | None, lengths: NDArray[np.int64], default: Any) -> NDArray[np.int64]:
    wanted = np.broadcast_to(default if bound is None else bound + lengths * (bound < 0), lengths.shape)
    return np.clip(wanted, 0, lengths)


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
    dtype = np.float64 if self.dtype == np.float64 else np.float32
    result = np.empty(self.values.shape, dtype)
    clock = self.elapsed if rule == "central" else None
    for begin, length in zip(self.offsets[:-1], self.lengths, strict=True):
        rows = slice(begin, begin + length)
        x = self.values[rows].astype(dtype)
        result[rows] = _keogh(x) if rule == "keogh" else _central(x, None if clock is None else clock[rows])
    return self._rebuilt(result, self.lengths, self.times)


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
