"""Elastic distances, one cell at a time.

x is (n, channel) and y (m, channel). `allowed` says which cells (i, j) a path may use: a boolean matrix (n, m), for
example `mask(n, m, window=3)`, or a function of i and j; None allows everything. Where no path is allowed the distance
is inf. The distances with a border (ERP, EDR, LCSS, TWE) may always use it: only the cells inside are masked.
"""

import itertools
import math

import numpy as np

COSTS = {
    "sqeuclidean": lambda a, b: float(((a - b) ** 2).sum()),
    "euclidean": lambda a, b: math.sqrt(float(((a - b) ** 2).sum())),
    "manhattan": lambda a, b: float(np.abs(a - b).sum()),
}
norm = COSTS["euclidean"]


def mask(n, m, window=None, band="sakoe"):
    """The cells (n, m) that a band leaves open; an int window counts cells, a float is a share.

    sakoe: |i − j| ≤ r in whole cells, and as widened where it is a share. widened: −r ≤ j − i ≤ r + (m − n) where y is the
    longer, and the same with x and y exchanged where x is; a share is of the longer length. aeon: r cells either side of
    ⌊(k + 1)/(longer + 1) · shorter⌋ at step k of the longer sequence, a share is of the shorter length, and 1.0 is all. slanted: at most r cells, plus half a cell of rounding,
    from the straight line between the corners, measured along the shorter sequence, where a share is of the shorter
    length. itakura: inside the parallelogram of slopes 1/S and S between the corners; the window is S, 2 by default.
    """
    cells = np.ones((n, m), bool)
    if band == "itakura":
        return cells if 1 in (n, m) else _parallelogram(n, m, 2.0 if window is None else window)
    if window is None or (band == "slanted" and 1 in (n, m)):
        return cells
    if band == "aeon":
        return _stairs(n, m, window)
    whole = max(n, m) if band in ("sakoe", "widened") else min(n, m)
    r = math.floor(window * whole + 1e-9) if isinstance(window, float) else window
    wide = band == "widened" or isinstance(window, float)
    for i in range(n):
        for j in range(m):
            if band in ("sakoe", "widened") and wide:
                cells[i, j] = -r <= j - i <= r + m - n if m >= n else -r <= i - j <= r + n - m
            elif band == "sakoe":
                cells[i, j] = abs(i - j) <= r
            else:
                cells[i, j] = 2 * abs(j * (n - 1) - i * (m - 1)) <= (2 * r + 1) * (max(n, m) - 1)
    return cells


def _stairs(n, m, window):
    if n > m:
        return _stairs(m, n, window).T
    cells = np.zeros((n, m), bool)
    r = int(window * n) if isinstance(window, float) else window
    for k in range(m):
        line = math.floor((k + 1) / (m + 1) * n)
        cells[max(0, line - r) : line + r + 1, k] = True
    return cells | (isinstance(window, float) and window == 1.0)


def _parallelogram(n, m, slope):
    cells = np.zeros((n, m), bool)
    for i in range(n):
        u = i / (n - 1)
        low = math.ceil(max(u / slope, 1 - slope * (1 - u)) * (m - 1) - 1e-9)
        high = math.floor(min(slope * u, 1 - (1 - u) / slope) * (m - 1) + 1e-9)
        cells[i, low : high + 1] = True
    return cells


def _cells(allowed, n, m):
    """`allowed`, whatever it is, as the list of open cells in the order of rows."""
    if allowed is None:
        return [(i, j) for i in range(n) for j in range(m)]
    if not callable(allowed):
        assert np.shape(allowed) == (n, m), f"a mask of {np.shape(allowed)} for lengths {n} and {m}"
        return [(int(i), int(j)) for i, j in np.argwhere(allowed)]
    return [(i, j) for i in range(n) for j in range(m) if allowed(i, j)]


def _table(n, m):
    """Row 0 and column 0 are the border; the cell (i, j) of the sequences is at [i + 1, j + 1]."""
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0
    return table


