"""Verification by distances: false accepts and rejects at every threshold, equal error rate, minimum cost, intervals.

The intervals are bootstraps over items, or whole subjects: each pair is weighted by how often its members are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_choice, check_float, check_int
from ..core.random import MAX_RESAMPLES, RandomState, check_random_state
from ..core.validation.arrays import validate_array
from ..core.validation.labels import validate_labels
from ..plotting import classification as drawing
from .intervals import Interval, percentile_bounds, resampling_units, share_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_ROUNDING = 1e-9  # tolerance for rates beyond 0 or 1
_MIN_UNITS = 3  # for a bootstrap over subjects


@dataclass(frozen=True)
class VerificationErrors:
    """The rates of false accepts and false rejects at each threshold; pairs up to the threshold are accepted.

    The first threshold is −∞, where nothing is accepted. `false_rejects` over `false_accepts` is the detection error
    trade-off (DET), `1 - false_rejects` over `false_accepts` the receiver operating characteristic (ROC). Both rates
    are linear between thresholds, as if the pairs in between were decided at random.

    >>> errors = verification_errors([0.1, 0.2, 0.3, 0.4], [True, False, True, False])
    >>> errors.equal_error_rate, errors.area, errors.threshold(false_accept=0.4)
    (0.5, 0.75, 0.1)
    """

    thresholds: Floats
    false_accepts: Floats
    false_rejects: Floats

    @property
    def equal_error_rate(self) -> float:
        """The rate at which both errors are equal, interpolated linearly between thresholds."""
        excess = self.false_accepts - self.false_rejects  # rises from −1 to 1
        last = int(np.flatnonzero(excess <= 0)[-1])
        if excess[last] == 0:
            return float(self.false_accepts[last])
        share = -excess[last] / (excess[last + 1] - excess[last])
        return float(self.false_accepts[last] + share * (self.false_accepts[last + 1] - self.false_accepts[last]))

    @property
    def area(self) -> float:
        """The area under the ROC curve: the probability that a genuine pair is nearer than an impostor, ties half."""
        return float(np.trapezoid(1 - self.false_rejects, self.false_accepts))

    def costs(self, prior: float = 0.01, *, reject_cost: float = 1.0, accept_cost: float = 1.0) -> Floats:
        """The normalized cost of errors at each threshold: see `minimum_cost`."""
        if check_float(prior, "prior", above=0.0) >= 1:
            raise ValueError(f"prior={prior}: expected the fraction of genuine pairs, between 0 and 1")
        reject, accept = (
            prior * check_float(reject_cost, "reject_cost", above=0.0),
            check_float(accept_cost, "accept_cost", above=0.0),
        )
        accept *= 1 - prior
        return np.asarray((reject * self.false_rejects + accept * self.false_accepts) / min(reject, accept))

    def minimum_cost(self, prior: float = 0.01, *, reject_cost: float = 1.0, accept_cost: float = 1.0) -> float:
        """The minimum cost over all thresholds (minDCF): see `score.minimum_cost`."""
        return float(self.costs(prior, reject_cost=reject_cost, accept_cost=accept_cost).min())

    def threshold(self, false_accept: float) -> float:
        """The largest threshold with at most this rate of false accepts.

        It is −∞, which accepts nothing, if even the smallest distance gives too many false accepts.
        """
        allowed = check_float(false_accept, "false_accept", 0.0, 1.0)
        return float(self.thresholds[np.flatnonzero(self.false_accepts <= allowed)[-1]])

    def minimum_cost_threshold(
        self, prior: float = 0.01, *, reject_cost: float = 1.0, accept_cost: float = 1.0
    ) -> float:
        """The threshold of `minimum_cost`; the smallest of several."""
        return float(self.thresholds[self.costs(prior, reject_cost=reject_cost, accept_cost=accept_cost).argmin()])

    def error_rates(self, threshold: float) -> tuple[float, float]:
        """The rates of false accepts and false rejects at any threshold, such as one calibrated on other pairs."""
        if np.isnan(threshold):
            raise ValueError("threshold is nan: expected a distance; ±inf is allowed")
        place = int(np.searchsorted(self.thresholds, threshold, side="right")) - 1
        return float(self.false_accepts[place]), float(self.false_rejects[place])

    def false_reject_rates(self, false_accepts: Any) -> Floats:
        """The rates of false rejects at these rates of false accepts; the lowest one where the curve is vertical."""
        order = np.arange(len(self.false_accepts))[::-1]  # the last of equal rates has the fewest false rejects
        rates, first = np.unique(self.false_accepts[order], return_index=True)
        return np.asarray(
            np.interp(validate_array(false_accepts, "false_accepts"), rates, self.false_rejects[order][first])
        )

    def plot(
        self,
        kind: Literal["det", "roc"] = "det",
        *,
        name: str = "",
        others: Mapping[str, VerificationErrors] | None = None,
        band: tuple[Any, Any, Any] | None = None,
    ) -> Figure:
        """Plot the DET curve on probit axes, or the ROC curve, with the equal error rate marked.

        `others` maps names to further curves; `band` is the result of `error_band`.
        """
        draw = drawing.plot_det if check_choice(kind, "kind", ("det", "roc")) == "det" else drawing.plot_roc
        curves = {name: self, **(others or {})}
        return draw(
            {key: (one.false_accepts, one.false_rejects, one.equal_error_rate) for key, one in curves.items()}, band
        )


def verification_errors(distances: Any, same: Any, *, weights: Any = None) -> VerificationErrors:
    """The rates of false accepts and false rejects at each observed distance.

        FA(t) = fraction of impostor pairs with d ≤ t,   FR(t) = fraction of genuine pairs with d > t

    Parameters
    ----------
    distances : array (pair,)
    same : bool array (pair,)
        Whether a pair is genuine: both members have the same class.
    weights : array (pair,), optional
        The weight of each pair.

    Examples
    --------
    >>> errors = verification_errors([0.1, 0.2, 0.3], [True, False, True])
    >>> errors.false_accepts, errors.false_rejects
    (array([0., 0., 1., 1.]), array([1. , 0.5, 0.5, 0. ]))
    """
    distances, same, counts = validate_distance_pairs(distances, same, weights)
    order = np.argsort(distances, kind="stable")
    return errors_from_sorted(distances[order], same[order], counts[order])


def equal_error_rate(distances: Any, same: Any, *, weights: Any = None) -> float:
    """The equal error rate: the rate at which false accepts and false rejects are equal.

    Both rates are interpolated linearly between thresholds, so ties need no convention: if all pairs have the same
    distance, the rate is ½.

    Parameters are those of `verification_errors`.

    Examples
    --------
    >>> equal_error_rate([0.1, 0.2, 0.3, 0.4], [True, False, True, False])
    0.5
    >>> equal_error_rate([0.1, 0.2, 0.3, 0.4], [True, True, False, False])
    0.0
    """
    return verification_errors(distances, same, weights=weights).equal_error_rate


def minimum_cost(
    distances: Any,
    same: Any,
    *,
    prior: float = 0.01,
    reject_cost: float = 1.0,
    accept_cost: float = 1.0,
    weights: Any = None,
) -> float:
    """The minimum detection cost (minDCF): the cost of errors at the best threshold.

        min_t (c_r π FR(t) + c_a (1 − π) FA(t)) / min(c_r π, c_a (1 − π))

    The cost is divided, as in NIST's Speaker Recognition Evaluation (2016), by the lower of the costs of accepting and
    of rejecting everything: 1 means that the distances are useless at these costs.

    Parameters
    ----------
    distances, same, weights
        As for `verification_errors`.
    prior : float
        π, the fraction of genuine pairs in deployment.
    reject_cost, accept_cost : float
        c_r and c_a, the costs of a false reject and of a false accept.

    Examples
    --------
    >>> minimum_cost([0.1, 0.2, 0.3, 0.4], [True, False, True, False], prior=0.5)
    0.5
    """
    errors = verification_errors(distances, same, weights=weights)
    return errors.minimum_cost(prior, reject_cost=reject_cost, accept_cost=accept_cost)


def errors_from_sorted(distances: Floats, same: NDArray[np.bool_], counts: Floats) -> VerificationErrors:
    """The error rates of pairs sorted by distance; pairs at the same distance are accepted together."""
    # not scikit-learn's roc_curve: it rejects infinite distances, and would sort the pairs in every bootstrap draw
    ends = np.flatnonzero(np.append(distances[1:] != distances[:-1], True))
    accepted, wrongly = (np.concatenate([[0.0], np.cumsum(counts * kind)[ends]]) for kind in (same, ~same))
    return VerificationErrors(np.append(-np.inf, distances[ends]), wrongly / wrongly[-1], 1 - accepted / accepted[-1])


def validate_distance_pairs(distances: Any, same: Any, weights: Any) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Validate pairs: arrays of distances, labels and weights with at least one genuine and one impostor pair."""
    distances = validate_array(distances, "distances").astype(np.float64)
    same = validate_array(same, "same").astype(bool)
    weights = np.ones(distances.shape) if weights is None else validate_array(weights, "weights").astype(np.float64)
    if distances.ndim != 1 or same.shape != distances.shape or weights.shape != distances.shape:
        raise ValueError(
            f"distances, same and weights have shapes {distances.shape}, {same.shape} and {weights.shape}: expected "
            "(pair,) in all"
        )
    if np.isnan(distances).any():
        position = int(np.isnan(distances).argmax())
        raise ValueError(f"distances[{position}] is nan: expected numbers; inf is allowed")
    if (weights < 0).any() or not np.isfinite(weights).all():
        raise ValueError("weights must be finite numbers of at least 0, one for each pair")
    if not weights[same].any() or not weights[~same].any():
        kind = "of two classes" if weights[same].any() else "of one class"
        raise ValueError(f"same: no pair is {kind}, and verification errors need pairs of both kinds")
    return distances, same, weights


