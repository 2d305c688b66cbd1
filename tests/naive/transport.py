"""Transport as plain as the formulas: log-domain loops, and a linear program."""

import numpy as np
from scipy.optimize import linprog
from scipy.special import logsumexp


def frames(x, y, cost="sqeuclidean"):
    x, y = (np.asarray(side, float).reshape(len(side), -1) for side in (x, y))
    table = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            apart = x[i] - y[j]
            squared = float(apart @ apart)
            table[i, j] = {"sqeuclidean": squared, "euclidean": squared**0.5, "manhattan": np.abs(apart).sum()}[cost]
    return table


def exact(costs):
    """The cheapest cost with uniform marginals, as a linear program."""
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    sums = np.concatenate([np.full(n, 1 / n), np.full(m, 1 / m)])
    return linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=sums).fun


def scaled(log_kernel, n_iter=20_000):
    """The plan u K v with uniform marginals: rows and columns in turn, in the log domain."""
    n, m = log_kernel.shape
    f, g = np.zeros(n), np.zeros(m)
    for _ in range(n_iter):
        f = -np.log(n) - logsumexp(log_kernel + g, axis=1)
        new = -np.log(m) - logsumexp(log_kernel + f[:, None], axis=0)
        if np.abs(new - g).max() < 1e-14:
            break
        g = new
    return np.exp(f[:, None] + log_kernel + g)


def off_scaling(plan, log_kernel):
    """How far log T − log K is from a sum f_i + g_j, over the two by two blocks of neighbouring rows and columns."""
    ratio = np.where(plan > 0, np.log(np.where(plan > 0, plan, 1)) - log_kernel, np.nan)
    blocks = np.diff(np.diff(ratio, axis=0), axis=1)
    return np.nanmax(np.abs(blocks), initial=0)


def sinkhorn_kernel(costs, regularization):
    return -costs / regularization


def opw_kernel(costs, inverse_difference, regularization, deviation):
    """log of P ∘ exp((S − D)/λ2), the paper's constant included."""
    n, m = costs.shape
    kernel = np.empty((n, m))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            apart = i / n - j / m
            similarity = inverse_difference / (apart**2 + 1)
            length = abs(apart) / np.sqrt(1 / n**2 + 1 / m**2)
            prior = -(length**2) / (2 * deviation**2) - np.log(deviation * np.sqrt(2 * np.pi))
            kernel[i - 1, j - 1] = prior + (similarity - costs[i - 1, j - 1]) / regularization
    return kernel


def tcot_costs(costs, weight):
    n, m = costs.shape
    i, j = np.arange(1, n + 1)[:, None], np.arange(1, m + 1)
    return costs + weight * np.abs(i / n - j / m)
