"""Elastic distances, one cell at a time."""

import math

import numpy as np

COSTS = {
    "sqeuclidean": lambda a, b: float(((a - b) ** 2).sum()),
    "euclidean": lambda a, b: math.sqrt(float(((a - b) ** 2).sum())),
    "manhattan": lambda a, b: float(np.abs(a - b).sum()),
}


def dtw(x, y, radius=None, cost="sqeuclidean"):
    """D(i, j) = c(x_i, y_j) + min(D(i−1, j), D(i, j−1), D(i−1, j−1)) where |i − j| ≤ radius."""
    n, m = len(x), len(y)
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0
    for i in range(n):
        for j in range(m):
            if radius is None or abs(i - j) <= radius:
                best = min(table[i, j + 1], table[i + 1, j], table[i, j])
                table[i + 1, j + 1] = COSTS[cost](x[i], y[j]) + best
    return table[n, m]


def path_cost(x, y, path, cost="sqeuclidean"):
    """The sum of costs along a path."""
    return sum(COSTS[cost](x[i], y[j]) for i, j in path)


def cheapest_path(x, y, cost="sqeuclidean"):
    """The least cost over every monotone path, by listing all of them (tiny sequences only)."""
    n, m = len(x), len(y)

    def below(i, j):
        here = COSTS[cost](x[i], y[j])
        if (i, j) == (n - 1, m - 1):
            return here
        steps = [(i + 1, j), (i, j + 1), (i + 1, j + 1)]
        return here + min(below(a, b) for a, b in steps if a < n and b < m)

    return below(0, 0)
