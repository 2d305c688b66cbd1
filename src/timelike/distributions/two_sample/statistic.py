"""MMD² of many allocations of one sample to two sides, of one kernel or the largest of several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...align.distance_matrix import ProgressCallback
from ..kernels import base as kernel_base
from ..kernels.base import Kernel, Matrix, RowBlocks, iterate_lower_blocks
from .permutations import Allocations, ExchangeableUnits

Floats = NDArray[np.float64]
_BLOCK_ALLOCATIONS = 512  # allocations in a product
_BLOCK_ROWS = 192  # rows in a product
_TIE_RATIO = 1e-12  # of the range of similarities: statistics that are nearer are the same up to rounding


@dataclass(frozen=True, eq=False)
class MMDStatistic:
    """Similarities of all pairs as integers times a unit, relative to a middle: their sums are exact.

    MMD² does not change when a constant is added to all similarities, so they are relative to the middle of their
    range. As integers small enough that no sum is rounded, sums are the same in any order: neither threads nor blocks
    nor the BLAS library change a bit of a statistic, and equal allocations have equal statistics.
    """

    unit: float
    units: ExchangeableUnits
    self_similarities: Floats
    """The similarity of every item with itself, (item,)."""
    within_unit_sums: Floats
    """Sums over all pairs of items of a unit, including an item with itself, (unit,)."""
    row_sums: Floats
    """Sums of every item with all others, (item,)."""
    square_sum: float
    """The sum of squares of all similarities of different items."""
    iterate_blocks: Callable[[], RowBlocks]
    """Every pair of different items once: rows, and their similarities to the items before each of them."""
    biased: bool
    matrix: Matrix | None = None
    """All similarities, if they are in memory."""

    @property
    def is_constant(self) -> bool:
        """Whether all similarities are equal, so that no allocation differs from another."""
        return self.unit == 0.0

    @property
    def tie_tolerance(self) -> float:
        """Statistics that are nearer than this are equal."""
        return _TIE_RATIO * self.unit * 2.0 ** _similarity_bits(len(self.row_sums))

    @property
    def similarity_deviation(self) -> float:
        """The root of the mean square of centred similarities: the deviation of MMD² by chance is proportional to it.

        Centred as for unbiased distance correlation, so that rows sum to 0 without the diagonal (Székely and Rizzo,
        "Partial distance correlation with methods for dissimilarities", 2014). 0 for fewer than four
        items, or if only rounding is left.
        """
        n = len(self.row_sums)
        if n < 4:
            return 0.0
        total = float(self.row_sums.sum())
        rows = float(np.square(self.row_sums).sum())
        left = self.square_sum - 2 * rows / (n - 2) + total**2 / ((n - 1) * (n - 2))
        return self.unit * math.sqrt(left / (n * (n - 3))) if left > _TIE_RATIO * self.square_sum else 0.0

    def statistics(self, sides: Allocations) -> Floats:
        """MMD² of every allocation (allocation, item)."""
        n_x = sides.sum(axis=1)
        few = int(n_x.max(initial=0))
        if self.matrix is not None and (n_x == few).all() and 32 * few * few < len(self.row_sums) ** 2:
            within = _small_side_sums(self.matrix, np.nonzero(sides)[1].reshape(len(sides), few))
        else:
            within = self._within_sums(sides)
        at_once = max(
            16, kernel_base.BLOCK_ENTRIES // max(1, sides.shape[1])
        )  # as floats sides are eight times as large
        parts = [slice(begin, begin + at_once) for begin in range(0, len(sides), at_once)]
        return np.concatenate(
            [self._squared_discrepancies(sides[some].astype(np.float64), within[some]) for some in parts]
        )

    def _within_sums(self, sides: Allocations) -> Floats:
        """The similarities of the items of X to each other, summed, (allocation,)."""
        sums, n_items = np.zeros(len(sides)), sides.shape[1]
        at_once = min(_BLOCK_ALLOCATIONS, max(16, 2 * kernel_base.BLOCK_ENTRIES // n_items))
        buffer = np.empty(at_once * n_items)  # once: a new one per strip would take longer than the product
        for rows, strip in self.iterate_blocks():
            for begin in range(0, len(sides), at_once):
                block = sides[begin : begin + at_once, : rows.stop]
                chosen = buffer[: block.size].reshape(block.shape)
                chosen[...] = block
                sums[begin : begin + at_once] += np.einsum("ar,ar->a", chosen @ strip.T, chosen[:, rows])
        return 2 * sums

    def _squared_discrepancies(self, sides: Floats, within: Floats) -> Floats:
        n = sides.sum(axis=1)
        m = sides.shape[1] - n
        to_all = sides @ self.row_sums
        rest, across = self.row_sums.sum() - 2 * to_all + within, to_all - within
        if self.biased:
            own_x = sides @ self.self_similarities
            statistics = (
                (within + own_x) / n**2 + (rest + (self.self_similarities.sum() - own_x)) / m**2 - 2 * across / (n * m)
            )
            return np.asarray(statistics * self.unit)
        count = np.bincount(self.units.unit_of).astype(np.float64)
        sizes, pairs = count[self.units.unit_of], count[self.units.pairs]
        alike = sides @ sizes  # pairs of items of one unit, an item with itself included
        statistics = self._mean_within(sides, within, n**2 - alike) + self._mean_within(
            1 - sides, rest, m**2 - (sizes.sum() - alike)
        )
        statistics -= 2 * across / np.maximum(n * m - (pairs[:, 0] * pairs[:, 1]).sum(), 1)
        return np.asarray(statistics * self.unit)

    def _mean_within(self, sides: Floats, sums: Floats, n_pairs: Floats) -> Floats:
        """The mean similarity of two units of a side; for a single unit, that of all pairs of its items."""
        if (n_pairs > 0).all():  # the same in all allocations, as the number of units per side is fixed
            return sums / n_pairs
        alone = self.units.unit_of[sides.argmax(axis=1)]
        return np.asarray(self.within_unit_sums[alone] / np.bincount(self.units.unit_of)[alone] ** 2)


def _small_side_sums(matrix: Matrix, chosen: NDArray[np.int64]) -> Floats:
    """The same for small X: only its own pairs are summed. `chosen` (allocation, item) are its items."""
    sums = np.empty(len(chosen))
    at_once = max(1, (1 << 20) // max(1, chosen.shape[1] ** 2))
    for begin in range(0, len(chosen), at_once):
        block = chosen[begin : begin + at_once]
        sums[begin : begin + at_once] = matrix[block[:, :, None], block[:, None, :]].sum(axis=(1, 2))
    return sums


def statistic_from_matrix(
    matrix: Matrix, units: ExchangeableUnits, *, biased: bool = False, spare: bool = False
) -> MMDStatistic:
    """The statistic of a symmetric matrix in memory, which is overwritten if it is `spare`.

    Pairs of one item, and of one group, count only if the estimate is `biased`: items of a group are not independent,
    and larger groups would appear more similar than others.
    """
    n_items, own, rounded = len(matrix), np.diag(matrix).copy(), matrix if spare else matrix.copy()
    np.fill_diagonal(rounded, rounded[0, -1])  # a pair of different items: the diagonal must not affect the range
    middle, unit = _rounding_grid(rounded, own if biased or units.has_lone_unit else own[:0], n_items)
    rounded, mine = _round_to_grid(rounded, middle, unit), _round_to_grid(own, middle, unit)
    np.fill_diagonal(rounded, 0.0)
    inside, group = _sum_per_unit(mine, units.unit_of, units), units.group_of
    if not biased and len(np.unique(group)) < n_items:
        for begin in range(0, n_items, _BLOCK_ROWS):
            rows = slice(begin, min(begin + _BLOCK_ROWS, n_items))
            inside += _within_unit_sums(rounded[rows], rows, units)
            rounded[rows][group[rows, None] == group] = 0.0

    def strips() -> RowBlocks:
        for begin in range(0, n_items, _BLOCK_ROWS):
            rows = slice(begin, min(begin + _BLOCK_ROWS, n_items))
            yield rows, _zero_upper(rounded[rows, : rows.stop].copy(), rows)

    squares = float(np.einsum("ij,ij->", rounded, rounded))
    return MMDStatistic(unit, units, mine, inside, rounded.sum(axis=1), squares, strips, biased, rounded)


def statistic_from_blocks(
    kernel: Kernel, items: Any, units: ExchangeableUnits, *, biased: bool = False, report: ProgressCallback = None
) -> MMDStatistic:
    """The statistic of a matrix too large for memory: half of it is computed in strips, in every pass."""
    n_items, own, group = len(items), np.empty(len(items)), units.group_of
    has_groups = units.n_units < n_items and not biased
    iterate_matrix = _report_blocks(kernel, items, report, 4 if has_groups else 3)
    low, high = math.inf, -math.inf
    for rows, strip in iterate_matrix():
        own[rows] = np.diagonal(strip, rows.start)
        np.fill_diagonal(strip[:, rows], strip[-1, 0])  # a pair of different items
        low, high = min(low, float(strip.min())), max(high, float(strip.max()))
    middle, unit = _rounding_grid(np.array([low, high]), own if biased or units.has_lone_unit else own[:0], n_items)

    def strips() -> RowBlocks:
        for rows, strip in iterate_matrix():
            rounded = _zero_upper(_round_to_grid(strip, middle, unit), rows)
            if not biased:
                rounded[group[rows, None] == group[: rows.stop]] = 0.0
            yield rows, rounded

    mine, to_all = _round_to_grid(own, middle, unit), np.zeros(n_items)
    inside = _sum_per_unit(mine, units.unit_of, units)
    if has_groups:
        for rows, strip in iterate_matrix():
            inside += 2 * _within_unit_sums(_zero_upper(_round_to_grid(strip, middle, unit), rows), rows, units)
    squares = 0.0
    for rows, strip in strips():
        to_all[rows] += strip.sum(axis=1)
        to_all[: rows.stop] += strip.sum(axis=0)
        squares += 2 * float(np.einsum("ij,ij->", strip, strip))
    return MMDStatistic(unit, units, mine, inside, to_all, squares, strips, biased)


def _zero_upper(strip: Matrix, rows: slice) -> Matrix:
    """Similarities of rows to the items before each of them only, in place."""
    inner = strip[:, rows]
    inner[np.triu_indices(len(inner))] = 0.0
    return strip


def _report_blocks(kernel: Kernel, items: Any, report: ProgressCallback, passes: int) -> Callable[[], RowBlocks]:
    """A function that iterates over the blocks of a matrix, and reports progress over `passes` such iterations."""
    done, total = 0.0, passes * len(items) ** 2 / 2

    def iterate_matrix() -> RowBlocks:
        nonlocal done
        for rows, strip in iterate_lower_blocks(kernel, items):
            yield rows, strip
            done += (rows.stop**2 - rows.start**2) / 2
            if report is not None:
                report(int(min(done, total)), int(total))

    return iterate_matrix


def _within_unit_sums(strip: Matrix, rows: slice, units: ExchangeableUnits) -> Floats:
    """Sums of the similarities in a strip of rows over pairs of one unit, (unit,)."""
    same = units.unit_of[rows, None] == units.unit_of[: strip.shape[1]]
    sums = np.where(same, strip, 0.0).sum(axis=1)
    return _sum_per_unit(sums, units.unit_of[rows], units)


def _sum_per_unit(values: Floats, unit_of: NDArray[np.int64], units: ExchangeableUnits) -> Floats:
    return np.asarray(np.bincount(unit_of, values, minlength=units.n_units), np.float64)


def _rounding_grid(values: Floats, own: Floats, n_items: int) -> tuple[float, float]:
    """The middle of a range, and the unit in which its sums over all pairs are exact; 0 where all are equal."""
    low = min(float(values.min()), float(own.min(initial=math.inf)))
    high = max(float(values.max()), float(own.max(initial=-math.inf)))
    if not math.isfinite(high - low):  # min and max propagate nan and infinity; comparisons with nan would make p small
        raise ValueError(
            "kernel gave similarities that are too large, or nan: expected finite ones; standardize the items, or use "
            "RBF()"
        )
    return low / 2 + high / 2, (high / 2 - low / 2) * 2.0 ** -_similarity_bits(n_items)


def _round_to_grid(values: Floats, middle: float, unit: float) -> Floats:
    """Values in integer units from the middle, in place."""
    values -= middle
    if unit == 0.0:
        values[...] = 0.0
        return values
    values /= unit
    return np.rint(values, out=values)


def _similarity_bits(n_items: int) -> int:
    """Binary digits of a similarity: a sum over all pairs, taken twice, stays below 2⁵³."""
    return 51 - 2 * math.ceil(math.log2(max(2, n_items)))


@dataclass(frozen=True, eq=False)
class MaxStatistic:
    """max_k MMD²_k / σ_k of many allocations, with σ_k the deviation of MMD²_k for equal distributions.

    σ_k is computed from the pooled sample, independently of the sides, so it is the same for every allocation, and a
    permutation test with the largest is as exact as one with a single kernel. A difference that only one kernel detects
    is detected almost as well as by that kernel alone: a sum would add the noise of the others.
    """

    parts: tuple[MMDStatistic, ...]
    is_scaled: bool = True
    """Whether each is divided by its deviation; MMD² of a single kernel need not be."""

    @property
    def is_constant(self) -> bool:
        """Whether no kernel distinguishes any two allocations."""
        return all(part.is_constant for part in self.parts)

    @property
    def matrix(self) -> Floats | None:
        """Similarities of the first kernel, if those of all kernels are in memory."""
        return None if any(part.matrix is None for part in self.parts) else self.parts[0].matrix

    @property
    def deviations(self) -> Floats:
        """σ_k, (kernel,); infinite where it would be 0.

        With s² the mean square of centred similarities (`MMDStatistic.similarity_deviation`), N = n + m and all
        allocations as likely,

            σ² = 2 s² (N − 1)(N − 2) / (n (n − 1) m (m − 1))

        exactly for single items and unbiased MMD²; for groups, and sides of one item, it is an approximate scale.
        """
        if not self.is_scaled:
            return np.ones(len(self.parts))
        units = self.parts[0].units
        total, n = len(units.unit_of), int(units.in_x[units.unit_of].sum())
        m = total - n
        pairs = n * max(n - 1, 1) * m * max(m - 1, 1)
        factor = math.sqrt(2 * (total - 1) * (total - 2) / pairs)
        deviations = np.array([factor * part.similarity_deviation for part in self.parts])
        return np.where(deviations > 0, deviations, np.inf)

    @property
    def tie_tolerance(self) -> float:
        """Statistics that are nearer than this are equal."""
        return float(
            max(part.tie_tolerance / deviation for part, deviation in zip(self.parts, self.deviations, strict=True))
        )

    def kernel_statistics(self, sides: Allocations) -> Floats:
        """MMD² of every kernel and allocation, (kernel, allocation)."""
        return np.stack([part.statistics(sides) for part in self.parts])

    def combine(self, each: Floats) -> Floats:
        """The statistic, (allocation,), from those of each kernel (kernel, allocation)."""
        return np.asarray((each / self.deviations[:, None]).max(axis=0))

    def statistics(self, sides: Allocations) -> Floats:
        """The statistic of every allocation (allocation, item)."""
        return self.combine(self.kernel_statistics(sides))


def joint_statistic(parts: Sequence[MMDStatistic]) -> MMDStatistic | MaxStatistic:
    """One statistic of one kernel, or of several."""
    return parts[0] if len(parts) == 1 else MaxStatistic(tuple(parts))
