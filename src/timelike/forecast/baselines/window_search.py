"""Nearest windows of series: exact Euclidean search that lays no window out, and any other search a part at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...align import Euclidean, Gallery, Matches, Metric
from ...align.gallery import smallest_positions
from ...sequences import Sequences
from .base import Ids, Matrix

_BOUND_STRIDE = 4  # steps of a window are looked at first
_BLOCK_NUMBERS = 1 << 15  # numbers at a time, that stay in the processor's cache
_MAX_BLOCK_NUMBERS = 1 << 24  # numbers of windows that a search may lay out at a time
_BOUND_TOLERANCE = 1e-9  # of a sum: rounding must not lose a neighbour


class EuclideanWindowSearch:
    """Windows of rows end to end, searched under the Euclidean distance.

    Sums of squares over every fourth step are bounds from below. What is nearest by them gives a limit, and only
    windows whose bound is within it are compared at all steps: exact, without a copy of any window.
    """

    def __init__(self, rows: Matrix, starts: Ids, window: int) -> None:
        self.rows, self.starts, self.window = rows, starts, window

    def neighbors(self, queries: Sequences, k: int) -> Matches:
        """The k nearest windows of every query, as `Metric.neighbors` gives them."""
        found = [self._find_nearest(one.reshape(self.window, -1), k) for one in queries]
        return Matches(np.stack([ids for ids, _ in found]), np.stack([distances for _, distances in found]))

    def _find_nearest(self, query: Matrix, k: int) -> tuple[Ids, Matrix]:
        bounds = self._lower_bounds(query)
        limit = self._squared_distances(query, smallest_positions(bounds[None], k)[0]).max()
        ids = np.flatnonzero(bounds <= limit * (1 + _BOUND_TOLERANCE))
        sums = self._squared_distances(query, ids)
        order = smallest_positions(sums[None], k)[0]
        return ids[order], np.sqrt(sums[order])

    def _lower_bounds(self, query: Matrix) -> Matrix:
        """Sums of squared differences over some steps of every window."""
        count = len(self.rows) - self.window + 1
        found, height = np.zeros(count), max(1, _BLOCK_NUMBERS // self.rows.shape[1])
        for begin in range(0, count, height):
            part = found[begin : begin + height]
            for step in range(self.window - 1, -1, -_BOUND_STRIDE):
                apart = self.rows[begin + step : begin + step + len(part)] - query[step]
                part += np.einsum("ij,ij->i", apart, apart)
        return np.asarray(found[self.starts])

    def _squared_distances(self, query: Matrix, ids: Ids) -> Matrix:
        """Sums of squared differences over all steps of these windows."""
        found, height = np.empty(len(ids)), max(1, _BLOCK_NUMBERS // query.size)
        for begin in range(0, len(ids), height):
            starts = self.starts[ids[begin : begin + height]]
            apart = (self.rows[starts[:, None] + np.arange(self.window)] - query).reshape(len(starts), -1)
            found[begin : begin + height] = np.einsum("ij,ij->i", apart, apart)
        return found


class BlockedWindowSearch:
    """Windows searched under any metric, so many of them at a time that memory stays bounded."""

    def __init__(self, galleries: list[Gallery]) -> None:
        self.galleries = galleries

    def neighbors(self, queries: Sequences, k: int) -> Matches:
        """The k nearest windows of every query, as `Metric.neighbors` gives them."""
        ids, distances, before = [], [], 0
        for gallery in self.galleries:
            found = gallery.neighbors(queries, min(k, len(gallery.collection)))
            ids.append(found.ids + before)
            distances.append(found.distances)
            before += len(gallery.collection)
        if len(ids) == 1:
            return Matches(ids[0], distances[0])
        every, far = np.hstack(ids), np.hstack(distances)
        order = smallest_positions(far, k)  # parts and what is found in each are in order, so equal distances are too
        return Matches(np.take_along_axis(every, order, axis=1), np.take_along_axis(far, order, axis=1))


def make_window_search(
    metric: Metric, rows: NDArray[Any], ends: Ids, window: int, cut: Callable[[Ids], Sequences]
) -> EuclideanWindowSearch | BlockedWindowSearch:
    """Windows of `rows` that end before `ends`, ready for a search; `cut` makes sequences of some of them."""
    if type(metric) is Euclidean:
        return EuclideanWindowSearch(rows, ends - window, window)
    height = max(1, _MAX_BLOCK_NUMBERS // (window * rows.shape[1]))
    parts = (ends[begin : begin + height] for begin in range(0, len(ends), height))
    return BlockedWindowSearch([metric.prepare_gallery(cut(part)) for part in parts])