def dtw(x, y, radius=None, cost="sqeuclidean", *, allowed=None, step="symmetric1", normalize=None, root=False):
    """D(i, j) = min(D(i−1, j) + c, D(i, j−1) + c, D(i−1, j−1) + w c), c = c(x_i, y_j), where |i − j| ≤ radius.

    w is 1 for symmetric1 and 2 for symmetric2, and D(0, 0) = c(x_0, y_0) in both, as in dtw-python (Sakoe and Chiba
    count the first cell twice). normalize="length" divides by n + m, "steps" by the number of cells on the path; of
    paths of equal cost the one with fewest cells counts.
    """
    n, m = len(x), len(y)
    w = {"symmetric1": 1, "symmetric2": 2}[step]
    best, nowhere = {}, (np.inf, 0)  # cost and number of cells of the best path that ends here
    for i, j in _cells(allowed, n, m):
        if radius is None or abs(i - j) <= radius:
            c = COSTS[cost](x[i], y[j])
            above, left, before = (best.get(cell, nowhere) for cell in [(i - 1, j), (i, j - 1), (i - 1, j - 1)])
            ways = [(above[0] + c, above[1]), (left[0] + c, left[1]), (before[0] + w * c, before[1])]
            total, cells = min(ways) if (i, j) != (0, 0) else (c, 0)
            best[i, j] = total, cells + 1
    total, cells = best.get((n - 1, m - 1), nowhere)
    if math.isinf(total):
        return np.inf
    total /= {None: 1, "length": n + m, "steps": cells}[normalize]
    return math.sqrt(total) if root else total


def in_common(a, b, cost="sqeuclidean"):
    """What two frames with missing values (NaN) cost: over the channels that both have, as if over all; None if none."""
    both = ~(np.isnan(a) | np.isnan(b))
    if not both.any():
        return None
    if cost == "euclidean":
        return math.sqrt(in_common(a, b))
    return COSTS[cost](a[both], b[both]) * len(a) / both.sum()


def ignoring(x, y, cost="sqeuclidean", *, allowed=None, corner=1, penalty=0.0, weight=None, normalize=None, root=False):
    """DTW where values may be missing: every cell that can be compared costs what it does, the others nothing.

    A cell that cannot is entered and left diagonally only. Of paths that cost the same the one with fewest such cells
    counts. The total is multiplied by (n + m) / (n + m − 2 f), f the number of these cells: each leaves out one step of x
    and one of y. Nothing compared is nan, no path is inf. A diagonal step costs `corner` times, one aside `penalty` more,
    and a cell `weight(i, j)` times.
    """
    n, m = len(x), len(y)
    best, nowhere = {}, (np.inf, 0)
    for i, j in _cells(allowed, n, m):
        here = in_common(x[i], y[j], cost)
        c = 0.0 if here is None else here * (1 if weight is None else weight(i, j))
        total, free = best.get((i - 1, j - 1), nowhere)
        ways = [(total + corner * c, free)]
        for a, b in [(i - 1, j), (i, j - 1)]:
            if (a, b) in best and here is not None and in_common(x[a], y[b], cost) is not None:
                ways.append((best[a, b][0] + c + penalty, best[a, b][1]))
        total, free = min(ways) if (i, j) != (0, 0) else (c, 0)
        best[i, j] = total, free + (here is None)
    total, free = best.get((n - 1, m - 1), nowhere)
    if math.isinf(total):
        return np.inf
    if n + m == 2 * free:
        return np.nan
    total *= (n + m) / (n + m - 2 * free) / (n + m if normalize == "length" else 1)
    return math.sqrt(total) if root else total


def cheapest_ignoring(x, y, cost="sqeuclidean"):
    """The same by listing every path, and counting the steps of x and of y that are compared (tiny sequences only)."""
    n, m = len(x), len(y)

    def paths(i, j):
        if (i, j) == (n - 1, m - 1):
            yield [(i, j)]
        for a, b in [(i + 1, j + 1), (i + 1, j), (i, j + 1)]:
            if a < n and b < m:
                yield from ([(i, j), *rest] for rest in paths(a, b))

    found = []
    for path in paths(0, 0):
        costs = {(i, j): in_common(x[i], y[j], cost) for i, j in path}
        aside = [(p, q) for p, q in itertools.pairwise(path) if p[0] == q[0] or p[1] == q[1]]
        if any(costs[p] is None or costs[q] is None for p, q in aside):
            continue
        compared = [cell for cell in path if costs[cell] is not None]
        steps = len({i for i, _ in compared}) + len({j for _, j in compared})
        found.append((sum(costs[cell] for cell in compared), -steps))
    if not found:
        return np.inf
    total, steps = min(found)
    return total * (n + m) / -steps if steps else np.nan