Statistic = Callable[[VerificationErrors], Any]
_equal_error_rate: Statistic = attrgetter("equal_error_rate")


def resampled_errors(
    distances: Any,
    same: Any,
    subjects: Any,
    statistic: Statistic = _equal_error_rate,
    *,
    n_resamples: int = 500,
    random_state: RandomState = None,
) -> Floats:
    """Bootstrap draws, over subjects, of any statistic of the errors of pairs.

    The weight of a pair is the product of the numbers of times its two subjects are drawn, so pairs that share a
    subject vary together, unlike pairs drawn one by one. Draws with only one kind of pair are dropped.

    Parameters
    ----------
    distances, same : array (pair,)
        As for `verification_errors`.
    subjects : array (pair, 2)
        The subjects, or items, of the two members of each pair.
    statistic : callable
        A function from `VerificationErrors` to a number or an array. Default: the equal error rate.

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
    distances, same, _ = validate_distance_pairs(distances, same, None)
    subjects = validate_labels(subjects, "subjects", "subject")
    if subjects.shape != (len(distances), 2):
        raise ValueError(
            f"subjects has shape {subjects.shape} for {len(distances)} pairs: expected (pair, 2), one per member"
        )
    units = np.unique(subjects, return_inverse=True)[1].reshape(-1, 2)
    return _resample_units(distances, same, units, units.max() + 1, statistic, n_resamples, random_state)


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
    """A statistic of the errors of all pairs of items, with its bootstrap interval over items or whole groups.

    The interval of a proportion, such as a rate, an area or a minimum cost, is at least as wide as `wilson_interval`
    for as many items or groups: if classes are far apart, no draw has an error, and the draws alone would suggest that
    errors never occur.

    Parameters
    ----------
    distances, labels, groups, n_resamples, random_state
        As for `resampled_error_rates`.
    statistic : callable
        A function of `VerificationErrors`: `lambda errors: errors.minimum_cost(0.05)`. Default: the equal error rate.
    shares : bool
        Whether the statistic is a proportion between 0 and 1. Use False for a statistic with a unit, such as a
        distance; its interval is that of the draws alone.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> matrix, labels = abs(points[:, None] - points), [0, 0, 0, 1, 1, 1]
    >>> area = errors_interval(matrix, labels, lambda errors: errors.area, random_state=0)
    >>> round(area.low, 2), area.mean
    (0.61, 1.0)
    """
    draws = _resample_items(distances, labels, groups, statistic, n_resamples, random_state)
    value = float(statistic(_item_errors(distances, labels)))
    if not check_bool(shares, "shares"):
        return Interval(value, *percentile_bounds(draws, confidence))
    out_of_range = [number for number in (value, *draws.tolist()) if not -_ROUNDING <= number <= 1 + _ROUNDING]
    if out_of_range:
        raise ValueError(
            f"statistic gives {out_of_range[0]:g} and shares=True: expected numbers from 0 to 1; use shares=False for "
            "a statistic with a unit"
        )
    value, draws = min(max(value, 0.0), 1.0), draws.clip(0, 1)
    return share_interval(value, draws, int(resampling_units(groups, len(labels)).max()) + 1, confidence)


def resampled_error_rates(
    distances: Any, labels: Any, *, groups: Any = None, n_resamples: int = 500, random_state: RandomState = None
) -> Floats:
    """Bootstrap draws, over items or whole groups, of the equal error rate of all pairs: see `resampled_errors`.

    Parameters
    ----------
    distances : array (item, item)
    labels : array (item,)
    groups : array (item,), optional
        The group of each item; items of a group, such as all sequences of a person, are drawn together.

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
    """The equal error rate of all pairs of items, with its bootstrap interval over items or whole groups.

    Parameters are those of `resampled_error_rates`; `mean` of the interval is the rate without resampling.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> rate = equal_error_interval(abs(points[:, None] - points), [0, 0, 0, 1, 1, 1], random_state=0)
    >>> rate.mean, round(rate.high, 2)  # no error among six items is weak evidence
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
    """The `minimum_cost` of all pairs of items, with its bootstrap interval over items or whole groups.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> cost = minimum_cost_interval(abs(points[:, None] - points), [0, 0, 0, 1, 1, 1], random_state=0)
    >>> cost.mean, round(cost.high, 2)
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
    """The confidence band of the DET curve: false accept rates, and bounds of the false reject rate at each.

    Use it with `VerificationErrors.plot(band=…)`. The band is pointwise: at each rate it contains the fraction
    `confidence` of the resampled curves. It is at least as wide as `wilson_interval` for as many items or groups.

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
    own_curve = _item_errors(distances, labels).false_reject_rates(rates)
    n_units = int(resampling_units(groups, len(labels)).max()) + 1
    intervals = [share_interval(float(own_curve[i]), curves[:, i], n_units, confidence) for i in range(len(rates))]
    return rates, np.array([each.low for each in intervals]), np.array([each.high for each in intervals])


def item_pairs(distances: Any, labels: Any) -> tuple[Floats, NDArray[np.bool_], tuple[NDArray[Any], NDArray[Any]]]:
    """Each pair of items once: its distance, whether both have the same label, and the positions of the two.

    >>> item_pairs([[0, 1, 2], [1, 0, 3], [2, 3, 0]], ["a", "a", "b"])[:2]
    (array([1., 2., 3.]), array([ True, False, False]))
    """
    distances, labels = validate_array(distances, "distances"), validate_labels(labels, "labels", "class")
    if distances.shape != (len(labels), len(labels)) or len(labels) < 2:
        raise ValueError(
            f"distances has shape {distances.shape} for {len(labels)} labels: expected (item, item), two items or more"
        )
    first, second = np.triu_indices(len(labels), 1)
    return distances[first, second].astype(np.float64), labels[first] == labels[second], (first, second)


def _resample_items(
    distances: Any, labels: Any, groups: Any, statistic: Statistic, n_resamples: int, random_state: RandomState
) -> Floats:
    distances, same, pairs = item_pairs(distances, labels)
    units = resampling_units(groups, len(labels))
    validate_distance_pairs(distances, same, None)  # raises an error if the pairs cannot be scored
    both = np.stack([units[side] for side in pairs], axis=1)
    return _resample_units(distances, same, both, units.max() + 1, statistic, n_resamples, random_state)


def _resample_units(
    distances: Floats,
    same: NDArray[np.bool_],
    units: NDArray[np.int64],
    n_units: int,
    statistic: Statistic,
    n_resamples: int,
    random_state: RandomState,
) -> Floats:
    """The statistic of `n_resamples` draws of the units; pairs are sorted once, since only their weights change."""
    n_resamples = check_int(n_resamples, "n_resamples", 1, MAX_RESAMPLES)
    if n_units < _MIN_UNITS:  # all draws with both kinds of pairs would be equal, and the interval have no width
        return np.empty(0)
    order = np.argsort(distances, kind="stable")
    distances, same, units = distances[order], same[order], units[order]
    rng, statistics = check_random_state(random_state), []
    for _ in range(n_resamples):
        times = np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)
        counts = (times[units[:, 0]] * times[units[:, 1]]).astype(np.float64)
        if counts[same].any() and counts[~same].any():
            statistics.append(statistic(errors_from_sorted(distances, same, counts)))
    return np.array(statistics, np.float64)


def _item_errors(distances: Any, labels: Any) -> VerificationErrors:
    """The errors of all pairs of items."""
    return verification_errors(*item_pairs(distances, labels)[:2])
