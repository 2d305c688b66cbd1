"""Verification as plain as its definitions: every pair in a loop, levels of a cohort by sorting, thresholds by trying."""

from fractions import Fraction
from itertools import combinations
from statistics import fmean, pstdev


def level(scores, n_top, least):
    """Mean and deviation of the highest scores against the cohort."""
    best = sorted(scores, reverse=True)[:n_top]
    return fmean(best), max(pstdev(best), least)


def as_norm(score, x_cohort, y_cohort, n_top, least):
    """½ ((s − μ_x) / σ_x + (s − μ_y) / σ_y)."""
    (mx, sx), (my, sy) = level(x_cohort, n_top, least), level(y_cohort, n_top, least)
    return ((score - mx) / sx + (score - my) / sy) / 2


def normalized_pairs(scores, labels, cohort_scores, cohort_labels, n_top, least):
    """Of every pair its AS-norm without those of the cohort who are one of the two, and whether they are the same."""
    found = []
    for i, j in combinations(range(len(labels)), 2):
        others = [k for k, who in enumerate(cohort_labels) if who not in (labels[i], labels[j])]
        sides = ([cohort_scores[one][k] for k in others] for one in (i, j))
        found.append((as_norm(scores[i][j], *sides, n_top, least), labels[i] == labels[j]))
    return found


def accepted_at(impostors, false_accept):
    """How many of the impostors may be accepted: as many as leave a further one at most that probability."""
    n, rate, best = len(impostors), Fraction(str(false_accept)), None
    for threshold in {*impostors, max(impostors) + 1}:
        count = sum(score >= threshold for score in impostors)
        if Fraction(count + 1, n + 1) <= rate and (best is None or count > best):
            best = count
    return best
