"""Verification by distances, scored: false accepts, false rejects, and the equal error rate with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sequences.arguments import RandomState, generator, whole
from ..sequences.doors import plain_array, read_labels
from .intervals import Interval, quantiles

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Errors:
    """Shares of wrong decisions when pairs up to a threshold are accepted, one of each for every threshold.

    The first threshold is −∞, where nothing is accepted. `false_accepts` over `false_rejects` is the detection error
    trade-off, `1 - false_rejects` over `false_accepts` the receiver operating characteristic.
    """

    thresholds: Floats
    false_accepts: Floats
    false_rejects: Floats

    @property
    def equal(self) -> float:
        """The rate at which both errors are equal: where the line through the points meets the diagonal."""
        excess = self.false_accepts - self.false_rejects  # from −1 to 1, never falling
        last = int(np.flatnonzero(excess <= 0)[-1])
        if excess[last] == 0:
            return float(self.false_accepts[last])
        share = -excess[last] / (excess[last + 1] - excess[last])
        return float(self.false_accepts[last] + share * (self.false_accepts[last + 1] - self.false_accepts[last]))


def verification_errors(distances: Any, same: Any, *, weights: Any = None) -> Errors:
    """False accepts and false rejects at every distance that occurs.

        FA(t) = share of pairs that are not the same with d ≤ t,   FR(t) = share of pairs that are the same with d > t

    Parameters
    ----------
    distances : array (pair,)
    same : bool array (pair,)
        Whether the two are of one class.
    weights : array (pair,), optional
        How often each pair counts.

    Examples
    --------
    >>> found = verification_errors([0.1, 0.2, 0.3], [True, False, True])
    >>> found.false_accepts, found.false_rejects
    (array([0., 0., 1., 1.]), array([1. , 0.5, 0.5, 0. ]))
    """
    far, alike, counts = _opened(distances, same, weights)
    order = np.argsort(far, kind="stable")
    return _errors(far[order], alike[order], counts[order])


def equal_error_rate(distances: Any, same: Any, *, weights: Any = None) -> float:
    """The equal error rate: false accepts and false rejects at the threshold where there are as many of both.

    Pairs at the same distance are decided alike, or by lot: between two thresholds both rates change along a straight
    line, and the equal error rate is where it crosses FA = FR. So ties need no convention, and pairs that are all
    equally far have the rate ½.

    Parameters are those of `verification_errors`.

    Examples
    --------
    >>> equal_error_rate([0.1, 0.2, 0.3, 0.4], [True, False, True, False])
    0.5
    >>> equal_error_rate([0.1, 0.2, 0.3, 0.4], [True, True, False, False])
    0.0
    """
    return verification_errors(distances, same, weights=weights).equal


def resampled_error_rates(
    distances: Any, labels: Any, *, groups: Any = None, n_resamples: int = 500, random_state: RandomState = None
) -> Floats:
    """Equal error rates of all pairs of items, when items (or whole groups) are drawn anew with replacement.

    A pair counts as often as its first item was drawn times its second: pairs that share an item rise and fall
    together, which pairs drawn one by one would not. Draws that leave only pairs of one kind do not count.

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
    far, alike, (first, second) = item_pairs(distances, labels)
    order = np.argsort(far, kind="stable")
    far, alike, first, second = far[order], alike[order], first[order], second[order]
    rng, found = generator(random_state), []
    units = _units(groups, len(labels))
    for _ in range(whole(n_resamples, "n_resamples", 1)):
        drawn = np.bincount(rng.integers(units.max() + 1, size=units.max() + 1), minlength=units.max() + 1)[units]
        counts = (drawn[first] * drawn[second]).astype(np.float64)
        if counts[alike].any() and counts[~alike].any():
            found.append(_errors(far, alike, counts).equal)
    return np.array(found)


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
    >>> found.mean, found.high
    (0.0, 0.0)
    """
    far, alike, _ = item_pairs(distances, labels)
    draws = resampled_error_rates(distances, labels, groups=groups, n_resamples=n_resamples, random_state=random_state)
    return Interval(equal_error_rate(far, alike), *quantiles(draws, confidence))


def item_pairs(distances: Any, labels: Any) -> tuple[Floats, NDArray[np.bool_], tuple[NDArray[Any], NDArray[Any]]]:
    """Every pair of two items once: its distance, whether both have one label, and which two they are.

    >>> item_pairs([[0, 1, 2], [1, 0, 3], [2, 3, 0]], ["a", "a", "b"])[:2]
    (array([1., 2., 3.]), array([ True, False, False]))
    """
    matrix, known = plain_array(distances, "distances"), read_labels(labels, "labels", "class")
    if matrix.shape != (len(known), len(known)) or len(known) < 2:
        raise ValueError(
            f"distances has shape {matrix.shape} for {len(known)} labels: expected (item, item), two items or more"
        )
    first, second = np.triu_indices(len(known), 1)
    return matrix[first, second].astype(np.float64), known[first] == known[second], (first, second)


def _units(groups: Any, n_items: int) -> NDArray[np.int64]:
    """What is drawn: every item for itself, or its group."""
    if groups is None:
        return np.arange(n_items)
    known = read_labels(groups, "groups", "group")
    if len(known) != n_items:
        raise ValueError(f"groups has {len(known)} entries for {n_items} items: expected one each")
    return np.asarray(np.unique(known, return_inverse=True)[1], np.int64)


def _errors(far: Floats, alike: NDArray[np.bool_], counts: Floats) -> Errors:
    """Of pairs sorted by distance; pairs at one distance are accepted together."""
    ends = np.flatnonzero(np.append(far[1:] != far[:-1], True))
    accepted, wrongly = (np.concatenate([[0.0], np.cumsum(counts * kind)[ends]]) for kind in (alike, ~alike))
    return Errors(np.append(-np.inf, far[ends]), wrongly / wrongly[-1], 1 - accepted / accepted[-1])


def _opened(distances: Any, same: Any, weights: Any) -> tuple[Floats, NDArray[np.bool_], Floats]:
    far = plain_array(distances, "distances").astype(np.float64)
    alike = plain_array(same, "same").astype(bool)
    counts = np.ones(far.shape) if weights is None else plain_array(weights, "weights").astype(np.float64)
    if far.ndim != 1 or alike.shape != far.shape or counts.shape != far.shape:
        raise ValueError(
            f"distances, same and weights have shapes {far.shape}, {alike.shape} and {counts.shape}: expected (pair,) "
            "in all"
        )
    if np.isnan(far).any():
        raise ValueError(f"distances[{int(np.flatnonzero(np.isnan(far))[0])}] is nan: expected numbers; inf is allowed")
    if (counts < 0).any() or not np.isfinite(counts).all():
        raise ValueError("weights must be finite numbers of at least 0: how often each pair counts")
    if not counts[alike].any() or not counts[~alike].any():
        kind = "of two classes" if counts[alike].any() else "of one class"
        raise ValueError(f"same: no pair is {kind}, and an equal error rate needs pairs of both kinds")
    return far, alike, counts
