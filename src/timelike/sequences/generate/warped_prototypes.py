"""Classes of smooth curves seen through random time warps that are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float, check_int
from ...core.random import RandomState, check_random_state
from ..augment.augmentations import random_warps
from ..container import Sequences

_HARMONICS = 6


class WarpedSequences(NamedTuple):
    """The result of `warped_sequences`.

    `sequences` are labelled; `warps` (n, longest) holds the position in prototype time, 0 to longest − 1, of every step
    (NaN past the end of a shorter sequence); `prototypes` (class, longest, channel) the curves at whole positions.
    """

    sequences: Sequences
    warps: NDArray[np.float64]
    prototypes: NDArray[np.float64]


def warped_sequences(
    n: int = 100,
    length: int | tuple[int, int] = 100,
    *,
    classes: int = 2,
    channels: int = 1,
    noise: float = 0.1,
    warp: float = 0.3,
    random_state: RandomState = None,
) -> WarpedSequences:
    """Sequences x(t) = p_c(φ(t)) + noise: a random smooth prototype p of class c through a random increasing φ.

    p is a random cosine series of mean 0 and standard deviation 1 in every channel, evaluated exactly at φ(t), so the
    warps are the true alignment with the prototype. φ keeps the ends and its speed is the exponential of a smooth
    random curve of standard deviation `warp` (0 to 2). `length=(low, high)` draws a length for every sequence. Classes
    have equal sizes (up to one) and come in random order.

    >>> made = warped_sequences(n=6, length=50, classes=3, random_state=0)
    >>> made.sequences
    Sequences(6 sequences, length 50, 1 channel, float64, 3 classes)
    >>> made.warps.shape, made.prototypes.shape
    ((6, 50), (3, 50, 1))
    """
    n, classes, channels = check_int(n, "n", 1), check_int(classes, "classes", 1), check_int(channels, "channels", 1)
    noise, warp = check_float(noise, "noise", 0.0), check_float(warp, "warp", 0.0, 2.0)
    shortest, longest = _length_range(length)
    rng = check_random_state(random_state)
    series = _fourier_coefficients(classes, channels, longest, rng)
    labels = rng.permutation(np.arange(n) % classes)
    lengths = rng.integers(shortest, longest + 1, size=n)
    warps = np.full((n, longest), np.nan)
    for size in np.unique(lengths):
        rows = np.flatnonzero(lengths == size)
        warps[rows, :size] = random_warps(len(rows), size, warp, rng)
    steps = np.arange(longest) < lengths[:, None]
    values = _evaluate_series(series, np.repeat(labels, lengths), warps[steps])
    if noise:
        values += noise * rng.normal(size=values.shape)
    grid = np.linspace(0, 1, longest)
    curves = np.stack([_evaluate_series(series, np.full(longest, c), grid) for c in range(classes)])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return WarpedSequences(Sequences.from_packed(values, offsets, labels=labels), warps * (longest - 1), curves)


def _length_range(length: int | tuple[int, int]) -> tuple[int, int]:
    low, high = length if isinstance(length, tuple | list) and len(length) == 2 else (length, length)
    low, high = check_int(low, "length", 2), check_int(high, "length", 2)
    if low > high:
        raise ValueError(f"length={length}: expected (low, high) with low at most high")
    return low, high


def _fourier_coefficients(classes: int, channels: int, length: int, rng: np.random.Generator) -> NDArray[np.complex128]:
    """Coefficients a_k of Re Σ a_k exp(iπkt), k = 0 … K, (K + 1, class, channel), scaled on the grid of `length`."""
    decay = np.arange(1, _HARMONICS + 1)[:, None, None] ** -0.5
    shape = (_HARMONICS, classes, channels)
    a = decay * (rng.normal(size=shape) + 1j * rng.normal(size=shape))
    powers = np.exp(1j * np.pi * np.linspace(0, 1, length)) ** np.arange(1, _HARMONICS + 1)[:, None]
    curves = np.einsum("kcd,kt->cdt", a, powers).real
    mean, std = curves.mean(-1), curves.std(-1)
    return np.asarray(np.concatenate([-mean[None], a]) / std, np.complex128)


def _evaluate_series(
    series: NDArray[np.complex128], label: NDArray[np.int64], t: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The series of each label at its times, (time, channel): Horner's rule, so one exponential per time."""
    z = np.exp(1j * np.pi * t)
    values = np.empty((len(t), series.shape[2]))
    for c in range(series.shape[1]):
        rows = np.flatnonzero(label == c)
        now = z[rows]
        for channel, a in enumerate(series[:, c].T):
            total = np.full(len(rows), a[-1])
            for coefficient in a[-2::-1]:
                total *= now
                total += coefficient
            values[rows, channel] = total.real
    return values
