"""The data of the probes, and the few numbers that stand for an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import timelike as tl

Outputs = dict[str, list[float]]
TRAINING: dict[str, Any] = {"random_state": 0, "progress": False, "precision": "64-true"}


def summarize(values: ArrayLike) -> list[float]:
    """The root mean square of an array and a fixed projection of it, which sees signs and the order.

    >>> summarize([3.0, -3.0]) == summarize([-3.0, 3.0])
    False
    """
    flat = np.asarray(values, np.float64).ravel()
    weights = np.cos(1.0 + 1.7 * np.arange(flat.size))
    return [float(np.sqrt(np.mean(flat**2))), float(flat @ weights / np.sqrt(flat.size))]


def waves(count: int = 8, channels: int = 2, shortest: int = 8, seed: int = 0, *, equal: bool = False) -> tl.Sequences:
    """Noisy waves of two classes, slow and fast, of three lengths unless `equal`."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    lengths = [shortest + (0 if equal else 2 * (i % 3)) for i in range(count)]
    series = [
        np.sin(0.4 * (1 + label) * np.arange(length)[:, None] + rng.uniform(0, 6, channels))
        + 0.2 * rng.standard_normal((length, channels))
        for label, length in zip(labels, lengths, strict=True)
    ]
    return tl.Sequences(series, labels=labels, ids=np.arange(count))


def uneven_labels(count: int, classes: int) -> NDArray[np.int64]:
    """Classes of unequal sizes, mixed: of 12 items and 3 classes six, four and two.

    >>> np.bincount(uneven_labels(12, 3)).tolist()
    [6, 4, 2]
    """
    sizes = np.arange(classes, 0, -1)
    labels = np.repeat(np.arange(classes), np.floor(count * sizes / sizes.sum()).astype(int))
    labels = np.concatenate([labels, np.zeros(count - len(labels), labels.dtype)])
    return np.random.default_rng(count).permutation(labels)


def vectors(count: int, features: int = 3, shift: float = 0.0, seed: int = 0) -> NDArray[np.float64]:
    """Normal vectors around a mean."""
    return shift + np.random.default_rng([seed, count]).standard_normal((count, features))


def pictures(count: int, frames: int, size: int = 16, seed: int = 0) -> NDArray[np.float32]:
    """Clips (item, time, 1, size, size) of a bright spot that moves along a line."""
    rng = np.random.default_rng(seed)
    start, speed = rng.uniform(0.2, 0.5, (2, count, 1, 2)), rng.uniform(-0.03, 0.05, (count, 1, 2))
    place = start[0] + speed * np.arange(frames)[:, None]
    grid = np.linspace(0, 1, size)
    apart = (grid - place[..., :1]) ** 2, (grid - place[..., 1:]) ** 2
    spots = np.exp(-40 * (apart[0][..., :, None] + apart[1][..., None, :]))
    clips: NDArray[np.float32] = spots[:, :, None].astype(np.float32)
    return clips
