"""Baselines as plain as their formulas: one window, one step and one cell at a time."""

import numpy as np


def seasonal(past, period, horizon):
    found = list(past)
    for _ in range(horizon):
        found.append(found[-period])
    return np.array(found[len(past) :])


def climatology(train, period, phase, horizon):
    """`train` are lists of frames, each from phase 0; `phase` is that of the last step of the past."""
    found = []
    for step in range(1, horizon + 1):
        same = [x for one in train for t, x in enumerate(one) if t % period == (phase + step) % period]
        found.append(np.mean(same, axis=0))
    return np.array(found)


def windows(train, lags, horizon, known=()):
    """Regressors by lag, the known future, and what follows, of every window: three lists of arrays."""
    before, ahead, after = [], [], []
    targets = [c for c in range(train[0].shape[1]) if c not in known]
    for one in train:
        for origin in range(lags, len(one) - horizon + 1):
            before.append([one[t, c] for t in range(origin - lags, origin) for c in [*targets, *known]])
            ahead.append([[one[t, c] for c in known] for t in range(origin, origin + horizon)])
            after.append([[one[t, c] for c in targets] for t in range(origin, origin + horizon)])
    return np.array(before), np.array(ahead), np.array(after)


def autoregressed(past, intercept, coefficients, horizon):
    """`coefficients` (lag, cell, cell), the latest first."""
    found = [np.array(x) for x in past]
    for _ in range(horizon):
        found.append(intercept + sum(own @ found[-lag] for lag, own in enumerate(coefficients, start=1)))
    return np.array(found[len(past) :])


def analogs(train, past, window, horizon, k, distance):
    """(sequence, end) of the k nearest windows with a future, the earlier of equally near ones first."""
    near = []
    for item, one in enumerate(train):
        for end in range(window, len(one) - horizon + 1):
            near.append((distance(one[end - window : end], past[len(past) - window :]), item, end))
    return [(item, end) for _, item, end in sorted(near)[:k]]


def generalised_cross_validation(x, y, alpha):
    """‖y − ŷ‖²/(1 − df/n)² of ridge regression with an intercept, by its hat matrix."""
    n = len(x)
    centred = x - x.mean(axis=0)
    hat = np.ones((n, n)) / n + centred @ np.linalg.solve(centred.T @ centred + alpha * np.eye(x.shape[1]), centred.T)
    return np.square(y - hat @ y).sum() / (1 - np.trace(hat) / n) ** 2
