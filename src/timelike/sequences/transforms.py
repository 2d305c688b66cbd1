"""Sequences → Sequences: scaling, windows, crops, slopes. Each is a method of `Sequences`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice, check_int, format_value
from ..core.validation import arrays
from .clean.durations import elapsed_times_or_steps
from .moments import mean_and_deviation

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
        raise TypeError(
            f"like={format_value(like)}: expected Sequences or Statistics; did you mean standardize(per={like!r})?"
        )
    if check_choice(per, "per", ("collection", "sequence")) == "collection":
        mean, std = _resolve_statistics(self, like)
    elif like is not None:
        raise ValueError('like goes with per="collection": per="sequence" scales every sequence by itself')
    elif len(self) == 0:
        raise ValueError("there are no sequences to standardize: expected at least one")
    else:
        each = mean_and_deviation(self.values, self.lengths)
        mean, std = (np.repeat(moment, self.lengths, axis=0) for moment in each)
    unit = np.where(std > 0, std, 1)
    values, dtype = self.values, arrays.computed_dtype(self.dtype)
    if max(np.abs(mean).max(initial=0), unit.max(initial=0)) > 1e300:  # a difference of such numbers may overflow
        values, mean, unit = values / 4, mean / 4, unit / 4
    with np.errstate(over="ignore"):
        scaled = ((values - mean) / unit).astype(dtype, copy=False)
    if np.isinf(scaled).any():
        raise ValueError(f"like has a standard deviation of {unit.min():.3g}, by which these values become infinite")
    return self._with_values(scaled)


def _resolve_statistics(self: Sequences, like: Sequences | Statistics | None) -> Statistics:
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


def windows(self: Sequences, size: int, step: int = 1) -> Sequences:
    """All windows of `size` steps, every `step` steps, without copying the data.

    Labels are repeated, and so are groups: if there are none, the number of the sequence becomes the group, so that
    a split by group does not put overlapping windows on both sides. Shorter sequences give no window.

    >>> import timelike as tl
    >>> tl.Sequences([[1.0, 2.0, 3.0, 4.0]]).windows(2, 2)
    Sequences(2 sequences, length 2, 1 channel, float64, 1 group)
    """
    size, step = check_int(size, "size", 1), check_int(step, "step", 1)
    if len(self) == 0:
        raise ValueError("there are no sequences to cut windows from: expected at least one")
    size, step = min(size, 1 << 62), min(step, 1 << 62)  # what NumPy counts in
    counts = np.maximum(0, (self.lengths - size) // step + 1)
    if counts.sum() == 0:
        raise ValueError(f"size={size} is longer than every sequence (the longest has {self.shape[1]} steps)")
    source = np.repeat(np.arange(len(self)), counts)
    shift = (np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)) * step
    _, starts, _ = self.buffers()
    cut = self._with_spans(starts[source] + shift, np.full(len(source), size, np.int64))
    cut._labels = None if self.labels is None else arrays.make_read_only(self.labels[source])
    cut._groups = arrays.make_read_only(source if self.groups is None else self.groups[source])
    if self.ids is not None:
        names = [f"{self.ids[i]}[{s}:{s + size}]" for i, s in zip(source, shift, strict=True)]
        cut._ids = arrays.make_read_only(np.array(names))
    return cut


def crop(self: Sequences, start: int | None = None, stop: int | None = None) -> Sequences:
    """Steps `start` to `stop` of every sequence, counted as in a slice; a view.

    >>> import timelike as tl
    >>> tl.Sequences([[1.0, 2.0, 3.0], [4.0, 5.0]]).crop(-2).lengths
    array([2, 2])
    """
    first, last = _slice_bound(start, "start", self.lengths, 0), _slice_bound(stop, "stop", self.lengths, self.lengths)
    lengths = last - first
    if (lengths < 1).any():
        item = int(np.flatnonzero(lengths < 1)[0])
        raise ValueError(
            f"crop({start}, {stop}) leaves nothing of sequence {item}, which has {self.lengths[item]} time steps"
        )
    _, starts, _ = self.buffers()
    cut = self._with_spans(starts + first, lengths)
    cut._labels, cut._groups, cut._ids = self.labels, self.groups, self.ids
    return cut


def _slice_bound(value: int | None, name: str, lengths: NDArray[np.int64], default: Any) -> NDArray[np.int64]:
    """One end of a slice in every sequence."""
    if value is None:
        return np.broadcast_to(default, lengths.shape)
    step = min(max(check_int(value, name, most=math.inf), -(2**62)), 2**62)
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
    check_choice(rule, "rule", ("central", "keogh"))
    dtype = arrays.computed_dtype(self.dtype)
    result = np.empty(self.values.shape, dtype)
    clock = elapsed_times_or_steps(self, "derivative()") if rule == "central" and self.times is not None else None
    for begin, length in zip(self.offsets[:-1], self.lengths, strict=True):
        rows = slice(begin, begin + length)
        x = self.values[rows].astype(dtype)
        result[rows] = _keogh_slope(x) if rule == "keogh" else _central_slope(x, None if clock is None else clock[rows])
    return self._with_values(result)


def _central_slope(x: NDArray[Any], now: NDArray[np.float64] | None) -> NDArray[Any]:
    if len(x) == 1:
        return np.zeros_like(x)
    spacing = () if now is None else (now,)
    return np.asarray(np.gradient(x, *spacing, axis=0, edge_order=2 if len(x) > 2 else 1), x.dtype)


def _keogh_slope(x: NDArray[Any]) -> NDArray[Any]:
    if len(x) < 3:
        return _central_slope(x, None)
    inner = ((x[1:-1] - x[:-2]) + (x[2:] - x[:-2]) / 2) / 2
    return np.concatenate([inner[:1], inner, inner[-1:]])
