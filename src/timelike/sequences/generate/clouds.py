"""Two clouds of points in the plane, one to be moved onto the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float, check_int
from ...core.random import RandomState, check_random_state

Points = NDArray[np.float64]


class Clouds(NamedTuple):
    """A problem: `source` points to be moved and `target` points to be met, each (n, 2)."""

    source: Points
    target: Points


def eight_gaussians(n: int = 500, *, radius: float = 5.0, std: float = 0.5, random_state: RandomState = None) -> Clouds:
    """From a standard Gaussian to eight, evenly spaced on a circle (Franceschi's thesis, 2022, D.3.1).

    >>> problem = eight_gaussians(100, random_state=0)
    >>> problem.source.shape, problem.target.shape
    ((100, 2), (100, 2))
    """
    n, radius, std = check_int(n, "n", 1), check_float(radius, "radius", 0.0), check_float(std, "std", 0.0)
    rng = check_random_state(random_state)
    source = rng.normal(size=(n, 2))
    turn = 2 * np.pi * rng.integers(8, size=n) / 8
    centre = radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return Clouds(source, centre + std * rng.normal(size=(n, 2)))


def letters(n: int = 500, *, size: int = 128, random_state: RandomState = None) -> Clouds:
    """From points inside a letter A to points inside a letter B, in [−1, 1]² (in place of geomloss's images).

    A pixel of a `size` × `size` drawing is picked with a chance proportional to its darkness, and the point is its
    centre plus Gaussian noise of standard deviation 1 / size (Franceschi's thesis, 2022, D.3.1).

    >>> letters(100, random_state=0).target.shape
    (100, 2)
    """
    x, y = _pixel_centres(size)
    letter_a = (_stroke_distances(x, y, _A) < 0.1).astype(float)
    letter_b = (_stroke_distances(x, y, _B) < 0.1).astype(float)
    return _sample_clouds(letter_a, letter_b, n, check_random_state(random_state))


def densities(n: int = 500, *, size: int = 128, random_state: RandomState = None) -> Clouds:
    """From a shaded crescent to a three-armed spiral that fades outwards, in [−1, 1]²; sampled as `letters` are.

    >>> densities(100, random_state=0).source.shape
    (100, 2)
    """
    x, y = _pixel_centres(size)
    crescent = (np.hypot(x, y) < 0.85) & (np.hypot(x - 0.35, y) > 0.65)
    distance = np.hypot(x, y)
    arms = np.cos(3 * np.arctan2(y, x) - 7 * distance).clip(0) ** 2
    spiral = arms * np.exp(-((distance / 0.5) ** 2)) * (distance < 0.95)
    return _sample_clouds(crescent * (1.2 + y), spiral, n, check_random_state(random_state))


# ends of straight strokes, (x, y) to (x, y); the bows of the B are many short ones
_A = np.array([[[-0.6, -0.7], [0, 0.75]], [[0.6, -0.7], [0, 0.75]], [[-0.36, -0.15], [0.36, -0.15]]])


def _bow(low: float, high: float, width: float) -> Points:
    turn = np.linspace(-np.pi / 2, np.pi / 2, 25)
    rim = np.stack([-0.05 + width * np.cos(turn), (low + high) / 2 + (high - low) / 2 * np.sin(turn)], axis=1)
    rim = np.concatenate([[[-0.45, low]], rim, [[-0.45, high]]])
    return np.stack([rim[:-1], rim[1:]], axis=1)


_B = np.concatenate([[[[-0.45, -0.72], [-0.45, 0.72]]], _bow(-0.72, 0.02, 0.55), _bow(0.02, 0.72, 0.42)])


def _pixel_centres(size: int) -> tuple[Points, Points]:
    """Coordinates of the centres, x to the right and y upwards."""
    size = check_int(size, "size", 16)
    centres = (np.arange(size) + 0.5) / size * 2 - 1
    x, y = np.meshgrid(centres, -centres)
    return x, y


def _stroke_distances(x: Points, y: Points, ends: Points) -> Points:
    """Distance of every pixel from the nearest stroke."""
    points = np.stack([x, y], axis=-1)[..., None, :]
    begin, along = ends[:, 0], ends[:, 1] - ends[:, 0]
    share = ((points - begin) * along).sum(-1) / (along**2).sum(-1)
    nearest = begin + share.clip(0, 1)[..., None] * along
    return np.asarray(np.linalg.norm(points - nearest, axis=-1).min(-1))


def _sample_clouds(source: Points, target: Points, n: int, rng: np.random.Generator) -> Clouds:
    n = check_int(n, "n", 1)
    return Clouds(*(_sample_points(darkness, n, rng) for darkness in (source, target)))


def _sample_points(darkness: Points, n: int, rng: np.random.Generator) -> Points:
    size = len(darkness)
    x, y = _pixel_centres(size)
    pixel = rng.choice(darkness.size, size=n, p=darkness.ravel() / darkness.sum())
    centres = np.stack([x.ravel()[pixel], y.ravel()[pixel]], axis=1)
    return np.asarray(centres + rng.normal(size=(n, 2)) / size)
