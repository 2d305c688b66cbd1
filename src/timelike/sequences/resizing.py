"""Pictures of another size: a new pixel is the mean of the area that it covers, or lies between its neighbours."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def resized(picture: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    """A picture (height, width, channel) in another size (height, width), each side by itself.

    A side that shrinks is averaged over the area of a new pixel, parts of old pixels counting by their share, so that
    fine patterns become grey and no moiré; a side that grows is interpolated between the middles of pixels.

    >>> resized(np.float32([[[0], [1], [1], [0]]]), (1, 2)).ravel()
    array([0.5, 0.5], dtype=float32)
    """
    height, width, channels = picture.shape
    tall, wide = size
    if (height, width) == size:
        return picture
    rows = _weights(height, tall) @ picture.reshape(height, width * channels)
    turned = rows.reshape(tall, width, channels).transpose(1, 0, 2).reshape(width, tall * channels)
    return np.asarray((_weights(width, wide) @ turned).reshape(wide, tall, channels).transpose(1, 0, 2))


@lru_cache(maxsize=32)
def _weights(old: int, new: int) -> Any:
    """How much every old pixel counts in every new one, (new, old); rows sum to 1."""
    from scipy.sparse import csr_array

    place = np.arange(old)
    if new <= old:
        edges = np.arange(new + 1)[:, None] * old / new
        shared = np.minimum(edges[1:], place + 1) - np.maximum(edges[:-1], place)
        return csr_array((np.maximum(shared, 0) * new / old).astype(np.float32))
    middle = np.clip((np.arange(new)[:, None] + 0.5) * old / new - 0.5, 0, old - 1)
    return csr_array(np.maximum(1 - np.abs(middle - place), 0).astype(np.float32))
