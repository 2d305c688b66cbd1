"""FGSM and PGD on a linear model, in loops: the gradient of its margin is a difference of two rows of weights."""

import numpy as np


def linear_logits(x, weights, bias):
    """x (time, channel); weights (class, time, channel)."""
    return np.array([(weight * x).sum() + b for weight, b in zip(weights, bias, strict=True)])


def margin(x, y, weights, bias):
    """The lead of the best wrong class, and which it is."""
    logits = linear_logits(x, weights, bias)
    others = [c for c in range(len(logits)) if c != y]
    best = max(others, key=lambda c: logits[c])
    return logits[best] - logits[y], best


def fgsm(x, y, weights, bias, epsilon):
    """x + ε sign of the gradient of the margin."""
    _, best = margin(x, y, weights, bias)
    gradient = weights[best] - weights[y]
    moved = x.copy()
    for place in np.ndindex(x.shape):
        moved[place] += epsilon * np.sign(gradient[place])
    return moved


def largest_margin(x, y, weights, bias, epsilon, norm="linf"):
    """What no perturbation can exceed: for every wrong class its lead, plus ε times the dual norm of the difference."""
    leads = []
    logits = linear_logits(x, weights, bias)
    for c in range(len(logits)):
        if c != y:
            difference = weights[c] - weights[y]
            dual = np.abs(difference).sum() if norm == "linf" else np.sqrt((difference**2).sum())
            leads.append(logits[c] - logits[y] + epsilon * dual)
    return max(leads)


def pgd_way(start, epsilon, steps, step=None):
    """Points of a single number whose loss falls with its size: towards 0 by ε / (4 + t / 5), or by `step`."""
    points = [start]
    for t in range(steps):
        length = epsilon / (4 + t / 5) if step is None else step
        there = points[-1] - length * np.sign(points[-1])
        points.append(min(max(there, start - epsilon), start + epsilon))
    return points
