"""Scores normalized by those of a cohort of others: z-norm and AS-norm."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..score.calibration import Floats, Ids

Normalization = Literal["z-norm", "as-norm"]

_MIN_DEVIATION_SHARE = 0.01  # of the deviation of all scores: a smaller one means that the cohort holds copies


class CohortStatistics(NamedTuple):
    """Mean and standard deviation of the highest scores against the cohort."""

    mean: Floats
    deviation: Floats


def cohort_statistics(
    scores: Floats, n_top: int, least: float, excluded: NDArray[np.bool_] | None = None
) -> CohortStatistics:
    """Mean and deviation of the `n_top` highest of each row of scores (item, cohort), without `excluded` (cohort,).

    >>> cohort_statistics(np.array([[1.0, 5.0, 3.0, -9.0]]), 2, 0.1)
    CohortStatistics(mean=array([4.]), deviation=array([1.]))
    """
    cohort_scores = scores if excluded is None else scores[:, ~excluded]
    if cohort_scores.shape[1] < 2:
        raise ValueError(
            f"the cohort has {cohort_scores.shape[1]} sequences of others: expected two or more; calibrate with a "
            "larger cohort"
        )
    # contiguous rows: the summation order of a row then does not depend on the number of rows
    best = np.ascontiguousarray(-np.sort(-cohort_scores, axis=1)[:, :n_top])
    return CohortStatistics(best.mean(axis=1), np.maximum(best.std(axis=1), least))


def pairwise_cohort_statistics(
    scores: Floats, own: Ids, cohort: Ids, n_codes: int, n_top: int, least: float
) -> CohortStatistics:
    """Statistics (row, code) of scores (row, cohort) without those of the row's own identity and of identity `code`.

    For calibration pairs: in use, no cohort member is one of the two compared identities.
    """
    if (cohort < 0).all():  # no cohort member is known to be one of the identities
        statistics = cohort_statistics(scores, n_top, least)
        return CohortStatistics(*(np.repeat(part[:, None], n_codes, axis=1) for part in statistics))
    others_scores = np.where(cohort[None, :] == own[:, None], -np.inf, scores)
    n_kept = n_top + int(np.bincount(cohort[cohort >= 0]).max())
    order = np.argsort(-others_scores, axis=1, kind="stable")[:, :n_kept]  # enough, whoever is excluded
    best, whose = np.take_along_axis(others_scores, order, axis=1), cohort[order]
    columns = [_statistics_without(best, whose == code, n_top, least) for code in range(n_codes)]
    return CohortStatistics(*(np.stack(parts, axis=1) for parts in zip(*columns, strict=True)))


def _statistics_without(best: Floats, excluded: NDArray[np.bool_], n_top: int, least: float) -> CohortStatistics:
    """Of scores from the highest down, in each row the first that are not excluded; −∞ counts as excluded."""
    is_used = ~excluded & np.isfinite(best)
    is_used &= is_used.cumsum(axis=1) <= n_top
    count = is_used.sum(axis=1)
    if (count < 2).any():
        raise ValueError(
            "cohort: without the two identities of a pair less than two sequences are left of it: give a cohort of "
            "others, or calibrate with sequences of more identities"
        )
    mean = np.where(is_used, best, 0.0).sum(axis=1) / count
    square = np.where(is_used, (np.where(is_used, best, 0.0) - mean[:, None]) ** 2, 0.0).sum(axis=1) / count
    return CohortStatistics(mean, np.maximum(np.sqrt(square), least))


def min_deviation(scores: Floats) -> float:
    """The smallest deviation in use: a hundredth of that of all scores, 1 where these are all equal."""
    deviation = _MIN_DEVIATION_SHARE * float(scores.std())
    return deviation if deviation > 0 else 1.0


def normalize_scores(scores: Floats, first: CohortStatistics, second: CohortStatistics | None) -> Floats:
    """Scores (first, second) relative to the cohort scores of the first, or the mean over both sides.

    z-norm (s − μ_x) / σ_x, AS-norm ½ ((s − μ_x) / σ_x + (s − μ_y) / σ_y); statistics broadcast against the scores.
    """
    normalized = (scores - first.mean) / first.deviation
    return normalized if second is None else 0.5 * (normalized + (scores - second.mean) / second.deviation)
