"""Significance tests: two methods on the same items or folds, several methods over data sets; Holm's correction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice, check_float, check_int
from ..core.random import MAX_RESAMPLES, RandomState, check_random_state
from ..core.validation.arrays import validate_array
from ..core.validation.conversion import from_torch
from .intervals import Interval, percentile_bounds, resampling_units

Floats = NDArray[np.float64]
PostHoc = Literal["wilcoxon", "nemenyi"]


def mcnemar_test(first: Any, second: Any) -> float:
    """The p-value of McNemar's test that two classifiers are equally good (McNemar, 1947; exact, two-sided).

    Among the n items that exactly one classifier gets right, the number of wins of each follows B(n, ½).

    Parameters
    ----------
    first, second : bool array (item,)
        Whether each answer is correct.

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
    """Whether each answer is correct; an error for labels, which would all count as correct."""
    array = np.asarray(from_torch(side, name) if hasattr(side, "detach") else side)
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise TypeError(f"{name}: expected whether each answer is right, such as score.is_correct(truth, answer)")
    return array.astype(bool)


def permutation_test(
    first: Any, second: Any, *, groups: Any = None, n_permutations: int = 10_000, random_state: RandomState = None
) -> float:
    """The p-value that two methods are equally good, from random sign changes of their differences.

    p = (1 + #{|mean of ± d| ≥ |mean of d|}) / (1 + permutations) over the items' differences d (Fisher, 1935); all
    items of a group get the same sign.

    Parameters
    ----------
    first, second : array (item,)
        One number per item, such as its average precision. Items with nan in either are ignored.

    Examples
    --------
    >>> permutation_test([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0])
    1.0
    """
    a, b = (validate_array(side, name).astype(np.float64) for side, name in ((first, "first"), (second, "second")))
    _refuse_unequal_shapes(a, b)
    with np.errstate(invalid="ignore", over="ignore"):
        differences = a - b
    differences[np.isinf(a) | np.isinf(b)] = np.inf
    counted = ~np.isnan(differences)
    if np.isinf(differences).any():
        raise ValueError("first and second differ by an infinite number: expected finite numbers, or nan for no answer")
    unit = np.unique(resampling_units(groups, len(differences))[counted], return_inverse=True)[1]
    sums = np.bincount(unit, differences[counted])
    rng, observed = check_random_state(random_state), abs(sums.sum())
    times = check_int(n_permutations, "n_permutations", 1, MAX_RESAMPLES)
    extreme = 0
    for done in range(0, times, 1000):  # in blocks, to limit memory
        signs = rng.choice([-1.0, 1.0], (min(1000, times - done), len(sums)))
        extreme += int((np.abs(signs @ sums) >= observed - 1e-12 * np.abs(sums).sum()).sum())
    return (1 + extreme) / (1 + times)


class PairedComparison(NamedTuple):
    """The score of the first method minus that of the second, with its interval, and the p-value."""

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
    """The difference of two methods by any score, s(truth, first) − s(truth, second), bootstrapped over items.

    Both methods are scored on each draw of items or groups, so a hard draw is hard for both (Efron and Tibshirani,
    "An Introduction to the Bootstrap", 1993). The p-value is that of `bootstrap_p_value`. Draws with a score of nan are
    ignored.

    Parameters
    ----------
    score : callable
        A function from truth and answers to a number: `macro_f1`, or a function of `sklearn.metrics`.
    truth, first, second : array (item, …)
        The truth and the answers of the two methods: classes, numbers, probabilities.

    Examples
    --------
    >>> truth = np.arange(200) % 2
    >>> good, bad = np.where(np.arange(200) < 180, truth, 1 - truth), np.where(np.arange(200) < 140, truth, 1 - truth)
    >>> result = paired_bootstrap(lambda labels, answers: (labels == answers).mean(), truth, good, bad, random_state=0)
    >>> round(result.difference.mean, 3), result.p_value < 0.01
    (0.2, True)
    """
    truth, a, b = _validate_items(truth, first, second)
    unit = resampling_units(groups, len(truth))
    members = np.split(np.argsort(unit, kind="stable"), np.cumsum(np.bincount(unit))[:-1])
    rng, draws = check_random_state(random_state), np.empty(check_int(n_resamples, "n_resamples", 1, MAX_RESAMPLES))
    for i in range(len(draws)):
        rows = np.concatenate([members[j] for j in rng.integers(len(members), size=len(members))])
        draws[i] = score(truth[rows], a[rows]) - score(truth[rows], b[rows])
    draws = draws[~np.isnan(draws)]
    return PairedComparison(
        Interval(float(score(truth, a) - score(truth, b)), *percentile_bounds(draws, confidence)),
        bootstrap_p_value(draws),
    )


