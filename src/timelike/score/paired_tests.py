"""Tests of two methods on the same items or folds: McNemar, permutation, bootstrap, corrected t; Holm's correction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_float, check_int
from ..core.random import MAX_RESAMPLES, RandomState, check_random_state
from ..core.validation.arrays import validate_array
from ..core.validation.conversion import from_torch
from .intervals import Interval, percentile_bounds, resampling_units


def mcnemar_test(first: Any, second: Any) -> float:
    """How probable it is that two equally good classifiers differ as much (McNemar, 1947; exact, two-sided).

    Of the items that one has right and the other wrong, each has as many as a fair coin would give it: the binomial
    distribution B(n, ½).

    Parameters
    ----------
    first, second : bool array (item,)
        Whether each answer is right.

    Examples
    --------
    >>> mcnemar_test([True] * 6 + [False], [False] * 6 + [False])
    0.03125
    """
    from scipy.special import bdtr

    a, b = (_validate_correct(side, name) for side, name in ((first, "first"), (second, "second")))
    _refuse_unequal_shapes(a, b)
    wins, losses = int((a & ~b).sum()), int((b & ~a).sum())
    return float(min(1.0, 2 * bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0


def _validate_correct(side: Any, name: str) -> NDArray[np.bool_]:
    """Whether each answer is right; labels are not that, and would all count as right."""
    given = np.asarray(from_torch(side, name) if hasattr(side, "detach") else side)
    if given.dtype.kind not in "biuf" or not np.isin(given, (0, 1)).all():
        raise TypeError(f"{name}: expected whether each answer is right, such as score.is_correct(truth, answer) gives")
    return given.astype(bool)


def permutation_test(
    first: Any, second: Any, *, groups: Any = None, n_permutations: int = 10_000, random_state: RandomState = None
) -> float:
    """How probable it is that two equally good methods differ as much: signs of the differences are drawn anew.

    p = (1 + #{|mean of ± d| ≥ |mean of d|}) / (1 + permutations) over the items' differences d (Fisher, 1935); all
    items of a group get one sign.

    Parameters
    ----------
    first, second : array (item,)
        A number for each item: average precision, squared error. Where either is nan the item does not count.

    Examples
    --------
    >>> permutation_test([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    1.0
    """
    a, b = (validate_array(side, name).astype(np.float64) for side, name in ((first, "first"), (second, "second")))
    _refuse_unequal_shapes(a, b)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = a - b
    apart[np.isinf(a) | np.isinf(b)] = np.inf
    counted = ~np.isnan(apart)
    if np.isinf(apart).any():
        raise ValueError("first and second differ by an infinite number: expected finite ones, or nan for no answer")
    unit = np.unique(resampling_units(groups, len(apart))[counted], return_inverse=True)[1]
    sums = np.bincount(unit, apart[counted])
    rng, observed = check_random_state(random_state), abs(sums.sum())
    times = check_int(n_permutations, "n_permutations", 1, MAX_RESAMPLES)
    extreme = 0
    for done in range(0, times, 1000):  # a thousand at a time, so that many items need little memory
        signs = rng.choice([-1.0, 1.0], (min(1000, times - done), len(sums)))
        extreme += int((np.abs(signs @ sums) >= observed - 1e-12 * np.abs(sums).sum()).sum())
    return (1 + extreme) / (1 + times)


class PairedComparison(NamedTuple):
    """How much better the first of two methods is, with the interval, and how probable so much is by chance."""

    difference: Interval
    p_value: float


def paired_bootstrap(
    score: Callable[[Any, Any], float],
    truth: Any,
    first: Any,
    second: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: RandomState = None,
) -> PairedComparison:
    """Two methods on the same items by any score: s(truth, first) − s(truth, second), when items are drawn anew.

    Each draw of items, or of whole groups, is scored for both methods, so what makes a draw hard is hard for both
    (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993). The p-value is that of `bootstrap_p_value`. A draw
    of which the score is nan does not count.

    Parameters
    ----------
    score : callable
        Such as `macro_f1`, or one of `sklearn.metrics`: of the truth and the answers of some items, a number.
    truth, first, second : array (item, …)
        What is right, and what the two methods say: classes, numbers, probabilities.

    Examples
    --------
    >>> truth = np.arange(200) % 2
    >>> good, bad = np.where(np.arange(200) < 180, truth, 1 - truth), np.where(np.arange(200) < 140, truth, 1 - truth)
    >>> found = paired_bootstrap(lambda known, said: (known == said).mean(), truth, good, bad, random_state=0)
    >>> round(found.difference.mean, 3), found.p_value < 0.01
    (0.2, True)
    """
    known, a, b = _validate_items(truth, first, second)
    unit = resampling_units(groups, len(known))
    members = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])
    rng, draws = check_random_state(random_state), np.empty(check_int(n_resamples, "n_resamples", 1, MAX_RESAMPLES))
    for i in range(len(draws)):
        rows = np.concatenate([members[j] for j in rng.integers(len(members), size=len(members))])
        draws[i] = score(known[rows], a[rows]) - score(known[rows], b[rows])
    draws = draws[~np.isnan(draws)]
    return PairedComparison(
        Interval(float(score(known, a) - score(known, b)), *percentile_bounds(draws, confidence)),
        bootstrap_p_value(draws),
    )


def _validate_items(truth: Any, first: Any, second: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Arrays of the same items; a column (item, 1) is (item,), or comparing it with one would broadcast."""
    sides = ((truth, "truth"), (first, "first"), (second, "second"))
    known, a, b = (from_torch(side, name) if hasattr(side, "detach") else np.asarray(side) for side, name in sides)
    if not known.ndim or not len(known) or any(not side.ndim or len(side) != len(known) for side in (a, b)):
        raise ValueError(
            f"truth, first and second have shapes {known.shape}, {a.shape} and {b.shape}: expected (item, …), the same "
            "items in all"
        )
    known, a, b = (side.reshape(len(side)) if side.shape == (len(side), 1) else side for side in (known, a, b))
    if a.shape != b.shape:
        raise ValueError(f"first and second have shapes {a.shape} and {b.shape}: expected the same kind of answers")
    return known, a, b


def bootstrap_p_value(differences: Any) -> float:
    """How probable a difference of the other sign is, two-sided, of differences whose items were drawn anew.

    min(1, 2 · (1 + the draws of the rarer sign) / (1 + draws)); draws without a difference are of both signs.

    >>> bootstrap_p_value([0.1] * 99)
    0.02
    """
    apart = validate_array(differences, "differences")
    if apart.ndim != 1 or np.isnan(apart).any():
        raise ValueError(f"differences has shape {apart.shape}: expected (draw,), numbers that are not nan")
    side = min(int((apart <= 0).sum()), int((apart >= 0).sum()))
    return min(1.0, 2 * (side + 1) / (len(apart) + 1)) if len(apart) else 1.0


def corrected_t_test(differences: Any, overlap: float) -> float:
    """How probable it is that two equally good methods differ as much over the folds of a cross-validation.

    t = mean / (s √(1/k + r)) with k − 1 degrees of freedom, where r is the size of a test part over that of a training
    part: the plain t-test (r = 0) takes folds, which share what they learn from, for independent, and finds
    differences where there are none (Nadeau and Bengio, "Inference for the generalization error", 2003). Differences
    that are all the same, but for rounding, have no spread to go by: their p is that of the sign test, 2¹⁻ᵏ.

    Parameters
    ----------
    differences : array (fold,)
    overlap : float
        r, ¼ for five folds.

    Examples
    --------
    >>> round(corrected_t_test([0.02, 0.01, 0.03, 0.02, 0.02], 0.25), 3)
    0.014
    """
    from scipy.special import stdtr

    given = validate_array(differences, "differences").astype(np.float64)
    check_float(overlap, "overlap", 0.0)
    if given.ndim != 1 or len(given) < 2 or not np.isfinite(given).all():
        raise ValueError(f"differences has shape {given.shape}: expected (fold,), two finite numbers or more")
    mean, spread = given.mean(), given.std(ddof=1) * np.sqrt(1 / len(given) + overlap)
    if np.ptp(given) <= 1e-9 * np.abs(given).max():
        return 1.0 if mean == 0 else float(2.0 ** (1 - len(given)))
    return float(2 * stdtr(len(given) - 1, -abs(mean) / spread))


def holm_correction(p_values: Any) -> NDArray[np.float64]:
    """p-values of several tests, raised so that together they are wrong as rarely as one (Holm, 1979).

    The smallest of m is multiplied by m, the next by m − 1, and so on; none becomes smaller than the one before it.

    >>> holm_correction([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    given = validate_array(p_values, "p_values").astype(np.float64)
    if given.ndim != 1 or not ((given >= 0) & (given <= 1)).all():
        raise ValueError(f"p_values={p_values!r:.80}: expected (test,), numbers from 0 to 1")
    order = np.argsort(given, kind="stable")
    raised = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    found = np.empty(len(given))
    found[order] = np.minimum(raised, 1.0)
    return found


def _refuse_unequal_shapes(first: NDArray[Any], second: NDArray[Any]) -> None:
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise ValueError(
            f"first and second have shapes {first.shape} and {second.shape}: expected (item,), the same items in both"
        )
