"""Pendulums that swing, alone or pushed by a torque, seen as numbers or as images."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ...core.parameters import check_choice, check_float, check_int, check_range
from ...core.random import RandomState, check_random_state
from ..container import Sequences

Array = NDArray[np.float64]

_STEP = 0.02  # of the time constant √(l/g): the energy then drifts by a few 1e-8 in a hundred swings
_DAMPED_STEP = 0.1  # of 1/damping, beyond which the steps themselves would swing
_MOST_STEPS = 5e6  # some minutes
_NAMES = {"state": ("angle", "velocity"), "position": ("x", "y"), "picture": None}
_SPOT = 1 / 16  # of the image: the bob's standard deviation
_MARGIN = 3.0  # of them between the bob's centre and the border: 0.1 % of its light is lost at most


class Pendulum(NamedTuple):
    """The result of `pendulum`.

    `sequences` as observed; `states` (n, time, 2) the true angle and angular velocity; `rods` (n,) the lengths of the
    rods; `energies` (n, time) per mass and squared rod length, ω²/2 + (g/l)(1 − cos θ), constant without damping and
    torque; `torques` (n, time − 1) what pushed from each frame to the next.
    """

    sequences: Sequences
    states: Array
    rods: Array
    energies: Array
    torques: Array


def pendulum(
    n: int = 100,
    length: int = 100,
    *,
    interval: float = 0.1,
    rod: float | tuple[float, float] = (0.5, 2.0),
    angle: float | tuple[float, float] = (0.5, 2.5),
    velocity: float | tuple[float, float] = 0.0,
    gravity: float = 9.81,
    damping: float = 0.0,
    torque: Any = 0.0,
    noise: float = 0.0,
    observe: str = "state",
    size: int = 16,
    random_state: RandomState = None,
) -> Pendulum:
    """Pendulums θ″ = −(g/l) sin θ − d·θ′ + u/l² of mass 1, from an angle (radians) drawn in ± `angle`.

    A frame is taken every `interval` seconds; between frames the classical Runge–Kutta method of order 4 takes steps of
    at most 0.02·√(l/g), in which one that is let go at rest turns by 0.04 at most, as no such one is faster than
    2·√(g/l); where it is thrown or pushed to more, steps are shorter. Seen as images, with a torque u that is not
    shown, it is the problem of Karl, Soelch, Bayer & van der Smagt ("Deep variational Bayes filters", 2017), taken up
    in Franceschi's thesis, 2022, B.5, which gives no numbers: how torque and noise are drawn and what an image looks
    like are ours, so an ELBO here stands beside table B.4 in kind only.

    Parameters
    ----------
    velocity : float or (low, high)
        Radians per second at the start, drawn in ± `velocity`; 0 lets go at rest.
    torque : float or array that fits (n, length − 1)
        Newton metres, the same from one frame to the next. A number: drawn uniformly in ± `torque` for each frame,
        which makes the motion random. An array: these.
    noise : float
        Standard deviation of what is added to each number or pixel; a pixel may so fall below 0.
    observe : {"state", "position", "picture"}
        Angle and angular velocity; the coordinates of the bob; or frames (1, size, size) in which the bob is a round
        spot exp(−r²/2s²), s = size/16, averaged over every pixel, on a circle around the middle of 5/16 of the image
        for the longest rod allowed, and below the middle when it hangs.

    >>> made = pendulum(n=2, length=50, random_state=0)
    >>> made.sequences.channel_names
    ('angle', 'velocity')
    >>> bool(np.ptp(made.energies, axis=1).max() < 1e-6)
    True
    >>> torqued = {"rod": 1.0, "angle": (0.0, np.pi), "velocity": (0.0, 4.0), "damping": 0.5, "torque": 2.0}
    >>> pendulum(n=500, length=15, **torqued, noise=0.1, observe="picture", random_state=0).sequences
    Sequences(500 sequences, length 15, frames (1, 16, 16), float32)
    """
    n, length, size = check_int(n, "n", 1), check_int(length, "length", 1), check_int(size, "size", 4)
    interval, gravity = check_float(interval, "interval", above=0.0), check_float(gravity, "gravity", above=0.0)
    damping, noise = check_float(damping, "damping", 0.0), check_float(noise, "noise", 0.0)
    rods_range, angle_range = check_range(rod, "rod", above=0.0), check_range(angle, "angle", 0.0)
    velocity_range = check_range(velocity, "velocity", 0.0)
    if angle_range[1] > np.pi:
        raise ValueError(f"angle={angle}: expected at most pi, where the pendulum stands upright")
    check_choice(observe, "observe", tuple(_NAMES))
    rng = check_random_state(random_state)
    rods = rng.uniform(*rods_range, size=n)
    start = np.zeros((2, n))
    start[0] = _sample_signed(angle_range, n, rng)
    if velocity_range[1]:
        start[1] = _sample_signed(velocity_range, n, rng)
    torques = _resolve_torques(torque, (n, length - 1), rng)
    pull, push = gravity / rods, torques / rods[:, None] ** 2
    substeps = _n_substeps(start[1], pull, push, damping, interval, length)
    states = _simulate(start, pull, push, damping, interval / substeps, substeps)
    energies = states[..., 1] ** 2 / 2 + pull[:, None] * (1 - np.cos(states[..., 0]))
    observations = _observe(states, rods, rods_range[1], observe, size)
    observations = (observations + noise * rng.normal(size=observations.shape)).astype(
        np.float32 if observe == "picture" else np.float64
    )
    return Pendulum(Sequences(observations, channel_names=_NAMES[observe]), states, rods, energies, torques)


def _sample_signed(bounds: tuple[float, float], n: int, rng: np.random.Generator) -> Array:
    return np.asarray(rng.uniform(*bounds, size=n) * rng.choice([-1.0, 1.0], size=n))


def _resolve_torques(torque: Any, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    if np.ndim(torque) == 0:
        most = check_float(torque, "torque", 0.0)
        return rng.uniform(-most, most, size=shape) if most else np.zeros(shape)
    values = np.asarray(torque)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        raise ValueError(f"torque has dtype {values.dtype} or gaps: expected a number, or finite numbers")
    try:
        return np.broadcast_to(values, shape).astype(np.float64)
    except ValueError:
        raise ValueError(
            f"torque has shape {values.shape}: expected a number or what fits (n, length - 1) = {shape}"
        ) from None


def _n_substeps(start: Array, pull: Array, push: Array, damping: float, interval: float, length: int) -> int:
    """Steps between two frames, short enough for the fastest pendulum at about its fastest.

    An estimate: pushes in time with the swings, which cancel in the sum, make it faster still. The bound, the sum of
    their sizes, grows with the length of any series of random pushes, most of which cancel in truth.
    """
    pushed = np.abs(np.cumsum(push, axis=1)).max(axis=1, initial=0.0) * interval
    rate = np.hypot(np.sqrt(pull), np.abs(start) + pushed).max()  # radians per second
    steps = interval * max(rate / _STEP, damping / _DAMPED_STEP)
    if steps * (length - 1) > _MOST_STEPS:
        raise ValueError(
            f"interval={interval:g} and length={length} take {steps * (length - 1):.2g} steps of {_STEP}·√(l/g) or "
            f"less: expected at most {_MOST_STEPS:.0g}; use a shorter interval, fewer frames, a longer rod or a "
            "weaker torque"
        )
    return int(np.ceil(steps))


def _simulate(start: Array, pull: Array, push: Array, damping: float, h: float, substeps: int) -> Array:
    """Angles and velocities (n, time, 2), every pendulum at once."""
    states = np.empty((len(pull), push.shape[1] + 1, 2))
    states[:, 0] = start.T
    theta, omega = start
    for frame in range(1, states.shape[1]):
        pushed = push[:, frame - 1]

        def rate(theta: Array, omega: Array, pushed: Array = pushed) -> Array:
            return np.asarray(-pull * np.sin(theta) - damping * omega + pushed)

        for _ in range(substeps):
            a, a_rate = omega, rate(theta, omega)
            b = omega + h / 2 * a_rate
            b_rate = rate(theta + h / 2 * a, b)
            c = omega + h / 2 * b_rate
            c_rate = rate(theta + h / 2 * b, c)
            d = omega + h * c_rate
            d_rate = rate(theta + h * c, d)
            theta = theta + h / 6 * (a + 2 * b + 2 * c + d)
            omega = omega + h / 6 * (a_rate + 2 * b_rate + 2 * c_rate + d_rate)
        states[:, frame, 0], states[:, frame, 1] = theta, omega
    return states


def _observe(states: Array, rods: Array, longest: float, observe: str, size: int) -> Array:
    if observe == "state":
        return states
    theta = states[..., 0]
    if observe == "position":
        return np.asarray(rods[:, None, None] * np.stack([np.sin(theta), -np.cos(theta)], -1))
    pixels = (size / 2 - _MARGIN * _SPOT * size) * rods[:, None] / longest
    return (
        _spot_profile(pixels * np.cos(theta), size)[..., None, :, None]
        * _spot_profile(pixels * np.sin(theta), size)[..., None, None, :]
    )


def _spot_profile(place: Array, size: int) -> Array:
    """exp(−x²/2s²) around a place, counted from the middle in pixels, averaged over each of `size` pixels."""
    spread = _SPOT * size
    edges = np.arange(size + 1) - size / 2
    return np.asarray(np.sqrt(2 * np.pi) * spread * np.diff(ndtr((edges - place[..., None]) / spread)))