def _validate_items(truth: Any, first: Any, second: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Arrays of the same items; (item, 1) becomes (item,), which would otherwise broadcast against (item,)."""
    sides = ((truth, "truth"), (first, "first"), (second, "second"))
    targets, a, b = (from_torch(side, name) if hasattr(side, "detach") else np.asarray(side) for side, name in sides)
    if not targets.ndim or not len(targets) or any(not side.ndim or len(side) != len(targets) for side in (a, b)):
        raise ValueError(
            f"truth, first and second have shapes {targets.shape}, {a.shape} and {b.shape}: expected (item, …), the "
            "same items in all"
        )
    targets, a, b = (side.reshape(len(side)) if side.shape == (len(side), 1) else side for side in (targets, a, b))
    if a.shape != b.shape:
        raise ValueError(f"first and second have shapes {a.shape} and {b.shape}: expected the same kind of answers")
    return targets, a, b


def bootstrap_p_value(differences: Any) -> float:
    """The two-sided p-value of bootstrapped differences, from the frequency of the rarer sign.

    min(1, 2 · (1 + draws of the rarer sign) / (1 + draws)); a difference of 0 counts for both signs.

    >>> bootstrap_p_value([0.1] * 99)
    0.02
    """
    draws = validate_array(differences, "differences")
    if draws.ndim != 1 or np.isnan(draws).any():
        raise ValueError(f"differences has shape {draws.shape}: expected (draw,), numbers that are not nan")
    rarer = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    return min(1.0, 2 * (rarer + 1) / (len(draws) + 1)) if len(draws) else 1.0


def corrected_t_test(differences: Any, overlap: float) -> float:
    """The p-value that two methods are equally good, from their differences on the folds of a cross-validation.

    t = mean / (s √(1/k + r)) with k − 1 degrees of freedom, where r is the size of a test set divided by the size of a
    training set. The plain t-test (r = 0) treats the folds as independent although they share training data, and
    reports differences that do not exist (Nadeau and Bengio, "Inference for the generalization error", 2003). If all
    differences are equal up to rounding, s is 0, and p is that of the sign test, 2¹⁻ᵏ.

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

    folds = validate_array(differences, "differences").astype(np.float64)
    check_float(overlap, "overlap", 0.0)
    if folds.ndim != 1 or len(folds) < 2 or not np.isfinite(folds).all():
        raise ValueError(f"differences has shape {folds.shape}: expected (fold,), two finite numbers or more")
    mean, spread = folds.mean(), folds.std(ddof=1) * np.sqrt(1 / len(folds) + overlap)
    if np.ptp(folds) <= 1e-9 * np.abs(folds).max():
        return 1.0 if mean == 0 else float(2.0 ** (1 - len(folds)))
    return float(2 * stdtr(len(folds) - 1, -abs(mean) / spread))


def holm_correction(p_values: Any) -> NDArray[np.float64]:
    """p-values of several tests, corrected to control the family-wise error rate (Holm, 1979).

    The smallest of m is multiplied by m, the next by m − 1, and so on; each is at least as large as the one before.

    >>> holm_correction([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    array = validate_array(p_values, "p_values").astype(np.float64)
    if array.ndim != 1 or not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"p_values={p_values!r:.80}: expected (test,), numbers from 0 to 1")
    order = np.argsort(array, kind="stable")
    raised = np.maximum.accumulate(array[order] * np.arange(len(array), 0, -1))
    corrected = np.empty(len(array))
    corrected[order] = np.minimum(raised, 1.0)
    return corrected


def _refuse_unequal_shapes(first: NDArray[Any], second: NDArray[Any]) -> None:
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise ValueError(
            f"first and second have shapes {first.shape} and {second.shape}: expected (item,), the same items in both"
        )


class FriedmanResult(NamedTuple):
    """Friedman's χ², with (number of methods − 1) degrees of freedom, and its p-value."""

    statistic: float
    p_value: float


def method_ranks(scores: Any, *, higher_is_better: bool = True) -> Floats:
    """The rank of each method on each data set, 1 for the best; tied methods get their mean rank.

    Parameters
    ----------
    scores : array (data set, method)
    higher_is_better : bool
        Whether more is better.

    Examples
    --------
    >>> method_ranks([[0.9, 0.8, 0.9], [0.5, 0.7, 0.6]])
    array([[1.5, 3. , 1.5],
           [3. , 1. , 2. ]])
    """
    from scipy.stats import rankdata

    table = _validate_score_table(scores)
    return np.asarray(rankdata(-table if higher_is_better else table, axis=1))


def friedman_test(scores: Any) -> FriedmanResult:
    """Friedman's test that all methods have the same mean rank (Friedman, 1937), corrected for ties.

        χ² = 12 / (n k (k + 1)) · Σ_j R_j² − 3 n (k + 1),   divided by 1 − Σ (t³ − t) / (n (k³ − k))

    where R_j are the sums of ranks and t the sizes of ties.

    >>> result = friedman_test([[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.9, 0.7, 0.5]])
    >>> result.statistic
    6.0
    """
    from scipy.special import chdtrc

    # not scipy.stats.friedmanchisquare: it rejects two methods and returns nan if all scores are tied
    ranks = method_ranks(scores)
    n, k = ranks.shape
    sums = ranks.sum(axis=0)
    uncorrected = 12 / (n * k * (k + 1)) * float(sums @ sums) - 3 * n * (k + 1)
    tie_sizes = (ranks[:, None, :] == ranks[:, :, None]).sum(axis=2)  # each member of a tie of t adds t² − 1
    correction = 1 - float((tie_sizes.astype(np.float64) ** 2 - 1).sum()) / (n * (k**3 - k))
    statistic = round(uncorrected / correction, 12) if correction > 0 else 0.0  # rounded, so that 6 is not 5.999…
    return FriedmanResult(statistic, float(chdtrc(k - 1, statistic)))


def critical_difference(n_methods: int, n_sets: int, *, alpha: float = 0.05) -> float:
    """The smallest significant difference of mean ranks in Nemenyi's test (1963; Demšar, 2006).

        CD = q_α √(k (k + 1) / (6 n)),   q_α the quantile of the studentized range over √2

    >>> round(critical_difference(4, 14), 3)
    1.254
    """
    from scipy.stats import studentized_range

    methods, sets = check_int(n_methods, "n_methods", 2), check_int(n_sets, "n_sets", 1)
    q = float(studentized_range.isf(_check_alpha(alpha), methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * sets)))


