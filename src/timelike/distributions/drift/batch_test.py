"""The permutation test of a batch against all before it, a large batch in random parts."""

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

# permutations that are as large as the observed: p is then at least 20 / n_permutations, and decided
_DECISIVE_EXCEEDANCES = 20
_FIRST_BLOCK, _MAX_BLOCK = 128, 2048  # permutations between two looks whether p is decided
MIN_UNITS = 10  # units of a part: of fewer, permutations have little to tell apart


class BatchTestResult(NamedTuple):
    """What a permutation test says of a batch, or of a part of it."""

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
    """MMD² of a batch against what was before it, its p-value among as many units drawn from both, and the smoothed.

    Once twenty permutations are as large, p is decided (`sequential_p_value`), which takes a hundred or two
    for most batches. It is then not smoothed; bets pay less for larger p-values, so that only makes alarms rarer.

    `similar` (kernel, item, item) are the similarities of all items, `unit` what each is exchanged with, and
    `in_batch_mask` whether it is of the batch. Of several kernels the largest statistic counts.
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
        if decision is not None and len(null) < sides.n_allocations - 1:  # of drawn ones: all come in an order
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
    """The fewest parts, of ten units or more, that raise the alarm if all are beyond every permutation.

    One p-value is 1 / (n_permutations + 1) at least, and what a bet on it wins is bounded, however large the batch is.
    The number of parts follows from sizes and options alone, so that bets stay fair; and there are no more of them than
    needed, as a part sees less than the whole.

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
    """The positions of the items of each of n parts: whole units, drawn, as many in each as in any other, or one more.

    Drawn, as a batch may be in an order (by class, by file) in which its parts differ although the batch does not.
    """
    if n == 1:
        return [np.arange(len(unit))]
    parts = np.array_split(rng.permutation(unit.max() + 1), n)
    return [np.flatnonzero(np.isin(unit, part)) for part in parts]


class BatchComparison(NamedTuple):
    """What the parts of a batch say, the batch as a whole, and the pool with all of them in it."""

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
    """Compare every part with all that came before it, the parts before it included.

    `similar` (kernel, item, item) are similarities of what is compared in `grown`, the batch last.
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
