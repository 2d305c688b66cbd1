"""Kernels between items, one entry at a time, and the median width of a pooled sample."""

import math
import statistics

import numpy as np

from . import soft_dtw


def matrix(kernel, xs, ys, **options):
    """The kernel (len xs, len ys) entry by entry."""
    return np.array([[kernel(x, y, **options) for y in ys] for x in xs])


def inner(x, y):
    """The sum of products, items of several frames taken as one long vector."""
    return sum(float(a) * float(b) for a, b in zip(np.ravel(x), np.ravel(y), strict=True))


def euclidean(x, y):
    return math.sqrt(sum((float(a) - float(b)) ** 2 for a, b in zip(np.ravel(x), np.ravel(y), strict=True)))


def rbf(x, y, width):
    return math.exp(-(euclidean(x, y) ** 2) / (2 * width**2))


def laplace(x, y, width):
    return math.exp(-euclidean(x, y) / width)


def matern(x, y, width, smoothness):
    r = euclidean(x, y) / width
    if smoothness == 0.5:
        return math.exp(-r)
    if smoothness == 1.5:
        return (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r)
    if smoothness == 2.5:
        return (1 + math.sqrt(5) * r + 5 * r**2 / 3) * math.exp(-math.sqrt(5) * r)
    raise AssertionError(f"no formula for smoothness {smoothness}")


def rational_quadratic(x, y, width, alpha):
    r = euclidean(x, y) / width
    return (1 + r**2 / (2 * alpha)) ** -alpha


def linear(x, y, offset=0.0):
    return inner(x, y) + offset


def polynomial(x, y, degree=3, scale=None, offset=1.0):
    """(s⟨x, y⟩ + c) to the degree, s one over the number of features unless given."""
    return ((1 / np.size(x) if scale is None else scale) * inner(x, y) + offset) ** degree


def negative_distance(x, y, distance=euclidean):
    return -distance(x, y)


def exponential(x, y, distance, gamma):
    return math.exp(-gamma * distance(x, y))


def soft_divergence(x, y, gamma):
    """Soft-DTW between two sequences less the mean of what each has with itself."""

    def between(a, b):
        return soft_dtw.total(soft_dtw.costs(np.asarray(a, float), np.asarray(b, float)), gamma)

    return between(x, y) - (between(x, x) + between(y, y)) / 2


def global_alignment(x, y, gamma):
    return math.exp(-soft_divergence(x, y, gamma) / gamma)


def median_width(items, distance=euclidean):
    """The median distance of all pairs of two items; the mean where it is 0; 1 where that is 0 too."""
    found = [distance(items[i], items[j]) for i in range(len(items)) for j in range(i)]
    if not any(found):
        return 1.0
    return statistics.median(found) or statistics.fmean(found)
