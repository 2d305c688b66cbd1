"""Subsequence search by looking at every stretch, and SPRING as its paper writes it."""

import numpy as np

from . import elastic


def stretches(query, stream, k=1, cost="sqeuclidean", exclusion=0):
    """The nearest of all stretches inside what is left, k times; equal ones by earlier end, then by later start."""
    n = len(stream)
    every = [
        (elastic.dtw(query, stream[start:stop], cost=cost), stop, -start)
        for start in range(n)
        for stop in range(start + 1, n + 1)
    ]
    free, found = [True] * n, []
    while len(found) < k:
        inside = [one for one in every if all(free[-one[2] : one[1]])]
        if not inside:
            break
        distance, stop, start = min(inside)
        found.append((-start, stop, distance))
        for t in range(max(0, -start - exclusion), min(n, stop + exclusion)):
            free[t] = False
    return found


def scaled(x):
    """Mean 0 and standard deviation 1 in every channel; a constant is 0."""
    x = x - x.mean(axis=0)
    return np.where(np.ptp(x, axis=0) > 0, x / np.where(x.std(axis=0) > 0, x.std(axis=0), 1), 0.0)


def windows(query, stream, k, distance, *, normalize=True, exclusion=0):
    """The nearest of all windows as long as the query that is far enough from those before; equal ones by their start."""
    m = len(query)
    ready = scaled if normalize else np.asarray
    every = [(distance(ready(query), ready(stream[s : s + m])), s) for s in range(len(stream) - m + 1)]
    found = []
    for value, start in sorted(every):
        if len(found) < k and all(abs(start - other) >= m + exclusion for other, _, _ in found):
            found.append((start, start + m, value))
    return found


def spring(query, stream, threshold, cost="sqeuclidean"):
    """Figure 5 of Sakurai, Faloutsos and Yamamuro (2007): (start, stop, distance, samples seen when reported)."""
    m = len(query)
    before, starts_before = [np.inf] * m, [-1] * m
    best, first, last, found = np.inf, -1, -1, []
    for t, sample in enumerate(stream):
        now, starts = [], []
        for i in range(m):
            ways = [(before[i], -starts_before[i])]
            ways += [(now[i - 1], -starts[i - 1]), (before[i - 1], -starts_before[i - 1])] if i else [(0.0, -t)]
            value, start = min(ways)
            now.append(elastic.COSTS[cost](sample, query[i]) + value)
            starts.append(-start)
        if best <= threshold and all(d >= best or s > last for d, s in zip(now, starts, strict=True)):
            found.append((first, last + 1, best, t + 1))
            best = np.inf
            now = [np.inf if s <= last else d for d, s in zip(now, starts, strict=True)]
        if now[-1] <= threshold and now[-1] < best:
            best, first, last = now[-1], starts[-1], t
        before, starts_before = now, starts
    return found + ([(first, last + 1, best, len(stream))] if best <= threshold else [])


def near_stretches(query, stream, threshold, shortest, longest, cost="sqeuclidean", normalize=False):
    """Every stretch within bounds of length and the threshold, (distance, stop, −start), the nearest first."""
    ready = scaled if normalize else np.asarray
    every = [
        (elastic.dtw(ready(query), ready(stream[start:stop]), cost=cost), stop, -start)
        for start in range(len(stream))
        for stop in range(start + shortest, min(start + longest, len(stream)) + 1)
    ]
    digits = 10 if normalize else 15  # equal shapes are equal
    return sorted((float(f"{d:.{digits}e}"), stop, start) for d, stop, start in every if d <= threshold)


def overlap(one, other):
    return -one[2] < other[1] and -other[2] < one[1]


def without_overlaps(near):
    """The nearest, then the nearest that overlaps none that was taken: (start, stop, distance) in the order of time."""
    taken = []
    for one in near:
        if not any(overlap(one, other) for other in taken):
            taken.append(one)
    return sorted((-start, stop, distance) for distance, stop, start in taken)


def without_containing(near):
    """Those that contain no nearer one: what contains one is never taken, as whatever beats the inner one overlaps it."""
    return [one for one in near if not any(o < one and -one[2] <= -o[2] and o[1] <= one[1] for o in near)]


def certain(one, near, seen, longest):
    """Whether a stretch is a match whatever comes after `seen` samples: all that overlap it were seen, and each of those
    that is nearer overlaps a nearer one that is certain itself."""
    nearer = [other for other in near if other < one and overlap(one, other)]
    return one[1] + longest - 1 <= seen and all(
        any(overlap(other, third) and certain(third, near, seen, longest) for third in near if third < other)
        for other in nearer
    )
