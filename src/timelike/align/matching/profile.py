"""`matrix_profile`: the nearest neighbour of every window of a series, with motifs and discords."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_bool, check_int
from ...sequences import Sequences
from .. import metric_names
from ..base import Metric
from ..euclidean import Euclidean
from .sliding_windows import Matrix, SlidingWindows
from .subsequence import SubsequenceMatch, as_channel_matrix, validate_frames

_BLOCK_HEIGHT = 1024  # windows whose distances from as many others are known at a time
_MAX_VALUES = 1 << 21  # numbers of windows that are laid out at a time, on either side


class Motif(NamedTuple):
    """Two windows of a series, by their starts, `first` before `second`, and their `distance`."""

    first: int
    second: int
    distance: float


class MatrixProfile(NamedTuple):
    """The nearest neighbour of every window of `size` samples: its start `ids` and its `distances`, (window,) each.

    In a short series, a window in the middle may have no comparable window, because all others start too close. Its id
    is then −1 and its distance inf, as in stumpy. Motifs and discords exclude it.
    """

    ids: NDArray[np.int64]
    distances: NDArray[np.float64]
    size: int

    def __repr__(self) -> str:
        return f"MatrixProfile({len(self.ids)} windows of {self.size})"

    def motifs(self, k: int = 1) -> list[Motif]:
        """The k most similar pairs of windows, nearest first; no window overlaps one of an earlier pair."""
        order = self._ordered_windows(self.distances)
        pairs = ((min(i, j), max(i, j)) for i, j in zip(order.tolist(), self.ids[order].tolist(), strict=True))
        return self._take_nonoverlapping(
            pairs, k, lambda one: Motif(one[0], one[1], float(self.distances[list(one)].min()))
        )

    def discords(self, k: int = 1) -> list[SubsequenceMatch]:
        """The k windows farthest from all others, farthest first; they do not overlap."""
        order = self._ordered_windows(-self.distances)
        places = ((i,) for i in order.tolist())
        return self._take_nonoverlapping(
            places, k, lambda one: SubsequenceMatch(one[0], one[0] + self.size, float(self.distances[one[0]]))
        )

    def _ordered_windows(self, keys: NDArray[np.float64]) -> NDArray[np.int64]:
        """Windows that were compared with any other, by the least key; of equal ones the earlier first."""
        places = np.flatnonzero(self.ids >= 0)
        return places[np.argsort(keys[places], kind="stable")]

    def _take_nonoverlapping(self, groups: Any, k: int, make_match: Callable[[tuple[int, ...]], Any]) -> list[Any]:
        """Of groups of windows the first k of which no window overlaps one that was taken before."""
        taken: list[Any] = []
        free = np.ones(len(self.ids), bool)
        check_int(k, "k", 1)
        for group in groups:
            if len(taken) == k:
                break
            if all(free[place] for place in group):
                taken.append(make_match(group))
                for place in group:
                    free[max(0, place - self.size + 1) : place + self.size] = False
        return taken


def matrix_profile(
    series: Any, size: int, *, metric: Metric | str = "euclidean", normalize: bool = True, exclusion: int | None = None
) -> MatrixProfile:
    """The nearest neighbour of every window of a series: P_i = min d(w_i, w_j) over |i − j| > exclusion.

    The pair with the smallest distance is a motif, a repeated pattern; the window with the largest distance is a
    discord, a unique pattern (Yeh et al., "Matrix profile I", 2016). The default is the z-normalized Euclidean
    distance, as in stumpy; any metric works. All pairs of windows are compared: with a fast matrix product for the
    Euclidean distance, and with the metric itself otherwise, which suits short series only.

    Parameters
    ----------
    series : array (time,) or (time, channel)
        Channels are compared together.
    size : int
        Samples of a window.
    metric : Metric or str
        The metric for windows.
    normalize : bool
        Standardize every window first, channel by channel (a constant becomes 0).
    exclusion : int, optional
        Windows whose starts are at most this far apart are not compared, because neighbouring windows are similar. The
        default is a quarter of the size, rounded up. Windows without a comparable window have id −1 and distance inf.

    Examples
    --------
    >>> import timelike as tl
    >>> profile = tl.matrix_profile([0, 1, 5, 1, 0, 0, 2, 1, 0, 1, 5, 1, 0, 0, 9, 0], 4)
    >>> profile.motifs()
    [Motif(first=0, second=8, distance=0.0)]
    >>> profile.discords()[0].start
    6
    """
    samples = as_channel_matrix(validate_frames(series, "series"), np.float64)
    size, by = check_int(size, "size", 1), metric_names.resolve_metric(metric)
    zone = math.ceil(size / 4) if exclusion is None else check_int(exclusion, "exclusion", 0)
    if len(samples) - size < zone + 1:
        raise ValueError(
            f"series has {len(samples)} samples, which hold no two windows of size={size} that start more than "
            f"{zone} apart: expected at least {size + zone + 1} samples, or a smaller size or exclusion"
            + _transpose_hint(samples, size + zone)
        )
    samples = samples - samples.mean(axis=0)  # a common level would only cost digits
    return _compute_profile(SlidingWindows(samples, size, normalize=check_bool(normalize, "normalize")), by, zone)


def _transpose_hint(samples: NDArray[np.float64], least: int) -> str:
    """The advice in errors for a series that may be (channel, time)."""
    n_channels = samples.shape[1]
    if n_channels <= least:
        return ""
    return f"; the first axis is time, and it has {n_channels} channels: series.T, if it is (channel, time)"


def _compute_profile(windows: SlidingWindows, metric: Metric, zone: int) -> MatrixProfile:
    """By the distances of all pairs, a block at a time; of equal ones the earlier window is the nearest."""
    count = len(windows)
    ids, distances = np.full(count, count), np.full(count, np.inf)
    height = max(1, min(_BLOCK_HEIGHT, _MAX_VALUES // (windows.size * len(windows.samples))))
    parts = [slice(begin, min(begin + height, count)) for begin in range(0, count, height)]
    compare = _compare_by_products if type(metric) is Euclidean else _compare_by_metric
    for rows in parts:
        above = windows.extract_windows(rows.start, rows.stop)
        for columns in parts:
            if metric.symmetric and columns.start < rows.start:
                continue
            other = above if columns is rows else windows.extract_windows(columns.start, columns.stop)
            sides = [(WindowBlock(above, rows, ids, distances), WindowBlock(other, columns, ids, distances))]
            if metric.symmetric and columns is not rows:
                sides.append((sides[0][1], sides[0][0]))
            compare(metric, sides, _exclusion_mask(rows, columns, zone))
    return MatrixProfile(np.where(ids == count, -1, ids), distances, windows.size)


def _exclusion_mask(rows: slice, columns: slice, zone: int) -> NDArray[np.bool_] | None:
    """Which pairs start no further apart than the zone, None if none does."""
    if columns.start - rows.stop >= zone or rows.start - columns.stop >= zone:
        return None
    apart = np.arange(rows.start, rows.stop)[:, None] - np.arange(columns.start, columns.stop)
    return np.asarray(np.abs(apart) <= zone)


class WindowBlock(NamedTuple):
    """Some windows, their places, and the nearest that is known of all, which is changed."""

    windows: Sequences
    places: slice
    ids: NDArray[np.int64]
    best: NDArray[np.float64]

    def take(self, rows: NDArray[np.int64], others: NDArray[np.int64], distances: NDArray[np.float64]) -> None:
        """Keep what is nearer, or as near and earlier: one candidate, by its place, for some rows, each once."""
        at = rows + self.places.start
        nearer = (distances < self.best[at]) | ((distances == self.best[at]) & (others < self.ids[at]))
        nearer &= np.isfinite(distances)
        self.ids[at[nearer]], self.best[at[nearer]] = others[nearer], distances[nearer]


def _compare_by_metric(
    metric: Metric, sides: list[tuple[WindowBlock, WindowBlock]], near: NDArray[np.bool_] | None
) -> None:
    one, other = sides[0]
    block = np.asarray(metric.pairwise(one.windows, None if other.places is one.places else other.windows), np.float64)
    if near is not None:
        block[near] = np.inf
    for (rows, columns), matrix in zip(sides, (block, block.T), strict=False):
        nearest = matrix.argmin(axis=1)
        every = np.arange(len(matrix))
        rows.take(every, nearest + columns.places.start, matrix[every, nearest])


def _compare_by_products(
    metric: Metric, sides: list[tuple[WindowBlock, WindowBlock]], near: NDArray[np.bool_] | None
) -> None:
    """‖a − b‖² = ‖a‖² + ‖b‖² − 2 a·b says which pairs may be nearest up to rounding; these are compared as they are.

    So a matrix product does the work, and what it rounds, which depends on the machine, decides nothing.
    """
    a, b = (side.windows.values.reshape(len(side.windows), -1) for side in sides[0])
    ones = (np.ones(len(rows)) for rows in (a, b))
    with np.errstate(over="ignore"):
        squares = [np.square(rows).sum(axis=1) for rows in (a, b)]
        if not np.isfinite(4 * (squares[0].max() + squares[1].max())):  # products would be nan, and hide the nearest
            raise ValueError(
                "series: distances of its windows are too large for float64: divide it by its largest value, or use "
                "normalize=True"
            )
    left, right = np.c_[-2 * a, squares[0], next(ones)], np.c_[b, next(ones), squares[1]]
    block = left @ right.T  # with the squares as two columns more, it is one pass over the block
    slack = 8 * (a.shape[1] + 8) * np.finfo(np.float64).eps * (squares[0].max() + squares[1].max())
    if near is not None:
        block[near] = np.inf
    for (rows, columns), x, y, turned in zip(sides, (a, b), (b, a), (False, True), strict=False):
        least = block.min(axis=0 if turned else 1)
        best = np.square(rows.best[rows.places])
        hopeful = np.flatnonzero((least <= best + slack) & np.isfinite(least))
        matrix = block[:, hopeful].T if turned else block[hopeful]
        _compare_best(rows, columns.places.start, hopeful, matrix, slack, x, y)


def _compare_best(
    rows: WindowBlock, first: int, hopeful: NDArray[np.int64], matrix: Matrix, slack: float, x: Matrix, y: Matrix
) -> None:
    """Compare the hopeful rows with what may be nearest to them; `matrix` has their squared distances up to `slack`."""
    nearest = matrix.argmin(axis=1)
    _compare_pairs(rows, first, hopeful, nearest, x, y)
    best = rows.best[rows.places][hopeful]
    row, column = np.nonzero(matrix <= (np.square(best) + slack)[:, None])
    earlier = column + first < rows.ids[rows.places][hopeful][row]
    other = (column != nearest[row]) & ((best[row] > 0) | earlier)  # nothing is nearer than a copy
    row, column = row[other], column[other]
    for some in _split_by_rank(row):  # one candidate of every row at a time
        _compare_pairs(rows, first, hopeful[row[some]], column[some], x, y)


def _compare_pairs(
    rows: WindowBlock, first: int, row: NDArray[np.int64], column: NDArray[np.int64], x: Matrix, y: Matrix
) -> None:
    """Distances of pairs as they are."""
    height = max(1, _MAX_VALUES // x.shape[1])
    for begin in range(0, len(row), height):
        some = slice(begin, begin + height)
        distances = np.sqrt(np.square(x[row[some]] - y[column[some]]).sum(axis=1))
        rows.take(row[some], column[some] + first, distances)


def _split_by_rank(row: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Positions of the first entry of every row, of the second, and so on; `row` is in order.

    >>> _split_by_rank(np.array([0, 0, 3, 5, 5]))
    [array([0, 2, 3]), array([1, 4])]
    """
    if not len(row):
        return []
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    return [np.flatnonzero(rank == which) for which in range(int(rank.max()) + 1)]
