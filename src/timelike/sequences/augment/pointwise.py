"""Augmentations of values: time stays, and the alignment is the identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float
from .base import Augmentation, AugmentedArray


@dataclass(frozen=True, kw_only=True)
class Jitter(Augmentation):
    """Independent Gaussian noise of standard deviation `std` on every value. The alignment is the identity.

    >>> Jitter(std=0.0)([1.0, 2.0], random_state=0).values
    array([1., 2.])
    """

    std: float = 0.05

    def __post_init__(self) -> None:
        check_float(self.std, "std", 0.0)

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> AugmentedArray:
        with np.errstate(over="ignore"):
            noisy = (x + self.std * rng.normal(size=x.shape)).astype(x.dtype)
        return _check_finite(noisy, self.std)


@dataclass(frozen=True, kw_only=True)
class RandomScaling(Augmentation):
    """Every channel times a random factor exp(std·z), z standard normal. The alignment is the identity.

    >>> RandomScaling(std=0.0)([1.0, 2.0], random_state=0).values
    array([1., 2.])
    """

    std: float = 0.1

    def __post_init__(self) -> None:
        check_float(self.std, "std", 0.0)

    def _apply(self, x: NDArray[Any], rng: np.random.Generator) -> AugmentedArray:
        with np.errstate(over="ignore", invalid="ignore"):
            factors = np.exp(self.std * rng.normal(size=(x.shape[1], *[1] * (x.ndim - 2))))
            scaled = (x * factors).astype(x.dtype)
        return _check_finite(np.where(x == 0, x, scaled), self.std)


def _check_finite(values: NDArray[Any], std: float) -> AugmentedArray:
    if np.isinf(values).any():
        raise ValueError(
            f"std={std} makes values infinite in {values.dtype}: use a smaller one, or standardize() first"
        )
    return AugmentedArray(values, np.eye(len(values)))
