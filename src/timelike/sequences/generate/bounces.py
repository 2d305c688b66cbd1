"""Points that fly straight and bounce off the walls of a box, at the exact time and place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
VelocitySampler = Callable[[int], Array]
BounceRule = Callable[[Array, Array], Array]


def reflect_paths(start: Array, velocity: Array, limit: float, times: Array) -> Array:
    """Mirror-like bounces in [0, limit]², in closed form: each coordinate is a triangle wave of time.

    `start` and `velocity` (point, 2), `times` (time,); gives (point, time, 2).

    >>> reflect_paths(np.array([[8.0, 5.0]]), np.array([[4.0, 0.0]]), 10.0, np.arange(3.0))[0, :, 0]
    array([8., 8., 4.])
    """
    free = start[:, None] + velocity[:, None] * times[:, None]
    return np.asarray(limit - np.abs(np.mod(free, 2 * limit) - limit))


def bounce_paths(start: Array, velocity: Array, limit: float, times: Array, bounce_rule: BounceRule) -> Array:
    """The same with a new velocity at every bounce: `bounce_rule(velocity, wall)`, wall = the outward sign per
    coordinate.

    Every point is followed from wall to wall, and the time left after a bounce is used, so that a path does not depend
    on how often it is checked.
    """
    position, velocity, clock = start.copy(), velocity.copy(), np.zeros(len(start))
    paths = np.empty((len(start), len(times), 2))
    while (flying := clock <= times[-1]).any():
        wall = np.where(velocity > 0, limit, 0.0)
        wait = np.divide(wall - position, velocity, out=np.full_like(position, np.inf), where=velocity != 0)
        until = wait.min(axis=1)
        after = clock + until  # computed once: a frame between two roundings of it would belong to neither flight
        point, frame = np.nonzero(flying[:, None] & (times >= clock[:, None]) & (times <= after[:, None]))
        paths[point, frame] = position[point] + velocity[point] * (times[frame] - clock[point])[:, None]
        hit = wait <= until[:, None]
        flown = np.where(np.isfinite(until), until, 0.0)[:, None]  # what rests arrives nowhere
        position = np.where(hit, wall, position + velocity * flown).clip(0, limit)
        clock = after
        velocity = bounce_rule(velocity, np.sign(velocity) * hit)
    return paths.clip(0, limit)


def inward_rule(sample_velocity: VelocitySampler) -> BounceRule:
    """A velocity drawn again, turned away from the wall that was hit."""

    def redraw(velocity: Array, wall: Array) -> Array:
        new = sample_velocity(len(velocity))
        return np.where(wall != 0, -wall * np.abs(new), new)

    return redraw


def random_directions(speed: tuple[float, float], rng: np.random.Generator) -> VelocitySampler:
    """Velocities (n, 2) of any direction and of a speed between two."""

    def draw(n: int) -> Array:
        turn = rng.uniform(0, 2 * np.pi, size=n)
        return np.asarray(rng.uniform(*speed, size=(n, 1)) * np.stack([np.cos(turn), np.sin(turn)], axis=1))

    return draw


def integer_velocities(fastest: int, rng: np.random.Generator) -> VelocitySampler:
    """Velocities (n, 2) with integer coordinates between −`fastest` and `fastest`."""

    def draw(n: int) -> Array:
        return rng.integers(-fastest, fastest + 1, size=(n, 2)).astype(np.float64)

    return draw
