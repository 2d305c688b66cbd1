"""Calibration of several metrics: scales and weights that turn distances into the log-odds of being alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Floats = NDArray[np.float64]

# strength of the pull towards equal weights, divided by the number of pairs of classes; the loss of a guess is log 2
EQUAL_WEIGHT_PENALTY = 0.4


class HeldOutPairs(NamedTuple):
    """The held-out pairs of a round."""

    distances: Floats
    """(pair, metric)."""
    same: NDArray[np.bool_]
    n_sequences: int


class FusionWeights(NamedTuple):
    """P(alike) = 1 / (1 + exp(Σ_m w_m log(1 + d_m / s_m) − b)), assuming that half of the pairs are alike."""

    scales: Floats
    weights: Floats
    offset: float


def fit_fusion_weights(rounds: list[HeldOutPairs], n_classes: int) -> FusionWeights:
    """Fit each metric alone, then weights v_m ≥ 0 of their log-odds with the penalty κ Σ (v_m − v̄)².

    Evidence about new classes comes from pairs of classes, so κ falls with the number of such pairs. All rounds have
    the same weight, and so do the alike and the other pairs of a round. Targets are smoothed: with N sequences, the
    probability of an alike pair is 1 − 1/(N + 2) (Platt, 1999).
    """
    distances = np.concatenate([one.distances for one in rounds])
    same = np.concatenate([one.same for one in rounds])
    counts = np.concatenate([_balanced_weights(one.same) for one in rounds]) / len(rounds)
    doubt = 1 / (2 + sum(one.n_sequences for one in rounds))
    pull = 2 * EQUAL_WEIGHT_PENALTY / (n_classes * (n_classes - 1))
    scales = np.median(distances, axis=0)
    scales[scales <= 0] = 1.0
    terms = np.log1p(distances / scales)
    alone = np.array([_fit_logistic(term[:, None], same, counts, doubt, 0.0)[1][0] for term in terms.T])
    if not alone.any():  # no metric is informative
        alone[:] = 1.0
    offset, shares = _fit_logistic(terms * alone, same, counts, doubt, pull)
    weights = alone * shares
    return FusionWeights(scales, weights if weights.any() else alone / len(alone), offset)


def _balanced_weights(same: NDArray[np.bool_]) -> Floats:
    return np.where(same, 0.5 / max(same.sum(), 1), 0.5 / max((~same).sum(), 1))


def _fit_logistic(
    terms: Floats, same: NDArray[np.bool_], counts: Floats, doubt: float, pull: float
) -> tuple[float, Floats]:
    """Offset and weights, none negative, of log-odds b − Σ v_m t_m."""
    sure = np.where(same, 1 - doubt, doubt)

    def loss(at: Floats) -> tuple[float, Floats]:
        odds = at[0] - terms @ at[1:]
        apart = at[1:] - at[1:].mean()
        value = counts @ (np.logaddexp(0, odds) - sure * odds) + pull * apart @ apart
        slope = counts * (np.exp(-np.logaddexp(0, -odds)) - sure)
        return float(value), np.concatenate([[slope.sum()], 2 * pull * apart - terms.T @ slope])

    n = terms.shape[1]
    start = np.concatenate([[np.median(terms.mean(axis=1))], np.full(n, 1 / n)])
    solution = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(None, None)] + [(0, None)] * n).x
    return float(solution[0]), solution[1:]
