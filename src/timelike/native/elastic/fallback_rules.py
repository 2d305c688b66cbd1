"""The recurrences of the elastic fallback in NumPy: one small class each, as the structs in cells.hpp.

A `Program` selects one of these classes by its `rule`. Arrays are (cell, pair) unless noted otherwise, with the cells
of one anti-diagonal. Every operation works on each element by itself, so that a pair has the same bits in every block.
Sums have the order of the kernels, so that ties break in the same way; only the squares of several channels may differ
in the last bit, if the CPU fuses multiplication and addition.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .program import Program

RULES: dict[str, type[CellRule]] = {}

Array = NDArray[Any]


class PairBlock(NamedTuple):
    """Both sides of many pairs, padded at the end, (channel, time, pair): pairs are innermost.

    y runs backwards in time, so that the frames of both sides along an anti-diagonal are two slices, each contiguous.
    A side's frames `before` are those one step earlier, zeros before the first.
    """

    x: Array
    y: Array
    x_before: Array
    y_before: Array
    lengths: tuple[NDArray[np.int64], NDArray[np.int64]]
    threshold: Array  # (pair,)


class DiagonalCells(NamedTuple):
    """The cells of one anti-diagonal: their `rows` in x, and their `columns` in the reversed y."""

    rows: slice
    columns: slice


class Predecessors(NamedTuple):
    """The three predecessors of a cell, or the totals of the moves from them; the first of equal ones wins."""

    corner: Array
    above: Array
    left: Array


class CellRule:
    """A rule over many pairs at once: a subclass defines the cost of each move into a cell, and the border."""

    has_border: ClassVar[bool] = False  # row and column −1 are sums of `edge`; else they are blocked
    has_edges: ClassVar[bool] = False  # `edge` is more than zeros
    # values may be missing: cells without data are passed diagonally, and counted
    allows_missing: ClassVar[bool] = False

    def __init_subclass__(cls, *, rule: str) -> None:
        RULES[rule] = cls

    def __init__(self, program: Program, block: PairBlock) -> None:
        self.program, self.block = program, block
        if self.has_edges:
            self.x_edge, self.y_edge = self.edge(block.x, block.x_before), self.edge(block.y, block.y_before)

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        """Totals of the three ways into the cells, without what `add_cost` adds to all of them."""
        raise NotImplementedError

    def add_cost(self, cells: DiagonalCells, best: Array) -> None:
        """Turn the best of the three totals into the cells' values, in place."""

    def edge(self, side: Array, before: Array) -> Array:
        """The cost of a step in one sequence alone, (time, pair); both arguments are (channel, time, pair)."""
        raise NotImplementedError

    def borders(self) -> tuple[Array, Array]:
        """Column −1 and row −1 of a rule that has them, without the corner, (time, pair)."""
        # accumulated step by step: padding comes after all that is read
        if self.has_edges:
            return self.x_edge.cumsum(0), self.y_edge[::-1].cumsum(0)
        return np.zeros_like(self.block.x[0]), np.zeros_like(self.block.y[0])

    def start(self) -> Array:
        """The corner of the border, (pair,)."""
        return np.zeros_like(self.block.x[0, 0])

    def has_data(self, cells: DiagonalCells) -> NDArray[np.bool_]:
        """Whether there is anything to compare, asked where values may be missing."""
        raise NotImplementedError

    def frame_distances(self, cells: DiagonalCells) -> Array:
        """Euclidean distances of frames."""
        return _distances(self.block.x[:, cells.rows], self.block.y[:, cells.columns])

    def mismatches(self, cells: DiagonalCells) -> NDArray[np.bool_]:
        """Where frames are farther apart than the threshold."""
        near = self.frame_distances(cells)
        return np.greater(near, self._spread_over_cells(self.block.threshold)[: len(near)])

    def _spread_over_cells(self, values: Array) -> Array:
        """Numbers of pairs as an array (time, pair), which NumPy combines with cells without a loop over rows."""
        if not hasattr(self, "_spread"):
            self._spread = np.ascontiguousarray(np.broadcast_to(values, self.block.x[0].shape))
        return self._spread


