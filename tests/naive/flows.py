"""Particle descent as plain as the formulas: one pair of particles at a time, an RBF kernel, no arrays."""

import math


def similarity(p, q, width):
    return math.exp(-(math.dist(p, q) ** 2) / (2 * width**2))


def squared_mmd(x, y, width):
    """The means of all pairs, an item with itself included."""

    def mean(one, two):
        return sum(similarity(p, q, width) for p in one for q in two) / (len(one) * len(two))

    return mean(x, x) + mean(y, y) - 2 * mean(x, y)


def slope(z, points, width):
    """The gradient by z of the mean similarity to points."""
    total = [0.0] * len(z)
    for p in points:
        k = similarity(z, p, width)
        total = [t + k * (b - a) / width**2 / len(points) for t, a, b in zip(total, z, p, strict=True)]
    return total


def descended(x, y, width, step, coupling=None):
    """x_i − step · 1/n Σ_j k_g(z_i, z_j) ∇f(x_j), with ∇f(x_i) alone where there is no coupling."""
    ways = [[a - b for a, b in zip(slope(p, x, width), slope(p, y, width), strict=True)] for p in x]
    if coupling is not None:
        ways = [
            [sum(row[j] * ways[j][c] for j in range(len(x))) / len(x) for c in range(len(ways[0]))] for row in coupling
        ]
    return [[a - step * b for a, b in zip(p, way, strict=True)] for p, way in zip(x, ways, strict=True)]
