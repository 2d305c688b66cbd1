"""The p-value of a batch among what it is compared with, by as many permutations as decide it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..two_sample import mmd_statistic, p_values
from ..two_sample.max_statistic import joint_statistic
from ..two_sample.permutations import Allocations, ExchangeableUnits
from .evidence import smoothed_p

_DECISIVE_EXCEEDANCES = (
    20  # permutations that are as large as the observed: p is then at least 20 / n_permutations, and decided
)
_FIRST_BLOCK, _MAX_BLOCK = 128, 2048  # permutations between two looks whether p is decided


class BatchTestResult(NamedTuple):
    """What a permutation test says of a batch, or of a part of it."""

    statistic: float
    p_value: float
    smoothed_p_value: float


def run_permutation_test(
    similar: NDArray[np.float64],
    unit: NDArray[np.int64],
    in_batch_mask: NDArray[np.bool_],
    n_permutations: int,
    rng: np.random.Generator,
) -> BatchTestResult:
    """MMD² of a batch against what was before it, its p-value among as many units drawn from both, and the smoothed.

    Once twenty permutations are as large, p is decided (`p_values.sequential_p_value`), which takes a hundred or two
    for most batches. It is then not smoothed; bets pay less for larger p-values, so that only makes alarms rarer.

    `similar` (kernel, item, item) are the similarities of all items, `unit` what each is exchanged with, and
    `in_batch_mask` whether it is of the batch. Of several kernels the largest statistic counts.
    """
    units, unit_of = np.unique(unit, return_inverse=True)
    in_batch = np.zeros(len(units), bool)
    in_batch[unit_of[in_batch_mask]] = True
    sides = ExchangeableUnits(unit_of, in_batch, np.arange(len(units)), np.empty((0, 2), np.int64))
    whole = joint_statistic([mmd_statistic.statistic_from_matrix(one, sides) for one in similar])
    observed = float(whole.statistics(sides.items(in_batch[None]))[0])
    null = np.empty(0)
    for drawn in _iterate_allocations(sides, n_permutations, rng):
        some = whole.statistics(sides.items(drawn))
        null = np.concatenate([null, p_values.snap_ties(some, observed, whole.tie_tolerance)])
        decided = p_values.sequential_p_value(null, observed, _DECISIVE_EXCEEDANCES)
        if decided is not None and len(null) < sides.n_allocations - 1:  # of drawn ones: all come in an order
            return BatchTestResult(observed, decided[0], decided[0])
    return BatchTestResult(observed, p_values.permutation_p_value(null, observed), smoothed_p(null, observed, rng))


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
