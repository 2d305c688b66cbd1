"""Wilson's interval from its definition: the shares that a test of level 5 % would not reject."""

import numpy as np
from scipy.stats import norm


def wilson(share, n, variance=None, confidence=0.95):
    """The q with |p − q| = z √(q (1 − q) / n), by the roots of a quadratic; with a variance of its own, the same form."""
    z = norm.ppf((1 + confidence) / 2)
    pull = z * z / n
    constant = share**2
    if variance is not None:  # in place of p (1 − p) / n in the discriminant
        constant -= z * z * (variance - share * (1 - share) / n) / (1 + pull)
    low, high = np.sort(np.roots([1 + pull, -(2 * share + pull), constant]).real)
    return max(low, 0.0), min(high, 1.0)
