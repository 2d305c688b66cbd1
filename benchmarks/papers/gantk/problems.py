"""Point clouds that particles start from and move onto: eight Gaussians, letters, densities, images of digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from timelike.core.parameters import check_float, check_int
from timelike.core.random import RandomState, check_random_state
from timelike.core.validation.arrays import validate_array

Floats = NDArray[np.float64]
_RASTER_SIDE = 128  # pixels of a shape that is drawn
_HALF_STROKE = 0.11  # half a stroke
_IMAGE_SIDE = 32  # pixels of a digit, with its border
_PIXEL_RANGE = 1.999  # pixels are in ±_PIXEL_RANGE / 2, as in the authors' code


@dataclass(frozen=True, eq=False)
class FlowProblem:
    """Where particles start, `start` (item, feature), and where they should go, `real` (item, feature)."""

    name: str
    start: Floats
    real: Floats

    def __repr__(self) -> str:
        """Without its points."""
        return (
            f"FlowProblem({self.name!r}, {len(self.start)} particles onto {len(self.real)}, "
            f"{self.real.shape[1]} numbers)"
        )


def eight_gaussians(
    n: int = 500, *, radius: float = 5.0, deviation: float = 0.5, random_state: RandomState = None
) -> FlowProblem:
    """A standard Gaussian onto eight small ones, their means evenly on a circle (thesis, D.3.1).

    >>> eight_gaussians(100, random_state=0)
    FlowProblem('8 Gaussians', 100 particles onto 100, 2 numbers)
    """
    n, rng = check_int(n, "n", 2), check_random_state(random_state)
    radius, deviation = check_float(radius, "radius", above=0.0), check_float(deviation, "deviation", 0.0)
    angles = rng.integers(8, size=n) * (np.pi / 4)
    means = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    target = means + deviation * rng.standard_normal((n, 2))
    return FlowProblem("8 Gaussians", rng.standard_normal((n, 2)), target)


def letters(n: int = 500, *, random_state: RandomState = None) -> FlowProblem:
    """Points in the letter A onto points in the letter B, in [−1, 1]²: the AB problem of the thesis, drawn by code.

    As in the thesis (D.3.1) a pixel is drawn in proportion to its darkness, and blurred by the size of a pixel.

    >>> letters(100, random_state=0)
    FlowProblem('letters', 100 particles onto 100, 2 numbers)
    """
    n, rng = check_int(n, "n", 2), check_random_state(random_state)
    return FlowProblem("letters", _sample_points(_letter_a, n, rng), _sample_points(_letter_b, n, rng))


def densities(n: int = 500, *, random_state: RandomState = None) -> FlowProblem:
    """Points of a crescent onto those of a ring, an island and a faint haze, of different darkness, in [−1, 1]².

    It stands for the Density problem of the thesis, whose pictures belong to another library.

    >>> densities(100, random_state=0)
    FlowProblem('densities', 100 particles onto 100, 2 numbers)
    """
    n, rng = check_int(n, "n", 2), check_random_state(random_state)
    return FlowProblem("densities", _sample_points(_crescent, n, rng), _sample_points(_islands, n, rng))


def digits(images: Any, n: int = 1024, *, random_state: RandomState = None) -> FlowProblem:
    """Gaussian noise onto `n` of these pictures (item, height, width), padded to 32 × 32 with black (thesis, D.3.1).

    Pixels from 0 to 1, or 0 to 255 where they are integers, become 1.999 (x − ½). The pictures are yours: MNIST's are
    28 × 28.

    >>> digits(np.eye(28)[None].repeat(5, axis=0), 4, random_state=0)
    FlowProblem('digits', 4 particles onto 4, 1024 numbers)
    """
    n, rng = check_int(n, "n", 2), check_random_state(random_state)
    pictures = _validate_images(images, n)
    chosen = pictures[rng.choice(len(pictures), n, replace=False)]
    rest = [_IMAGE_SIDE - side for side in chosen.shape[1:]]
    border = [(0, 0), *((side // 2, side - side // 2) for side in rest)]
    target = _PIXEL_RANGE * (np.pad(chosen, border) - 0.5).reshape(n, -1)
    return FlowProblem("digits", rng.standard_normal(target.shape), target)


def _validate_images(images: Any, n: int) -> Floats:
    """Pictures from 0 to 1, at least n of them and none larger than 32 × 32."""
    found = validate_array(images, "images")
    if found.ndim != 3 or max(found.shape[1:]) > _IMAGE_SIDE or 0 in found.shape:
        raise ValueError(f"images has shape {found.shape}: expected (item, height, width) of at most 32 × 32 pixels")
    if len(found) < n:
        raise ValueError(f"n={n}: expected at most {len(found)}, the number of images")
    values = found / 255.0 if found.dtype.kind in "ui" else found.astype(np.float64)
    if not (values.min() >= 0 and values.max() <= 1):  # nan is neither
        raise ValueError(
            f"images go from {values.min():g} to {values.max():g}: expected numbers from 0 to 1, or integers up to 255"
        )
    return values


NAMED_PROBLEMS: dict[str, Callable[..., FlowProblem]] = {
    "8 Gaussians": eight_gaussians,
    "letters": letters,
    "densities": densities,
}


# --- shapes drawn by formulas


def _sample_points(darkness: Callable[[Floats, Floats], Floats], n: int, rng: np.random.Generator) -> Floats:
    """Points (n, 2) in proportion to the darkness of pixels, each moved by a Gaussian of the size of a pixel."""
    centres = (np.arange(_RASTER_SIDE) + 0.5) * (2 / _RASTER_SIDE) - 1
    x, y = (axis.ravel() for axis in np.meshgrid(centres, centres))
    weights = darkness(x, y)
    chosen = rng.choice(len(x), n, p=weights / weights.sum())
    return np.stack([x, y], axis=1)[chosen] + rng.standard_normal((n, 2)) / _RASTER_SIDE


def _stroke(x: Floats, y: Floats, start: tuple[float, float], end: tuple[float, float]) -> Floats:
    """The distance to a straight line between two points."""
    along = np.subtract(end, start)
    share = ((x - start[0]) * along[0] + (y - start[1]) * along[1]) / (along @ along)
    share = np.clip(share, 0.0, 1.0)
    return np.asarray(np.hypot(x - start[0] - share * along[0], y - start[1] - share * along[1]))


def _letter_a(x: Floats, y: Floats) -> Floats:
    foot, top, waist = 0.6, (0.0, 0.75), -0.2
    bar = foot * (0.75 - waist) / 1.5
    strokes = [
        _stroke(x, y, (-foot, -0.75), top),
        _stroke(x, y, (foot, -0.75), top),
        _stroke(x, y, (-bar, waist), (bar, waist)),
    ]
    return np.asarray(np.min(strokes, axis=0) < _HALF_STROKE, np.float64)


def _letter_b(x: Floats, y: Floats) -> Floats:
    """A stem and two bows, the lower one larger."""
    stem = _stroke(x, y, (-0.45, -0.75), (-0.45, 0.75))
    bows = np.minimum(_bow(x, y, 0.02, 0.75), _bow(x, y, -0.75, 0.02))
    return np.asarray(np.minimum(stem, bows) < _HALF_STROKE, np.float64)


def _bow(x: Floats, y: Floats, low: float, high: float) -> Floats:
    """The distance to two bars to the right of the stem, joined by half a circle."""
    middle, half, bend = (low + high) / 2, (high - low) / 2, 0.1
    around = np.abs(np.hypot(x - bend, y - middle) - half)
    bars = np.minimum(_stroke(x, y, (-0.45, low), (bend, low)), _stroke(x, y, (-0.45, high), (bend, high)))
    return np.where(x > bend, np.minimum(around, bars), bars)


def _crescent(x: Floats, y: Floats) -> Floats:
    inside = 0.7 - np.hypot(x + 0.1, y - 0.05)
    bitten = np.hypot(x - 0.2, y - 0.2) - 0.52
    return np.clip(4 * np.minimum(inside, bitten), 0.0, 1.0)


def _islands(x: Floats, y: Floats) -> Floats:
    ring = np.exp(-np.square((np.hypot(x + 0.3, y + 0.25) - 0.42) / 0.07))
    island = 1.5 * np.exp(-(np.square((x - 0.5) / 0.16) + np.square((y - 0.45) / 0.24)))
    haze = 0.15 * np.exp(-(np.square(x / 0.7) + np.square(y / 0.7)))
    return np.asarray(ring + island + haze)
