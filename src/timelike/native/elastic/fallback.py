"""The fallback of the elastic kernels in NumPy: all cells of an anti-diagonal at once, for a block of pairs.

It stands in for the kernels if there are none, and is the independent check of them. Pairs of similar lengths are
padded into blocks that stay in the cache; a pair has the same bits in every block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine import PackedSequences, ProgressCallback
from .fallback_rules import RULES, DiagonalCells, PairBlock, Predecessors
from .program import Program, WarpingBand

# Bytes of a diagonal of all pairs in a block. Few enough that a dozen such arrays stay in the second-level cache, and
# enough that calling NumPy costs less than computing.
_DIAGONAL_BYTES = 1 << 16
_MAX_BLOCK_BYTES = 1 << 25  # of padded frames, where there are many channels


class BlockBand:
    """The cells that the bands of a block's pairs leave open, diagonal by diagonal.

    Along a diagonal, the open rows of a pair are a range. From one diagonal to the next its ends never move back, and
    the last row moves by at most one. So the cells next to both ends are the only closed ones that open cells read, and
    closing these two is enough: what else is computed outside of a pair's band, because the block's other pairs need
    it, is not read.
    """

    def __init__(self, band: WarpingBand, n: NDArray[np.int64], m: NDArray[np.int64]) -> None:
        self._n, self._m, self._last = int(n.max()), int(m.max()), n + m - 2
        self.n_diagonals = int(self._last.max()) + 1
        self.is_unbounded = band.is_unbounded
        if self.is_unbounded:
            self.ends_inside = np.ones(len(n), bool)
            return
        first, last = self._open_rows(band, n, m)  # (diagonal, pair)
        pairs = np.arange(len(n))
        self.ends_inside = (first[self._last, pairs] <= n - 1) & (last[self._last, pairs] >= n - 1)
        is_open = (first <= last) & (np.arange(self.n_diagonals)[:, None] <= self._last)
        self._begins = np.where(is_open, first, self._n).min(1).tolist()
        self._ends = np.where(is_open, last + 1, 0).max(1).tolist()
        # places of the rows next to both ends in a diagonal with its border, (row + 1, pair), as one flat index
        self._closed = np.concatenate([first * len(n) + pairs, (last + 2) * len(n) + pairs], 1)

    def _open_rows(
        self, band: WarpingBand, n: NDArray[np.int64], m: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first and last open row of every diagonal and pair: how many rows end before it, or begin by it."""
        size = self.n_diagonals + 1
        lengths, which = np.unique(np.stack([n, m], 1), axis=0, return_inverse=True)
        begins, ends = np.zeros((2, len(lengths), size), np.int64)
        for one, (a, b) in enumerate(lengths.tolist()):
            low, high = band.bounds(a, b)
            rows = np.arange(a)
            begins[one] = np.bincount(np.minimum(rows + low, size - 1), minlength=size)
            ends[one] = np.bincount(np.minimum(rows + high + 1, size - 1), minlength=size)
        first, last = (counts.cumsum(1)[:, :-1].T[:, which.reshape(-1)] for counts in (ends, begins))
        return first, last - 1

    def rows(self, d: int) -> tuple[int, int]:
        """The rows [begin, end) of diagonal d that are open for any pair."""
        if self.is_unbounded:
            return max(0, d - self._m + 1), min(self._n, d + 1)
        return self._begins[d], self._ends[d]

    def close(self, d: int, total: NDArray[Any]) -> None:
        """Write inf next to both ends of every pair's open rows."""
        if not self.is_unbounded:
            total.reshape(-1)[self._closed[d]] = np.inf


class Values(NamedTuple):
    """What is kept of one anti-diagonal with its border, (row + 1, pair)."""

    total: NDArray[Any]
    steps: NDArray[Any]  # on the best path; if values may be missing, its cells without data, < 0 where it ends in one


class Diagonal(NamedTuple):
    """Anti-diagonal `d` of a block: the cells (i, d − i) with `begin` ≤ i < `end`."""

    d: int
    begin: int
    end: int
    values: Values
    way: NDArray[np.int8]  # (cell, pair): 0 diagonal, 1 up, 2 left; empty unless asked for


