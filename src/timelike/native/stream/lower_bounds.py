"""Comparison of one query with every window of its length: lower bounds, and distances of the remaining windows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from ..machine import COSTS, Cost, is_native_enabled, kernels

Matrix = NDArray[np.float64]

# the meaning of `WindowBounds.bounds` for a window: any bound, the best cheap bound, the total
SEEN, BOUNDED, EXACT = range(3)
_ROW_PADDING = 16  # numbers behind the end of a row that the kernels may read
_MAX_STEPS = 1 << 25  # of one compiled call, then Ctrl-C is handled


class WindowMoments(NamedTuple):
    """Means of every window of a stream, and what their values are multiplied by: (channel, window) each."""

    means: Matrix
    scales: Matrix


class WindowBounds(NamedTuple):
    """The lower bound and state (SEEN, BOUNDED, EXACT) of every window, changed in place."""

    bounds: Matrix
    states: NDArray[np.int8]

    @classmethod
    def empty(cls, count: int) -> WindowBounds:
        """No window has been looked at."""
        return cls(np.full(count, -np.inf), np.zeros(count, np.int8))


class LowerBoundCascade(NamedTuple):
    """Query and stream in the layout of the kernels, one row per channel, with envelopes of `radius` steps."""

    query: Matrix
    low: Matrix
    high: Matrix
    samples: Matrix
    floors: Matrix
    ceilings: Matrix
    means: Matrix
    scales: Matrix
    order: NDArray[np.int64]
    radius: int

    @classmethod
    def from_query(cls, query: Matrix, samples: Matrix, moments: WindowMoments, radius: int) -> LowerBoundCascade:
        """From a query (channel, step), as windows are when they have been scaled, and a stream (channel, time)."""
        order = np.argsort(-np.square(query).sum(axis=0), kind="stable")
        low, high = _envelope(query, radius)
        floors, ceilings = map(_pad_rows, _envelope(samples, radius))
        means, scales = map(_pad_rows, moments)
        stream = _pad_rows(samples)
        return cls(np.ascontiguousarray(query), low, high, stream, floors, ceilings, means, scales, order, radius)

    def raise_bounds(self, cost: Cost, begin: int, end: int, limit: float, known: WindowBounds) -> None:
        """Raise the bounds of windows `begin` to `end` that are within the limit."""
        some = max(_ROW_PADDING, _MAX_STEPS // self.query.size)
        for first in range(begin, end, some):
            until = min(end, first + some)
            kernels.sift(*self, COSTS.index(cost), first, until, limit, *known)

    def total(self, cost: Cost, ids: NDArray[np.int64], limit: float, known: WindowBounds) -> float:
        """Totals of windows in the order given, as long as they are within the limit, which falls; gives that limit."""
        width = min(2 * self.radius + 1, self.query.shape[1])
        some = max(_ROW_PADDING, _MAX_STEPS // (self.query.size * width))
        for first in range(0, len(ids), some):
            limit = kernels.sift_totals(*self, COSTS.index(cost), ids[first : first + some], limit, *known)
        return limit


def has_kernels() -> bool:
    """Whether there are kernels for it: there is no fallback, without kernels all distances are computed anyway."""
    return is_native_enabled()


def window_moments(samples: Matrix, size: int) -> WindowMoments:
    """Mean and 1 / deviation of every window of `size` samples (channel, time), a constant one having the factor 0.

    Nothing is subtracted from a running sum, because the rounding error of a spike would remain in all later windows.
    Instead, a window combines the moments of the end of one block and the beginning of the next.

    >>> window_moments(np.array([[1.0, 3.0, 3.0, 3.0]]), 2)
    WindowMoments(means=array([[2., 3., 3.]]), scales=array([[1., 0., 0.]]))
    """
    channels, length = samples.shape
    count, blocks = length - size + 1, -(-length // size)
    padded = np.concatenate([samples, np.repeat(samples[:, -1:], blocks * size - length, axis=1)], axis=1)
    cut = padded.reshape(channels, blocks, size)
    heads, tails = _cumulative_moments(cut), [moment[..., ::-1] for moment in _cumulative_moments(cut[..., ::-1])]
    shape = (channels, blocks * size)
    # the head that a window ends with is one step shorter than its place in the next block
    head_mean, head_sum = (np.roll(moment, 1, axis=-1).reshape(shape) for moment in heads)
    tail_mean, tail_sum = (moment.reshape(shape) for moment in tails)
    later = np.arange(count) + size
    within = np.arange(count) % size
    later = np.where(within, later, 0)  # a window that is exactly a block has no head
    apart = np.where(within, head_mean[:, later] - tail_mean[:, :count], 0)
    share = within / size
    means = tail_mean[:, :count] + apart * share
    squares = tail_sum[:, :count] + np.where(within, head_sum[:, later], 0) + np.square(apart) * share * (size - within)
    deviation = np.sqrt(squares / size)
    return WindowMoments(means, np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 0))


def _cumulative_moments(blocks: Matrix) -> tuple[Matrix, Matrix]:
    """Mean, and sum of squares about it, of the first 1, 2, … samples of every block (Welford)."""
    means, sums = np.empty_like(blocks), np.empty_like(blocks)
    mean, total = blocks[..., 0].copy(), np.zeros(blocks.shape[:-1])
    for i in range(blocks.shape[-1]):
        away = blocks[..., i] - mean
        mean += away / (i + 1)
        total += away * (blocks[..., i] - mean)
        means[..., i], sums[..., i] = mean, total
    return means, sums


def _envelope(rows: Matrix, radius: int) -> tuple[Matrix, Matrix]:
    """The least and the largest within `radius` steps."""
    size = 2 * min(radius, rows.shape[1]) + 1
    return (
        np.ascontiguousarray(minimum_filter1d(rows, size, mode="nearest")),
        np.ascontiguousarray(maximum_filter1d(rows, size, mode="nearest")),
    )


def _pad_rows(rows: Matrix) -> Matrix:
    return np.ascontiguousarray(np.pad(rows, ((0, 0), (0, _ROW_PADDING))))
