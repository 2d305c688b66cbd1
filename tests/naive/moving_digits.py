"""Digits that move as the thesis says (B.2.2), one digit, one frame, one pixel at a time, in fractions without rounding."""

import math
from fractions import Fraction


def flight(start, velocity, limit, times, draws=None):
    """Places [(row, column), …] at the times: straight until a wall, there a turn, and on for the time that is left.

    At the k-th bounce the velocity is draws[k], turned away from each wall that is touched; without draws only its
    sign changes there.
    """
    place, velocity = [Fraction(x) for x in start], [Fraction(v) for v in velocity]
    seen, now, bounces = [], Fraction(0), 0
    for time in times:
        left = Fraction(time) - now
        while True:
            waits = [_wait(x, v, limit) for x, v in zip(place, velocity, strict=True)]
            first = min(waits)
            if first > left or first == math.inf:
                break
            touched = [wait == first for wait in waits]
            place = [x + v * first for x, v in zip(place, velocity, strict=True)]
            velocity = _turned(velocity, touched, draws[bounces] if draws is not None else velocity)
            left, bounces = left - first, bounces + 1
        place = [x + v * left for x, v in zip(place, velocity, strict=True)]
        now = Fraction(time)
        seen.append(tuple(place))
    return seen


def _wait(x, v, limit):
    if v == 0:
        return math.inf
    return ((limit if v > 0 else 0) - x) / v


def _turned(velocity, touched, new):
    turned = []
    for old, wall, v in zip(velocity, touched, new, strict=True):
        away = -abs(Fraction(v)) if old > 0 else abs(Fraction(v))
        turned.append(away if wall else Fraction(v))
    return turned


def frame(patches, corners, size):
    """Rows of pixels: each takes what the pictures have at its place, between their own pixels by shares of four."""
    rows = []
    for i in range(size):
        row = []
        for j in range(size):
            light = sum(_between(patch, i - top, j - left) for patch, (top, left) in zip(patches, corners, strict=True))
            row.append(min(light, 1.0))
        rows.append(row)
    return rows


def _between(patch, i, j):
    """A picture at a place between its pixels, with nothing around it."""
    up, left = math.floor(i), math.floor(j)
    total = 0.0
    for a in (up, up + 1):
        for b in (left, left + 1):
            if 0 <= a < len(patch) and 0 <= b < len(patch[0]):
                total += (1 - abs(i - a)) * (1 - abs(j - b)) * float(patch[a][b])
    return total
