"""Clips of one moving spot: a dot that bounces off walls, a ball under gravity, a dot that bounces off at random.

Positions (clip, frame, 2) are (column, row) in pixels, rows count downwards. A bounce happens at its exact time and
place, so that a path does not depend on the frame rate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MARGIN = (2.0, 3.0)  # of the box in which the spot moves: before its first pixel, and from the frame's size to its last
SPEED = (0.6, 1.6)  # of the dots, pixels per frame in any direction
GRAVITY, RESTITUTION = 0.15, 0.9  # of the ball; what a bounce off the floor leaves of its speed
DROP = (0.3, 6.0)  # height of the ball's start below the ceiling, which it does not reach from there
SIDEWAYS, UPWARDS = 1.0, 0.3  # greatest first speeds of the ball along each axis
WIDEST = 1.3  # greatest angle from the wall's normal after a bounce at random, in radians
WIDTH = 1.0  # standard deviation of the spot, in pixels
Floats = NDArray[np.float64]


class Start(NamedTuple):
    """First positions and velocities (clip, 2), and angles (clip, bounce) after bounces, for those that need some."""

    position: Floats
    velocity: Floats
    angles: Floats


# --- how each scene begins


def start_dot(n: int, length: int, size: int, rng: np.random.Generator) -> Start:
    """Anywhere in the box, in any direction."""
    low, high = box(size)
    position, direction = rng.uniform(low, high, (n, 2)), rng.uniform(0, 2 * np.pi, n)
    velocity = rng.uniform(*SPEED, (n, 1)) * np.stack([np.cos(direction), np.sin(direction)], axis=1)
    # in a corner a dot may bounce often, so there are more angles than frames
    return Start(position, velocity, rng.uniform(-WIDEST, WIDEST, (n, 2 * length + 20)))


def start_ball(n: int, length: int, size: int, rng: np.random.Generator) -> Start:
    """Near the ceiling, and slow."""
    low, high = box(size)
    position = np.stack([rng.uniform(low, high, n), low + rng.uniform(*DROP, n)], axis=1)
    velocity = np.stack([rng.uniform(-SIDEWAYS, SIDEWAYS, n), rng.uniform(-UPWARDS, UPWARDS, n)], axis=1)
    return Start(position, velocity, np.empty((n, 0)))


# --- how each goes on


def mirror_path(start: Start, times: Floats, size: int) -> Floats:
    """Straight lines that walls mirror."""
    return fold(start.position[:, None] + start.velocity[:, None] * times[:, None], *box(size))


def falling_path(start: Start, times: Floats, size: int) -> Floats:
    """Walls mirror the ball, and the floor leaves a share of its speed, until it rolls."""
    low, high = box(size)
    across = fold(start.position[:, :1] + start.velocity[:, :1] * times, low, high)
    fallen = high - start.position[:, 1:]  # what is left to fall
    impact = np.sqrt(start.velocity[:, 1:] ** 2 + 2 * GRAVITY * fallen)  # speed at the first bounce
    first = (impact - start.velocity[:, 1:]) / GRAVITY
    after = np.maximum(times - first, 0.0)
    # arcs take 2 e impact / g, 2 e² impact / g, …: a series whose sum is when the ball starts to roll
    total = 2 * impact * RESTITUTION / (GRAVITY * (1 - RESTITUTION))
    left = np.maximum(1 - after / total, 1e-12)
    arc = np.floor(np.log(left) / np.log(RESTITUTION) + 1e-12)
    since = after - total * (1 - RESTITUTION**arc)
    height = np.maximum(impact * RESTITUTION ** (arc + 1) * since - 0.5 * GRAVITY * since**2, 0.0)
    falling = start.position[:, 1:] + start.velocity[:, 1:] * times + 0.5 * GRAVITY * times**2
    return np.stack([across, np.where(times < first, falling, high - height)], axis=-1)


def random_path(start: Start, times: Floats, size: int) -> Floats:
    """Straight lines; every bounce turns the dot to an angle from the wall's normal, at the same speed.

    `times` are the frames 0, 1, 2, …
    """
    low, high = box(size)
    place, velocity, bounces = start.position.copy(), start.velocity.copy(), np.zeros(len(start.position), int)
    speed, found = np.linalg.norm(velocity, axis=1), [place.copy()]
    for span in np.diff(times):
        left, moving = np.full(len(place), float(span)), np.arange(len(place))
        while len(moving):
            until = _time_to_walls(place[moving], velocity[moving], low, high)
            axis = until.argmin(axis=1)
            step = np.minimum(until[np.arange(len(moving)), axis], left[moving])
            place[moving] = np.clip(place[moving] + step[:, None] * velocity[moving], low, high)
            hits = until[np.arange(len(moving)), axis] < left[moving]
            left[moving] -= step
            moving, axis = moving[hits], axis[hits]
            angle = start.angles[moving, bounces[moving] % start.angles.shape[1]]
            inwards = -np.sign(velocity[moving, axis])
            place[moving, axis] = np.where(inwards > 0, low, high)
            velocity[moving, axis] = inwards * speed[moving] * np.cos(angle)
            velocity[moving, 1 - axis] = speed[moving] * np.sin(angle)
            bounces[moving] += 1
        found.append(place.copy())
    return np.stack(found, axis=1)


def _time_to_walls(place: Floats, velocity: Floats, low: float, high: float) -> Floats:
    """When each axis meets the wall ahead of it."""
    ahead = np.where(velocity > 0, high, low) - place
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(velocity == 0, np.inf, ahead / velocity)


class Scene(NamedTuple):
    """How clips begin, and where their spots are at some times."""

    start: Callable[[int, int, int, np.random.Generator], Start]
    path: Callable[[Start, Floats, int], Floats]


SCENES = {
    "dot": Scene(start_dot, mirror_path),
    "ball": Scene(start_ball, falling_path),
    "random dot": Scene(start_dot, random_path),
}


# --- pictures


def clips(name: str, n: int, length: int, *, size: int = 16, seed: int = 0) -> NDArray[np.float32]:
    """Clips (clip, frame, 1, size, size) of a scene.

    >>> clips("ball", 2, 5, seed=1).shape
    (2, 5, 1, 16, 16)
    """
    scene = SCENES[name]
    start = scene.start(n, length, size, np.random.default_rng(seed))
    return draw_spots(scene.path(start, np.arange(length, dtype=np.float64), size), size)


def box(size: int) -> tuple[float, float]:
    """Between which positions the spot moves, along both axes."""
    return MARGIN[0], size - MARGIN[1]


def fold(line: Floats, low: float, high: float) -> Floats:
    """Where positions along a line are after all their mirrors.

    >>> fold(np.array([0.5, 1.25, 2.5, -0.25]), 0.0, 1.0)
    array([0.5 , 0.75, 0.5 , 0.25])
    """
    width = high - low
    along = np.mod(line - low, 2 * width)
    return np.asarray(low + np.minimum(along, 2 * width - along))


def draw_spots(positions: Floats, size: int) -> NDArray[np.float32]:
    """Pictures (clip, frame, 1, size, size) of Gaussian spots, 1 at their centres."""
    cells = np.arange(size)
    across, down = (np.exp(-0.5 * ((cells - positions[..., axis, None]) / WIDTH) ** 2) for axis in (0, 1))
    return np.asarray(down[..., None, :, None] * across[..., None, None, :], np.float32)
