"""Evenly spaced samples by linear interpolation in time. A method of `Sequences`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.memory import max_total_bytes
from ...core.parameters import check_float, check_int
from ...core.validation import arrays
from .. import timestamps
from .durations import check_duration, elapsed_times_or_steps, is_longer
from .interpolation import fill_missing

if TYPE_CHECKING:
    from ..container import Sequences


_WORK_NUMBERS = 6  # numbers of 8 bytes that a new step needs during the computation, in addition to its values


def resample(
    self: Sequences, length: int | None = None, *, rate: float | None = None, max_gap: Any = None
) -> Sequences:
    """Resample evenly by linear interpolation: to `length` samples each, or to `rate` samples per unit of time.

    Timestamps are used if there are any (seconds for datetimes); otherwise a step is one unit of time. The first sample
    is kept, and with `length` the last one too. Missing values are interpolated like missing steps, each channel from
    its neighbouring values; values before the first and after the last value of a channel stay missing.

    With `max_gap`, new samples between samples that are further apart (in the unit of the times; seconds for datetimes,
    or a timedelta) are missing, and stay evenly spaced. `split_at_gaps` removes such gaps instead.

    >>> import timelike as tl
    >>> tl.Sequences([[0.0, 2.0], [1.0, 2.0, 3.0]]).resample(3).pad().values[:, :, 0]
    array([[0., 1., 2.],
           [1., 2., 3.]])
    >>> s = tl.Sequences([[0.0, 1.0, 5.0]], times=[[0.0, 1.0, 5.0]])
    >>> s.resample(rate=1, max_gap=2)[0].ravel()
    array([ 0.,  1., nan, nan, nan,  5.])
    >>> tl.Sequences([[0.0, float("nan"), 4.0]], times=[[0.0, 1.0, 2.0]]).resample(rate=2)[0].ravel()
    array([0., 1., 2., 3., 4.])
    """
    if (length is None) == (rate is None):
        raise ValueError(f"length={length}, rate={rate}: give exactly one of them")
    length = (
        None if length is None else check_int(length, "length", 1, 2**40)
    )  # beyond this size NumPy's error does not mention memory
    rate = None if rate is None else check_float(rate, "rate", above=0.0)
    limit = None if max_gap is None else check_duration(self, max_gap, "max_gap")
    times, clock = self.times, elapsed_times_or_steps(self, "resample()")
    if rate is not None:
        _refuse_excessive_memory(self, clock, rate)
    values = fill_missing(self, clock, limit, ends=False)  # on the straight line that a resampled step lies on as well
    positions, new_times = [np.empty(0)], [np.empty(0) if times is None else times[:0]]
    lengths = np.empty(len(self), np.int64)
    for item, (begin, old) in enumerate(zip(self.offsets[:-1].tolist(), self.lengths.tolist(), strict=True)):
        rows = slice(begin, begin + old)
        grain = _time_tolerance(clock[rows], None if times is None else times[rows])
        wanted = _even_times(clock[begin + old - 1], length, rate, grain)
        positions.append(_interpolation_positions(wanted, None if times is None else clock[rows], grain))
        lengths[item] = len(wanted)
        if times is not None:
            new_times.append(_to_timestamps(wanted, times[rows], length))
    new = None if times is None else np.concatenate(new_times)
    if new is not None:
        _refuse_indistinct_times(new, lengths, f"length={length}" if rate is None else f"rate={rate}")
    places = np.concatenate(positions)
    low = np.floor(places)
    share = places - low  # counted inside each sequence: rounding must not depend on those before it
    rows_before = low.astype(np.int64) + np.repeat(self.offsets[:-1], lengths)
    values = _interpolate(values, rows_before, share)
    if limit is not None:
        values[_gap_mask(self, rows_before, share, limit)] = np.nan
    return self._with_values(values, lengths, new)


def _refuse_excessive_memory(self: Sequences, clock: NDArray[np.float64], rate: float) -> None:
    """Raise an error if the resampled steps would not fit into memory."""
    spans = clock[self.offsets[1:] - 1]
    steps = float((spans * rate + 1).sum())
    bytes_ = steps * (8 * _WORK_NUMBERS + 2 * arrays.computed_dtype(self.dtype).itemsize * math.prod(self.frame))
    if not bytes_ <= max_total_bytes():
        item = int(np.argmax(spans))
        unit = " s" if self.times is not None and self.times.dtype.kind == "M" else ""
        raise ValueError(
            f"rate={rate} asks for {steps:.3g} time steps, {bytes_ / 1e9:.3g} GB, and the limit is "
            f"{max_total_bytes() / 1e9:.3g} GB: sequence {item} lasts {spans[item]:.6g}{unit}; use a lower rate, or "
            "split_at_gaps first"
        )


def _gap_mask(self: Sequences, low: NDArray[np.int64], share: NDArray[np.float64], limit: float) -> NDArray[np.bool_]:
    """Which results lie between two samples that are too far apart, and on neither of them."""
    hit = share > 0
    hit[hit] = is_longer(self, low[hit], low[hit] + 1, limit)
    return hit


def _time_tolerance(now: NDArray[np.float64], times: NDArray[Any] | None) -> float:
    """Times closer than this are the same up to rounding."""
    if times is not None and times.dtype.kind == "M":
        return max(0.5e-9, 4 * float(np.spacing(now[-1])))
    return 4 * float(np.spacing(np.abs(now if times is None else times).max()))


def _even_times(end: float, length: int | None, rate: float | None, grain: float) -> NDArray[np.float64]:
    """Evenly spaced times from 0 to `end`; the last is reached although end · rate may be just below an integer."""
    if length is not None:
        return np.linspace(0, end, length)
    assert rate is not None
    count = end * rate
    slack = min(0.5, grain * rate + 4 * float(np.spacing(count)))
    return np.asarray(np.arange(int(count + slack) + 1) / rate)


def _interpolation_positions(
    wanted: NDArray[np.float64], now: NDArray[np.float64] | None, grain: float
) -> NDArray[np.float64]:
    """Where the wanted times are among the samples, on a sample exactly if they are so up to rounding."""
    positions = wanted if now is None else np.interp(wanted, now, np.arange(len(now)))
    nearest = np.round(positions)
    there = nearest if now is None else now[nearest.astype(np.int64)]
    return np.where(np.abs(there - wanted) <= grain, nearest, positions)


def _to_timestamps(wanted: NDArray[np.float64], times: NDArray[Any], length: int | None) -> NDArray[Any]:
    """The wanted times as timestamps; the last sample, if kept, has its own."""
    new = timestamps.add_elapsed(times[0], wanted)
    if length is not None and length > 1:
        new[-1] = times[-1]
    return new


def _refuse_indistinct_times(clock: NDArray[Any], lengths: NDArray[np.int64], argument: str) -> None:
    try:
        timestamps.refuse_disorder(clock, lengths)
    except ValueError:
        raise ValueError(
            f"{argument} puts samples closer together than timestamps can tell apart: ask for fewer"
        ) from None


def _interpolate(values: NDArray[Any], low: NDArray[np.int64], share: NDArray[np.float64]) -> NDArray[Any]:
    """Values at a fraction of the way from rows to the next ones."""
    share = share.reshape(-1, *[1] * (values.ndim - 1))
    high = np.minimum(low + 1, len(values) - 1)
    # on a sample exactly, its neighbour must not count at all: it may be missing, or belong to the next sequence
    mixed = np.where(share == 0, values[low], values[low] * (1 - share) + values[high] * share)
    return np.asarray(mixed, arrays.computed_dtype(values.dtype))
