"""When a change was: the batch at which what came before and what came after are the most different."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def change_point(similar: Floats, batch: NDArray[np.int64], last: int) -> int | None:
    """The batch from which on items differ from those before, by items until a last batch; None where none is left.

    The s with the largest

        n_before n_after / (n_before + n_after) · MMD²(before s, from s on)

    which leaves the least scatter in the kernel's space on both sides of s (Harchaoui and Cappé, "Retrospective
    multiple change-point estimation with kernels", 2007). `similar` (kernel, item, item) are similarities and `batch`
    (item,) the batch of every item, 0 for the reference. Several kernels count alike, each over its own scatter.

    It looks at the items. The bets on p-values, which say whether there was a change, often begin a batch or two early:
    a p-value of 0.05 before the change is better to bet on than none.
    """
    kept = batch <= last
    numbers, place = np.unique(batch[kept], return_inverse=True)
    starts = np.flatnonzero(numbers > 0)
    if not len(starts):
        return None
    member = np.zeros((len(place), len(numbers)))
    member[np.arange(len(place)), place] = 1.0
    gains = [_scatter_reductions(one[np.ix_(kept, kept)], member)[starts] for one in similar]
    return int(numbers[starts[np.argmax(np.sum(gains, axis=0))]])


def _scatter_reductions(similar: Floats, member: Floats) -> Floats:
    """What a split before each batch takes away from the scatter, as a share of it, (batch,); 0 before the first."""
    sums, count = member.T @ similar @ member, member.sum(axis=0)
    total, found = sums.sum(), np.zeros(len(count))
    scatter = float(np.trace(similar) - total / count.sum())
    for split in range(1, len(count)):
        before, after = sums[:split, :split].sum(), sums[split:, split:].sum()
        n, m = count[:split].sum(), count[split:].sum()
        across = (total - before - after) / 2
        found[split] = n * m / (n + m) * (before / n**2 + after / m**2 - 2 * across / (n * m))
    return found / scatter if scatter > 0 else found
