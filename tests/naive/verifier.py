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


def all_pairings(identities):
    """Every way to put identities into pairs; of an odd number one is left over."""
    if len(identities) % 2:
        for i in range(len(identities)):
            yield from all_pairings(identities[:i] + identities[i + 1 :])
    elif not identities:
        yield []
    else:
        first, *rest = identities
        for i, other in enumerate(rest):
            for more in all_pairings(rest[:i] + rest[i + 1 :]):
                yield [(first, other), *more]


def share_that_keeps(trials, threshold, false_accept):
    """The probability that a random pairing, with one random trial of each pair, accepts no more than it may.

    Trials are (score, identity, identity). Of n pairs as many may be accepted as leave a new pair the rate.
    """
    by_pair = {}
    for score, a, b in trials:
        by_pair.setdefault(frozenset((a, b)), []).append(score >= threshold)
    identities = sorted({who for pair in by_pair for who in pair})
    rate, kept = Fraction(str(false_accept)), []
    for pairing in all_pairings(identities):
        shares = [Fraction(sum(by_pair[frozenset(pair)]), len(by_pair[frozenset(pair)])) for pair in pairing]
        counts = {0: Fraction(1)}
        for share in shares:
            counts = {k: counts.get(k, 0) * (1 - share) + counts.get(k - 1, 0) * share for k in range(len(counts) + 1)}
        may = [k for k in counts if Fraction(k + 1, len(pairing) + 1) <= rate]
        kept.append(sum(counts[k] for k in may))
    return float(sum(kept) / len(kept))
