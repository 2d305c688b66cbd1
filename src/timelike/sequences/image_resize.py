"""Resizing of images: reduction by averaging over areas, enlargement by interpolation."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def resize_image(picture: NDArray[Any], size: tuple[int, int], *, average: bool = True) -> NDArray[Any]:
    """An image (height, width, channel) in another size (height, width), each side by itself.

    A side that shrinks is averaged over the area of a new pixel, parts of old pixels counting by their share, so that
    fine patterns become grey and no moiré; a side that grows, or without `average` any, is interpolated between the
    middles of pixels.

    >>> resize_image(np.float32([[[0], [1], [1], [0]]]), (1, 2)).ravel()
    array([0.5, 0.5], dtype=float32)
    >>> resize_image(np.array([[[0.0], [1.0], [1.0], [0.0], [0.0], [0.0]]]), (1, 2), average=False).ravel()
    array([1., 0.])
    """
    for axis, new in enumerate(size):
        if picture.shape[axis] != new:
            picture = _resize_axis(picture, axis, new, average)
    return picture


def _resize_axis(picture: NDArray[Any], axis: int, new: int, average: bool) -> NDArray[Any]:
    first = np.moveaxis(picture, axis, 0)
    weights = _resize_weights(len(first), new, average, picture.dtype)
    rows = weights @ first.reshape(len(first), -1)
    return np.moveaxis(np.asarray(rows).reshape(new, *first.shape[1:]), 0, axis)


@lru_cache(maxsize=32)
def _resize_weights(old: int, new: int, average: bool, dtype: Any) -> Any:
    """How much every old pixel counts in every new one, (new, old); rows sum to 1."""
    from scipy.sparse import csr_array

    place = np.arange(old)
    if average and new <= old:
        edges = np.arange(new + 1)[:, None] * old / new
        shared = np.minimum(edges[1:], place + 1) - np.maximum(edges[:-1], place)
        return csr_array((np.maximum(shared, 0) * new / old).astype(dtype))
    middle = np.clip((np.arange(new)[:, None] + 0.5) * old / new - 0.5, 0, old - 1)
    return csr_array(np.maximum(1 - np.abs(middle - place), 0).astype(dtype))