def significant_pairs(scores: Any, *, post_hoc: PostHoc = "wilcoxon", alpha: float = 0.05) -> NDArray[np.bool_]:
    """Which methods differ, (method, method), by Wilcoxon's signed ranks with Holm's correction, or Nemenyi's test.

    Nemenyi's result for two methods depends on the other methods in the table, Wilcoxon's only through the correction
    (Benavoli, Corani and Mangili, 2016).
    """
    table = _validate_score_table(scores)
    n_methods = table.shape[1]
    check_choice(post_hoc, "post_hoc", ("wilcoxon", "nemenyi"))
    if post_hoc == "nemenyi":
        mean = method_ranks(table).mean(axis=0)
        rank_gaps = np.abs(mean[:, None] - mean)
        return np.asarray(rank_gaps > critical_difference(n_methods, len(table), alpha=alpha))
    first, second = np.triu_indices(n_methods, 1)
    p_values = holm_correction(
        [_wilcoxon_p_value(table[:, i] - table[:, j]) for i, j in zip(first, second, strict=True)]
    )
    differs = np.zeros((n_methods, n_methods), bool)
    differs[first, second] = differs[second, first] = p_values < _check_alpha(alpha)
    return differs


def cliques(mean_ranks: Any, significant: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Maximal groups of methods that are adjacent in rank and do not differ significantly.

    >>> cliques([1.0, 1.5, 3.0], np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool))
    [(0, 1), (1, 2)]
    """
    means, differs = validate_array(mean_ranks, "mean_ranks"), validate_array(significant, "significant").astype(bool)
    if means.ndim != 1 or differs.shape != (len(means), len(means)):
        raise ValueError(
            f"mean_ranks and significant have shapes {means.shape} and {differs.shape}: expected (method,) and "
            "(method, method)"
        )
    order = np.argsort(means, kind="stable")
    groups: list[tuple[int, ...]] = []
    reach = 0
    for begin in range(len(order)):
        end = begin + 1
        while end < len(order) and not differs[np.ix_(order[begin : end + 1], order[begin : end + 1])].any():
            end += 1
        if end - begin > 1 and end > reach:
            groups.append(tuple(order[begin:end].tolist()))
            reach = end
    return groups


def _wilcoxon_p_value(differences: Floats) -> float:
    """The p-value of Wilcoxon's test; 1 if all differences are 0."""
    from scipy.stats import wilcoxon

    if not (differences != 0).any():
        return 1.0
    distinct = len(np.unique(np.abs(differences[differences != 0])))
    exact = distinct == len(differences) <= 25  # the exact distribution assumes neither ties nor zeros
    return float(wilcoxon(differences, method="exact" if exact else "approx").pvalue)


def _check_alpha(alpha: float) -> float:
    if check_float(alpha, "alpha", above=0.0) >= 1:
        raise ValueError(f"alpha={alpha}: expected a level between 0 and 1, such as 0.05")
    return alpha


def _validate_score_table(scores: Any) -> Floats:
    table = validate_array(scores, "scores").astype(np.float64)
    if table.ndim != 2 or min(table.shape) < 2:
        raise ValueError(f"scores has shape {table.shape}: expected (data set, method), two of each or more")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0].tolist()
        raise ValueError(
            f"scores[{row}, {column}] is {table[row, column]}: expected a number of every method on every data set; "
            "remove the method or the data set"
        )
    return table
