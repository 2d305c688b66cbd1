"""Evidence against "nothing has changed" from p-values one after the other: an e-process with a change point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POWERS = (0.05, 0.1, 0.2, 0.4, 0.7)
"""κ of the bets κ u^(κ−1): the smaller, the more is won by tiny p-values and lost by others."""
HAZARD = 0.01
"""Half of the capital expects a change within about a hundred batches, the other half at any time."""


def start_weights(n_batches: int) -> Floats:
    """The capital that begins to bet at each batch, (batch,): it sums to less than 1 over all batches.

        w_s = ½ h (1 − h)^(s−1) + ½ / (s (s + 1))

    >>> start_weights(3).round(4)
    array([0.255 , 0.0883, 0.0466])
    """
    return np.asarray(_weight(np.arange(1, n_batches + 1, dtype=np.float64)))


def _weight(s: Any) -> Any:
    return 0.5 * HAZARD * (1 - HAZARD) ** (s - 1) + 0.5 / (s * (s + 1))


def waiting(n_batches: int) -> float:
    """The capital that has not begun to bet after so many batches: 1 − Σ w_s."""
    return 0.5 * (1 - HAZARD) ** n_batches + 0.5 / (n_batches + 1)


class Evidence:
    """How much a gambler has who bets 1 that smoothed p-values u_1, u_2, … become small at some batch.

        E_t = Σ_{s ≤ t} w_s mean_κ Π_{i=s}^{t} κ u_i^(κ−1) + 1 − Σ_{s ≤ t} w_s

    As long as nothing has changed, the u are independent and uniform (Vovk, Nouretdinov and Gammerman, "Testing
    exchangeability on-line", 2003), every bet is fair, and E_t exceeds 1/α at any time with a probability of at most α
    (Ville, 1939). The part that began to bet at s is the evidence for a change at s (in the manner of the e-detectors
    of Shin, Ramdas and Rinaldo, 2023).

    >>> gambler = Evidence()
    >>> for u in (0.6, 0.3, 0.001, 0.002):
    ...     gambler.add(u)
    >>> round(gambler.value, 1), gambler.since
    (92.1, 3)
    """

    def __init__(self, smoothed: Floats | None = None) -> None:
        self.smoothed: list[float] = []
        self.values: list[float] = []  # log E after every batch
        self._bets: list[Floats] = []  # log of what a bet of 1 became in every batch, (power,)
        self._capital = np.full(len(POWERS), -np.inf)  # log of what all that has begun to bet has, (power,)
        for u in () if smoothed is None else smoothed.tolist():
            self.add(u)

    def add(self, u: float) -> None:
        """One more smoothed p-value, between 0 (not included) and 1."""
        powers, n = np.array(POWERS), len(self.smoothed) + 1
        self._bets.append(np.log(powers) + (powers - 1) * np.log(u))
        # what has begun before and what begins now make the same bet, so that no batch costs more than the first
        self._capital = np.logaddexp(self._capital, np.log(_weight(n))) + self._bets[-1]
        self.smoothed.append(u)
        whole = np.logaddexp.reduce(self._capital) - np.log(len(POWERS))
        self.values.append(float(np.logaddexp(whole, np.log(waiting(n)))))

    def _gains(self) -> Floats:
        """The log of what a bet of 1 became that began at each batch, (start,)."""
        products = np.cumsum(self._bets[::-1], axis=0)[::-1]
        return np.asarray(np.logaddexp.reduce(products, axis=1) - np.log(len(POWERS)))

    @property
    def value(self) -> float:
        """E now; 1 before any batch."""
        return float(np.exp(min(self.values[-1], 700.0))) if self.values else 1.0

    @property
    def highest(self) -> float:
        """The largest E so far: 1 over it is a p-value that holds at any time."""
        return float(np.exp(min(max(self.values, default=0.0), 700.0)))

    @property
    def since(self) -> int | None:
        """The batch, counted from 1, from which on most was won: when the change was. None before any.

        Without the weights, which say when to bet, not when things change.
        """
        return int(np.argmax(self._gains())) + 1 if self.values else None


def smoothed_p(null: Floats, observed: float, rng: np.random.Generator) -> float:
    """(#{permuted > observed} + θ (1 + #{permuted = observed})) / (1 + permutations), with θ drawn.

    It is uniform where all are exchangeable, ties or not.
    """
    ties = 1 + int((null == observed).sum())
    return (int((null > observed).sum()) + (1 - rng.random()) * ties) / (1 + len(null))