class Wavefront:
    """The program over a block of pairs; iterate over `diagonals()`."""

    def __init__(self, program: Program, block: PairBlock, *, with_ways: bool = False) -> None:
        self.program, self.block, self.with_ways = program, block, with_ways
        self.rule = RULES[program.rule](program, block)
        self.band = BlockBand(program.band, *block.lengths)
        self._counts = program.counted or self.rule.allows_missing
        self._borders = self.rule.borders() if self.rule.has_border else None

    def diagonals(self) -> Iterator[Diagonal]:
        """All diagonals in order; each is overwritten three diagonals later."""
        older, newer, now = (self._blocked() for _ in range(3))
        older.total[0] = self.rule.start()
        self._write_border(-1, newer.total)
        for d in range(self.band.n_diagonals):
            begin, end = self.band.rows(d)
            way = self._fill(d, begin, end, (older, newer, now))
            self.band.close(d, now.total)
            self._write_border(d, now.total)
            yield Diagonal(d, begin, end, now, way)
            older.total[0] = np.inf  # the corner, which only the first diagonal reads
            older, newer, now = newer, now, older

    def _blocked(self) -> Values:
        shape, dtype = (self.block.x.shape[1] + 2, self.block.x.shape[2]), self.block.x.dtype
        return Values(np.full(shape, np.inf, dtype), np.zeros(shape if self._counts else (0, 0), dtype))

    def _write_border(self, d: int, total: NDArray[Any]) -> None:
        """The cells (d + 1, −1) and (−1, d + 1), which lie on the diagonal d."""
        if self._borders is not None:
            x_border, y_border = self._borders
            if d + 1 < len(x_border):
                total[d + 2] = x_border[d + 1]
            if d + 1 < len(y_border):
                total[0] = y_border[d + 1]

    def _fill(self, d: int, begin: int, end: int, diagonals: tuple[Values, Values, Values]) -> NDArray[np.int8]:
        """Compute the cells of diagonal d, and the ways into them."""
        older, newer, now = diagonals
        if begin >= end:
            return np.empty((0, self.block.x.shape[2]), np.int8)
        shift = self.block.y.shape[1] - 1 - d
        cells = DiagonalCells(slice(begin, end), slice(begin + shift, end + shift))
        before, here = slice(begin, end), slice(begin + 1, end + 1)
        totals = self.rule.moves(cells, Predecessors(older.total[before], newer.total[before], newer.total[here]))
        best = now.total[here]
        if self._counts:
            steps = Predecessors(older.steps[before], newer.steps[before], newer.steps[here])
            way = self._choose_fewest(cells, totals, steps, Values(best, now.steps[here]))
        else:
            self.write_minimum(totals, best)
            way = _first_way(totals.corner == best, totals.above == best) if self.with_ways else _NO_WAYS
        self.rule.add_cost(cells, best)
        return way

    def write_minimum(self, totals: Predecessors, best: NDArray[Any]) -> None:
        """The least of three totals into `best`."""
        np.minimum(totals.corner, totals.above, out=best)
        np.minimum(best, totals.left, out=best)

    def _choose_fewest(
        self, cells: DiagonalCells, totals: Predecessors, steps: Predecessors, best: Values
    ) -> NDArray[np.int8]:
        """The best totals and their steps; of equal paths the one with less to count wins, as in the kernels."""
        known = None
        if self.rule.allows_missing:
            known = self.rule.has_data(cells)
            above, left = (
                np.where(known & (count >= 0), total, np.inf)
                for total, count in ((totals.above, steps.above), (totals.left, steps.left))
            )
            totals, steps = Predecessors(totals.corner, above, left), Predecessors(*map(np.abs, steps))
        self.write_minimum(totals, best.total)
        counts = [np.where(t == best.total, s, np.inf) for t, s in zip(totals, steps, strict=True)]
        fewest = np.minimum(np.minimum(counts[0], counts[1]), counts[2])
        way = _first_way(counts[0] == fewest, counts[1] == fewest) if self.with_ways else _NO_WAYS
        if known is None:
            np.add(fewest, 1, out=best.steps)
        else:
            np.copyto(best.steps, np.where(known, fewest, -(fewest + 1)))
        return way

    def scale_totals(self, total: NDArray[Any], steps: NDArray[Any], pairs: NDArray[np.int64]) -> NDArray[Any]:
        """Last cells as the program gives them: divided by the steps, or scaled up to what could not be compared."""
        if self.rule.allows_missing:
            both = (self.block.lengths[0] + self.block.lengths[1])[pairs].astype(total.dtype)
            total = np.where(np.isinf(total), np.inf, total * (both / (both - 2 * np.abs(steps))))
        elif self.program.counted:
            total = total / steps
        return np.where(self.band.ends_inside[pairs], total, np.inf)

    def last_cells(self, diagonal: Diagonal, pairs: NDArray[np.int64]) -> NDArray[Any]:
        """The finished totals of pairs whose last cell is on this diagonal."""
        place = self.block.lengths[0][pairs], pairs
        steps = diagonal.values.steps[place] if self._counts else np.empty(0)
        return self.scale_totals(diagonal.values.total[place], steps, pairs)

    def totals(self) -> NDArray[Any]:
        """The last cell of every pair, (pair,), finished. Padding is never read into it."""
        last = self.block.lengths[0] + self.block.lengths[1] - 2
        ending = {d: np.flatnonzero(last == d) for d in set(last.tolist())}
        result = np.empty(len(last), self.block.x.dtype)
        with np.errstate(all="ignore"):  # padding, blocked cells and what was not compared at all are no errors
            for diagonal in self.diagonals():
                if diagonal.d in ending:
                    pairs = ending[diagonal.d]
                    result[pairs] = self.last_cells(diagonal, pairs)
        return result


