"""Evidence against "nothing has changed" from a sequence of p-values, and the date of a change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POWERS = (0.05, 0.1, 0.2, 0.4, 0.7)
"""κ of the bets κ u^(κ−1): a smaller κ wins more on tiny p-values and loses more on others."""
HAZARD = 0.01
"""Half of the capital expects a change within about a hundred batches, the other half at any time."""


def start_weights(n_batches: int) -> Floats:
    """The capital that begins to bet at each batch, (batch,): it sums to less than 1 over all batches.

        w_s = ½ h (1 − h)^(s−1) + ½ / (s (s + 1))

    >>> start_weights(3).round(4)
    array([0.255 , 0.0883, 0.0466])
    """
    return np.asarray(start_weight(np.arange(1, n_batches + 1, dtype=np.float64)))


def start_weight(s: Any) -> Any:
    """w_s of one batch, or of several."""
    return 0.5 * HAZARD * (1 - HAZARD) ** (s - 1) + 0.5 / (s * (s + 1))


def waiting_capital(n_batches: int) -> float:
    """The capital that has not begun to bet after `n_batches` batches: 1 − Σ w_s."""
    return 0.5 * (1 - HAZARD) ** n_batches + 0.5 / (n_batches + 1)


def log_winnings(p_values: Sequence[float]) -> float:
    """The log of the capital after betting 1 on successive p-values, spread over all κ: log mean_κ Π κ u^(κ−1).

    >>> round(log_winnings([0.01]), 2), round(log_winnings([0.01, 0.01]), 2)
    (1.7, 3.51)
    """
    return float(np.logaddexp.reduce(sum(map(_log_bets, p_values), np.zeros(len(POWERS)))) - np.log(len(POWERS)))


def _log_bets(u: float) -> Floats:
    """The log of the capital after betting 1 on one p-value, (power,)."""
    powers = np.array(POWERS)
    return np.asarray(np.log(powers) + (powers - 1) * np.log(u))


class Evidence:
    """The capital of a gambler who bets 1 that smoothed p-values u_1, u_2, … become small at some batch.

        E_t = Σ_{s ≤ t} w_s mean_κ Π_{i=s}^{t} κ u_i^(κ−1) + 1 − Σ_{s ≤ t} w_s

    As long as nothing has changed, the u are independent and uniform (Vovk, Nouretdinov and Gammerman, "Testing
    exchangeability on-line", 2003), every bet is fair, and E_t exceeds 1/α at any time with a probability of at most α
    (Ville, 1939). The part that began to bet at s is the evidence for a change at s (in the manner of the e-detectors
    of Shin, Ramdas and Rinaldo, 2023).

    A batch may have several p-values, one for each of its parts: they are bet on in turn, and E is checked after each
    of them. Betting begins with the first part of a batch only, because changes begin there.

    >>> gambler = Evidence()
    >>> for batch in ([0.6], [0.3], [0.001, 0.002]):
    ...     gambler.add(batch)
    >>> round(gambler.value, 1), gambler.change_batch(3), gambler.first_alarm(0.02)
    (91.6, 3, (3, 2))
    """

    def __init__(self, batches: Iterable[Sequence[float]] = ()) -> None:
        self.values: list[float] = []  # log E after every batch
        self._part_values: list[list[float]] = []  # log E after every part of every batch
        self._records: list[tuple[float, int, int]] = []  # log E, batch and part of every new maximum
        self._batches: list[Sequence[float]] = []
        self._capital = np.full(len(POWERS), -np.inf)  # log of the capital that has begun to bet, (power,)
        for p_values in batches:
            self.add(p_values)

    def add(self, p_values: Sequence[float]) -> None:
        """One more batch: the smoothed p-values of its parts, each between 0 (not included) and 1."""
        capital = self._log_capital(p_values)
        self._part_values.append(self.preview(p_values))
        self._capital = capital[-1]
        self._batches.append(p_values)
        self.values.append(self._part_values[-1][-1])
        for part, value in enumerate(self._part_values[-1], 1):
            if not self._records or value > self._records[-1][0]:
                self._records.append((value, len(self.values), part))

    def preview(self, p_values: Sequence[float]) -> list[float]:
        """The log of E after every part of one more batch, which is not added."""
        waits = np.log(waiting_capital(len(self.values) + 1))
        betting = np.logaddexp.reduce(self._log_capital(p_values), axis=1) - np.log(len(POWERS))
        return [float(np.logaddexp(one, waits)) for one in betting]

    def _log_capital(self, p_values: Sequence[float]) -> Floats:
        """The log of the capital that has begun to bet, after every part of one more batch, (part, power)."""
        # earlier and new capital make the same bets, so that every batch costs the same time
        begins = np.logaddexp(self._capital, np.log(start_weight(len(self.values) + 1)))
        return np.asarray(begins + np.cumsum([_log_bets(u) for u in p_values], axis=0))

    @property
    def value(self) -> float:
        """E now; 1 before any batch."""
        return _clipped_exp(self.values[-1]) if self.values else 1.0

    @property
    def max_value(self) -> float:
        """The largest E so far, after any part: 1 over it is a p-value that holds at any time."""
        return _clipped_exp(self._records[-1][0]) if self._records else 1.0

    def values_after(self, batch: int) -> list[float]:
        """E after every part of a batch, which is counted from 1."""
        return [_clipped_exp(value) for value in self._part_values[batch - 1]]

    def first_alarm(self, false_alarm: float) -> tuple[int, int] | None:
        """The batch and the part of it, both from 1, that raised the first alarm."""
        # the first alarm is a record, and every record after it is an alarm too
        place = bisect_left(self._records, True, key=lambda record: is_alarm(record[0], false_alarm))
        return self._records[place][1:] if place < len(self._records) else None

    def change_batch(self, last: int) -> int:
        """The batch, counted from 1, with the largest gain from it until a last batch.

        Without the start weights, which are about when to bet, not when the change occurs.
        """
        bets = [sum(map(_log_bets, p_values), np.zeros(len(POWERS))) for p_values in self._batches[:last]]
        gains = np.logaddexp.reduce(np.cumsum(bets[::-1], axis=0)[::-1], axis=1)
        return int(np.argmax(gains)) + 1


def is_alarm(value: float, false_alarm: float) -> bool:
    """Whether the log of E raises an alarm at a false-alarm rate."""
    return 1 / _clipped_exp(value) <= false_alarm


def _clipped_exp(value: float) -> float:
    return float(np.exp(min(value, 700.0)))


def smoothed_p(null: Floats, observed: float, rng: np.random.Generator) -> float:
    """(#{permuted > observed} + θ (1 + #{permuted = observed})) / (1 + permutations), with θ drawn.

    It is uniform if all items are exchangeable, with or without ties.
    """
    ties = 1 + int((null == observed).sum())
    return (int((null > observed).sum()) + (1 - rng.random()) * ties) / (1 + len(null))


def change_point(similarities: Floats, batch: NDArray[np.int64], last: int) -> int | None:
    """The batch since which items differ from earlier ones, by the items until a last batch; None if none is left.

    The s with the largest

        n_before n_after / (n_before + n_after) · MMD²(before s, from s on)

    which leaves the least scatter in the kernel's space on both sides of s (Harchaoui and Cappé, "Retrospective
    multiple change-point estimation with kernels", 2007). `similarities` are (kernel, item, item), and `batch` (item,)
    is the batch of every item, 0 for the reference. Several kernels have equal weight, each relative to its own
    scatter.

    It uses the items. The bets on p-values, which detect the change, often date it a batch or two early: a p-value of
    0.05 before the change adds to the gain.
    """
    is_used = batch <= last
    numbers, place = np.unique(batch[is_used], return_inverse=True)
    starts = np.flatnonzero(numbers > 0)
    if not len(starts):
        return None
    member = np.zeros((len(place), len(numbers)))
    member[np.arange(len(place)), place] = 1.0
    gains = [_scatter_reductions(one[np.ix_(is_used, is_used)], member)[starts] for one in similarities]
    return int(numbers[starts[np.argmax(np.sum(gains, axis=0))]])


def _scatter_reductions(similarities: Floats, member: Floats) -> Floats:
    """The reduction of the scatter by a split before each batch, as a fraction of it, (batch,); 0 before the first."""
    sums, count = member.T @ similarities @ member, member.sum(axis=0)
    total, reductions = sums.sum(), np.zeros(len(count))
    scatter = float(np.trace(similarities) - total / count.sum())
    for split in range(1, len(count)):
        before, after = sums[:split, :split].sum(), sums[split:, split:].sum()
        n, m = count[:split].sum(), count[split:].sum()
        across = (total - before - after) / 2
        reductions[split] = n * m / (n + m) * (before / n**2 + after / m**2 - 2 * across / (n * m))
    return reductions / scatter if scatter > 0 else reductions
