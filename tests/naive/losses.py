"""Losses on distances, one query and one pair at a time, from the formulas."""

import math


def sides(distances, labels, gallery_labels=None, valid=None):
    """The positive and the negative distances of every query."""
    for i, row in enumerate(distances):
        positives, negatives = [], []
        for j, distance in enumerate(row):
            if (gallery_labels is None and i == j) or (valid is not None and not valid[i][j]):
                continue
            same = labels[i] == (labels if gallery_labels is None else gallery_labels)[j]
            (positives if same else negatives).append(float(distance))
        yield positives, negatives


def mean(values):
    return sum(values) / len(values) if values else 0.0


def variance(values):
    return mean([(value - mean(values)) ** 2 for value in values])


def hard(positives, negatives, margin):
    if margin is None:
        return positives, negatives
    if not positives or not negatives:
        return [], []
    return [p for p in positives if p > min(negatives) - margin], [n for n in negatives if n < max(positives) + margin]


def averaged(term, batch, one_is_enough=False):
    said = [term(p, n) for p, n in batch if (p and n) or (one_is_enough and (p or n))]
    return mean(said)


def triplet(batch, margin):
    def term(positives, negatives):
        near, far = min(negatives), max(positives)
        return sum(max(p - near + margin, 0) for p in positives) + sum(max(far + margin - n, 0) for n in negatives)

    return averaged(term, batch)


def lifted(batch, alpha, beta, margin=None):
    def term(positives, negatives):
        positives, negatives = hard(positives, negatives, margin)
        if not positives or not negatives:
            return 0.0
        pulled = 2 / beta * math.log(sum(math.exp(beta * p) for p in positives))
        return pulled + 2 / alpha * math.log(sum(math.exp(-alpha * n) for n in negatives))

    return averaged(term, batch)


def binomial(batch, alpha, beta, margin, threshold):
    def term(positives, negatives):
        positives, negatives = hard(positives, negatives, margin)
        pulled = 2 / beta * mean([math.log(1 + math.exp(beta * (p - threshold))) for p in positives])
        return pulled + 2 / alpha * mean([math.log(1 + math.exp(-alpha * (n - threshold))) for n in negatives])

    return averaged(term, batch, margin is None)


def structural(batch, scale, hardness, margin, balance):
    batch = [(p, n) for p, n in batch if p and n]
    if not batch:
        return 0.0

    def term(positives, negatives):
        terms = [math.log(1 + sum(math.exp(scale * (p - n)) for n in negatives)) for p in positives]
        return math.log(mean([math.exp(hardness * t) for t in terms])) / hardness

    near, far = [d for p, _ in batch for d in p], [d for _, n in batch for d in n]
    apart = variance(near) + variance(far) + max(mean(near) - mean(far) + margin, 0)
    return averaged(term, batch) + balance * apart


def contrastive(batch, margin, power):
    def term(positives, negatives):
        return mean([p**power / power for p in positives]) + mean(
            [max(margin - n, 0) ** power / power for n in negatives]
        )

    return averaged(term, batch, one_is_enough=True)


def supervised_contrastive(batch, temperature):
    def term(positives, negatives):
        logits = [-d * d / (2 * temperature) for d in positives + negatives]
        total = math.log(sum(math.exp(one) for one in logits))
        return mean([total - one for one in logits[: len(positives)]])

    return averaged(term, batch)


def multi_similarity(batch, alpha, beta, margin, threshold):
    def term(positives, negatives):
        positives, negatives = hard(positives, negatives, margin)
        pulled = math.log(1 + sum(math.exp(alpha * (p - threshold)) for p in positives)) / alpha
        return pulled + math.log(1 + sum(math.exp(-beta * (n - threshold)) for n in negatives)) / beta

    return averaged(term, batch, margin is None)
