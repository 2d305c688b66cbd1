"""Confidence intervals: Student's t (corrected for overlapping folds), bootstrap, and Wilson's for proportions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_float, check_int
from ..core.random import MAX_RESAMPLES, RandomState, check_random_state
from ..core.validation.arrays import validate_array
from ..core.validation.labels import validate_labels


@dataclass(frozen=True)
class Interval:
    """A mean and its confidence interval.

    >>> interval = Interval(0.9, 0.8125, 0.95)
    >>> print(interval, f"{interval:.2f}", sep="; ")
    0.9 ± 0.069; 0.90 [0.81, 0.95]
    """

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """The number after the ±."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.half_width:.2g}"

    def __format__(self, spec: str) -> str:
        """The mean with its bounds in brackets, each by the format of a number; "–" where there is no mean."""
        if not spec:
            return str(self)
        if math.isnan(self.mean):
            return "–"
        if not (math.isfinite(self.low) and math.isfinite(self.high)):
            return format(self.mean, spec)
        return f"{self.mean:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"


def wilson_interval(share: float, n: float, *, confidence: float = 0.95, variance: float | None = None) -> Interval:
    """The confidence interval of a proportion of n independent items (Wilson, 1927).

        (p + z²/2n ± z √(p (1 − p)/n + z²/4n²)) / (1 + z²/n),   z the quantile of the normal distribution

    Unlike mean ± z · s / √n it always has a width: for n correct answers it is n / (n + z²) to 1.

    Parameters
    ----------
    share : float
        p, from 0 to 1.
    n : float
        The number of items; for grouped items, the number of groups.
    variance : float, optional
        The variance of the proportion, instead of p (1 − p)/n. Use it for means of numbers between 0 and 1, such as
        average precision, whose variance is smaller.

    Examples
    --------
    >>> bounds = wilson_interval(1.0, 20)
    >>> round(bounds.low, 3), bounds.high
    (0.839, 1.0)
    """
    from scipy.special import ndtri

    p, n = check_float(share, "share", 0.0, 1.0), check_float(n, "n", above=0.0)
    spread = p * (1 - p) / n if variance is None else check_float(variance, "variance", 0.0)
    z = float(ndtri((1 + _check_confidence(confidence)) / 2))
    pull = z * z / n  # shrinks towards one half, like z² extra items
    middle, half = (p + pull / 2) / (1 + pull), z * np.sqrt(spread + pull / (4 * n)) / (1 + pull)
    return Interval(p, max(0.0, float(min(p, middle - half))), min(1.0, float(max(p, middle + half))))


def widen_interval(interval: Interval, minimum: Interval) -> Interval:
    """Widen an interval to contain another.

    >>> widen_interval(Interval(1.0, 1.0, 1.0), Interval(1.0, 0.8, 1.0))
    Interval(mean=1.0, low=0.8, high=1.0)
    """
    return Interval(interval.mean, min(interval.low, minimum.low), max(interval.high, minimum.high))


def interval(values: Any, *, confidence: float = 0.95, overlap: float = 0.0, shares: bool | None = None) -> Interval:
    """The mean of values and its confidence interval, from Student's t.

    mean ± t · s · √(1/n + r), where s is the standard deviation of the n values (with n − 1), t the quantile of
    Student's distribution with n − 1 degrees of freedom (Student, 1908) and r the `overlap`. It is valid for a few
    seeds, and close to the normal interval for many episodes or queries. Values that are nan are ignored; the interval
    of a single value is infinite.

    Parameters
    ----------
    values : array (item,)
        Accuracies of seeds or episodes, or one number per query, such as its `average_precision`.
    confidence : float
        Between 0 and 1.
    overlap : float
        For the folds of a cross-validation, whose training sets overlap: the size of a test set divided by the size of
        a training set, ¼ for five folds (Nadeau and Bengio, "Inference for the generalization error", 2003).
    shares : bool, optional
        Whether the values are proportions between 0 and 1, such as accuracies. Their interval is at least as wide as
        `wilson_interval` for the same n, because Student's interval has no width if all values are 1. Default: True if
        all values are 0 or 1 and not all are 0.

    Examples
    --------
    >>> print(interval([0.90, 0.92, 0.94]))
    0.92 ± 0.05
    >>> print(interval([1, 0] * 500))
    0.5 ± 0.031
    """
    from scipy.special import stdtrit

    confidence, overlap = _check_confidence(confidence), check_float(overlap, "overlap", 0.0)
    array = _validate_values(values)
    mean = float(array.mean())
    if len(array) == 1:
        return Interval(mean, -np.inf, np.inf)
    spread = np.sqrt(1 / len(array) + overlap) if overlap else 1 / np.sqrt(len(array))
    half = float(stdtrit(len(array) - 1, (1 + confidence) / 2) * array.std(ddof=1) * spread)
    student = Interval(mean, mean - half, mean + half)
    if not _has_shares(array, shares):
        return student
    variance = float(array.var() / len(array))
    return widen_interval(student, wilson_interval(mean, len(array), confidence=confidence, variance=variance))


