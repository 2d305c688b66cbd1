"""Augmentations of values: time stays, and the alignment is the identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import real
from .base import Augmentation, Augmented


@dataclass(frozen=True, kw_only=True)
class Jitter(Augmentation):
    """Independent Gaussian noise of standard deviation `std` on every value. The alignment is the identity.

    >>> Jitter(std=0.0)([1.0, 2.0], random_state=0).values
    array([1., 2.])
    """

    std: float = 0.05

    def __post_init__(self) -> None:
        real(self.std, "std", 0.0)

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> Augmented:
        noisy = x + self.std * rng.normal(size=x.shape)
        return Augmented(noisy.astype(x.dtype), np.eye(len(x)))


@dataclass(frozen=True, kw_only=True)
class Scaling(Augmentation):
    """Every channel times a random factor exp(std·z), z standard normal. The alignment is the identity.

    >>> Scaling(std=0.0)([1.0, 2.0], random_state=0).values
    array([1., 2.])
    """

    std: float = 0.1

    def __post_init__(self) -> None:
        real(self.std, "std", 0.0)

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> Augmented:
        factors = np.exp(self.std * rng.normal(size=(x.shape[1], *[1] * (x.ndim - 2))))
        return Augmented((x * factors).astype(x.dtype), np.eye(len(x)))
