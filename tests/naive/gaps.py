"""Gaps of one sequence, and what is done about them, one sample after the other."""

import math
from itertools import pairwise
from statistics import median


def usual(times):
    """The median step and the median deviation from it."""
    steps = [b - a for a, b in pairwise(times)]
    if not steps:
        return math.nan, math.nan
    middle = median(steps)
    return middle, median(abs(step - middle) for step in steps)


def gaps(times, present, max_gap=None):
    """(begin, end) steps of one channel."""
    n = len(times)
    samples = [i for i in range(n) if present[i]]
    if not samples:
        pairs = [(0, n - 1, True)]
    else:
        pairs = [(i, j, j > i + 1) for i, j in pairwise(samples)]
        if samples[0] > 0:
            pairs.insert(0, (0, samples[0], True))
        if samples[-1] < n - 1:
            pairs.append((samples[-1], n - 1, True))
    if max_gap is not None:
        return [(i, j) for i, j, _ in pairs if times[j] - times[i] > max_gap]
    step, deviation = usual(times)
    return [(i, j) for i, j, holed in pairs if holed or times[j] - times[i] > 1.5 * step + 5 * deviation]


def interpolated(times, values, max_gap):
    """Every missing value by its neighbours, if these are close enough."""
    filled = list(values)
    known = [i for i in range(len(values)) if not math.isnan(values[i])]
    for t in range(len(values)):
        before, after = [i for i in known if i < t], [i for i in known if i > t]
        if t in known or not known:
            continue
        if not before or not after:
            nearest, end = (after[0], 0) if not before else (before[-1], len(values) - 1)
            if abs(times[nearest] - times[end]) <= max_gap:
                filled[t] = values[nearest]
        elif times[after[0]] - times[before[-1]] <= max_gap:
            i, j = before[-1], after[0]
            filled[t] = values[i] + (values[j] - values[i]) * (times[t] - times[i]) / (times[j] - times[i])
    return filled


def resampled(times, values, rate, max_gap):
    """Evenly spaced samples; between samples too far apart there are none."""
    found, t = [], 0
    while times[0] + t / rate <= times[-1]:
        now = times[0] + t / rate
        after = next(i for i in range(len(times)) if times[i] >= now)
        if times[after] == now:
            found.append(values[after])
        elif times[after] - times[after - 1] > max_gap:
            found.append(math.nan)
        else:
            share = (now - times[after - 1]) / (times[after] - times[after - 1])
            found.append(values[after - 1] * (1 - share) + values[after] * share)
        t += 1
    return found


def pieces(times, present, max_gap):
    """Lists of steps; `present` says at which there is any value."""
    holes = gaps(times, present, max_gap)
    inside = {t for i, j in holes for t in range(i, j + 1) if not present[t]}
    found, piece = [], []
    for t in range(len(times)):
        if t in inside:
            continue
        if piece and any(i <= piece[-1] and t <= j for i, j in holes):
            found.append(piece)
            piece = []
        piece.append(t)
    return [one for one in [*found, piece] if one]