def bootstrap(
    values: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: RandomState = None,
    shares: bool | None = None,
) -> Interval:
    """The mean of values and its bootstrap interval over items, or whole groups.

    The percentile interval of Efron (1979). Values that are nan are ignored. If every answer is correct, all draws are
    equal, so the interval of proportions is at least as wide as `wilson_interval` for as many items or groups.

    Parameters
    ----------
    values : array (item,)
        One number per test item: correct or not, average precision, squared error.
    groups : array (item,), optional
        The group of each item; items of a group, such as all sequences of a person, are drawn together because they
        are not independent.
    shares : bool, optional
        Whether the values are proportions between 0 and 1, such as average precision. Default: True if all values are
        0 or 1 and not all are 0.

    Examples
    --------
    >>> bounds = bootstrap([1, 0] * 500, random_state=0)
    >>> round(bounds.low, 2), round(bounds.high, 2)
    (0.47, 0.53)
    """
    array = validate_array(values, "values").astype(np.float64)
    units = np.arange(len(array)) if groups is None else validate_labels(groups, "groups", "group")
    if units.shape != array.shape:
        raise ValueError(f"groups has shape {units.shape} and values {array.shape}: expected a group for each value")
    counted = ~np.isnan(array)
    mean = float(_validate_values(array).mean())
    _, unit = np.unique(units[counted], return_inverse=True)
    sums, sizes = np.bincount(unit, array[counted]), np.bincount(unit)
    rng, n = check_random_state(random_state), len(sizes)
    draws = np.empty(check_int(n_resamples, "n_resamples", 1, MAX_RESAMPLES))
    for i in range(len(draws)):
        drawn_units = rng.integers(n, size=n)
        draws[i] = sums[drawn_units].sum() / sizes[drawn_units].sum()
    percentile = Interval(mean, *percentile_bounds(draws, confidence))
    if not _has_shares(array[counted], shares):
        return percentile
    variance = None if np.isin(array[counted], (0, 1)).all() else float(draws.var())
    return widen_interval(percentile, wilson_interval(mean, n, confidence=confidence, variance=variance))


def percentile_bounds(draws: NDArray[np.float64], confidence: float = 0.95) -> tuple[float, float]:
    """The central interval that contains the fraction `confidence` of the draws.

    >>> percentile_bounds(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    rest = (1 - _check_confidence(confidence)) / 2
    low, high = np.quantile(draws, [rest, 1 - rest]) if len(draws) else (-np.inf, np.inf)
    return float(low), float(high)


def resampling_units(groups: Any, n_items: int) -> NDArray[np.int64]:
    """The resampling unit of each item: the item itself, or its group, numbered from 0.

    >>> resampling_units(["ann", "bob", "ann"], 3)
    array([0, 1, 0])
    """
    if groups is None:
        return np.arange(n_items)
    labels = validate_labels(groups, "groups", "group")
    if labels.shape != (n_items,):
        raise ValueError(f"groups has shape {labels.shape} for {n_items} items: expected one group for each item")
    return np.asarray(np.unique(labels, return_inverse=True)[1], np.int64)


def _has_shares(values: NDArray[np.float64], shares: bool | None) -> bool:
    """Whether the values are proportions; an error if `shares=True` and values are outside [0, 1]."""
    if shares is None:
        return bool(np.isin(values, (0, 1)).all() and (values == 1).any())
    if check_bool(shares, "shares") and not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"shares=True: values reach from {values.min():g} to {values.max():g}, expected 0 to 1")
    return shares


def share_interval(share: float, draws: NDArray[np.float64], n: float, confidence: float = 0.95) -> Interval:
    """The interval of a proportion from bootstrap draws of its n items; it always has a width.

    >>> bounds = share_interval(0.0, np.zeros(100), 20)
    >>> bounds.low, round(bounds.high, 3)
    (0.0, 0.161)
    """
    percentile = Interval(share, *percentile_bounds(draws, confidence))
    variance = float(draws.var()) if len(draws) else None
    return widen_interval(percentile, wilson_interval(share, n, confidence=confidence, variance=variance))


def _check_confidence(confidence: float) -> float:
    if check_float(confidence, "confidence", above=0.0) >= 1:
        raise ValueError(f"confidence={confidence}: expected a number between 0 and 1, such as 0.95")
    return float(confidence)


def _validate_values(values: Any) -> NDArray[np.float64]:
    """The values that are not nan, (item,); an error unless there is at least one and all are finite."""
    array = validate_array(values, "values").astype(np.float64)
    if array.ndim != 1:
        raise ValueError(
            f"values has shape {array.shape}: expected (item,), one number per item; use ravel() for one mean of all"
        )
    if np.isinf(array).any():
        bad = int(np.flatnonzero(np.isinf(array))[0])
        raise ValueError(f"values[{bad}] is {array[bad]}: expected finite numbers, or nan for items to ignore")
    array = array[~np.isnan(array)]
    if not len(array):
        raise ValueError("values holds no number: expected at least one that is not nan")
    return np.asarray(array)
