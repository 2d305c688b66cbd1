"""Thresholds: what `calibrate` learns from held-out examples: a temperature, and when to accept and to reject."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...sequences.arguments import real

Floats = NDArray[np.float64]


class Thresholds(NamedTuple):
    """A temperature of class scores, the least similarity of a pair to accept, the most novelty of what is known.

    The temperature is that of scores by `inference`.
    """

    temperature: float
    pair: float
    novelty: float
    inference: str


def strict_share(value: Any, name: str) -> float:
    """A rate between 0 and 1, neither of them.

    >>> strict_share(1, "wrong")
    Traceback (most recent call last):
        ...
    ValueError: wrong=1: expected a share between 0 and 1, such as 0.05
    """
    if real(value, name, above=0.0) >= 1:
        raise ValueError(f"{name}={value}: expected a share between 0 and 1, such as 0.05")
    return float(value)


def rejecting(known: Floats, unknown: Floats | None, false_reject: float) -> float:
    """The most novelty that passes for known.

    From known examples alone: such that at most the share `false_reject` of them has more. With unknown ones: where
    the share of known that pass plus that of unknown that do not is greatest (Youden, 1950), the middle of it.

    >>> rejecting(np.arange(10.0), None, 0.1)
    8.5
    >>> rejecting(np.array([0.0, 1.0]), np.array([3.0, 4.0]), 0.1)
    2.0
    """
    if unknown is None:
        ordered = np.sort(known)
        kept = len(ordered) - 1 - int(np.floor(false_reject * len(ordered) * (1 + 1e-12)))
        above = ordered[ordered > ordered[kept]]
        return float((ordered[kept] + above[0]) / 2) if len(above) else float(ordered[kept])
    every = np.unique(np.concatenate([known, unknown]))
    middles = np.concatenate([[every[0] - 1.0], (every[1:] + every[:-1]) / 2, [every[-1]]])
    passed = np.searchsorted(np.sort(known), middles, side="right") / len(known)
    wrongly = np.searchsorted(np.sort(unknown), middles, side="right") / len(unknown)
    gain = passed - wrongly
    best = np.flatnonzero(gain == gain.max())
    return float(middles[best[len(best) // 2]])
