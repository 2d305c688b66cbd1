"""Thresholds: what `calibrate` learns from held-out examples: a temperature, and when to accept and to reject."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Thresholds(NamedTuple):
    """A temperature of class scores, the least similarity of a pair to accept, the most novelty of what is known.

    The temperature is that of scores by `inference`.
    """

    temperature: float
    pair: float
    novelty: float
    inference: str


def accepting(scores: Floats, same: NDArray[np.bool_], false_accept: float) -> float:
    """The least score to accept, so that at most this share of pairs that are not the same has it or more.

    Halfway between two scores that occur, where it can be: a score that is equal by rounding only is not turned over.

    >>> accepting(np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, False, False, True]), 0.34)
    1.5
    >>> accepting(np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, False, False, True]), 0.0)
    2.5
    """
    impostors, every = np.sort(scores[~same]), np.unique(scores)
    allowed = int(np.floor(false_accept * len(impostors) * (1 + 1e-12)))
    least = every[every > impostors[len(impostors) - 1 - allowed]]
    # more impostors than allowed may have one score, and then all above it are needed
    below = impostors[len(impostors) - 1 - allowed]
    return float((below + least[0]) / 2) if len(least) else float(np.nextafter(below, np.inf))


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