def adtw(x, y, penalty=1.0, *, allowed=None):
    """Amerced DTW (Herrmann and Webb 2023): squared cost, and a penalty for every step that is not diagonal."""
    table = _table(len(x), len(y))
    for i, j in _cells(allowed, len(x), len(y)):
        best = min(table[i, j], table[i, j + 1] + penalty, table[i + 1, j] + penalty)
        table[i + 1, j + 1] = COSTS["sqeuclidean"](x[i], y[j]) + best
    return float(table[-1, -1])


def wdtw(x, y, g=0.05, *, allowed=None):
    """Weighted DTW (Jeong et al. 2011): squared cost times 1 / (1 + exp(−g (|i − j| − max(n, m)/2)))."""
    table = _table(len(x), len(y))
    for i, j in _cells(allowed, len(x), len(y)):
        weight = 1 / (1 + math.exp(-g * (abs(i - j) - max(len(x), len(y)) / 2)))
        best = min(table[i, j], table[i, j + 1], table[i + 1, j])
        table[i + 1, j + 1] = weight * COSTS["sqeuclidean"](x[i], y[j]) + best
    return float(table[-1, -1])


def derivative(x):
    """Keogh and Pazzani's slope ((x_i − x_{i−1}) + (x_{i+1} − x_{i−1})/2)/2, the ends repeated.

    Two steps have the slope x_1 − x_0 twice, one step has slope 0.
    """
    if len(x) == 1:
        return np.zeros_like(x, float)
    if len(x) == 2:
        return np.array([x[1] - x[0], x[1] - x[0]], float)
    inner = [((x[i] - x[i - 1]) + (x[i + 1] - x[i - 1]) / 2) / 2 for i in range(1, len(x) - 1)]
    return np.array([inner[0], *inner, inner[-1]], float)


def ddtw(x, y, **options):
    """DTW of the slopes (Keogh and Pazzani 2001); the options are those of `dtw`."""
    return dtw(derivative(x), derivative(y), **options)


def erp(x, y, gap=0.0, *, allowed=None):
    """Edit distance with real penalty (Chen and Ng 2004): D(i, −1) is the sum of ‖x_k − gap‖ over k ≤ i."""
    g = np.broadcast_to(np.asarray(gap, float), x.shape[1])
    table = _table(len(x), len(y))
    for i in range(len(x)):
        table[i + 1, 0] = table[i, 0] + norm(x[i], g)
    for j in range(len(y)):
        table[0, j + 1] = table[0, j] + norm(y[j], g)
    for i, j in _cells(allowed, len(x), len(y)):
        match = table[i, j] + norm(x[i], y[j])
        table[i + 1, j + 1] = min(match, table[i, j + 1] + norm(x[i], g), table[i + 1, j] + norm(y[j], g))
    return float(table[-1, -1])


def matching(a, b, epsilon, match):
    """Whether two frames are equal within epsilon: in their norm, or in every channel as in the papers."""
    if match == "channels":
        return all(abs(p - q) <= epsilon for p, q in zip(a, b, strict=True))
    return norm(a, b) <= epsilon


def edr(x, y, epsilon=None, *, allowed=None, normalize=False, match="frame"):
    """Edit distance on real sequences (Chen et al. 2005): frames within epsilon are equal, every edit costs 1.

    Without an epsilon it is a quarter of the larger standard deviation. `normalize` divides by the longer length.
    """
    epsilon = max(float(np.std(x)), float(np.std(y))) / 4 if epsilon is None else epsilon
    table = _table(len(x), len(y))
    table[:, 0] = range(len(x) + 1)
    table[0, :] = range(len(y) + 1)
    for i, j in _cells(allowed, len(x), len(y)):
        change = 0 if matching(x[i], y[j], epsilon, match) else 1
        table[i + 1, j + 1] = min(table[i, j] + change, table[i, j + 1] + 1, table[i + 1, j] + 1)
    return float(table[-1, -1]) / (max(len(x), len(y)) if normalize else 1)


