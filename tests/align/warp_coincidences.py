"""Warp problems drawn so that constraints meet: each other, the steps of y, and signals that agree exactly."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

CONSTRAINTS = ("regularization", "slope_min", "slope_max", "bound_min", "bound_max")
INPUTS = ("x", "y", *CONSTRAINTS)


@dataclass(frozen=True)
class Drawn:
    """One problem as the layer takes it; constraints are numbers, or vectors over knots or the intervals between."""

    x: np.ndarray  # (knot, channel)
    y: np.ndarray
    x_times: np.ndarray
    y_times: np.ndarray
    regularization: Any
    slope_min: Any  # on clocks from 0 to 1
    slope_max: Any
    bound_min: Any  # in y's own time
    bound_max: Any
    free: bool
    penalty: str
    kinds: tuple[str, ...]  # in words

    @property
    def span(self):
        return self.y_times[-1] - self.y_times[0]

    def moved(self, name, by):
        """The problem with one of its inputs changed."""
        return replace(self, **{name: getattr(self, name) + by})

    def feasible(self):
        """Whether there is a warp at all: the least and the greatest never cross on their way."""
        clock = (self.x_times - self.x_times[0]) / (self.x_times[-1] - self.x_times[0])
        steps, start, end = np.diff(clock), self.y_times[0], self.y_times[-1]
        low = np.maximum(np.broadcast_to(self.bound_min, len(clock)), start)
        high = np.minimum(np.broadcast_to(self.bound_max, len(clock)), end)
        if not self.free:
            low[-1], high[0] = max(low[-1], end), min(high[0], start)
        least, most = low[0], high[0]
        for i, (s, f) in enumerate(zip(self.slope_min * steps, self.slope_max * steps, strict=True)):
            if least > most + 1e-12 * self.span:
                return False
            least, most = max(low[i + 1], least + s * self.span), min(high[i + 1], most + f * self.span)
        return bool(least <= most + 1e-12 * self.span)


def drawn(seed, count):
    """So many problems that have a warp."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        p = _draw(rng)
        if p.feasible():
            found.append(p)
    return found


def plain(x, y, slope, bounds):
    """One with numbers for all knots alike, steps for times, and free ends."""
    clocks = np.arange(len(x)) + 0.0, np.arange(len(y)) + 0.0
    return Drawn(x, y, *clocks, 0.1, *slope, *bounds, True, "squared", ("plain",))


def _draw(rng):
    n = int(rng.integers(4, 11))
    m = n if rng.random() < 0.4 else int(rng.integers(3, 11))
    (x_times, x_kind), (y_times, y_kind) = _clock(rng, m), _clock(rng, n)
    x, y, values = _signals(rng, m, n)
    span, clock = y_times[-1] - y_times[0], (x_times - x_times[0]) / (x_times[-1] - x_times[0])
    free = bool(rng.random() < 0.7)
    low, high, bounds = _bounds(rng, clock, n, free)
    (s_min, s_max), slopes = _slopes(rng, m)
    strength = 10 ** rng.uniform(-2.5, 0.7)
    if rng.random() < 0.25:
        strength = strength * rng.choice([0.5, 1.0, 2.0], m - 1)
    penalty = str(rng.choice(["squared", "squared", "squared", "huber", "absolute"]))
    kinds = (
        values,
        f"{x.shape[1]} channels",
        f"x's clock {x_kind}",
        f"y's clock {y_kind}",
        *slopes,
        bounds,
        "free ends" if free else "tied ends",
        f"{penalty} penalty",
        "λ a vector" if np.ndim(strength) else "λ a number",
    )
    return Drawn(
        x, y, x_times, y_times, strength, s_min, s_max, y_times[0] + span * low, y_times[0] + span * high, free,
        penalty, kinds,
    )  # fmt: skip


def _clock(rng, n):
    kind = str(rng.choice(["in steps", "of span 4", "of span 0.5", "in uneven whole steps", "irregular"]))
    if kind == "irregular":
        return rng.uniform(-3, 3) + np.append(0, np.cumsum(rng.uniform(0.3, 2.0, n - 1))), kind
    if kind == "in uneven whole steps":
        return np.append(0.0, np.cumsum(rng.integers(1, 4, n - 1))) + 10.0, kind
    return np.linspace(0, {"in steps": n - 1.0, "of span 4": 4.0, "of span 0.5": 0.5}[kind], n), kind


def _signals(rng, m, n):
    """Walks: of whole numbers (steps of 0 too: y stands still), and with noise; or x a stretch of y, exactly."""
    d, kind = int(rng.choice([1, 1, 2, 3])), str(rng.choice(["whole numbers", "noisy", "noisy", "x part of y"]))
    x, y = (np.cumsum(rng.integers(-2, 3, (k, d)) + 0.0, 0) for k in (m, n))
    if kind == "noisy":
        x, y = x + rng.normal(size=x.shape), y + rng.normal(size=y.shape)
    if kind == "x part of y":
        x = y[np.minimum(np.arange(m) + int(rng.integers(0, 3)), n - 1)]
    return x, y, kind


def _bounds(rng, clock, n, free):
    """On a clock from 0 to 1: none, the same for all knots, or a band; on steps of y, between them, or odd numbers."""
    kind = str(rng.choice(["numbers", "numbers", "numbers", "equal vectors", "band", "none"]))
    m, share = len(clock), float(rng.choice([0.1, 0.125, 0.25, 1 / (n - 1), 1.3 / 8, 0.1113, 0.3]))
    if kind == "band":
        low, high = np.maximum(clock - share, 0.0), np.minimum(clock + share, 1.0)
        return low, high, "bounds a band"
    if kind == "none" or not free:
        return 0.0, 1.0, "bounds at y's ends"
    low, high = share, 1 - float(rng.choice([share, 0.2, 1.4 / 8, 0.45]))
    if kind == "equal vectors":
        return np.full(m, low), np.full(m, high), "bounds equal vectors"
    return low, high, "bounds numbers"


def _slopes(rng, m):
    low, high = float(rng.choice([0, 0, 0, 0.25, 0.5, 0.513])), float(rng.choice([1.113, 1.5, 2.0, 3.0, np.inf]))
    said = ["s_min = 0" if low == 0 else "s_min > 0", "s_max none" if high == np.inf else "s_max given"]
    kind = str(rng.choice(["numbers", "numbers", "numbers", "equal vectors", "vectors"]))
    if kind != "numbers":
        low, high = np.full(m - 1, low), np.full(m - 1, high)
    if kind == "vectors":
        low, high = low * rng.choice([0.5, 1.0], m - 1), high * rng.choice([1.0, 1.5], m - 1)
    return (low, high), [*said, f"slopes {kind}"]
