"""Discrepancies of two samples, tests by exchange and by a classifier, and the evidence of a drift, from the formulas."""

import itertools
import math
from fractions import Fraction

import numpy as np

from .kernels import euclidean

# Discrepancies: `kernel(a, b)` is a number; x and y are lists of items.


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def between(x, y, kernel):
    return mean(kernel(a, b) for a in x for b in y)


def within(x, kernel):
    """The mean over all pairs of two different places."""
    return mean(kernel(x[i], x[j]) for i in range(len(x)) for j in range(len(x)) if i != j)


def biased(x, y, kernel):
    return between(x, x, kernel) + between(y, y, kernel) - 2 * between(x, y, kernel)


def unbiased(x, y, kernel):
    return within(x, kernel) + within(y, kernel) - 2 * between(x, y, kernel)


def block(x, y, kernel, size=None):
    """The mean of the unbiased discrepancies of consecutive blocks, the rest left out."""
    shorter = min(len(x), len(y))
    size = max(2, math.isqrt(shorter)) if size is None else size
    starts = range(0, shorter - size + 1, size)
    return mean(unbiased(x[s : s + size], y[s : s + size], kernel) for s in starts)


def linear(x, y, kernel):
    """The mean over pairs of neighbours, every item in one pair only."""
    terms = []
    for i in range(min(len(x), len(y)) // 2):
        a, b, c, d = x[2 * i], x[2 * i + 1], y[2 * i], y[2 * i + 1]
        terms.append(kernel(a, b) + kernel(c, d) - kernel(a, d) - kernel(b, c))
    return mean(terms)


def witness(x, y, kernel, z):
    return mean(kernel(a, z) for a in x) - mean(kernel(b, z) for b in y)


def energy(x, y, distance=euclidean, diagonal=True):
    """Twice the mean distance across less those within, with or without items' distances to themselves."""
    inside = [between(s, s, distance) if diagonal else within(s, distance) for s in (x, y)]
    return 2 * between(x, y, distance) - inside[0] - inside[1]


def first_order_variance(x, y, kernel):
    """4 (mean_i (mean_{j≠i} h_ij)² − (mean h)²) for samples of equal sizes."""
    n = len(x)

    def h(i, j):
        return kernel(x[i], x[j]) + kernel(y[i], y[j]) - kernel(x[i], y[j]) - kernel(x[j], y[i])

    rows = [mean(h(i, j) for j in range(n) if j != i) for i in range(n)]
    overall = mean(h(i, j) for i in range(n) for j in range(n) if i != j)
    return 4 * (mean(row**2 for row in rows) - overall**2)


# The test by exchange: `in_x` says of each pooled item whether it is in X.


def statistic(table, in_x, estimator=unbiased):
    """The estimator for one allocation of the pooled items, as a fraction, so that ties are exact."""
    table = np.asarray(table).tolist()
    x = [i for i in range(len(in_x)) if in_x[i]]
    y = [i for i in range(len(in_x)) if not in_x[i]]
    return estimator(x, y, lambda i, j: Fraction(table[i][j]))


def statistics_of(table, chosen, estimator=unbiased):
    return [statistic(table, in_x, estimator) for in_x in chosen]


def allocations(in_x, groups=None):
    """Every allocation there is, the observed one first.

    A coin for every group says whether its items change sides; of all results those stand that leave X as many groups
    of one side only as it had. Without groups every item is a group.
    """
    groups = list(range(len(in_x))) if groups is None else list(groups)
    names = list(dict.fromkeys(groups))
    sides = {name: {bool(x) for x, g in zip(in_x, groups, strict=True) if g == name} for name in names}
    had = sum(sides[name] == {True} for name in names)
    every = []
    for coins in itertools.product([False, True], repeat=len(names)):
        turned = dict(zip(names, coins, strict=True))
        has = sum(sides[name] == {not turned[name]} for name in names)
        if has == had:
            every.append([bool(x) != turned[g] for x, g in zip(in_x, groups, strict=True)])
    return every


def p_value(observed, permuted):
    """(1 + how many are at least the observed) / (1 + how many there are), as a fraction."""
    permuted = list(permuted)
    return Fraction(1 + sum(one >= observed for one in permuted), 1 + len(permuted))


def enumerated_p_value(table, in_x, groups=None, estimator=unbiased):
    """The share of all allocations, the observed one included, whose statistic is at least the observed."""
    observed, *others = statistics_of(table, allocations(in_x, groups), estimator)
    return p_value(observed, others)


def enough(level, n_permutations):
    """How many exceedances settle that p is above the level: floor(level · (1 + permutations)), in decimals."""
    return math.floor(Fraction(str(level)) * (1 + n_permutations))


def sequential_p_value(observed, permuted, h):
    """Besag and Clifford's p-value, and the draws used: h / l where draw l is the h-th to reach the observed."""
    exceeded = 0
    for draws, one in enumerate(permuted, start=1):
        exceeded += one >= observed
        if exceeded == h > 0:
            return Fraction(h, draws), draws
    return Fraction(1 + exceeded, 1 + len(permuted)), len(permuted)


def aggregated_p_value(table):
    """Westfall and Young's p-value of the least p over kernels; table (allocation, kernel), the first row observed."""
    rows = np.asarray(table).tolist()
    least = []
    for row in rows:
        at_least = [sum(other[k] >= row[k] for other in rows) for k in range(len(row))]
        least.append(min(at_least))
    return Fraction(sum(one <= least[0] for one in least), len(rows))


# Drift.


def smoothed_p_value(observed, permuted, theta):
    """Ties, the observed one among them, are broken by one uniform number θ."""
    above = sum(one > observed for one in permuted)
    tied = sum(one == observed for one in permuted)
    return (above + theta * (1 + tied)) / (1 + len(permuted))


def evidence(p_values, weights, powers):
    """Σ_s w_s mean_κ Π_{i≥s} κ u_i^(κ−1), and what weight is left for changes yet to come."""
    total = 0.0
    for s in range(len(p_values)):
        bets = []
        for kappa in powers:
            product = 1.0
            for u in p_values[s:]:
                product *= kappa * u ** (kappa - 1)
            bets.append(product)
        total += weights[s] * mean(bets)
    return total + 1 - sum(weights[: len(p_values)])


def evidences(p_values, weights, powers):
    return [evidence(p_values[: t + 1], weights, powers) for t in range(len(p_values))]


# The test by a classifier.


def held_out_scores(features, labels, folds, regularisation):
    """What a ridge regression of the labels ±1 on the other folds says of each item.

    It minimises Σ (y − w·x − b)² + λ ‖w‖², the intercept b free: both sides are centred on the training part.
    """
    features, labels = np.asarray(features, float), np.asarray(labels, float)
    scores = []
    for item, fold in zip(features, folds, strict=True):
        train = [i for i, other in enumerate(folds) if other != fold]
        x, y = features[train], labels[train]
        middle, level = x.mean(axis=0), y.mean()
        gram = (x - middle).T @ (x - middle) + regularisation * np.eye(x.shape[1])
        weights = np.linalg.solve(gram, (x - middle).T @ (y - level))
        scores.append(float((item - middle) @ weights + level))
    return scores


def auc(scores, labels):
    """The share of pairs in which the positive item scores above the negative, ties counting half, as a fraction."""
    positive = [s for s, label in zip(scores, labels, strict=True) if label > 0]
    negative = [s for s, label in zip(scores, labels, strict=True) if label < 0]
    twice = sum(2 * (p > n) + (p == n) for p in positive for n in negative)
    return Fraction(twice, 2 * len(positive) * len(negative))


def classifier_statistics(features, chosen, folds, regularisation):
    """The AUC of every allocation, the regression solved anew for each."""
    found = []
    for in_x in chosen:
        labels = [1 if x else -1 for x in in_x]
        found.append(auc(held_out_scores(features, labels, folds, regularisation), labels))
    return found