def lcss(x, y, epsilon=1.0, *, allowed=None, match="frame"):
    """1 − L / min(n, m), L the length of the longest common subsequence within epsilon (Vlachos et al. 2002)."""
    table = np.full((len(x) + 1, len(y) + 1), -np.inf)
    table[:, 0] = table[0, :] = 0
    for i, j in _cells(allowed, len(x), len(y)):
        common = 1 if matching(x[i], y[j], epsilon, match) else 0
        table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j], table[i, j] + common)
    return float(1 - table[-1, -1] / min(len(x), len(y)))


def msm(x, y, c=1.0, *, allowed=None):
    """Move-split-merge (Stefan et al. 2013): a move costs ‖x_i − y_j‖, a split or merge C.

    C(new, last, other) is c where `new` lies between the other two, and else c + min(‖new − last‖, ‖new − other‖). With
    several channels "between" is inside the sphere of which the segment from last to other is a diameter, which is where
    both are seen at a right angle or more.
    """

    def split(new, last, other):
        if sum((new - last) * (new - other)) <= 0:
            return c
        return c + min(norm(new, last), norm(new, other))

    def line(new, last, other):  # one channel: compare, so that rounding of the middle cannot matter
        between = min(last, other) <= new <= max(last, other)
        return c if between else c + min(abs(new - last), abs(new - other))

    price = split if x.shape[1] > 1 else lambda *abc: float(line(*(v[0] for v in abc)))
    table = {}
    for i, j in _cells(allowed, len(x), len(y)):
        ways = [norm(x[0], y[0])] if (i, j) == (0, 0) else [np.inf]
        if i > 0 and j > 0:
            ways.append(table.get((i - 1, j - 1), np.inf) + norm(x[i], y[j]))
        if i > 0:
            ways.append(table.get((i - 1, j), np.inf) + price(x[i], x[i - 1], y[j]))
        if j > 0:
            ways.append(table.get((i, j - 1), np.inf) + price(y[j], y[j - 1], x[i]))
        table[i, j] = min(ways)
    return float(table.get((len(x) - 1, len(y) - 1), np.inf))


def twe(x, y, nu=0.001, lmbda=1.0, *, x_times=None, y_times=None, allowed=None):
    """Time warp edit distance (Marteau 2009), times 1, 2, … unless given; a zero frame at time 0 before the first.

    As the authors write it: D(0, 0) = 0, the rest of the border is infinite, and the three ways into (i, j) cost
    |a_i − b_j| + |a_{i−1} − b_{j−1}| + ν (|s_i − t_j| + |s_{i−1} − t_{j−1}|), |a_i − a_{i−1}| + ν (s_i − s_{i−1}) + λ and
    the same of b.
    """
    a, b = (np.concatenate([np.zeros((1, side.shape[1])), side]) for side in (x, y))
    s = [0.0, *(range(1, len(x) + 1) if x_times is None else x_times)]
    t = [0.0, *(range(1, len(y) + 1) if y_times is None else y_times)]
    table = _table(len(x), len(y))
    for i, j in ((i + 1, j + 1) for i, j in _cells(allowed, len(x), len(y))):
        apart = abs(s[i] - t[j]) + abs(s[i - 1] - t[j - 1])
        match = table[i - 1, j - 1] + norm(a[i], b[j]) + norm(a[i - 1], b[j - 1]) + nu * apart
        delete_a = table[i - 1, j] + norm(a[i], a[i - 1]) + nu * (s[i] - s[i - 1]) + lmbda
        delete_b = table[i, j - 1] + norm(b[j], b[j - 1]) + nu * (t[j] - t[j - 1]) + lmbda
        table[i, j] = min(match, delete_a, delete_b)
    return float(table[-1, -1])


def euclidean(x, y):
    """The root of the sum of squared differences; equal lengths."""
    assert len(x) == len(y), f"lengths {len(x)} and {len(y)} differ"
    return math.sqrt(sum(COSTS["sqeuclidean"](a, b) for a, b in zip(x, y, strict=True)))


def independent(f, x, y):
    """Every channel warped by itself: the sum of f(x, y) over the channels, each (time, 1)."""
    return sum(f(x[:, c : c + 1], y[:, c : c + 1]) for c in range(x.shape[1]))


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
