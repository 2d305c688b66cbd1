"""Frames of images at given places: whole pixels, or shares of neighbouring ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...core.parameters import check_int
from ...core.validation.arrays import validate_array

_BLOCK = 2**18  # numbers drawn at once: a block stays in the cache, and 1000 videos need no second copy of themselves


def check_pixel_dtype(dtype: Any) -> np.dtype[Any]:
    """How a pixel is kept: up to 1 as a float, up to 255 as a byte."""
    dtypes = {name: np.dtype(name) for name in ("float32", "float64", "uint8")}
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = f"{dtype!r:.40}"
    if name not in dtypes:
        raise ValueError(f"dtype={name}: expected float32, float64 or uint8")
    return dtypes[name]


def rasterize_digits(
    patches: Any, positions: Any, *, size: int = 64, subpixel: bool = True, dtype: Any = np.float32
) -> NDArray[Any]:
    """Frames (n, time, 1, size, size) of given images (n, digit, height, width) at positions (n, time, digit, 2).

    Brightness adds up to at most 1 where images overlap.

    >>> rasterize_digits(np.ones((1, 1, 2, 2)), [[[[0.0, 0.5]]]], size=4)[0, 0, 0]
    array([[0.5, 1. , 0.5, 0. ],
           [0.5, 1. , 0.5, 0. ],
           [0. , 0. , 0. , 0. ],
           [0. , 0. , 0. , 0. ]], dtype=float32)
    """
    patches = validate_array(patches, "patches").astype(np.float32, copy=False)
    positions = validate_array(positions, "positions").astype(np.float64, copy=False)
    size, kind = check_int(size, "size", 1), check_pixel_dtype(dtype)
    if (
        patches.ndim != 4
        or positions.ndim != 4
        or positions.shape != (len(patches), positions.shape[1], patches.shape[1], 2)
    ):
        raise ValueError(
            f"patches {patches.shape} and positions {positions.shape}: expected (n, digit, height, width) and "
            "(n, time, digit, 2)"
        )
    if not subpixel:
        positions = np.round(positions)
    _refuse_outside(positions, patches.shape[2:], size)
    frames = np.empty((*positions.shape[:2], 1, size, size), kind)
    together = max(1, _BLOCK // max(1, positions.shape[1] * size**2))
    for first in range(0, len(patches), together):
        block = slice(first, first + together)
        canvas = np.minimum(_rasterize(patches[block], positions[block], size), 1)
        frames[block, :, 0] = np.round(255 * canvas) if kind == np.uint8 else canvas
    return frames


def _refuse_outside(positions: NDArray[np.float64], digit: tuple[int, ...], size: int) -> None:
    if not positions.size:
        return
    inside = (positions >= 0) & (positions <= [size - digit[0], size - digit[1]])
    if not inside.all():  # also where a position is nan
        raise ValueError(
            f"positions run from {positions.min()} to {positions.max()}: digits leave a frame of size {size}"
        )


def _rasterize(patches: NDArray[np.float32], positions: NDArray[np.float64], size: int) -> NDArray[np.float32]:
    """Videos (n, time, size, size), brighter than 1 where images overlap."""
    corner = np.floor(positions).astype(np.intp)
    share = (positions - corner).astype(np.float32)
    shared = bool(share.any())  # an image between pixels is a row and a column larger, which may be those of nothing
    height, width = (side + shared for side in patches.shape[2:])
    n, length, n_digits, _ = positions.shape
    canvas = np.zeros((n * length, size + shared, size + shared), np.float32)
    windows = sliding_window_view(canvas, (height, width), axis=(1, 2), writeable=True)  # type: ignore[call-overload]
    frame = np.arange(n * length).reshape(n, length)
    for digit in range(n_digits):
        picture = patches[:, digit, None]
        if shared:
            picture = _shift_subpixel(picture, share[:, :, digit, :, None, None])
        windows[frame, corner[:, :, digit, 0], corner[:, :, digit, 1]] += picture  # every frame has a window of its own
    return canvas[:, :size, :size].reshape(n, length, size, size)


def _shift_subpixel(picture: NDArray[np.float32], share: NDArray[np.float32]) -> NDArray[np.float32]:
    """Images (n, 1, height, width) moved down and to the right by fractions (n, time, 2, 1, 1) of a pixel."""
    down, right = share[:, :, 0], share[:, :, 1]
    n, length, (height, width) = len(share), share.shape[1], picture.shape[2:]
    tall = np.zeros((n, length, height + 1, width), np.float32)
    np.multiply(1 - down, picture, out=tall[:, :, :-1])
    tall[:, :, 1:] += down * picture
    wide = np.zeros((n, length, height + 1, width + 1), np.float32)
    np.multiply(1 - right, tall, out=wide[..., :-1])
    wide[..., 1:] += right * tall
    return wide
