"""Pictures in another size, pixel by pixel."""

from __future__ import annotations

import numpy as np


def resized(picture: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(height, width, channel) → another height and width: rows first, then columns."""
    rows = np.stack([side(column, size[0]) for column in picture.transpose(1, 0, 2)], axis=1)
    return np.stack([side(row, size[1]) for row in rows])


def side(pixels: np.ndarray, new: int) -> np.ndarray:
    """(old, channel) → (new, channel)."""
    old = len(pixels)
    return np.stack(
        [mean_of_area(pixels, j, old, new) if new <= old else between(pixels, j, old, new) for j in range(new)]
    )


def mean_of_area(pixels: np.ndarray, j: int, old: int, new: int) -> np.ndarray:
    """New pixel j reaches from j·old/new to (j + 1)·old/new; old pixel i from i to i + 1."""
    total = np.zeros(pixels.shape[1])
    for i in range(old):
        shared = min((j + 1) * old / new, i + 1) - max(j * old / new, i)
        total += max(0.0, shared) * pixels[i]
    return total / (old / new)


def between(pixels: np.ndarray, j: int, old: int, new: int) -> np.ndarray:
    """The middle of new pixel j lies between the middles of two old ones, or beyond the last."""
    place = (j + 0.5) * old / new - 0.5
    place = min(max(place, 0.0), old - 1.0)
    left = min(int(place), old - 1)
    right = min(left + 1, old - 1)
    return (1 - (place - left)) * pixels[left] + (place - left) * pixels[right]