class LagTable:
    """A number for every lag i − j of every pair, (lag, pair), which the cells of a diagonal read as one slice.

    From cell to cell of a diagonal the lag grows by 2, so even and odd places are kept apart.
    """

    def __init__(self, block: PairBlock, by_lag: list[Array]) -> None:
        """`by_lag[p][k]` is for |i − j| = k of pair p."""
        n, m = block.x.shape[1], block.y.shape[1]
        lags = np.abs(np.arange(1 - m, n))
        table = np.stack([values[np.minimum(lags, len(values) - 1)] for values in by_lag], 1)
        table = table.astype(block.x.dtype)
        self._tables = np.ascontiguousarray(table[::2]), np.ascontiguousarray(table[1::2])

    def values_at(self, cells: DiagonalCells) -> Array:
        first = cells.rows.start + cells.columns.start
        return self._tables[first % 2][first // 2 : first // 2 + cells.rows.stop - cells.rows.start]


class DTWRule(CellRule, rule="dtw"):
    """All moves cost the distance of the frames."""

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        return ways

    def add_cost(self, cells: DiagonalCells, best: Array) -> None:
        best += self.cost(cells)

    def cost(self, cells: DiagonalCells) -> Array:
        return _distances(self.block.x[:, cells.rows], self.block.y[:, cells.columns], self.program.cost)


class Symmetric2Rule(DTWRule, rule="symmetric2"):
    """A diagonal step counts twice, but the first cell once although it is entered diagonally."""

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        self._cost = self.cost(cells)
        return ways._replace(corner=ways.corner + self._cost)

    def add_cost(self, cells: DiagonalCells, best: Array) -> None:
        best += self._cost  # of the same cells, by `moves`

    def start(self) -> Array:
        last = self.block.y.shape[1]
        return np.asarray(-self.cost(DiagonalCells(slice(0, 1), slice(last - 1, last)))[0])


class AmercedRule(DTWRule, rule="amerced"):
    """A step off the diagonal costs `first` more."""

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        return Predecessors(ways.corner, ways.above + self.program.first, ways.left + self.program.first)


class WeightedRule(DTWRule, rule="weighted"):
    """The cost is weighted by |i − j|."""

    def __init__(self, program: Program, block: PairBlock) -> None:
        super().__init__(program, block)
        longer = np.maximum(*block.lengths).tolist()
        # made for each length by itself, so that rounding cannot depend on the other pairs
        weights = {length: self._weights(length) for length in set(longer)}
        self._by_lag = LagTable(block, [weights[length] for length in longer])

    def _weights(self, length: int) -> Array:
        return np.asarray(1 / (1 + np.exp(-self.program.first * (np.arange(length) - length / 2))))

    def cost(self, cells: DiagonalCells) -> Array:
        cost = super().cost(cells)
        cost *= self._by_lag.values_at(cells)
        return cost


class DTWMissingRule(DTWRule, rule="dtw_missing"):
    """A cell compares the channels that both frames have; one without any costs nothing and is passed diagonally."""

    allows_missing = True

    def has_data(self, cells: DiagonalCells) -> NDArray[np.bool_]:
        both = self._shared_channels(cells)
        known = both[0]
        for more in both[1:]:
            known |= more
        return np.asarray(known)

    def _shared_channels(self, cells: DiagonalCells) -> list[NDArray[np.bool_]]:
        """For every channel, where both frames have it."""
        differences = zip(self.block.x[:, cells.rows], self.block.y[:, cells.columns], strict=True)
        return [~np.isnan(a - b) for a, b in differences]

    def cost(self, cells: DiagonalCells) -> Array:
        x, y = self.block.x[:, cells.rows], self.block.y[:, cells.columns]
        one = len(x) == 1
        roots = self.program.cost == "euclidean" and not one
        total, shared = _zeros(x[0]), _zeros(x[0])
        for a, b in zip(x, y, strict=True):
            difference = a - b
            both = ~np.isnan(difference)
            np.copyto(difference, 0.0, where=~both)
            total += _size(difference, self.program.cost, one=one)
            shared += both
        if not one:
            total *= np.divide(len(x), shared, out=_zeros(shared), where=shared > 0)
        return np.sqrt(total, out=total) if roots else total


class Symmetric2MissingRule(DTWMissingRule, Symmetric2Rule, rule="symmetric2_missing"):
    """A diagonal step counts twice."""


class AmercedMissingRule(DTWMissingRule, AmercedRule, rule="amerced_missing"):
    """A step off the diagonal costs `first` more."""


class WeightedMissingRule(WeightedRule, DTWMissingRule, rule="weighted_missing"):
    """The cost is weighted by |i − j|."""


class ERPRule(CellRule, rule="erp"):
    """A gap costs the distance to a constant."""

    has_border = has_edges = True

    def edge(self, side: Array, before: Array) -> Array:
        gap = np.asarray(self.program.gap, side.dtype)
        return _distances(side, np.broadcast_to(gap[:, None, None], side.shape))

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        corner, above, left = ways
        corner = corner + self.frame_distances(cells)
        return Predecessors(corner, above + self.x_edge[cells.rows], left + self.y_edge[cells.columns])


class EDRRule(CellRule, rule="edr"):
    """A gap or a mismatch costs 1."""

    has_border = has_edges = True

    def edge(self, side: Array, before: Array) -> Array:
        return np.ones_like(side[0])

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        corner, above, left = ways
        return Predecessors(corner + self.mismatches(cells), above + 1, left + 1)


class EDRByChannelRule(EDRRule, rule="edr_by_channel"):
    """Frames match where every channel does."""

    def frame_distances(self, cells: DiagonalCells) -> Array:
        return _largest_difference(self.block.x[:, cells.rows], self.block.y[:, cells.columns])


class LCSSRule(CellRule, rule="lcss"):
    """Minus the length of the longest common subsequence."""

    has_border = True

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        return ways._replace(corner=ways.corner - ~self.mismatches(cells))


class LCSSByChannelRule(LCSSRule, rule="lcss_by_channel"):
    """Frames match where every channel does."""

    def frame_distances(self, cells: DiagonalCells) -> Array:
        return _largest_difference(self.block.x[:, cells.rows], self.block.y[:, cells.columns])


class MSMRule(CellRule, rule="msm"):
    """A move costs the distance; split and merge cost `first`, and more where a value is not between its neighbours."""

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        (corner, above, left), block, first = ways, self.block, self.program.first
        x, y = block.x[:, cells.rows], block.y[:, cells.columns]
        apart = self.frame_distances(cells)
        split = _distance_outside(x, block.x_before[:, cells.rows], y, apart)
        merge = _distance_outside(y, block.y_before[:, cells.columns], x, apart)
        # summed in the order of the kernels: ties are common
        return Predecessors(corner + apart, above + split + first, left + merge + first)


class TWERule(CellRule, rule="twe"):
    """Both ends of the matched steps count, and so does being apart in time."""

    has_edges = True

    def __init__(self, program: Program, block: PairBlock) -> None:
        super().__init__(program, block)
        length = max(block.x.shape[1], block.y.shape[1])
        self._by_lag = LagTable(block, [2 * program.first * np.arange(length)] * block.x.shape[2])

    def edge(self, side: Array, before: Array) -> Array:
        return _distances(side, before) + self.program.first + self.program.second

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        corner, above, left = ways
        both = self.frame_distances(cells)
        both += _distances(self.block.x_before[:, cells.rows], self.block.y_before[:, cells.columns])
        both += self._by_lag.values_at(cells)
        both += corner
        return Predecessors(both, above + self.x_edge[cells.rows], left + self.y_edge[cells.columns])


class TimedTWERule(CellRule, rule="twe_timed"):
    """The same on clocks: the last two channels are a step's time, in two parts whose sum it is."""

    has_edges = True

    def edge(self, side: Array, before: Array) -> Array:
        return self._frame_and_time_distances(side, before) + self.program.second

    def moves(self, cells: DiagonalCells, ways: Predecessors) -> Predecessors:
        corner, above, left = ways
        both = self._frame_and_time_distances(self.block.x[:, cells.rows], self.block.y[:, cells.columns])
        x_before, y_before = self.block.x_before[:, cells.rows], self.block.y_before[:, cells.columns]
        both += self._frame_and_time_distances(x_before, y_before)
        both += corner
        return Predecessors(both, above + self.x_edge[cells.rows], left + self.y_edge[cells.columns])

    def _frame_and_time_distances(self, a: Array, b: Array) -> Array:
        """How far frames are from each other in their values and, times the stiffness, in time."""
        passed = a[-2] - b[-2]  # first the large parts, which cancel exactly
        passed += a[-1] - b[-1]
        np.abs(passed, out=passed)
        passed *= self.program.first
        return np.asarray(passed + _distances(a[:-2], b[:-2]))


def _distances(a: Array, b: Array, cost: str = "euclidean") -> Array:
    """How far frames (channel, …) are from each other, channel after channel."""
    one = len(a) == 1
    total = _size(a[0] - b[0], cost, one=one)
    for p, q in zip(a[1:], b[1:], strict=True):
        total += _size(p - q, cost, one=one)
    return np.sqrt(total, out=total) if cost == "euclidean" and not one else total


def _size(difference: Array, cost: str, *, one: bool) -> Array:
    """What one channel adds to the cost, in place."""
    # of one channel the root of the square is the magnitude, without the rounding of either
    if cost == "manhattan" or (cost == "euclidean" and one):
        return np.abs(difference, out=difference)
    difference *= difference
    return difference


def _largest_difference(a: Array, b: Array) -> Array:
    """The largest difference of frames (channel, …) in any channel."""
    largest = _size(a[0] - b[0], "manhattan", one=True)
    for p, q in zip(a[1:], b[1:], strict=True):
        np.maximum(largest, _size(p - q, "manhattan", one=True), out=largest)
    return largest


def _distance_outside(a: Array, b: Array, c: Array, to_c: Array) -> Array:
    """0 where frame a lies in the sphere over the segment from b to c, else its distance to the nearer end."""
    angle = (a[0] - b[0]) * (a[0] - c[0])
    for p, q, r in zip(a[1:], b[1:], c[1:], strict=True):
        angle += (p - q) * (p - r)
    nearer = _distances(a, b)
    np.minimum(nearer, to_c, out=nearer)
    np.copyto(nearer, 0.0, where=angle <= 0)  # Thales: inside, both ends are seen at a right angle or more
    return nearer


def _zeros(like: Array) -> Array:
    return np.zeros(like.shape, like.dtype)
