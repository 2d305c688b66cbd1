"""Confidence intervals of means, from Student's t."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..sequences.arguments import real
from ..sequences.doors import plain_array


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


def interval(values: Any, *, confidence: float = 0.95) -> Interval:
    """The mean of values and its confidence interval, from Student's t.

    mean ± t · s / √n, where s is the standard deviation of the n values (with n − 1) and t the quantile of Student's
    distribution with n − 1 degrees of freedom (Student, 1908): right for few seeds, and the normal interval for many
    episodes or queries. A value that is nan does not count; of one value alone the interval is everything.

    Parameters
    ----------
    values : array (item,)
        Accuracies of seeds or episodes, or a number for each query, such as `average_precision` gives.
    confidence : float
        Between 0 and 1.

    Examples
    --------
    >>> print(interval([0.90, 0.92, 0.94]))
    0.92 ± 0.05
    >>> print(interval([1, 0] * 500))
    0.5 ± 0.031
    """
    from scipy.special import stdtrit

    real(confidence, "confidence", above=0.0)
    if confidence >= 1:
        raise ValueError(f"confidence={confidence}: expected a number between 0 and 1, such as 0.95")
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
    mean = float(array.mean())
    if len(array) == 1:
        return Interval(mean, -np.inf, np.inf)
    half = float(stdtrit(len(array) - 1, (1 + confidence) / 2) * array.std(ddof=1) / np.sqrt(len(array)))
    return Interval(mean, mean - half, mean + half)
