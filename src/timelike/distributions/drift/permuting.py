"""The p-value of a batch among what it is compared with, by as many permutations as decide it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..two_sample import counting, quadratic
from ..two_sample.exchange import Exchange, Sides
from .evidence import smoothed_p
from .pool import Pool

_ENOUGH = 20  # permutations that are as large as the observed: p is then at least 20 / n_permutations, and decided
_FIRST, _MOST = 128, 2048  # permutations between two looks whether p is decided


def permuted(
    similar: NDArray[np.float64], grown: Pool, number: int, n_permutations: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """MMD² of a batch against what was before it, its p-value among as many units drawn from both, and the smoothed.

    Where twenty permutations were as large, p is decided (`counting.stopped`), which most batches need a hundred or
    two for. It is then not smoothed; bets pay less for larger p-values, so that only makes alarms rarer.
    """
    ours = np.flatnonzero(grown.compared)
    units, unit_of = np.unique(grown.unit[ours], return_inverse=True)
    in_batch = np.zeros(len(units), bool)
    in_batch[unit_of[grown.batch[ours] == number]] = True
    sides = Exchange(unit_of, in_batch, np.arange(len(units)), np.empty((0, 2), np.int64))
    whole = quadratic.of_matrix(similar, sides)
    observed = float(whole.statistics(sides.items(in_batch[None]))[0])
    null = np.empty(0)
    for drawn in _allocations(sides, n_permutations, rng):
        some = whole.statistics(sides.items(drawn))
        null = np.concatenate([null, counting.snapped(some, observed, whole.tie)])
        decided = counting.stopped(null, observed, _ENOUGH)
        if decided is not None and len(null) < sides.n_allocations - 1:  # of drawn ones: all come in an order
            return observed, decided[0], decided[0]
    return observed, counting.p_of(null, observed), smoothed_p(null, observed, rng)


def _allocations(sides: Exchange, n_permutations: int, rng: np.random.Generator) -> Iterator[Sides]:
    """All ways to exchange where there are no more than `n_permutations`; else so many drawn, ever more at a time."""
    if sides.n_allocations - 1 <= n_permutations:
        yield sides.every()
        return
    done, size = 0, _FIRST
    while done < n_permutations:
        size = min(size, n_permutations - done, _MOST)
        yield sides.draw(size, rng)
        done, size = done + size, 2 * size
