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
        with np.errstate(over="ignore"):
            noisy = (x + self.std * rng.normal(size=x.shape)).astype(x.dtype)
        return _finite(noisy, self.std)


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
        with np.errstate(over="ignore", invalid="ignore"):
            factors = np.exp(self.std * rng.normal(size=(x.shape[1], *[1] * (x.ndim - 2))))
            scaled = (x * factors).astype(x.dtype)
        return _finite(np.where(x == 0, x, scaled), self.std)


def _finite(values: NDArray[Any], std: float) -> Augmented:
    if np.isinf(values).any():
        raise ValueError(
            f"std={std} makes values infinite in {values.dtype}: use a smaller one, or standardize() first"
        )
    return Augmented(values, np.eye(len(values)))
