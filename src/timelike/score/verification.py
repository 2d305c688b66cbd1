"""Verification by distances, scored: false accepts and rejects at every threshold, equal error rate, least cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice, check_float
from ..core.validation.arrays import validate_array
from ..plotting import classification as drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class VerificationErrors:
    """Shares of wrong decisions when pairs up to a threshold are accepted, one of each for every threshold.

    The first threshold is −∞, where nothing is accepted. `false_rejects` over `false_accepts` is the detection error
    trade-off (DET), `1 - false_rejects` over `false_accepts` the receiver operating characteristic (ROC). Between two
    thresholds both change along a straight line, as if pairs in between were decided by lot.

    >>> found = verification_errors([0.1, 0.2, 0.3, 0.4], [True, False, True, False])
    >>> found.equal_error_rate, found.area, found.threshold(false_accept=0.4)
    (0.5, 0.75, 0.1)
    """

    thresholds: Floats
    false_accepts: Floats
    false_rejects: Floats

    @property
    def equal_error_rate(self) -> float:
        """The rate at which both errors are equal: where the line through the points meets the diagonal."""
        excess = self.false_accepts - self.false_rejects  # from −1 to 1, never falling
        last = int(np.flatnonzero(excess <= 0)[-1])
        if excess[last] == 0:
            return float(self.false_accepts[last])
        share = -excess[last] / (excess[last + 1] - excess[last])
        return float(self.false_accepts[last] + share * (self.false_accepts[last + 1] - self.false_accepts[last]))

    @property
    def area(self) -> float:
        """The area under the ROC curve (AUC): how probably a pair of one class is nearer than one of two, ties half."""
        return float(np.trapezoid(1 - self.false_rejects, self.false_accepts))

    def costs(self, prior: float = 0.01, *, reject_cost: float = 1.0, accept_cost: float = 1.0) -> Floats:
        """What wrong decisions cost at every threshold, over what they cost without looking: see `minimum_cost`."""
        if check_float(prior, "prior", above=0.0) >= 1:
            raise ValueError(f"prior={prior}: expected a share between 0 and 1, how many pairs are the same")
        reject, accept = (
            prior * check_float(reject_cost, "reject_cost", above=0.0),
            check_float(accept_cost, "accept_cost", above=0.0),
        )
        accept *= 1 - prior
        return np.asarray((reject * self.false_rejects + accept * self.false_accepts) / min(reject, accept))

    def minimum_cost(self, prior: float = 0.01, *, reject_cost: float = 1.0, accept_cost: float = 1.0) -> float:
        """The least cost over all thresholds (minDCF): see `score.minimum_cost`."""
        return float(self.costs(prior, reject_cost=reject_cost, accept_cost=accept_cost).min())

    def threshold(self, false_accept: float) -> float:
        """The largest distance that may be accepted when no more than this share may be accepted wrongly.

        −∞, which accepts nothing, where already the nearest distance of all is too often wrong.
        """
        allowed = check_float(false_accept, "false_accept", 0.0, 1.0)
        return float(self.thresholds[np.flatnonzero(self.false_accepts <= allowed)[-1]])

    def minimum_cost_threshold(
        self, prior: float = 0.01, *, reject_cost: float = 1.0, accept_cost: float = 1.0
    ) -> float:
        """The threshold of `minimum_cost`; of several the smallest."""
        return float(self.thresholds[self.costs(prior, reject_cost=reject_cost, accept_cost=accept_cost).argmin()])

    def error_rates(self, threshold: float) -> tuple[float, float]:
        """False accepts and false rejects at any threshold, such as one that was set on other pairs."""
        if np.isnan(threshold):
            raise ValueError("threshold is nan: expected a distance; ±inf is allowed")
        place = int(np.searchsorted(self.thresholds, threshold, side="right")) - 1
        return float(self.false_accepts[place]), float(self.false_rejects[place])

    def false_reject_rates(self, false_accepts: Any) -> Floats:
        """The share of false rejects where so many are falsely accepted; the least one where the curve is upright."""
        order = np.arange(len(self.false_accepts))[::-1]  # the last of equals is the least
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
        """The DET curve on probit axes, or the ROC curve, with the equal error rate marked.

        `others` has more curves, each with its name; `band` is what `error_band` gives.
        """
        draw = drawing.plot_det if check_choice(kind, "kind", ("det", "roc")) == "det" else drawing.plot_roc
        curves = {name: self, **(others or {})}
        return draw(
            {key: (one.false_accepts, one.false_rejects, one.equal_error_rate) for key, one in curves.items()}, band
        )


def verification_errors(distances: Any, same: Any, *, weights: Any = None) -> VerificationErrors:
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
    far, alike, counts = validate_distance_pairs(distances, same, weights)
    order = np.argsort(far, kind="stable")
    return errors_from_sorted(far[order], alike[order], counts[order])


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
    """The minimum detection cost (minDCF): what wrong decisions cost at the best threshold there is.

        min_t (c_r π FR(t) + c_a (1 − π) FA(t)) / min(c_r π, c_a (1 − π))

    divided, as NIST does (Speaker Recognition Evaluation, 2016), by the cost of accepting or rejecting everything,
    whichever is less: 1 means that the distances are of no use at these costs.

    Parameters
    ----------
    distances, same, weights
        As for `verification_errors`.
    prior : float
        π, the share of pairs that are the same where decisions are to be made.
    reject_cost, accept_cost : float
        c_r and c_a, the costs of one false reject and of one false accept.

    Examples
    --------
    >>> minimum_cost([0.1, 0.2, 0.3, 0.4], [True, False, True, False], prior=0.5)
    0.5
    """
    found = verification_errors(distances, same, weights=weights)
    return found.minimum_cost(prior, reject_cost=reject_cost, accept_cost=accept_cost)


def errors_from_sorted(far: Floats, alike: NDArray[np.bool_], counts: Floats) -> VerificationErrors:
    """Of pairs sorted by distance; pairs at one distance are accepted together."""
    ends = np.flatnonzero(np.append(far[1:] != far[:-1], True))
    accepted, wrongly = (np.concatenate([[0.0], np.cumsum(counts * kind)[ends]]) for kind in (alike, ~alike))
    return VerificationErrors(np.append(-np.inf, far[ends]), wrongly / wrongly[-1], 1 - accepted / accepted[-1])


def validate_distance_pairs(distances: Any, same: Any, weights: Any) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """Plain arrays of the pairs, with at least one of each kind."""
    far = validate_array(distances, "distances").astype(np.float64)
    alike = validate_array(same, "same").astype(bool)
    counts = np.ones(far.shape) if weights is None else validate_array(weights, "weights").astype(np.float64)
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
        raise ValueError(f"same: no pair is {kind}, and errors of verification need pairs of both kinds")
    return far, alike, counts
