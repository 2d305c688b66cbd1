"""Soft-DTW, one cell at a time, and from its definition: the soft minimum over every path there is."""

import itertools
import math

import numpy as np


def softmin(values, gamma):
    low = min(values)
    if math.isinf(low):
        return low
    return low - gamma * math.log(sum(math.exp((low - value) / gamma) for value in values))


def costs(x, y):
    return np.array([[float(((a - b) ** 2).sum()) for b in y] for a in x])


def total(cost, gamma, allowed=None):
    """The recurrence over a matrix of costs; `allowed` (n, m) says which cells a path may use."""
    n, m = cost.shape
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0
    for i, j in itertools.product(range(n), range(m)):
        if allowed is None or allowed[i, j]:
            before = table[i, j], table[i, j + 1], table[i + 1, j]
            table[i + 1, j + 1] = cost[i, j] + softmin(before, gamma)
    return table[n, m]


def paths(n, m):
    """Every path from (0, 0) to (n − 1, m − 1)."""
    if n == m == 1:
        yield [(0, 0)]
        return
    for i, j in ((n - 1, m), (n, m - 1), (n - 1, m - 1)):
        if i and j:
            for path in paths(i, j):
                yield [*path, (n - 1, m - 1)]


def expected(cost, gamma, allowed=None):
    """Soft-DTW and the expected alignment: every path counts exp(−its cost / γ)."""
    every = [path for path in paths(*cost.shape) if allowed is None or all(allowed[cell] for cell in path)]
    prices = [sum(cost[cell] for cell in path) for path in every]
    value = softmin(prices, gamma)
    visits = np.zeros(cost.shape)
    for path, price in zip(every, prices, strict=True):
        for cell in path:
            visits[cell] += math.exp((value - price) / gamma)
    return value, visits


def covariance(cost, gamma, direction):
    """The Hessian by the costs times a direction: −1/γ times the covariance of the visits."""
    every = list(paths(*cost.shape))
    value = softmin([sum(cost[cell] for cell in path) for path in every], gamma)
    weights = [math.exp((value - sum(cost[cell] for cell in path)) / gamma) for path in every]
    along = [sum(direction[cell] for cell in path) for path in every]
    middle = np.dot(weights, along)
    out = np.zeros(cost.shape)
    for path, weight, slope in zip(every, weights, along, strict=True):
        for cell in path:
            out[cell] -= weight * (slope - middle) / gamma
    return out
