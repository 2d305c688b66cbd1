"""Regression scores: squared and absolute errors, and the explained share of the variance (R²)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_int
from ..core.random import MAX_RESAMPLES, RandomState, check_random_state
from ..core.validation.arrays import validate_array
from ..plotting import html
from .intervals import Interval, percentile_bounds, resampling_units

Floats = NDArray[np.float64]
_HEADER = ["score", "value", "low", "high"]


@dataclass(frozen=True, repr=False)
class RegressionScores:
    """Regression scores with confidence intervals: see `regression_scores`."""

    mse: Interval
    mae: Interval
    r2: Interval
    n_items: int

    def _table_rows(self) -> list[list[str]]:
        named = {"mean squared error": self.mse, "mean absolute error": self.mae, "R²": self.r2}
        return [[name, *(f"{value:.4g}" for value in (one.mean, one.low, one.high))] for name, one in named.items()]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [_HEADER, ["---", *["---:"] * 3], *self._table_rows()]
        table = "\n".join(f"| {' | '.join(row)} |" for row in lines)
        return f"{table}\n\n{self.n_items} items; R² is 0 for the mean of the truth, 1 without errors"

    def _repr_html_(self) -> str:
        return html.table(_HEADER, self._table_rows())


def r2(truth: Any, answer: Any) -> float:
    """The share of the variance that is explained: 1 − Σ (x̂ − x)² / Σ (x − x̄)².

    It is 1 without errors, 0 for the mean of the truth, and negative for worse answers; nan if the truth is constant.

    Parameters
    ----------
    truth, answer : array (item,)
        Numbers.

    Examples
    --------
    >>> r2([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
    0.5
    """
    true_numbers, answers = _validate_numbers(truth, answer)
    return float(_weighted_scores(true_numbers, answers, np.ones((1, len(answers))))[0, 2])


def regression_scores(
    truth: Any,
    answer: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: RandomState = None,
) -> RegressionScores:
    """Mean squared error, mean absolute error and R², with intervals.

    The intervals are bootstraps: items, or whole groups, are drawn with replacement. Draws in which the truth is
    constant have no R² and are left out of its interval.

    Parameters
    ----------
    truth, answer : array (item,)
        Numbers.
    groups : array (item,), optional
        The group of each item; the items of a group, such as all sequences of a person, are drawn together.

    Returns
    -------
    RegressionScores
        Prints as a table.

    Examples
    --------
    >>> scores = regression_scores(range(100), [i + 10 * (-1) ** i for i in range(100)], random_state=0)
    >>> scores.mae
    Interval(mean=10.0, low=10.0, high=10.0)
    >>> round(scores.r2.mean, 3), scores.r2.low < 0.88 < scores.r2.high
    (0.88, True)
    """
    true_numbers, answers = _validate_numbers(truth, answer)
    units = resampling_units(groups, len(answers))
    rng, n = check_random_state(random_state), int(units.max()) + 1
    n_draws = check_int(n_resamples, "n_resamples", 1, MAX_RESAMPLES)
    drawn = [np.bincount(rng.integers(n, size=n), minlength=n)[units].astype(np.float64) for _ in range(n_draws)]
    draws = np.concatenate([_weighted_scores(true_numbers, answers, weights[None]) for weights in drawn])
    values = _weighted_scores(true_numbers, answers, np.ones((1, len(answers))))[0]
    mse, mae, share = (_make_interval(value, draws[:, i], confidence) for i, value in enumerate(values.tolist()))
    return RegressionScores(mse, mae, share, len(answers))


def _make_interval(value: float, draws: Floats, confidence: float) -> Interval:
    if np.isnan(value):
        return Interval(np.nan, np.nan, np.nan)
    return Interval(value, *percentile_bounds(draws[~np.isnan(draws)], confidence))


def _weighted_scores(truth: Floats, answers: Floats, weights: Floats) -> Floats:
    """Mean squared and absolute error and R² of every draw, (draw, 3), of how often each item is drawn (draw, item)."""
    totals, errors = weights.sum(axis=1), answers - truth
    squared, absolute = weights @ errors**2, weights @ np.abs(errors)
    deviations = (weights * (truth - (weights @ truth / totals)[:, None]) ** 2).sum(axis=1)
    is_constant = np.array([np.ptp(truth[row > 0]) == 0 for row in weights])
    unexplained = np.divide(squared, deviations, out=np.full(len(totals), np.nan), where=~is_constant)
    return np.stack([squared / totals, absolute / totals, 1 - unexplained], axis=1)


def _validate_numbers(truth: Any, answer: Any) -> tuple[Floats, Floats]:
    true_numbers, answers = (
        validate_array(side, name).astype(np.float64) for side, name in ((truth, "truth"), (answer, "answer"))
    )
    if true_numbers.ndim != 1 or true_numbers.shape != answers.shape or not len(answers):
        raise ValueError(
            f"truth has shape {true_numbers.shape} and answer {answers.shape}: expected (item,) in both, of equal "
            "length and not empty"
        )
    for side, name in ((true_numbers, "truth"), (answers, "answer")):
        bad = np.flatnonzero(~np.isfinite(side))
        if len(bad):
            raise ValueError(f"{name}[{bad[0]}] is {side[bad[0]]}: expected finite numbers")
    return true_numbers, answers
