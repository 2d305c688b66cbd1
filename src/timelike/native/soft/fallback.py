"""The fallback of the soft-DTW kernels in NumPy, by the wavefront of the elastic distances: values and gradients.

It stands in for the kernels if there are none, and is the independent check of them; a pair has the same bits in every
block. Tensors on other devices, and derivatives that torch takes, are in torch_fallback.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..elastic import fallback as elastic
from ..elastic.fallback_rules import PairBlock, Predecessors
from ..elastic.program import Program
from ..machine import PackedSequences

if TYPE_CHECKING:
    from . import Lengths, SoftMinimum


class DiagonalVisits(NamedTuple):
    """How often the cells (i, d − i), begin ≤ i < end, of every pair are visited; `visits` is (cell, pair)."""

    d: int
    begin: int
    end: int
    visits: NDArray[Any]


class KeptTotals(NamedTuple):
    """The totals of one anti-diagonal from row `begin` − 1 on, (row, pair): what the two diagonals after it read."""

    begin: int
    total: NDArray[Any]

    def rows(self, begin: int, end: int) -> NDArray[Any]:
        """The totals of the rows begin − 1 to end − 2, which are before the rows begin to end − 1."""
        return self.total[begin - self.begin : end - self.begin]


class SoftWavefront(elastic.Wavefront):
    """The recurrence of DTW with a soft minimum over a block of pairs."""

    def __init__(self, soft: SoftMinimum, block: PairBlock) -> None:
        super().__init__(Program(band=soft.band), block)
        limits = np.finfo(block.x.dtype)
        self._largest = limits.max
        self._gamma = block.x.dtype.type(max(soft.gamma, limits.tiny))  # 0 · inf is not a number
        # exp is ten times slower where it gives less than the smallest normal number, which is nothing beside 1
        self._least_power = block.x.dtype.type(0.98 * np.log(limits.tiny))
        self._least_weight = np.exp(self._least_power)
        self._buffers = np.empty((4, *block.x.shape[1:]), block.x.dtype)

    def write_minimum(self, totals: Predecessors, best: NDArray[Any]) -> None:
        """The soft minimum of three totals into `best`: the least, less γ log(1 + two weights)."""
        low, first, second, least = self._buffers[:, : len(best)]
        # above and left are combined first, in an order that does not matter: a pair has the same bits in either order
        np.minimum(totals.above, totals.left, out=low)
        np.maximum(totals.above, totals.left, out=second)
        np.maximum(low, totals.corner, out=first)
        np.minimum(low, totals.corner, out=best)
        self._limit(best, least)
        self._weigh(least, first, first)
        self._weigh(least, second, second)
        first += second
        np.log1p(first, out=first)
        first *= self._gamma
        best -= first

    def _limit(self, values: NDArray[Any], out: NDArray[Any]) -> None:
        """The values without infinities: inf − inf is not a number."""
        np.minimum(values, self._largest, out=out)
        np.maximum(out, -self._largest, out=out)

    def _weigh(self, least: NDArray[Any], total: NDArray[Any], out: NDArray[Any]) -> None:
        """exp((least − total) / γ) into `out`."""
        np.subtract(least, total, out=out)
        out /= self._gamma
        np.maximum(out, self._least_power, out=out)
        np.exp(out, out=out)

    def totals_and_visits(self) -> tuple[NDArray[Any], Iterator[DiagonalVisits]]:
        """Soft-DTW (pair,), and the expected visits of all cells, diagonal by diagonal from the last to the first.

        The visits of a diagonal are overwritten by the next ones.
        """
        kept: list[KeptTotals] = []
        totals = np.empty(len(self._ends), self.block.x.dtype)
        with np.errstate(all="ignore"):  # padding and blocked cells are no errors
            for diagonal in self.diagonals():
                kept.append(self._keep(diagonal))
                pairs = np.flatnonzero(self._ends == diagonal.d)
                totals[pairs] = self.last_cells(diagonal, pairs)
        return totals, self._visits(kept)

    @property
    def _ends(self) -> NDArray[np.int64]:
        """The last diagonal of every pair, (pair,)."""
        return self.block.lengths[0] + self.block.lengths[1] - 2

    def _keep(self, diagonal: elastic.Diagonal) -> KeptTotals:
        last = self.band.n_diagonals - 1
        begins, ends = zip(*(self.band.rows(min(diagonal.d + k, last)) for k in range(3)), strict=True)
        return KeptTotals(min(begins), diagonal.values.total[min(begins) : max(ends) + 1].copy())

    def _visits(self, kept: list[KeptTotals]) -> Iterator[DiagonalVisits]:
        n_rows, n_pairs = self.block.x.shape[1:]
        here, nearer, farther = np.zeros((3, n_rows + 1, n_pairs), self.block.x.dtype)
        for d in reversed(range(self.band.n_diagonals)):
            ending = np.flatnonzero(self._ends == d)
            here[self.block.lengths[0][ending], ending] += 1
            begin, end = self.band.rows(d)
            visits = here[begin + 1 : end + 1]
            if d and begin < end:
                with np.errstate(all="ignore"):
                    self._spread_visits(visits, kept, d, (nearer[begin : end + 1], farther[begin:end]))
            yield DiagonalVisits(d, begin, max(begin, end), visits)
            here.fill(0)
            here, nearer, farther = nearer, farther, here

    def _spread_visits(
        self, visits: NDArray[Any], kept: list[KeptTotals], d: int, before: tuple[NDArray[Any], NDArray[Any]]
    ) -> None:
        """Add the visits of a diagonal to those of the two before it, along the ways into its cells."""
        begin, end = self.band.rows(d)
        ways = [kept[d - 1].rows(begin, end), kept[d - 1].rows(begin + 1, end + 1)]
        if d > 1:  # the second diagonal has no corners
            ways.append(kept[d - 2].rows(begin, end))
        weights = self._way_weights(ways)
        weights *= visits
        nearer, farther = before
        nearer[:-1] += weights[0]
        nearer[1:] += weights[1]
        if d > 1:
            farther += weights[2]

    def _way_weights(self, ways: list[NDArray[Any]]) -> NDArray[Any]:
        """The shares of the ways into a cell, (way, cell, pair); 0 where all are closed."""
        least, weights = self._buffers[0, : len(ways[0])], self._buffers[1 : 1 + len(ways), : len(ways[0])]
        np.minimum(ways[0], ways[1], out=least)
        if len(ways) > 2:
            np.minimum(least, ways[2], out=least)
        self._limit(least, least)
        for way, weight in zip(ways, weights, strict=True):
            self._weigh(least, way, weight)
        weights -= 1.001 * self._least_weight  # a closed way has no weight at all
        np.maximum(weights, 0, out=weights)
        total = weights.sum(0)
        np.maximum(total, 1, out=total)  # the least has the weight 1: less only where all ways are closed
        weights /= total
        return weights


def pair_totals(
    soft: SoftMinimum, x: PackedSequences, y: PackedSequences, rows: Lengths, columns: Lengths
) -> NDArray[Any]:
    """Soft-DTW of the sequences x[rows[p]] and y[columns[p]], (pair,)."""
    program = Program(band=soft.band)
    out = np.empty(len(rows), x.values.dtype)
    for pairs in elastic.split_into_blocks(program, x, y, rows, columns):
        block = elastic.make_block(program, x, y, rows[pairs], columns[pairs])
        out[pairs] = SoftWavefront(soft, block).totals()
    return out


def expected_alignment(soft: SoftMinimum, x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Soft-DTW of one pair, (1,), and the expected visits of its cells, (n, m)."""
    only, one, two = np.zeros(1, np.int64), PackedSequences.from_sequence(x), PackedSequences.from_sequence(y)
    wave = SoftWavefront(soft, elastic.make_block(Program(band=soft.band), one, two, only, only))
    total, diagonals = wave.totals_and_visits()
    out = np.zeros((len(x), len(y)), x.dtype)
    for d, begin, end, visits in diagonals:
        rows = np.arange(begin, end)
        out[rows, d - rows] = visits[:, 0]
    return total, out


