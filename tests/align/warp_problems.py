"""Random warp problems with every kind of constraint, in general position."""

from typing import NamedTuple

import numpy as np

from timelike.native import warp as warps


class Problem(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    t: np.ndarray
    tau: np.ndarray
    lam: np.ndarray  # per interval, as the slopes
    s_min: np.ndarray
    s_max: np.ndarray
    b_min: np.ndarray  # per knot, on a clock from 0 to 1
    b_max: np.ndarray
    free: bool

    def ends(self):
        """Bounds with the ends tied, where they are."""
        low, high = self.b_min.copy(), self.b_max.copy()
        if not self.free:
            low[-1] = 1.0
            high[0] = 0.0
        return low, high

    def reach(self):
        """The least and the greatest warp that keep bounds and slopes."""
        low, high = self.ends()
        steps = np.diff(self.t)
        for i, step in enumerate(steps):
            low[i + 1] = max(low[i + 1], low[i] + self.s_min[i] * step)
            high[i + 1] = min(high[i + 1], high[i] + self.s_max[i] * step)
        for i in range(len(steps) - 1, -1, -1):
            low[i] = max(low[i], low[i + 1] - self.s_max[i] * steps[i])
            high[i] = min(high[i], high[i + 1] - self.s_min[i] * steps[i])
        return low, high


def clock(rng, n):
    if rng.random() < 0.5:
        return np.linspace(0, 1, n)
    gaps = rng.uniform(0.3, 1.0, n - 1)
    return np.append(0, np.cumsum(gaps) / gaps.sum())


def draw(rng, shortest=3, longest=12):
    m, n, d = rng.integers(shortest, longest + 1), rng.integers(shortest - 1, longest + 1), rng.integers(1, 4)
    t, tau = clock(rng, m), clock(rng, n)
    x, y = (np.cumsum(rng.normal(size=(k, d)), 0) for k in (m, n))
    lam = 10 ** rng.uniform(-2, 1.5) * rng.uniform(0.5, 1.5, m - 1)
    s_min = rng.choice([0.0, 0.2, 0.5]) * rng.uniform(0.8, 1.2, m - 1)
    s_max = rng.choice([np.inf, 1.4, 2.0, 3.0]) * rng.uniform(0.9, 1.1, m - 1)
    free = bool(rng.random() < 0.5)
    b_min, b_max = np.zeros(m), np.ones(m)
    if rng.random() < 0.6:  # a band, strictly inside [0, 1] where the ends are not tied
        width = rng.uniform(0.08, 0.3)
        b_min, b_max = np.clip(t - width, 0.01, 1), np.clip(t + width, 0, 0.99)
        if not free:
            b_min[0], b_max[-1] = 0.0, 1.0
    return Problem(x, y, t, tau, lam, s_min, s_max, b_min, b_max, free)


def feasible(p):
    """Whether there is a warp at all."""
    low, high = p.ends()
    least, most = low[0], high[0]
    for i, step in enumerate(np.diff(p.t)):
        least = max(low[i + 1], least + p.s_min[i] * step)
        most = min(high[i + 1], most + p.s_max[i] * step)
        if least > most:
            return False
    return bool(low[0] <= high[0])


def problems(seed, count, *lengths):
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        p = draw(rng, *lengths)
        if feasible(p):
            found.append(p)
    return found


def solved(p, **how):
    """As the solver answers."""
    whole = [np.append(v, 1.0) for v in (p.lam, p.s_min, p.s_max)]
    one = np.zeros(1, np.int64)
    pairs = warps.WarpProblems(
        p.x, p.y, p.t, p.tau, one, one + len(p.x), one, one + len(p.y), one, one, one, *whole, p.b_min, p.b_max
    )
    return warps.solve(pairs, warps.WarpOptions(free_ends=p.free, **how), threads=1)
