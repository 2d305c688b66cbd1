"""Scores normalized by those of a cohort of others: z-norm and AS-norm."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .scoring import Floats, Ids

Normalization = Literal["z-norm", "as-norm"]

_LEAST = 0.01  # of the deviation of all scores: one that is smaller says that a few of the cohort are copies


class Level(NamedTuple):
    """Mean and deviation of the highest scores that something has against the cohort."""

    mean: Floats
    deviation: Floats


def levels(scores: Floats, n_top: int, least: float, left_out: NDArray[np.bool_] | None = None) -> Level:
    """The level of each row of scores (item, cohort): of its `n_top` highest, without those `left_out` (cohort,).

    >>> levels(np.array([[1.0, 5.0, 3.0, -9.0]]), 2, 0.1)
    Level(mean=array([4.]), deviation=array([1.]))
    """
    kept = scores if left_out is None else scores[:, ~left_out]
    if kept.shape[1] < 2:
        raise ValueError(
            f"the cohort has {kept.shape[1]} sequences of others: expected two or more; calibrate with a larger cohort"
        )
    # row after row in memory: sums along a row then have one order, however many rows there are
    best = np.ascontiguousarray(-np.sort(-kept, axis=1)[:, :n_top])
    return Level(best.mean(axis=1), np.maximum(best.std(axis=1), least))


def levels_apart(scores: Floats, own: Ids, cohort: Ids, n_codes: int, n_top: int, least: float) -> Level:
    """Levels (row, code) of scores (row, cohort) without those of the row's own identity and of identity `code`.

    For pairs of calibration: in use, nobody in the cohort is one of the two that are compared.
    """
    if (cohort < 0).all():  # nobody is known to be one of them
        found = levels(scores, n_top, least)
        return Level(*(np.repeat(part[:, None], n_codes, axis=1) for part in found))
    theirs = np.where(cohort[None, :] == own[:, None], -np.inf, scores)
    most = n_top + int(np.bincount(cohort[cohort >= 0]).max())
    order = np.argsort(-theirs, axis=1, kind="stable")[:, :most]  # enough, whoever is left out
    best, whose = np.take_along_axis(theirs, order, axis=1), cohort[order]
    columns = [_without(best, whose == code, n_top, least) for code in range(n_codes)]
    return Level(*(np.stack(parts, axis=1) for parts in zip(*columns, strict=True)))


def _without(best: Floats, left_out: NDArray[np.bool_], n_top: int, least: float) -> Level:
    """Of scores from the highest down, in each row the first that are not left out; −∞ counts as left out."""
    there = ~left_out & np.isfinite(best)
    there &= there.cumsum(axis=1) <= n_top
    count = there.sum(axis=1)
    if (count < 2).any():
        raise ValueError(
            "cohort: without the two identities of a pair less than two sequences are left of it: give a cohort of "
            "others, or calibrate with sequences of more identities"
        )
    mean = np.where(there, best, 0.0).sum(axis=1) / count
    square = np.where(there, (np.where(there, best, 0.0) - mean[:, None]) ** 2, 0.0).sum(axis=1) / count
    return Level(mean, np.maximum(np.sqrt(square), least))


def least_deviation(scores: Floats) -> float:
    """The deviation that a level has at least: a hundredth of that of all scores, 1 where these are all equal."""
    found = _LEAST * float(scores.std())
    return found if found > 0 else 1.0


def normalized(scores: Floats, first: Level, second: Level | None) -> Floats:
    """Scores (first, second) above the level of the first, or the mean over both sides.

    z-norm (s − μ_x) / σ_x, AS-norm ½ ((s − μ_x) / σ_x + (s − μ_y) / σ_y); levels broadcast against the scores.
    """
    found = (scores - first.mean) / first.deviation
    return found if second is None else 0.5 * (found + (scores - second.mean) / second.deviation)
