"""Confidence intervals: of means from Student's t, also over overlapping trainings, and by drawing items anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sequences.arguments import RandomState, generator, real, whole
from ..sequences.doors import plain_array, read_labels


@dataclass(frozen=True)
class Interval:
    """A mean, and between which numbers it lies with the confidence that was asked for."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """What stands behind the ±."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.half:.2g}"


def interval(values: Any, *, confidence: float = 0.95, overlap: float = 0.0) -> Interval:
    """The mean of values and its confidence interval, from Student's t.

    mean ± t · s · √(1/n + r), where s is the standard deviation of the n values (with n − 1), t the quantile of
    Student's distribution with n − 1 degrees of freedom (Student, 1908) and r the `overlap`: right for few seeds, and
    the normal interval for many episodes or queries. A value that is nan does not count; of one value alone the
    interval is everything.

    Parameters
    ----------
    values : array (item,)
        Accuracies of seeds or episodes, or a number for each query, such as `average_precision` gives.
    confidence : float
        Between 0 and 1.
    overlap : float
        For the folds of a cross-validation, whose training parts share sequences: the size of a test part over that
        of a training part, ¼ for five folds (Nadeau and Bengio, "Inference for the generalization error", 2003).

    Examples
    --------
    >>> print(interval([0.90, 0.92, 0.94]))
    0.92 ± 0.05
    >>> print(interval([1, 0] * 500))
    0.5 ± 0.031
    """
    from scipy.special import stdtrit

    confidence, overlap = _share(confidence), real(overlap, "overlap", 0.0)
    array = _numbers(values)
    mean = float(array.mean())
    if len(array) == 1:
        return Interval(mean, -np.inf, np.inf)
    spread = np.sqrt(1 / len(array) + overlap) if overlap else 1 / np.sqrt(len(array))
    half = float(stdtrit(len(array) - 1, (1 + confidence) / 2) * array.std(ddof=1) * spread)
    return Interval(mean, mean - half, mean + half)


def bootstrap(
    values: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 2000,
    random_state: RandomState = None,
) -> Interval:
    """The mean of values, and between which numbers it lies when items, or whole groups, are drawn anew.

    The percentile interval of Efron (1979). A value that is nan does not count.

    Parameters
    ----------
    values : array (item,)
        A number for each test item: right or wrong, average precision, squared error.
    groups : array (item,), optional
        What is drawn together, such as all sequences of a person: items of one group tell less than as many others.

    Examples
    --------
    >>> found = bootstrap([1, 0] * 500, random_state=0)
    >>> round(found.low, 2), round(found.high, 2)
    (0.47, 0.53)
    """
    array = plain_array(values, "values").astype(np.float64)
    known = np.arange(len(array)) if groups is None else read_labels(groups, "groups", "group")
    if known.shape != array.shape:
        raise ValueError(f"groups has shape {known.shape} and values {array.shape}: expected a group for each value")
    counted = ~np.isnan(array)
    mean = float(_numbers(array).mean())
    _, unit = np.unique(known[counted], return_inverse=True)
    sums, sizes = np.bincount(unit, array[counted]), np.bincount(unit)
    rng, n = generator(random_state), len(sizes)
    draws = np.empty(whole(n_resamples, "n_resamples", 1))
    for i in range(len(draws)):
        drawn = rng.integers(n, size=n)
        draws[i] = sums[drawn].sum() / sizes[drawn].sum()
    return Interval(mean, *quantiles(draws, confidence))


def quantiles(draws: NDArray[np.float64], confidence: float = 0.95) -> tuple[float, float]:
    """Between which numbers so large a share of the draws lies, with as many below as above.

    >>> quantiles(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    rest = (1 - _share(confidence)) / 2
    low, high = np.quantile(draws, [rest, 1 - rest]) if len(draws) else (-np.inf, np.inf)
    return float(low), float(high)


def units(groups: Any, n_items: int) -> NDArray[np.int64]:
    """What is drawn: every item for itself, or its group, numbered from 0.

    >>> units(["ann", "bob", "ann"], 3)
    array([0, 1, 0])
    """
    if groups is None:
        return np.arange(n_items)
    known = read_labels(groups, "groups", "group")
    if known.shape != (n_items,):
        raise ValueError(f"groups has shape {known.shape} for {n_items} items: expected one for each")
    return np.asarray(np.unique(known, return_inverse=True)[1], np.int64)


def _share(confidence: float) -> float:
    if real(confidence, "confidence", above=0.0) >= 1:
        raise ValueError(f"confidence={confidence}: expected a number between 0 and 1, such as 0.95")
    return float(confidence)


def _numbers(values: Any) -> NDArray[np.float64]:
    """Those that count: one axis, finite, at least one."""
    array = plain_array(values, "values").astype(np.float64)
    if array.ndim != 1:
        raise ValueError(
            f"values has shape {array.shape}: expected (item,), a number for each; for one mean of all, ravel()"
        )
    if np.isinf(array).any():
        bad = int(np.flatnonzero(np.isinf(array))[0])
        raise ValueError(f"values[{bad}] is {array[bad]}: expected finite numbers, or nan for those that do not count")
    array = array[~np.isnan(array)]
    if not len(array):
        raise ValueError("values holds no number: there is no mean")
    return np.asarray(array)
