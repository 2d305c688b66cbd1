"""Continuous-time warping, as plainly as the formula: objective, feasibility, and a grid search over all moves."""

import numpy as np


def penalty(d, kind, delta):
    if kind == "absolute":
        return np.abs(d)
    square = d * d
    if kind == "squared":
        return square
    return np.where(np.abs(d) <= delta, square, delta * (2 * np.abs(d) - delta))


def trapezoid(t):
    if len(t) == 1:
        return np.ones(1)
    weights = np.zeros(len(t))
    weights[:-1] += np.diff(t) / 2
    weights[1:] += np.diff(t) / 2
    return weights


def signal_costs(x, y, t, tau, places, kind="squared", delta=1.0):
    """w_i Σ_c L(x_i − y(place)) for every knot (row) and its places (column)."""
    at = np.stack([np.interp(places, tau, y[:, c]) for c in range(y.shape[1])], axis=-1)
    return trapezoid(t)[:, None] * penalty(x[:, None, :] - at, kind, delta).sum(-1)


def objective(phi, x, y, t, tau, lam, kind="squared", delta=1.0):
    steps = np.diff(t)
    signal = signal_costs(x, y, t, tau, phi[:, None], kind, delta).sum()
    return signal + (lam * steps * (np.diff(phi) / steps - 1) ** 2).sum()


def discrete_optimum(x, y, t, tau, lam, s_min, s_max, low, high, size, kind="squared", delta=1.0):
    """The best warp on a grid of `size` values between `low` and `high`, all moves tried; (objective, phi)."""
    grid = np.linspace(low, high, size, axis=1)
    costs = signal_costs(x, y, t, tau, grid, kind, delta)
    best, came = costs[0], []
    for i, step in enumerate(np.diff(t)):
        slopes = (grid[i + 1][:, None] - grid[i][None, :]) / step
        moves = lam[i] * step * (slopes - 1) ** 2
        moves[(slopes < s_min[i] - 1e-9) | (slopes > s_max[i] + 1e-9)] = np.inf
        total = best[None, :] + moves
        came.append(total.argmin(1))
        best = total.min(1) + costs[i + 1]
    j = int(best.argmin())
    value, path = best[j], [j]
    for back in reversed(came):
        path.append(int(back[path[-1]]))
    return float(value), grid[np.arange(len(t)), path[::-1]]
