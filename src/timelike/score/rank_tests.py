"""Several methods over several data sets: mean ranks, Friedman's test, and which methods cannot be told apart."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_choice, check_float, check_int
from ..core.validation.arrays import validate_array
from .paired_tests import holm_correction

Floats = NDArray[np.float64]
PostHoc = Literal["wilcoxon", "nemenyi"]


class FriedmanResult(NamedTuple):
    """Of k methods over n data sets: χ² with k − 1 degrees of freedom, and how probable so large a one is."""

    statistic: float
    p_value: float


def method_ranks(scores: Any, *, higher_is_better: bool = True) -> Floats:
    """The rank of every method on every data set, 1 for the best; equals share the mean of theirs.

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
    given = _validate_score_table(scores)
    order = -given if higher_is_better else given
    better = (order[:, None, :] < order[:, :, None]).sum(axis=2)
    equal = (order[:, None, :] == order[:, :, None]).sum(axis=2)
    return np.asarray(better + (equal + 1) / 2)


def friedman_test(scores: Any) -> FriedmanResult:
    """Whether the methods' ranks differ at all (Friedman, 1937), with the correction for ties.

        χ² = 12 / (n k (k + 1)) · Σ_j R_j² − 3 n (k + 1),   divided by 1 − Σ (t³ − t) / (n (k³ − k))

    where R_j are the sums of ranks and t the sizes of ties.

    >>> found = friedman_test([[0.9, 0.8, 0.7], [0.8, 0.7, 0.6], [0.9, 0.7, 0.5]])
    >>> found.statistic
    6.0
    """
    from scipy.special import chdtrc

    given = method_ranks(scores)
    n, k = given.shape
    sums = given.sum(axis=0)
    plain = 12 / (n * k * (k + 1)) * float(sums @ sums) - 3 * n * (k + 1)
    sizes = (given[:, None, :] == given[:, :, None]).sum(axis=2)  # every member of a tie of t counts t² − 1
    free = 1 - float((sizes.astype(np.float64) ** 2 - 1).sum()) / (n * (k**3 - k))
    statistic = round(plain / free, 12) if free > 0 else 0.0  # rounded: what is exact must not show the arithmetic
    return FriedmanResult(statistic, float(chdtrc(k - 1, statistic)))


def critical_difference(n_methods: int, n_sets: int, *, alpha: float = 0.05) -> float:
    """By how much mean ranks must differ to be told apart by Nemenyi's test (1963; Demšar, 2006).

        CD = q_α √(k (k + 1) / (6 n)),   q_α the quantile of the studentized range over √2

    >>> round(critical_difference(4, 14), 3)
    1.254
    """
    from scipy.stats import studentized_range

    methods, sets = check_int(n_methods, "n_methods", 2), check_int(n_sets, "n_sets", 1)
    q = float(studentized_range.isf(_check_alpha(alpha), methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * sets)))


def significant_pairs(scores: Any, *, post_hoc: PostHoc = "wilcoxon", alpha: float = 0.05) -> NDArray[np.bool_]:
    """Which two methods differ, (method, method): by Wilcoxon's signed ranks with Holm's correction, or by Nemenyi.

    Nemenyi's answer for two methods depends on the others that are compared with them, Wilcoxon's on these two alone
    but for the correction (Benavoli, Corani and Mangili, 2016).
    """
    given = _validate_score_table(scores)
    n_methods = given.shape[1]
    check_choice(post_hoc, "post_hoc", ("wilcoxon", "nemenyi"))
    if post_hoc == "nemenyi":
        mean = method_ranks(given).mean(axis=0)
        apart = np.abs(mean[:, None] - mean)
        return np.asarray(apart > critical_difference(n_methods, len(given), alpha=alpha))
    first, second = np.triu_indices(n_methods, 1)
    p_values = holm_correction(
        [_wilcoxon_p_value(given[:, i] - given[:, j]) for i, j in zip(first, second, strict=True)]
    )
    found = np.zeros((n_methods, n_methods), bool)
    found[first, second] = found[second, first] = p_values < _check_alpha(alpha)
    return found


def cliques(mean_ranks: Any, significant: NDArray[np.bool_]) -> list[tuple[int, ...]]:
    """Groups of methods next to each other in rank of which no two differ; those inside a larger one are left out.

    >>> cliques([1.0, 1.5, 3.0], np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool))
    [(0, 1), (1, 2)]
    """
    means, differs = validate_array(mean_ranks, "mean_ranks"), validate_array(significant, "significant").astype(bool)
    if means.ndim != 1 or differs.shape != (len(means), len(means)):
        raise ValueError(
            f"mean_ranks and apart have shapes {means.shape} and {differs.shape}: expected (method,) and "
            "(method, method)"
        )
    order = np.argsort(means, kind="stable")
    found: list[tuple[int, ...]] = []
    reach = 0
    for begin in range(len(order)):
        end = begin + 1
        while end < len(order) and not differs[np.ix_(order[begin : end + 1], order[begin : end + 1])].any():
            end += 1
        if end - begin > 1 and end > reach:
            found.append(tuple(order[begin:end].tolist()))
            reach = end
    return found


def _wilcoxon_p_value(differences: Floats) -> float:
    """Wilcoxon's test; where nothing differs there is nothing to test."""
    from scipy.stats import wilcoxon

    if not (differences != 0).any():
        return 1.0
    distinct = len(np.unique(np.abs(differences[differences != 0])))
    exact = distinct == len(differences) <= 25  # neither ties nor zeros, for which there is no exact distribution
    return float(wilcoxon(differences, method="exact" if exact else "approx").pvalue)


def _check_alpha(alpha: float) -> float:
    if check_float(alpha, "alpha", above=0.0) >= 1:
        raise ValueError(f"alpha={alpha}: expected a level between 0 and 1, such as 0.05")
    return alpha


def _validate_score_table(scores: Any) -> Floats:
    given = validate_array(scores, "scores").astype(np.float64)
    if given.ndim != 2 or min(given.shape) < 2:
        raise ValueError(f"scores has shape {given.shape}: expected (data set, method), two of each or more")
    if not np.isfinite(given).all():
        row, column = np.argwhere(~np.isfinite(given))[0].tolist()
        raise ValueError(
            f"scores[{row}, {column}] is {given[row, column]}: expected a number of every method on every data set; "
            "leave out the method or the set"
        )
    return given
