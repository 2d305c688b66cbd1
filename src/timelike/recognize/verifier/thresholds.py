"""Thresholds that accept at most a share of the impostors, of whole sequences and of streams."""

from __future__ import annotations

from math import ceil, floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .scoring import Floats

_EXACT = 1 + 1e-12  # 0.29 × 100 is 28.999…


def threshold_at(impostors: Floats, false_accept: float) -> float:
    """The least score to accept so that a new impostor is accepted with a probability of at most `false_accept` = α.

    Of n impostors at most α (n + 1) − 1 have it or more: another one is then among the highest α (n + 1) of n + 1 with
    probability α, as in split conformal prediction (Vovk et al., 2005). Equal scores are all accepted or none.

    >>> threshold_at(np.arange(9.0), 0.2) > 7.0  # one of nine, 8.0, and no more
    True
    """
    refuse_few(len(impostors), false_accept)
    place = len(impostors) - 1 - allowance(len(impostors), false_accept)
    return float(np.nextafter(np.partition(impostors, place)[place], np.inf))


def refuse_few(count: int, false_accept: float) -> None:
    """An error where so many impostors cannot show so small a rate."""
    if allowance(count, false_accept) < 0:
        need, digits = ceil(1 / (false_accept * _EXACT)) - 1, len(str(count + 1)) + 1
        possible = ceil(10**digits / (count + 1)) / 10**digits  # rounded up, so that it is one
        raise ValueError(
            f"false_accept={false_accept:g}: {count} pairs of two identities cannot show so small a rate, expected at "
            f"least {need}; give more sequences, or false_accept={possible:g} or more"
        )


def allowance(count: int, rate: float) -> int:
    """How many of so many may be beyond a threshold; less than none where they are too few to tell."""
    return floor(rate * (count + 1) * _EXACT) - 1


class Boundaries(NamedTuple):
    """When a stream looks, after how many samples, and from which scores on it accepts and up to which it rejects.

    The last entry of `upper` is for the end, however long the sequence is.
    """

    looks: NDArray[np.int64]
    upper: Floats
    lower: Floats


def boundaries(
    looks: NDArray[np.int64],
    scores: Floats,
    impostor: NDArray[np.bool_],
    genuine: NDArray[np.bool_],
    rates: tuple[float, float],
) -> Boundaries:
    """From the scores of trials at every look and at the end, (look + 1, trial); nan where a sequence was over before.

    At most the first of the `rates` of the impostors ever comes up to `upper`, the end included, and at most the second
    of the genuine ones ever down to `lower` before the end; if they are too few to show that, nobody is rejected early.
    """
    seen = (~np.isnan(scores[:-1, impostor])).any(axis=1)
    looks, scores = looks[seen], scores[np.append(seen, True)]
    early, lower = scores[:-1, genuine], np.full(len(looks), -np.inf)
    told = np.flatnonzero((~np.isnan(early)).any(axis=1))
    if len(told) and allowance(early.shape[1], rates[1]) >= 0:
        lower[told] = -_never_reached(-early[told], rates[1])
    return Boundaries(looks, _never_reached(scores[:, impostor], rates[0]), lower)


def _never_reached(scores: Floats, rate: float) -> Floats:
    """A bound for each look that all but a share of the scores (look, trial) stay below at every look.

    Looks are brought to one scale, mean 0 and deviation 1 at each, where one number is the bound for all of them.
    """
    there = ~np.isnan(scores)
    mean = np.mean(scores, axis=1, where=there, keepdims=True)
    spread = np.std(scores, axis=1, where=there, keepdims=True)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = np.where(there, (scores - mean) / spread, -np.inf)  # a sequence that is over reaches nothing
    peak = threshold_at(scaled.max(axis=0), rate)
    if not np.abs(peak) < np.finfo(np.float64).max:  # most were over before any look: nothing is known of looks
        return np.full(len(scores), np.inf)
    highest = np.where(scaled < peak, np.where(there, scores, -np.inf), -np.inf).max(axis=1)
    return np.asarray(np.maximum((mean + peak * spread)[:, 0], np.nextafter(highest, np.inf)))  # whatever rounding did
