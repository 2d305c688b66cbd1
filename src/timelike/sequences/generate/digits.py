"""Videos of moving digits with known positions."""

from __future__ import annotations

from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_bool, check_choice, check_float, check_int, check_range
from ...core.random import RandomState, check_random_state
from ..container import Sequences
from .bounces import Array, bounce_paths, integer_velocities, inward_rule, random_directions, reflect_paths
from .digit_images import load_digit_images, resize_digits
from .rasterization import check_pixel_dtype, rasterize_digits

_MOST_BOUNCES = 100_000  # some seconds
_MOST_IN_ORDERS = 5  # digits: a sixth would make 720 videos of each
_FASTEST = 4 / 64  # of the frame, per frame: the authors' data have whole velocities up to 4 in frames of 64 pixels


class MovingDigits(NamedTuple):
    """The result of `moving_digits`.

    `sequences` of frames (1, size, size); `positions` (n, time, digit, 2) the true row and column of every digit's
    upper left corner, in pixels; `labels` (n, digit) which digits they are; `images` (n, digit) which images of the
    source; `patches` (n, digit, height, width) these images; `subpixel`, whether they were drawn between pixels.
    """

    sequences: Sequences
    positions: NDArray[np.float64]
    labels: NDArray[Any]
    images: NDArray[np.int64]
    patches: NDArray[np.float32]
    subpixel: bool = True

    def swap(self, dynamics_of: MovingDigits) -> NDArray[Any]:
        """The ground truth of a content swap: frames (order, n, time, 1, size, size) of these digits on other paths.

        The assignment of several digits to paths is undefined, so there is a ground truth for each order, two for two
        digits. For every item, the one closest to the forecast by the score in question counts (Franceschi's thesis,
        2022, C.4.3); `score.best_of_n` does this. There are as many frames as in `dynamics_of`; `model.swap` forecasts
        those after the conditioning frames.

        >>> one, other = (moving_digits(4, 15, size=32, random_state=seed) for seed in (0, 1))
        >>> one.swap(other)[:, :, 5:].shape
        (2, 4, 10, 1, 32, 32)
        """
        if not isinstance(dynamics_of, MovingDigits):
            raise TypeError(f"dynamics_of is a {type(dynamics_of).__name__}: expected what moving_digits gives")
        n_digits, frame = self.patches.shape[1], self.sequences.shape[2:]
        there = (len(dynamics_of.positions), dynamics_of.positions.shape[2], dynamics_of.sequences.shape[2:])
        if there != (len(self.patches), n_digits, frame):
            raise ValueError(
                f"dynamics_of has {there[0]} videos of {there[1]} digits in frames {there[2]}: expected as many as "
                f"here, {len(self.patches)} of {n_digits} in {frame}"
            )
        if dynamics_of.patches.shape[2:] != self.patches.shape[2:]:
            here, other = (" × ".join(map(str, side.patches.shape[2:])) for side in (self, dynamics_of))
            raise ValueError(
                f"dynamics_of has digits of {other} pixels: expected the size of those here, {here}, or they would "
                "turn around before a wall or beyond it; make both with one digit_size"
            )
        if n_digits > _MOST_IN_ORDERS:
            raise ValueError(f"{n_digits} digits have too many orders: use rasterize_digits with the order you want")
        rules: dict[str, Any] = {"size": frame[-1], "subpixel": dynamics_of.subpixel, "dtype": self.sequences.dtype}
        orders = permutations(range(n_digits))
        return np.stack([rasterize_digits(self.patches[:, order], dynamics_of.positions, **rules) for order in orders])


