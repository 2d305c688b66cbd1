"""The permutation test of a batch against all earlier items; a large batch is tested in random parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..two_sample.permutations import Allocations, ExchangeableUnits, permutation_p_value, sequential_p_value, snap_ties
from ..two_sample.statistic import joint_statistic, statistic_from_matrix
from .evidence import log_winnings, smoothed_p, start_weight
from .pool import ReferencePool

# permuted statistics as large as the observed one: p is then at least 20 / n_permutations, and decided
_DECISIVE_EXCEEDANCES = 20
_FIRST_BLOCK, _MAX_BLOCK = 128, 2048  # permutations between two checks whether p is decided
MIN_UNITS = 10  # units of a part: with fewer, there are too few distinct permutations


class BatchTestResult(NamedTuple):
    """The result of the permutation test of a batch, or of a part of it."""

    statistic: float
    p_value: float
    smoothed_p_value: float


def run_permutation_test(
    similarities: NDArray[np.float64],
    unit: NDArray[np.int64],
    in_batch_mask: NDArray[np.bool_],
    n_permutations: int,
    rng: np.random.Generator,
) -> BatchTestResult:
    """MMD² of a batch against the earlier items, its permutation p-value, and the smoothed p-value.

    Once twenty permuted statistics are as large, p is decided (`sequential_p_value`), after one or two hundred
    permutations for most batches. It is then not smoothed, which only makes alarms rarer, since bets pay less for
    larger p-values.

    `similarities` (kernel, item, item) are those of all items, `unit` is the exchangeable unit of each item, and
    `in_batch_mask` marks the items of the batch. With several kernels the largest statistic counts.
    """
    units, unit_of = np.unique(unit, return_inverse=True)
    in_batch = np.zeros(len(units), bool)
    in_batch[unit_of[in_batch_mask]] = True
    sides = ExchangeableUnits(unit_of, in_batch, np.arange(len(units)), np.empty((0, 2), np.int64))
    statistic = joint_statistic([statistic_from_matrix(one, sides) for one in similarities])
    observed = float(statistic.statistics(sides.items(in_batch[None]))[0])
    null = np.empty(0)
    for allocations in _iterate_allocations(sides, n_permutations, rng):
        statistics = statistic.statistics(sides.items(allocations))
        null = np.concatenate([null, snap_ties(statistics, observed, statistic.tie_tolerance)])
        decision = sequential_p_value(null, observed, _DECISIVE_EXCEEDANCES)
        # only sampled allocations may stop early: enumerated ones come in a fixed order
        if decision is not None and len(null) < sides.n_allocations - 1:
            return BatchTestResult(observed, decision[0], decision[0])
    return BatchTestResult(observed, permutation_p_value(null, observed), smoothed_p(null, observed, rng))


def _iterate_allocations(
    sides: ExchangeableUnits, n_permutations: int, rng: np.random.Generator
) -> Iterator[Allocations]:
    """All allocations if there are at most `n_permutations`; otherwise that many at random, in growing blocks."""
    if sides.n_allocations - 1 <= n_permutations:
        yield sides.all_allocations()
        return
    done, size = 0, _FIRST_BLOCK
    while done < n_permutations:
        size = min(size, n_permutations - done, _MAX_BLOCK)
        yield sides.sample_allocations(size, rng)
        done, size = done + size, 2 * size


def n_parts(n_units: int, number: int, n_permutations: int, false_alarm: float) -> int:
    """The smallest number of parts, of ten units or more, that raises the alarm if all exceed every permutation.

    One p-value is at least 1 / (n_permutations + 1), so the gain of a bet on it is bounded, however large the batch is.
    The number of parts depends on sizes and options alone, so that bets stay fair; it is minimal, because a part has
    less power than the whole batch.

    >>> n_parts(80, 9, 9999, 0.01), n_parts(80, 1000, 9999, 0.01), n_parts(15, 9, 9999, 0.01)
    (2, 4, 1)
    """
    most = max(1, n_units // MIN_UNITS)
    smallest = 1 / (n_permutations + 1)
    for n in range(1, most):
        if start_weight(number) * np.exp(log_winnings([smallest] * n)) >= 1 / false_alarm:
            return n
    return most


def deal_parts(unit: NDArray[np.int64], n: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """The positions of the items of each of n parts: whole units at random, numbers of units equal up to one.

    At random, because consecutive parts of an ordered batch (by class, by file) may differ although the batch does not.
    """
    if n == 1:
        return [np.arange(len(unit))]
    parts = np.array_split(rng.permutation(unit.max() + 1), n)
    return [np.flatnonzero(np.isin(unit, part)) for part in parts]


class BatchComparison(NamedTuple):
    """The results of the whole batch and of its parts, and the pool with the batch added."""

    whole: BatchTestResult
    parts: list[BatchTestResult]
    pool: ReferencePool


def compare_parts(
    similarities: NDArray[np.float64],
    pool: ReferencePool,
    part_positions: list[NDArray[np.int64]],
    n_permutations: int,
    memory: int,
    rng: np.random.Generator,
) -> BatchComparison:
    """Compare every part with all earlier items, including the earlier parts.

    `similarities` (kernel, item, item) are those of the compared items of `pool`, the batch last.
    """
    rows = np.flatnonzero(pool.compared)
    first = len(pool) - sum(map(len, part_positions))

    def test_part(now: ReferencePool, part: NDArray[np.int64]) -> BatchTestResult:
        inside = now.compared[rows]
        ours = np.isin(rows[inside], first + part)
        return run_permutation_test(
            similarities[:, inside][:, :, inside], now.unit[rows[inside]], ours, n_permutations, rng
        )

    parts, now = list[BatchTestResult](), pool
    whole = test_part(pool, np.concatenate(part_positions)) if len(part_positions) > 1 else None
    if whole is not None:
        now = replace(pool, compared=pool.compared & (np.arange(len(pool)) < first))
    for part in part_positions:
        inside = now.compared.copy()
        inside[first + part] = True
        now = replace(now, compared=inside)
        parts.append(test_part(now, part))
        now = now.subsample(memory, rng)
    return BatchComparison(whole or parts[0], parts, now)
