"""Merging of samples with equal timestamps, and sorting by time. A method of `Sequences`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_choice
from ...core.validation.arrays import computed_dtype

if TYPE_CHECKING:
    from typing import Any

    from ..container import Sequences

MERGE_RULES = ("mean", "first", "last", "min", "max")


def merge_duplicates(self: Sequences, how: Literal["mean", "first", "last", "min", "max"] = "mean") -> Sequences:
    """Sort the samples of every sequence by time, and merge samples with equal timestamps.

    `how` selects the merged value, channel by channel: the mean, first, last, smallest or largest value. Missing values
    do not count, unless all are missing. Samples with equal timestamps keep their order.

    The constructor raises an error for repeated timestamps unless you pass `on_disorder="keep"`.

    >>> import timelike as tl
    >>> s = tl.Sequences([[5.0, 1.0, 3.0]], times=[[9.0, 4.0, 4.0]], on_disorder="keep")
    >>> s.merge_duplicates()[0].ravel(), s.merge_duplicates().times
    (array([2., 5.]), array([4., 9.]))
    >>> s.merge_duplicates("last")[0].ravel()
    array([3., 5.])
    """
    check_choice(how, "how", MERGE_RULES)
    if self.times is None:
        raise ValueError(
            "these sequences have no times, so there are no duplicates to merge: set them with replace(times=...)"
        )
    item = np.repeat(np.arange(len(self)), self.lengths)
    order = np.lexsort((self.times, item))  # stable: equal timestamps stay in their order
    values, times, item = self.values[order], self.times[order], item[order]
    new = np.ones(len(times), bool)
    new[1:] = (times[1:] != times[:-1]) | (item[1:] != item[:-1])
    begins = np.flatnonzero(new)
    flat = values.reshape(len(values), int(np.prod(self.frame)))
    merged = _merge_runs(flat, begins, how).reshape(len(begins), *self.frame)
    mended = self._with_values(merged, np.bincount(item[begins], minlength=len(self)), times[begins])
    mended._in_order = True
    return mended


def _merge_runs(values: NDArray[Any], begins: NDArray[np.int64], how: str) -> NDArray[Any]:
    """One row for every run of rows, given where runs begin."""
    dtype = computed_dtype(values.dtype) if how == "mean" else values.dtype
    if len(begins) == len(values):
        return values.astype(dtype)
    if how in ("min", "max"):
        return np.asarray((np.fmin if how == "min" else np.fmax).reduceat(values, begins, axis=0))
    if how == "mean":
        return _run_means(values, begins).astype(dtype)
    rows = np.broadcast_to(np.arange(len(values))[:, None], values.shape)
    outside = len(values) if how == "first" else -1
    candidates = np.where(np.isnan(values), outside, rows) if values.dtype.kind == "f" else rows
    chosen = (np.minimum if how == "first" else np.maximum).reduceat(candidates, begins, axis=0)
    chosen = np.where(chosen == outside, begins[:, None], chosen)  # where all are missing, any of them
    return np.take_along_axis(values, chosen, axis=0)


def _run_means(values: NDArray[Any], begins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Means of runs around their first value, so that equal values give themselves."""
    numbers = values.astype(np.float64)
    there = ~np.isnan(numbers)
    counts = np.add.reduceat(there, begins, axis=0, dtype=np.float64)
    sizes = np.diff(np.append(begins, len(values)))
    lowest = np.fmin.reduceat(numbers, begins, axis=0)
    each = np.repeat(np.maximum(counts, 1), sizes, axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        shifts = np.where(there, (numbers - np.repeat(lowest, sizes, axis=0)) / each, 0)
        means = lowest + np.add.reduceat(shifts, begins, axis=0)
        plain = np.add.reduceat(np.where(there, numbers / each, 0), begins, axis=0)  # differences may overflow
    return np.where(np.isnan(lowest) | np.isfinite(means), means, plain)