def moving_digits(
    n: int = 100,
    length: int = 20,
    *,
    n_digits: int = 2,
    size: int = 64,
    digit_size: int | None = None,
    speed: float | tuple[float, float] | str = (2.0, 5.0),
    stochastic: bool = False,
    interval: float = 1.0,
    split: str = "train",
    digits: Any = None,
    repeat: bool = True,
    subpixel: bool = True,
    dtype: Any = np.float32,
    random_state: RandomState = None,
) -> MovingDigits:
    """Handwritten digits that move in straight lines in a square and bounce off its walls.

    Bounces happen at the exact time and place, so a path does not depend on the frame rate (Franceschi's thesis, 2022,
    B.2.2, correcting Denton & Fergus 2018). They are mirror-like; with `stochastic`, each bounce draws a new direction
    and speed. Where digits overlap, their brightness adds up to at most 1.

    Parameters
    ----------
    size, digit_size : int
        Sizes of a frame and of a digit in pixels; by default, a digit has 28/64 of the frame's size.
    speed : float, (low, high) or "integer"
        Pixels per unit of time, in any direction; a frame is taken every `interval`. "integer" is the data of the
        thesis, for rows beside its tables: digits start at whole pixels, the velocity along each axis is any whole
        number from −4 to 4 (in other sizes than 64 up to size/16, rounded, at least 1), and so is a new one after a
        bounce, turned inwards. Digits may thus stand still, glide along a wall, or be fast along the diagonals. They
        fly between whole pixels too where bounces are random, exactly as otherwise, but are drawn at the nearest whole
        ones, which are what `positions` holds.
    split : {"train", "test"}
        Which images are used: no image is in both.
    digits : None, path or (images, labels)
        scikit-learn's digits (8 × 8, interpolated), a `.npz` with `X_train`, `y_train`, `X_test`, `y_test`, a folder
        with MNIST's four idx files, or arrays: integers up to 255 or numbers up to 1. Of the first and the last, the
        final fifth is for testing.
    repeat : bool
        Whether an image may be drawn several times. Those of the thesis's test videos are not.
    subpixel : bool
        Draw between pixels by linear interpolation; `False` rounds positions, as Moving MNIST does.
    dtype : float32, float64 or uint8
        Brightness up to 1, or up to 255.

    >>> made = moving_digits(n=2, length=5, size=32, random_state=0)
    >>> made.sequences
    Sequences(2 sequences, length 5, frames (1, 32, 32), float32)
    >>> made.positions.shape, made.labels.shape
    ((2, 5, 2, 2), (2, 2))
    >>> moving_digits(n=1, length=3, n_digits=1, speed="integer", random_state=1).positions[0, :, 0]
    array([[18., 27.],
           [22., 23.],
           [26., 19.]])
    """
    n, length, n_digits = check_int(n, "n", 1), check_int(length, "length", 1), check_int(n_digits, "n_digits", 1)
    size, dtype = check_int(size, "size", 8), check_pixel_dtype(dtype)
    digit_size = max(1, round(size * 28 / 64)) if digit_size is None else check_int(digit_size, "digit_size", 1)
    if digit_size >= size:
        raise ValueError(f"digit_size={digit_size}, size={size}: expected digits smaller than the frame")
    speeds = None if isinstance(speed, str) and speed == "integer" else _check_speeds(speed)
    interval, repeat = check_float(interval, "interval", above=0.0), check_bool(repeat, "repeat")
    source, names, white = load_digit_images(digits, check_choice(split, "split", ("train", "test")))
    rng = check_random_state(random_state)
    images = _sample_images(len(source), n, n_digits, repeat, rng)
    patches = resize_digits(source[images] / white, digit_size).clip(0, 1).astype(np.float32)
    times = interval * np.arange(length, dtype=np.float64)
    paths = _simulate_paths(n * n_digits, size - digit_size, speeds, _max_speed(size), times, stochastic, rng)
    positions = paths.reshape(n, n_digits, length, 2).swapaxes(1, 2)
    frames = rasterize_digits(patches, positions, size=size, subpixel=subpixel, dtype=dtype)
    return MovingDigits(Sequences(frames), positions, names[images], images, patches, bool(subpixel))


def _check_speeds(speed: Any) -> tuple[float, float]:
    if isinstance(speed, str):
        raise ValueError(f"speed={speed!r}: expected a number, (low, high) or 'integer'")
    return check_range(speed, "speed", above=0.0)


def _max_speed(size: int) -> int:
    return max(1, round(_FASTEST * size))


def _sample_images(there: int, n: int, n_digits: int, repeat: bool, rng: np.random.Generator) -> NDArray[np.int64]:
    if repeat:
        return rng.integers(there, size=(n, n_digits))
    if n * n_digits > there:
        raise ValueError(
            f"n={n} and n_digits={n_digits} need {n * n_digits} pictures of {there} with repeat=False: use fewer "
            "videos, or repeat=True"
        )
    return rng.permutation(there)[: n * n_digits].reshape(n, n_digits)


def _simulate_paths(
    n: int,
    limit: int,
    speeds: tuple[float, float] | None,
    fastest: int,
    times: Array,
    stochastic: bool,
    rng: np.random.Generator,
) -> Array:
    """Upper left corners (n, time, 2); in integers if no speeds are given."""
    if speeds is None:
        start, draw = rng.integers(limit + 1, size=(n, 2)).astype(np.float64), integer_velocities(fastest, rng)
    else:
        start, draw = rng.uniform(0, limit, size=(n, 2)), random_directions(speeds, rng)
    velocity = draw(n)
    if stochastic:
        _refuse_many_bounces(speeds[1] if speeds else fastest, times[-1], limit)
        paths = bounce_paths(start, velocity, limit, times, inward_rule(draw))
    else:
        paths = reflect_paths(start, velocity, limit, times)
    # nine digits first: halves that were computed from thirds are still rounded as halves are
    return np.round(np.round(paths, 9)) if speeds is None else paths


def _refuse_many_bounces(speed: float, duration: float, limit: float) -> None:
    bounces = speed * duration / limit
    if bounces > _MOST_BOUNCES:
        raise ValueError(
            f"speed={speed:g} for {duration:g} units of time makes {bounces:.2g} bounces: expected at most "
            f"{_MOST_BOUNCES} with stochastic=True; use fewer frames, a shorter interval or a lower speed"
        )
