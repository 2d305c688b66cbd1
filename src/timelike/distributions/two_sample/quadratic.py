"""MMD² of many allocations of one sample to two sides: one matrix, one product, in whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...align.matrix import Report
from .. import blocks
from ..blocks import Strips, lower_strips
from ..kernels.base import Kernel, Matrix
from .exchange import Exchange, Sides

Floats = NDArray[np.float64]
_AT_ONCE = 512  # allocations in a product
_STRIP = 192  # rows in a product
_TIE = 1e-12  # of the range of similarities: statistics that are nearer are the same up to rounding


@dataclass(frozen=True, eq=False)
class Whole:
    """Similarities of all pairs as whole numbers times a unit, from a middle: their sums are exact.

    MMD² does not change when a constant is added to all similarities, so they are taken from the middle of their range.
    In whole numbers small enough that no sum of them is rounded, a sum is the same in any order: neither threads nor
    blocks nor the library behind a product of matrices change a bit of a statistic, and allocations that are equal
    have equal statistics.
    """

    unit: float
    units: Exchange
    own: Floats
    """Of every item with itself."""
    inside: Floats
    """Of all pairs of items of a unit, an item with itself included, summed, (unit,)."""
    to_all: Floats
    """Of every item with all others, (item,)."""
    squares: float
    """The squares of all similarities of different items, summed."""
    strips: Callable[[], Strips]
    """Every pair of different items once: rows, and their similarities to the items before each of them."""
    biased: bool
    matrix: Matrix | None = None
    """All of them, where they are in memory."""

    @property
    def constant(self) -> bool:
        """Whether all similarities are equal, so that no allocation differs from another."""
        return self.unit == 0.0

    @property
    def tie(self) -> float:
        """Statistics that are nearer than this are equal."""
        return _TIE * self.unit * 2.0 ** _bits(len(self.to_all))

    @property
    def spread(self) -> float:
        """The root of the mean square of centred similarities: the deviation of MMD² by chance is proportional to it.

        Centred as for unbiased distance correlation, so that rows sum to 0 without the diagonal (Székely and Rizzo,
        "Partial distance correlation with methods for dissimilarities", 2014). 0 of fewer than four items, or where
        only rounding is left.
        """
        n = len(self.to_all)
        if n < 4:
            return 0.0
        total = float(self.to_all.sum())
        rows = float(np.square(self.to_all).sum())
        left = self.squares - 2 * rows / (n - 2) + total**2 / ((n - 1) * (n - 2))
        return self.unit * math.sqrt(left / (n * (n - 3))) if left > _TIE * self.squares else 0.0

    def statistics(self, sides: Sides) -> Floats:
        """MMD² of every allocation (allocation, item)."""
        n_x = sides.sum(axis=1)
        few = int(n_x.max(initial=0))
        if self.matrix is not None and (n_x == few).all() and 32 * few * few < len(self.to_all) ** 2:
            within = _within_few(self.matrix, np.nonzero(sides)[1].reshape(len(sides), few))
        else:
            within = self._within(sides)
        at_once = max(16, blocks.BLOCK // max(1, sides.shape[1]))  # as floats sides are eight times as large
        parts = [slice(begin, begin + at_once) for begin in range(0, len(sides), at_once)]
        return np.concatenate([self._discrepancies(sides[some].astype(np.float64), within[some]) for some in parts])

    def _within(self, sides: Sides) -> Floats:
        """The similarities of the items of X to each other, summed, (allocation,)."""
        found, n_items = np.zeros(len(sides)), sides.shape[1]
        at_once = min(_AT_ONCE, max(16, 2 * blocks.BLOCK // n_items))
        room = np.empty(at_once * n_items)  # once: for every strip anew it would take longer than the product
        for rows, strip in self.strips():
            for begin in range(0, len(sides), at_once):
                some = sides[begin : begin + at_once, : rows.stop]
                chosen = room[: some.size].reshape(some.shape)
                chosen[...] = some
                found[begin : begin + at_once] += np.einsum("ar,ar->a", chosen @ strip.T, chosen[:, rows])
        return 2 * found

    def _discrepancies(self, sides: Floats, within: Floats) -> Floats:
        n = sides.sum(axis=1)
        m = sides.shape[1] - n
        to_all = sides @ self.to_all
        rest, across = self.to_all.sum() - 2 * to_all + within, to_all - within
        if self.biased:
            own_x = sides @ self.own
            found = (within + own_x) / n**2 + (rest + (self.own.sum() - own_x)) / m**2 - 2 * across / (n * m)
            return np.asarray(found * self.unit)
        count = np.bincount(self.units.unit_of).astype(np.float64)
        sizes, pairs = count[self.units.unit_of], count[self.units.pairs]
        alike = sides @ sizes  # pairs of items of one unit, an item with itself included
        found = self._mean_within(sides, within, n**2 - alike) + self._mean_within(
            1 - sides, rest, m**2 - (sizes.sum() - alike)
        )
        found -= 2 * across / np.maximum(n * m - (pairs[:, 0] * pairs[:, 1]).sum(), 1)
        return np.asarray(found * self.unit)

    def _mean_within(self, sides: Floats, sums: Floats, n_pairs: Floats) -> Floats:
        """The mean similarity of two units of a side; of one alone, that of its items, each with itself included."""
        if (n_pairs > 0).all():  # in all allocations or in none, as a side has as many units in each
            return sums / n_pairs
        alone = self.units.unit_of[sides.argmax(axis=1)]
        return np.asarray(self.inside[alone] / np.bincount(self.units.unit_of)[alone] ** 2)


def _within_few(matrix: Matrix, chosen: NDArray[np.int64]) -> Floats:
    """The same where X is small: only its own pairs are looked at. `chosen` (allocation, item) are its items."""
    found = np.empty(len(chosen))
    at_once = max(1, (1 << 20) // max(1, chosen.shape[1] ** 2))
    for begin in range(0, len(chosen), at_once):
        some = chosen[begin : begin + at_once]
        found[begin : begin + at_once] = matrix[some[:, :, None], some[:, None, :]].sum(axis=(1, 2))
    return found


def of_matrix(matrix: Matrix, units: Exchange, *, biased: bool = False, spare: bool = False) -> Whole:
    """Of a symmetric matrix that is in memory, and may be written over where it is `spare`.

    Pairs of one item, and of one group, count where the estimate is `biased` only: items of a group are not
    independent, and of unequal groups the larger ones would look more alike than the others.
    """
    n_items, own, rounded = len(matrix), np.diag(matrix).copy(), matrix if spare else matrix.copy()
    np.fill_diagonal(rounded, rounded[0, -1])  # a pair of different items, whatever an item has with itself
    middle, unit = _grid(rounded, own if biased or units.lone else own[:0], n_items)
    rounded, mine = _rounded(rounded, middle, unit), _rounded(own, middle, unit)
    np.fill_diagonal(rounded, 0.0)
    inside, group = _per_unit(mine, units.unit_of, units), units.group_of
    if not biased and len(np.unique(group)) < n_items:
        for begin in range(0, n_items, _STRIP):
            rows = slice(begin, min(begin + _STRIP, n_items))
            inside += _inside(rounded[rows], rows, units)
            rounded[rows][group[rows, None] == group] = 0.0

    def strips() -> Strips:
        for begin in range(0, n_items, _STRIP):
            rows = slice(begin, min(begin + _STRIP, n_items))
            yield rows, _once(rounded[rows, : rows.stop].copy(), rows)

    squares = float(np.einsum("ij,ij->", rounded, rounded))
    return Whole(unit, units, mine, inside, rounded.sum(axis=1), squares, strips, biased, rounded)


def of_blocks(kernel: Kernel, known: Any, units: Exchange, *, biased: bool = False, report: Report = None) -> Whole:
    """Of a matrix that is too large for memory: half of it is made in strips, for its range, its sums and every use."""
    n_items, own, group = len(known), np.empty(len(known)), units.group_of
    grouped = units.n_units < n_items and not biased
    made = _watched(kernel, known, report, 4 if grouped else 3)
    low, high = math.inf, -math.inf
    for rows, strip in made():
        own[rows] = np.diagonal(strip, rows.start)
        np.fill_diagonal(strip[:, rows], strip[-1, 0])  # a pair of different items
        low, high = min(low, float(strip.min())), max(high, float(strip.max()))
    middle, unit = _grid(np.array([low, high]), own if biased or units.lone else own[:0], n_items)

    def strips() -> Strips:
        for rows, strip in made():
            rounded = _once(_rounded(strip, middle, unit), rows)
            if not biased:
                rounded[group[rows, None] == group[: rows.stop]] = 0.0
            yield rows, rounded

    mine, to_all = _rounded(own, middle, unit), np.zeros(n_items)
    inside = _per_unit(mine, units.unit_of, units)
    if grouped:
        for rows, strip in made():
            inside += 2 * _inside(_once(_rounded(strip, middle, unit), rows), rows, units)
    squares = 0.0
    for rows, strip in strips():
        to_all[rows] += strip.sum(axis=1)
        to_all[: rows.stop] += strip.sum(axis=0)
        squares += 2 * float(np.einsum("ij,ij->", strip, strip))
    return Whole(unit, units, mine, inside, to_all, squares, strips, biased)


def _once(strip: Matrix, rows: slice) -> Matrix:
    """Similarities of rows to the items before each of them only, in place."""
    inner = strip[:, rows]
    inner[np.triu_indices(len(inner))] = 0.0
    return strip


def _watched(kernel: Kernel, known: Any, report: Report, passes: int) -> Callable[[], Strips]:
    """The strips of a matrix, again and again, with a report of how far they are of so many times."""
    done, total = 0.0, passes * len(known) ** 2 / 2

    def made() -> Strips:
        nonlocal done
        for rows, strip in lower_strips(kernel, known):
            yield rows, strip
            done += (rows.stop**2 - rows.start**2) / 2
            if report is not None:
                report(int(min(done, total)), int(total))

    return made


def _inside(strip: Matrix, rows: slice, units: Exchange) -> Floats:
    """The similarities of a strip of rows that are of two items of one unit, summed, (unit,)."""
    same = units.unit_of[rows, None] == units.unit_of[: strip.shape[1]]
    sums = np.where(same, strip, 0.0).sum(axis=1)
    return _per_unit(sums, units.unit_of[rows], units)


def _per_unit(values: Floats, unit_of: NDArray[np.int64], units: Exchange) -> Floats:
    return np.asarray(np.bincount(unit_of, values, minlength=units.n_units), np.float64)


def _grid(values: Floats, own: Floats, n_items: int) -> tuple[float, float]:
    """The middle of a range, and the unit in which its sums over all pairs are exact; 0 where all are equal."""
    low = min(float(values.min()), float(own.min(initial=math.inf)))
    high = max(float(values.max()), float(own.max(initial=-math.inf)))
    if not math.isfinite(high - low):  # min and max see nan and infinity; a comparison with nan would call p small
        raise ValueError("kernel makes similarities that are too large, or nan: standardize the items, or use RBF()")
    return low / 2 + high / 2, (high / 2 - low / 2) * 2.0 ** -_bits(n_items)


def _rounded(values: Floats, middle: float, unit: float) -> Floats:
    """In whole units from the middle, in place."""
    values -= middle
    if unit == 0.0:
        values[...] = 0.0
        return values
    values /= unit
    return np.rint(values, out=values)


def _bits(n_items: int) -> int:
    """Binary digits of a similarity: a sum over all pairs, taken twice, stays below 2⁵³."""
    return 51 - 2 * math.ceil(math.log2(max(2, n_items)))
