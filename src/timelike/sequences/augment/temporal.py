"""Augmentations of time: the new values are `alignment @ x`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.parameters import check_float, check_int
from .base import Matrix, TemporalAugmentation
from .warps import random_warps


@dataclass(frozen=True, kw_only=True)
class Blur(TemporalAugmentation):
    """Random blur: a moving weighted average with a random kernel that falls off from its middle.

    The size is drawn from `sizes` (odd; those longer than the sequence are left out, and where none is left the longest
    odd size that fits is used), the weights uniformly from (0, 1], sorted to decrease on both sides and scaled to sum
    1, the stride from `strides`. No padding, so the sequence gets shorter (Su & Wen, TAP, ICLR 2022, appendix A.1).

    >>> new = Blur(sizes=(3,), strides=(1,))([0.0, 0.0, 1.0, 0.0, 0.0], random_state=0)
    >>> len(new.values), new.alignment.shape
    (3, (3, 5))
    >>> bool(np.allclose(new.values, new.alignment @ [0, 0, 1, 0, 0]))
    True
    """

    sizes: tuple[int, ...] = (3, 5, 7)
    strides: tuple[int, ...] = (1, 2, 3)

    def __post_init__(self) -> None:
        for name in ("sizes", "strides"):
            entries = getattr(self, name)
            if not isinstance(entries, tuple) or not entries:
                raise TypeError(f"{name}={entries!r}: expected a tuple of integers")
            for entry in entries:
                check_int(entry, name, 1)
        if any(size % 2 == 0 for size in self.sizes):
            raise ValueError(f"sizes={self.sizes}: expected odd sizes, which have a middle")

    def _alignment(self, length: int, rng: np.random.Generator) -> Matrix:
        fitting = [size for size in self.sizes if size <= length] or [length - 1 + length % 2]
        size, stride = int(rng.choice(fitting)), int(rng.choice(self.strides))
        weights = 1 - rng.uniform(size=size)
        top, half = int(np.argmax(weights)), size // 2
        sides = np.delete(weights, top)
        kernel = np.concatenate([np.sort(sides[:half]), weights[[top]], np.sort(sides[half:])[::-1]])
        starts = np.arange(0, length - size + 1, stride)
        alignment = np.zeros((len(starts), length))
        alignment[np.arange(len(starts))[:, None], starts[:, None] + np.arange(size)] = kernel / kernel.sum()
        return alignment


@dataclass(frozen=True, kw_only=True)
class Merge(TemporalAugmentation):
    """Random merge: the sequence is cut into L′ stretches at random and each becomes one weighted mean.

    L′ is drawn from the integers in [shortest·L, longest·L], at least 1; the weights inside a stretch are the softmax
    of standard normal numbers, or equal with `even=True` (Su & Wen, TAP, ICLR 2022, appendix A.1).

    >>> new = Merge(even=True)([0.0, 1.0, 2.0, 3.0], random_state=5)
    >>> new.values
    array([0. , 1. , 2.5])
    >>> new.alignment
    array([[1. , 0. , 0. , 0. ],
           [0. , 1. , 0. , 0. ],
           [0. , 0. , 0.5, 0.5]])
    """

    shortest: float = 0.5
    longest: float = 0.8
    even: bool = False

    def __post_init__(self) -> None:
        _check_shares(self.shortest, self.longest)

    def _alignment(self, length: int, rng: np.random.Generator) -> Matrix:
        n_parts = _sample_length(length, self.shortest, self.longest, rng)
        cuts = np.sort(rng.permutation(length - 1)[: n_parts - 1]) + 1
        part = np.zeros(length, np.int64)
        part[cuts] = 1
        part = np.cumsum(part)
        weights = np.ones(length) if self.even else np.exp(rng.normal(size=length))
        alignment = np.zeros((n_parts, length))
        alignment[part, np.arange(length)] = weights
        return np.asarray(alignment / alignment.sum(1, keepdims=True))


@dataclass(frozen=True, kw_only=True)
class RandomCrop(TemporalAugmentation):
    """A random stretch of L′ steps, L′ drawn from the integers in [shortest·L, longest·L], at least 1.

    >>> RandomCrop(shortest=0.5, longest=0.5)([0.0, 1.0, 2.0, 3.0], random_state=0).values
    array([2., 3.])
    """

    shortest: float = 0.6
    longest: float = 1.0

    def __post_init__(self) -> None:
        _check_shares(self.shortest, self.longest)

    def _alignment(self, length: int, rng: np.random.Generator) -> Matrix:
        kept = _sample_length(length, self.shortest, self.longest, rng)
        start = int(rng.integers(length - kept + 1))
        return np.eye(length)[start : start + kept]


def _check_shares(shortest: float, longest: float) -> None:
    for name, share in (("shortest", shortest), ("longest", longest)):
        check_float(share, name, above=0.0, most=1.0)
    if shortest > longest:
        raise ValueError(f"shortest={shortest}, longest={longest}: expected shortest to be at most longest")


def _sample_length(length: int, shortest: float, longest: float, rng: np.random.Generator) -> int:
    # 0.8 · 5 and its like round to either side of an integer
    least, most = int(np.ceil(shortest * length - 1e-9)), int(np.floor(longest * length + 1e-9))
    most = max(most, 1)
    return int(rng.integers(min(least, most), most + 1))


@dataclass(frozen=True, kw_only=True)
class TimeWarp(TemporalAugmentation):
    """Time runs faster and slower, smoothly: x(φ(t)) by linear interpolation, φ increasing, the ends and length kept.

    The speed dφ/dt is the exponential of a random smooth curve of standard deviation `strength`, at most 2.

    >>> TimeWarp(strength=0.0)([0.0, 1.0, 4.0], random_state=0).values
    array([0., 1., 4.])
    """

    strength: float = 0.3

    def __post_init__(self) -> None:
        check_float(self.strength, "strength", 0.0, 2.0)

    def _alignment(self, length: int, rng: np.random.Generator) -> Matrix:
        positions = random_warps(1, length, self.strength, rng)[0] * (length - 1)
        nearest = np.round(positions)
        # on a step up to rounding: its neighbour, perhaps missing, has no share
        positions = np.where(np.abs(positions - nearest) < 1e-9, nearest, positions)
        low = np.minimum(positions.astype(np.int64), max(length - 2, 0))
        share, rows = positions - low, np.arange(length)
        alignment = np.zeros((length, length))
        alignment[rows, low] = 1 - share
        if length > 1:
            alignment[rows, low + 1] = share
        return alignment
