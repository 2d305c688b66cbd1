"""Pendulums that swing: the smallest system whose motion is not a sine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import RandomState, generator, one_of, real, span, whole
from ..container import Sequences

_STEP = 0.02  # of the time constant √(l/g): the energy then drifts by a few 1e-8 in a hundred swings
_MOST_STEPS = 5e6  # some minutes


class Pendulum(NamedTuple):
    """What `pendulum` made.

    `sequences` as observed; `states` (n, time, 2) the true angle and angular velocity; `rods` (n,) the lengths of the
    rods; `energies` (n, time) per mass and squared rod length, ω²/2 + (g/l)(1 − cos θ), constant without damping.
    """

    sequences: Sequences
    states: NDArray[np.float64]
    rods: NDArray[np.float64]
    energies: NDArray[np.float64]


def pendulum(
    n: int = 100,
    length: int = 100,
    *,
    interval: float = 0.1,
    rod: float | tuple[float, float] = (0.5, 2.0),
    angle: float | tuple[float, float] = (0.5, 2.5),
    gravity: float = 9.81,
    damping: float = 0.0,
    noise: float = 0.0,
    observe: str = "state",
    random_state: RandomState = None,
) -> Pendulum:
    """Pendulums θ″ = −(g/l) sin θ − d·θ′ let go at rest from an angle (radians) drawn in ± `angle`.

    A frame is taken every `interval` seconds; between frames the classical Runge–Kutta method of order 4 takes steps of
    at most 0.02·√(l/g). `observe="state"` shows angle and angular velocity, `"position"` the coordinates of the bob.

    >>> made = pendulum(n=2, length=50, random_state=0)
    >>> made.sequences.channel_names
    ('angle', 'velocity')
    >>> bool(np.ptp(made.energies, axis=1).max() < 1e-6)
    True
    """
    n, length = whole(n, "n", 1), whole(length, "length", 1)
    interval, gravity = real(interval, "interval", above=0.0), real(gravity, "gravity", above=0.0)
    damping, noise = real(damping, "damping", 0.0), real(noise, "noise", 0.0)
    rods_range, angle_range = span(rod, "rod", above=0.0), span(angle, "angle", 0.0)
    if angle_range[1] > np.pi:
        raise ValueError(f"angle={angle}: expected at most pi, where the pendulum stands upright")
    one_of(observe, "observe", ("state", "position"))
    rng = generator(random_state)
    rods = rng.uniform(*rods_range, size=n)
    start = rng.uniform(*angle_range, size=n) * rng.choice([-1.0, 1.0], size=n)
    pull = gravity / rods
    _refuse_many(interval, pull.max(), length)
    states = _swung(start, pull, damping, interval, length)
    theta, omega = states[..., 0], states[..., 1]
    energies = omega**2 / 2 + pull[:, None] * (1 - np.cos(theta))
    seen = states if observe == "state" else rods[:, None, None] * np.stack([np.sin(theta), -np.cos(theta)], -1)
    names = ("angle", "velocity") if observe == "state" else ("x", "y")
    seen = seen + noise * rng.normal(size=seen.shape)
    return Pendulum(Sequences(seen, channel_names=names), states, rods, energies)


def _refuse_many(interval: float, pull: float, length: int) -> None:
    steps = interval * np.sqrt(pull) / _STEP * (length - 1)
    if steps > _MOST_STEPS:
        raise ValueError(
            f"interval={interval:g} and length={length} take {steps:.2g} steps of {_STEP}·√(l/g): expected at most "
            f"{_MOST_STEPS:.0g}; use a shorter interval, fewer frames or a longer rod"
        )


def _swung(
    angle: NDArray[np.float64], pull: NDArray[np.float64], damping: float, interval: float, length: int
) -> NDArray[np.float64]:
    """Angles and velocities (n, length, 2), every pendulum at once."""
    substeps = int(np.ceil(interval * np.sqrt(pull.max()) / _STEP))
    h = interval / substeps
    state = np.stack([angle, np.zeros_like(angle)])
    states = np.empty((len(angle), length, 2))

    def slope(s: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.stack([s[1], -pull * np.sin(s[0]) - damping * s[1]])

    for frame in range(length):
        states[:, frame] = state.T
        for _ in range(substeps if frame < length - 1 else 0):
            a = slope(state)
            b = slope(state + h / 2 * a)
            c = slope(state + h / 2 * b)
            d = slope(state + h * c)
            state = state + h / 6 * (a + 2 * b + 2 * c + d)
    return states
