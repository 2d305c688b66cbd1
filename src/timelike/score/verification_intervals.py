"""Intervals of verification: items, or whole subjects, are drawn anew, and every pair counts as often as its two."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_int
from ..core.random import MAX_RESAMPLES, RandomState, check_random_state
from ..core.validation.arrays import validate_array
from ..core.validation.labels import validate_labels
from .intervals import Interval, percentile_bounds, resampling_units as drawn_units, share_interval
from .verification import Floats, VerificationErrors, errors_from_sorted, validate_distance_pairs

Statistic = Callable[[VerificationErrors], Any]
_equal_error_rate: Statistic = attrgetter("equal_error_rate")

_ROUNDING = 1e-9  # by which sums may take a share beyond 0 or 1
_MIN_UNITS = 3  # subjects that are drawn anew


def resampled_errors(
    distances: Any,
    same: Any,
    subjects: Any,
    statistic: Statistic = _equal_error_rate,
    *,
    n_resamples: int = 500,
    random_state: RandomState = None,
) -> Floats:
    """Any number (or array of numbers) of the errors of given pairs, when their subjects are drawn with replacement.

    A pair counts as often as its first subject was drawn times its second: pairs that share one rise and fall
    together, which pairs drawn one by one would not. Draws that leave only pairs of one kind do not count.

    Parameters
    ----------
    distances, same : array (pair,)
        As for `verification_errors`.
    subjects : array (pair, 2)
        Of whom, or which item, the first and the second of every pair is.
    statistic : callable
        Of the `VerificationErrors`; the equal error rate unless given.

    Returns
    -------
    array (resample, …)

    Examples
    --------
    >>> near, far = [0.1, 0.2, 0.3], [0.8, 0.9, 1.0]
    >>> pairs = [["ann", "ann"], ["bob", "bob"], ["cid", "cid"], ["ann", "bob"], ["ann", "cid"], ["bob", "cid"]]
    >>> resampled_errors(near + far, [True] * 3 + [False] * 3, pairs, n_resamples=9, random_state=0).max()
    np.float64(0.0)
    """
    far, alike, _ = validate_distance_pairs(distances, same, None)
    known = validate_labels(subjects, "subjects", "subject")
    if known.shape != (len(far), 2):
        raise ValueError(
            f"subjects has shape {known.shape} for {len(far)} pairs: expected (pair, 2), one for each side"
        )
    units = np.unique(known, return_inverse=True)[1].reshape(-1, 2)
    return _resample_units(far, alike, units, units.max() + 1, statistic, n_resamples, random_state)


def errors_interval(
    distances: Any,
    labels: Any,
    statistic: Statistic = _equal_error_rate,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 500,
    random_state: RandomState = None,
    shares: bool = True,
) -> Interval:
    """A number of the errors of all pairs of items, with its bootstrap interval over items, or over whole groups.

    A share, as rates, areas and least costs are, has an interval that is nowhere narrower than that of
    `wilson_interval` for as many items, or groups: where classes are far apart, every draw has no errors, and tells
    nothing of those to come.

    Parameters
    ----------
    distances, labels, groups, n_resamples, random_state
        As for `resampled_error_rates`.
    statistic : callable
        Of the `VerificationErrors`: `lambda errors: errors.minimum_cost(0.05)`. The equal error rate unless given.
    shares : bool
        Whether the number lies between 0 and 1 by what it means. Of one that has a unit, such as a distance, say False:
        its interval is that of the draws alone.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> matrix, labels = abs(points[:, None] - points), [0, 0, 0, 1, 1, 1]
    >>> found = errors_interval(matrix, labels, lambda errors: errors.area, random_state=0)
    >>> round(found.low, 2), found.mean
    (0.61, 1.0)
    """
    far, alike, _ = item_pairs(distances, labels)
    draws = _resample_items(distances, labels, groups, statistic, n_resamples, random_state)
    value = float(statistic(_pair_errors(far, alike)))
    if not check_bool(shares, "shares"):
        return Interval(value, *percentile_bounds(draws, confidence))
    outside = [one for one in (value, *draws.tolist()) if not -_ROUNDING <= one <= 1 + _ROUNDING]
    if outside:
        raise ValueError(
            f"statistic gives {outside[0]:g} and shares=True: expected numbers from 0 to 1; say shares=False for one "
            "that has a unit"
        )
    value, draws = min(max(value, 0.0), 1.0), draws.clip(0, 1)
    return share_interval(value, draws, int(drawn_units(groups, len(labels)).max()) + 1, confidence)


def resampled_error_rates(
    distances: Any, labels: Any, *, groups: Any = None, n_resamples: int = 500, random_state: RandomState = None
) -> Floats:
    """Equal error rates of all pairs of items, when items (or whole groups) are drawn anew: see `resampled_errors`.

    Parameters
    ----------
    distances : array (item, item)
    labels : array (item,)
    groups : array (item,), optional
        What is drawn together, such as all sequences of a person.

    Returns
    -------
    array (resample,)
    """
    return _resample_items(distances, labels, groups, _equal_error_rate, n_resamples, random_state)


def equal_error_interval(
    distances: Any,
    labels: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 500,
    random_state: RandomState = None,
) -> Interval:
    """The equal error rate of all pairs of items, and its bootstrap interval over items, or over whole groups.

    Parameters are those of `resampled_error_rates`; `mean` of the interval is the rate of the items as they are.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> found = equal_error_interval(abs(points[:, None] - points), [0, 0, 0, 1, 1, 1], random_state=0)
    >>> found.mean, round(found.high, 2)  # no error among six items says little
    (0.0, 0.39)
    """
    options: dict[str, Any] = {"groups": groups, "confidence": confidence, "n_resamples": n_resamples}
    return errors_interval(distances, labels, _equal_error_rate, random_state=random_state, **options)


def minimum_cost_interval(
    distances: Any,
    labels: Any,
    *,
    prior: float = 0.01,
    reject_cost: float = 1.0,
    accept_cost: float = 1.0,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 500,
    random_state: RandomState = None,
) -> Interval:
    """The `minimum_cost` of all pairs of items, and its bootstrap interval over items, or over whole groups.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> found = minimum_cost_interval(abs(points[:, None] - points), [0, 0, 0, 1, 1, 1], random_state=0)
    >>> found.mean, round(found.high, 2)
    (0.0, 0.39)
    """

    def cost(errors: VerificationErrors) -> float:
        return errors.minimum_cost(prior, reject_cost=reject_cost, accept_cost=accept_cost)

    options: dict[str, Any] = {"groups": groups, "confidence": confidence, "n_resamples": n_resamples}
    return errors_interval(distances, labels, cost, random_state=random_state, **options)


def error_band(
    distances: Any,
    labels: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 200,
    random_state: RandomState = None,
) -> tuple[Floats, Floats, Floats]:
    """Rates of false accepts, and between which rates of false rejects the curve is at each, for
    `VerificationErrors.plot(band=…)`.

    The band is one of single points: at each rate so large a share of the resampled curves passes through it. Nowhere
    is it narrower than `wilson_interval` of as many items, or groups.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> rates, low, high = error_band(abs(points[:, None] - points), [0, 0, 0, 1, 1, 1], random_state=0)
    >>> round(float(high[0]), 2)  # no false reject among six items
    0.39
    """
    rates = np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 200)])
    curves = _resample_items(
        distances, labels, groups, lambda errors: errors.false_reject_rates(rates), n_resamples, random_state
    )
    far, alike, _ = item_pairs(distances, labels)
    own, n_units = _pair_errors(far, alike).false_reject_rates(rates), int(drawn_units(groups, len(labels)).max()) + 1
    found = [share_interval(float(own[i]), curves[:, i], n_units, confidence) for i in range(len(rates))]
    return rates, np.array([one.low for one in found]), np.array([one.high for one in found])


def item_pairs(distances: Any, labels: Any) -> tuple[Floats, NDArray[np.bool_], tuple[NDArray[Any], NDArray[Any]]]:
    """Every pair of two items once: its distance, whether both have one label, and which two they are.

    >>> item_pairs([[0, 1, 2], [1, 0, 3], [2, 3, 0]], ["a", "a", "b"])[:2]
    (array([1., 2., 3.]), array([ True, False, False]))
    """
    matrix, known = validate_array(distances, "distances"), validate_labels(labels, "labels", "class")
    if matrix.shape != (len(known), len(known)) or len(known) < 2:
        raise ValueError(
            f"distances has shape {matrix.shape} for {len(known)} labels: expected (item, item), two items or more"
        )
    first, second = np.triu_indices(len(known), 1)
    return matrix[first, second].astype(np.float64), known[first] == known[second], (first, second)


def _resample_items(
    distances: Any, labels: Any, groups: Any, statistic: Statistic, n_resamples: int, random_state: RandomState
) -> Floats:
    far, alike, pairs = item_pairs(distances, labels)
    units = drawn_units(groups, len(labels))
    validate_distance_pairs(far, alike, None)  # says what cannot be scored
    both = np.stack([units[side] for side in pairs], axis=1)
    return _resample_units(far, alike, both, units.max() + 1, statistic, n_resamples, random_state)


def _resample_units(
    far: Floats,
    alike: NDArray[np.bool_],
    units: NDArray[np.int64],
    n_units: int,
    statistic: Statistic,
    n_resamples: int,
    random_state: RandomState,
) -> Floats:
    """The statistic of as many draws of the units as asked for; pairs are sorted once, and only counted anew."""
    n_resamples = check_int(n_resamples, "n_resamples", 1, MAX_RESAMPLES)
    if n_units < _MIN_UNITS:  # every draw that has pairs of both kinds is the same: it would look like certainty
        return np.empty(0)
    order = np.argsort(far, kind="stable")
    far, alike, units = far[order], alike[order], units[order]
    rng, found = check_random_state(random_state), []
    for _ in range(n_resamples):
        drawn = np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)
        counts = (drawn[units[:, 0]] * drawn[units[:, 1]]).astype(np.float64)
        if counts[alike].any() and counts[~alike].any():
            found.append(statistic(errors_from_sorted(far, alike, counts)))
    return np.array(found, np.float64)


def _pair_errors(far: Floats, alike: NDArray[np.bool_]) -> VerificationErrors:
    order = np.argsort(far, kind="stable")
    return errors_from_sorted(far[order], alike[order], np.ones(len(far)))