_NO_WAYS = np.empty((0, 0), np.int8)


def _first_way(is_corner: NDArray[np.bool_], is_above: NDArray[np.bool_]) -> NDArray[np.int8]:
    """0 where the corner is one of the best ways, else 1 where the cell above is, else 2."""
    return np.where(is_corner, np.int8(0), np.where(is_above, np.int8(1), np.int8(2)))


def pairwise(
    program: Program,
    x: PackedSequences,
    y: PackedSequences,
    *,
    symmetric: bool,
    out: NDArray[Any],
    report: ProgressCallback,
) -> None:
    """The program over all pairs into `out`."""
    done, count = 0, len(out) * (len(out) + 1) // 2 if symmetric else out.size
    for i, j in _blocks(program, x, y, symmetric=symmetric):
        out[i, j] = totals = Wavefront(program, make_block(program, x, y, i, j)).totals()
        if symmetric:
            out[j, i] = totals
        done += len(i)
        if report is not None:
            report(done, count)


def squared_distances(
    x: NDArray[np.float64], y: NDArray[np.float64], *, out: NDArray[np.float64], report: ProgressCallback
) -> None:
    """‖x_i − y_j‖² of vectors (item, feature) into `out`, feature after feature as between frames."""
    first, second = np.ascontiguousarray(x.T), np.ascontiguousarray(y.T)
    size = max(1, _DIAGONAL_BYTES // (8 * max(1, len(y))))
    for begin in range(0, len(x), size):
        block = np.zeros_like(out[begin : begin + size])
        for a, b in zip(first[:, begin : begin + size], second, strict=True):
            difference = a[:, None] - b
            difference *= difference
            block += difference
        out[begin : begin + size] = block
        if report is not None:
            report(min(begin + size, len(x)), len(x))


def _blocks(
    program: Program, x: PackedSequences, y: PackedSequences, *, symmetric: bool
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of similar lengths, as many as a block should have; of a symmetric matrix one of (i, j) and (j, i)."""
    by_length = np.argsort(-x.lengths, kind="stable"), np.argsort(-y.lengths, kind="stable")
    begin = 0
    while begin < len(x.lengths) and len(y.lengths):
        first = begin if symmetric else 0
        n, m = x.lengths[by_length[0][begin]], y.lengths[by_length[1][first]]
        size = block_size(program, x, int(n), int(m))
        # near to a square, in which lengths differ least on both sides
        height = min(max(math.isqrt(size), size // (len(y.lengths) - first)), len(x.lengths) - begin)
        rows = np.arange(begin, begin + height)
        while first < len(y.lengths):
            m = y.lengths[by_length[1][first]]
            width = max(1, block_size(program, x, int(n), int(m)) // height)
            i, j = (
                side.reshape(-1) for side in np.meshgrid(rows, np.arange(first, min(first + width, len(y.lengths))))
            )
            if symmetric and first < begin + height:
                i, j = i[i <= j], j[i <= j]
            if len(i):
                yield by_length[0][i], by_length[1][j]
            first += width
        begin += height


def split_into_blocks(
    program: Program, x: PackedSequences, y: PackedSequences, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """The places of listed pairs x[rows[p]] and y[columns[p]], those of similar lengths together."""
    n, m = x.lengths[rows], y.lengths[columns]
    if not len(n):
        return
    # as many groups of similar n as blocks of similar m in each, so that lengths differ least on both sides
    n_blocks = len(n) / block_size(program, x, int(n.mean()), int(m.mean()))
    for group in np.array_split(np.argsort(-n, kind="stable"), math.ceil(math.sqrt(n_blocks))):
        left = group[np.argsort(-m[group], kind="stable")]
        while len(left):
            size = block_size(program, x, int(n[left].max()), int(m[left[0]]))
            size = math.ceil(len(left) / math.ceil(len(left) / size))  # of even sizes
            yield left[:size]
            left = left[size:]


def block_size(program: Program, x: PackedSequences, n: int, m: int) -> int:
    """How many pairs of the lengths n and m a block should have."""
    rows = n * m // (n + m - 1)  # of a diagonal, on average
    if not program.band.is_unbounded:
        low, high = program.band.bounds(n, m)
        rows = max(1, min(rows, int((high - low).max()) // 2 + 1))
    itemsize, channels = int(x.values.itemsize), int(x.values.shape[1])
    return max(1, min(_DIAGONAL_BYTES // (itemsize * rows), _MAX_BLOCK_BYTES // (itemsize * channels * (n + m))))


def make_block(
    program: Program, x: PackedSequences, y: PackedSequences, i: NDArray[np.int64], j: NDArray[np.int64]
) -> PairBlock:
    threshold = np.zeros(len(i), x.values.dtype)
    if program.thresholds is not None:
        threshold[:] = np.maximum(program.thresholds[0][i], program.thresholds[1][j])
    one, two = _pad_frames(x, i), _pad_frames(y, j, backwards=True)
    lengths = x.lengths[i], y.lengths[j]
    return PairBlock(one[:, 1:], two[:, :-1], one[:, :-1], two[:, 1:], lengths, threshold)


def _pad_frames(side: PackedSequences, chosen: NDArray[np.int64], *, backwards: bool = False) -> NDArray[Any]:
    """The chosen sequences after a frame of zeros, (channel, time + 1, item), or the same backwards in time.

    Past its end, a sequence repeats its last step: what is computed from it and dropped does not overflow.
    """
    last = side.lengths[chosen] - 1
    at = side.starts[chosen] + np.minimum(np.arange(last.max() + 1)[:, None], last)
    padded = np.zeros((side.values.shape[1], len(at) + 1, len(chosen)), side.values.dtype)
    inside = padded[:, :-1] if backwards else padded[:, 1:]
    inside[:] = np.moveaxis(side.values[at[::-1] if backwards else at], -1, 0)
    return padded


def _single_wavefront(program: Program, x: NDArray[Any], y: NDArray[Any], *, with_ways: bool = False) -> Wavefront:
    only = np.zeros(1, np.int64)
    block = make_block(program, PackedSequences.from_sequence(x), PackedSequences.from_sequence(y), only, only)
    return Wavefront(program, block, with_ways=with_ways)


def matrix(program: Program, x: NDArray[Any], y: NDArray[Any], out: NDArray[Any]) -> None:
    """All cells of one pair's program into `out` (n, m)."""
    with np.errstate(all="ignore"):
        for d, begin, end, values, _ in _single_wavefront(program, x, y).diagonals():
            rows = np.arange(begin, end)
            out[rows, d - rows] = values.total[begin + 1 : end + 1, 0]


def path(program: Program, x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[np.int64], float]:
    """One pair with its path; ties prefer the diagonal, then the step in x, as in the compiled kernel."""
    ways, total = np.zeros((len(x), len(y)), np.int8), np.inf
    wave = _single_wavefront(program, x, y, with_ways=True)
    with np.errstate(all="ignore"):
        for diagonal in wave.diagonals():
            rows = np.arange(diagonal.begin, diagonal.end)
            ways[rows, diagonal.d - rows] = diagonal.way[:, 0]
            if diagonal.d == len(x) + len(y) - 2:
                total = float(wave.last_cells(diagonal, np.zeros(1, np.int64))[0])
    i, j = len(x) - 1, len(y) - 1
    steps = [(i, j)]
    while i or j:
        way = 1 if j == 0 else 2 if i == 0 else ways[i, j]  # on the border only one way is left
        i, j = i - (way != 2), j - (way != 1)
        steps.append((i, j))
    return np.array(steps[::-1], np.int64), total