def gradients(
    soft: SoftMinimum, x: PackedSequences, y: PackedSequences, scales: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The gradient of Σ scales · soft-DTW by the values of x and of y, the p-th with the p-th."""
    program, every = Program(band=soft.band), np.arange(len(scales))
    first, second = np.zeros_like(x.values), np.zeros_like(y.values)
    for pairs in elastic.split_into_blocks(program, x, y, every, every):
        by_x, by_y = _block_gradients(SoftWavefront(soft, elastic.make_block(program, x, y, pairs, pairs)))
        for place, p in enumerate(pairs.tolist()):
            n, m = x.lengths[p], y.lengths[p]
            first[x.starts[p] : x.starts[p] + n] = 2 * scales[p] * by_x[:, :n, place].T
            second[y.starts[p] : y.starts[p] + m] = 2 * scales[p] * by_y[:, :m, place].T
    return first, second


def _block_gradients(wave: SoftWavefront) -> tuple[NDArray[Any], NDArray[Any]]:
    """Half the gradients of a block's frames, (channel, time, pair): Σ visits (x_i − y_j), and its negative for y_j."""
    x, y = wave.block.x, wave.block.y
    by_x, by_y = np.zeros_like(x), np.zeros_like(y)
    shift = y.shape[1] - 1
    for d, begin, end, visits in wave.totals_and_visits()[1]:
        rows, columns = slice(begin, end), slice(begin + shift - d, end + shift - d)  # y runs backwards in time
        for channel in range(len(x)):
            pull = x[channel, rows] - y[channel, columns]
            pull *= visits
            by_x[channel, rows] += pull
            by_y[channel, columns] -= pull
    return by_x, by_y[:, ::-1]
