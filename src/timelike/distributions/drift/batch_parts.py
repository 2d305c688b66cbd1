"""A large batch in parts that are dealt out at random, each with a bet of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .evidence import log_winnings, start_weight
from .permutation_test import BatchTestResult, run_permutation_test
from .pool import ReferencePool

MIN_UNITS = 10  # units of a part: of fewer, permutations have little to tell apart


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
    similar: NDArray[np.float64],
    grown: ReferencePool,
    dealt: list[NDArray[np.int64]],
    n_permutations: int,
    memory: int,
    rng: np.random.Generator,
) -> BatchComparison:
    """Compare every part with all that came before it, the parts before it included.

    `similar` (kernel, item, item) are similarities of what is compared in `grown`, the batch last.
    """
    rows = np.flatnonzero(grown.compared)
    first = len(grown) - sum(map(len, dealt))

    def compared(now: ReferencePool, part: NDArray[np.int64]) -> BatchTestResult:
        inside = now.compared[rows]
        ours = np.isin(rows[inside], first + part)
        return run_permutation_test(similar[:, inside][:, :, inside], now.unit[rows[inside]], ours, n_permutations, rng)

    parts, now = list[BatchTestResult](), grown
    whole = compared(grown, np.concatenate(dealt)) if len(dealt) > 1 else None
    if whole is not None:
        now = replace(grown, compared=grown.compared & (np.arange(len(grown)) < first))
    for part in dealt:
        inside = now.compared.copy()
        inside[first + part] = True
        now = replace(now, compared=inside)
        parts.append(compared(now, part))
        now = now.subsample(memory, rng)
    return BatchComparison(whole or parts[0], parts, now)
