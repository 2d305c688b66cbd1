"""Moving digits: videos of which everything is known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arguments import RandomState, generator, one_of, real, span, whole
from ..container import Sequences
from .bouncing import bounced, inwards, random_velocities, reflected
from .digit_images import digit_images, resized

_MOST_BOUNCES = 100_000  # some seconds


class MovingDigits(NamedTuple):
    """What `moving_digits` made.

    `sequences` of frames (1, size, size); `positions` (n, time, digit, 2) the true row and column of every digit's
    upper left corner, in pixels; `labels` (n, digit) which digits they are; `images` (n, digit) which pictures of the
    source; `patches` (n, digit, height, width) these pictures, so that `draw_digits` can draw them along other paths.
    """

    sequences: Sequences
    positions: NDArray[np.float64]
    labels: NDArray[Any]
    images: NDArray[np.int64]
    patches: NDArray[np.float32]


def moving_digits(
    n: int = 100,
    length: int = 20,
    *,
    n_digits: int = 2,
    size: int = 64,
    digit_size: int | None = None,
    speed: float | tuple[float, float] = (2.0, 5.0),
    stochastic: bool = False,
    interval: float = 1.0,
    split: str = "train",
    digits: Any = None,
    subpixel: bool = True,
    dtype: Any = np.float32,
    random_state: RandomState = None,
) -> MovingDigits:
    """Handwritten digits that fly straight in a square and bounce off its walls.

    Bounces happen at the exact time and place, so a path does not depend on the frame rate (Franceschi's thesis, 2022,
    B.2.2, correcting Denton & Fergus 2018). They are mirror-like, or, with `stochastic`, at each a new direction and
    speed are drawn. Where digits overlap their brightness adds up to at most 1.

    Parameters
    ----------
    size, digit_size : int
        Pixels of a frame and of a digit; a digit has 28/64 of the frame's size unless told.
    speed : float or (low, high)
        Pixels per unit of time; a frame is taken every `interval`.
    split : {"train", "test"}
        Which pictures are used: no picture is in both.
    digits : None, path or (images, labels)
        scikit-learn's digits (8 × 8, interpolated), a `.npz` with `X_train`, `y_train`, `X_test`, `y_test`, a folder
        with MNIST's four idx files, or arrays: integers up to 255 or numbers up to 1. Of the first and the last, the
        final fifth is for testing.
    subpixel : bool
        Draw between pixels by linear interpolation; `False` rounds positions, as Moving MNIST does.
    dtype : float32, float64 or uint8
        Brightness up to 1, or up to 255.

    >>> made = moving_digits(n=2, length=5, size=32, random_state=0)
    >>> made.sequences
    Sequences(2 sequences, length 5, frames (1, 32, 32), float32)
    >>> made.positions.shape, made.labels.shape
    ((2, 5, 2, 2), (2, 2))
    """
    n, length, n_digits = whole(n, "n", 1), whole(length, "length", 1), whole(n_digits, "n_digits", 1)
    size, dtype = whole(size, "size", 8), _dtype(dtype)
    digit_size = max(1, round(size * 28 / 64)) if digit_size is None else whole(digit_size, "digit_size", 1)
    if digit_size >= size:
        raise ValueError(f"digit_size={digit_size}, size={size}: expected digits smaller than the frame")
    speeds, interval = span(speed, "speed", above=0.0), real(interval, "interval", above=0.0)
    source, names, white = digit_images(digits, one_of(split, "split", ("train", "test")))
    rng = generator(random_state)
    images = rng.integers(len(source), size=(n, n_digits))
    patches = resized(source[images] / white, digit_size).clip(0, 1).astype(np.float32)
    limit, times = float(size - digit_size), interval * np.arange(length, dtype=np.float64)
    start = rng.uniform(0, limit, size=(n * n_digits, 2))
    velocity = random_velocities(n * n_digits, speeds, rng)
    if stochastic:
        _refuse_many(speeds[1], interval, length, limit)
        paths = bounced(start, velocity, limit, times, inwards(speeds, rng))
    else:
        paths = reflected(start, velocity, limit, times)
    positions = paths.reshape(n, n_digits, length, 2).swapaxes(1, 2)
    frames = draw_digits(patches, positions, size=size, subpixel=subpixel, dtype=dtype)
    return MovingDigits(Sequences(frames), positions, names[images], images, patches)


def _refuse_many(speed: float, interval: float, length: int, limit: float) -> None:
    bounces = speed * interval * (length - 1) / limit
    if bounces > _MOST_BOUNCES:
        raise ValueError(
            f"speed={speed:g}, interval={interval:g} and length={length} make {bounces:.2g} bounces: expected at most "
            f"{_MOST_BOUNCES} with stochastic=True"
        )


def _dtype(dtype: Any) -> np.dtype[Any]:
    known = {name: np.dtype(name) for name in ("float32", "float64", "uint8")}
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = f"{dtype!r:.40}"
    if name not in known:
        raise ValueError(f"dtype={name}: expected float32, float64 or uint8")
    return known[name]


def draw_digits(
    patches: Any, positions: Any, *, size: int = 64, subpixel: bool = True, dtype: Any = np.float32
) -> NDArray[Any]:
    """Frames (n, time, 1, size, size) of given pictures (n, digit, height, width) at positions (n, time, digit, 2).

    With the pictures of one set and the positions of another it draws the truth of a content swap.

    >>> draw_digits(np.ones((1, 1, 2, 2)), [[[[0.0, 0.5]]]], size=4)[0, 0, 0]
    array([[0.5, 1. , 0.5, 0. ],
           [0.5, 1. , 0.5, 0. ],
           [0. , 0. , 0. , 0. ],
           [0. , 0. , 0. , 0. ]], dtype=float32)
    """
    patches, positions = np.asarray(patches, np.float32), np.asarray(positions, np.float64)
    size, kind = whole(size, "size", 1), _dtype(dtype)
    if (
        patches.ndim != 4
        or positions.ndim != 4
        or positions.shape != (len(patches), positions.shape[1], patches.shape[1], 2)
    ):
        raise ValueError(
            f"patches {patches.shape} and positions {positions.shape}: expected (n, digit, height, width) and "
            "(n, time, digit, 2)"
        )
    height, width = patches.shape[2:]
    if not subpixel:
        positions = np.round(positions)
    if positions.size and (positions.min() < 0 or (positions.max((0, 1, 2)) > [size - height, size - width]).any()):
        raise ValueError(
            f"positions run from {positions.min()} to {positions.max()}: digits leave a frame of size {size}"
        )
    frames = np.empty((*positions.shape[:2], 1, size, size), kind)
    for i in range(len(patches)):
        canvas = _drawn(patches[i], positions[i], size)
        frames[i, :, 0] = np.round(255 * canvas) if kind == np.uint8 else canvas
    return frames


def _drawn(patches: NDArray[np.float32], positions: NDArray[np.float64], size: int) -> NDArray[np.float32]:
    """One video (time, size, size)."""
    canvas = np.zeros((len(positions), size + 1, size + 1), np.float32)  # a row and a column for a share of nothing
    corner = np.floor(positions).astype(np.int64)
    share = (positions - corner).astype(np.float32)[..., None, None]
    frame = np.arange(len(positions))[:, None, None]
    for digit, patch in enumerate(patches):
        rows = corner[:, digit, 0, None, None] + np.arange(patch.shape[0] + 1)[:, None]
        columns = corner[:, digit, 1, None, None] + np.arange(patch.shape[1] + 1)
        down, right = share[:, digit, 0], share[:, digit, 1]
        tall = (1 - down) * np.pad(patch, ((0, 1), (0, 0))) + down * np.pad(patch, ((1, 0), (0, 0)))
        wide = (1 - right) * np.pad(tall, ((0, 0), (0, 0), (0, 1))) + right * np.pad(tall, ((0, 0), (0, 0), (1, 0)))
        canvas[frame, rows, columns] += wide
    return np.minimum(canvas[:, :size, :size], 1)
