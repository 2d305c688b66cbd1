"""A seed → monotone time warps, for augmentations and generators alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WAVES = 4  # how many half-waves the speed of time may make over a sequence


def random_warps(n: int, length: int, strength: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Smooth increasing maps of [0, 1] onto itself at `length` even positions, (n, length).

    φ(u) = ∫₀ᵘ exp(s·g) / ∫₀¹ exp(s·g), where g is a random cosine series of unit variance: time runs faster and slower
    by factors of about exp(±s), never backwards. `strength=0` gives the identity.

    >>> random_warps(1, 3, 0.0, np.random.default_rng(0))
    array([[0. , 0.5, 1. ]])
    """
    u = np.linspace(0, 1, length)
    coefficients = rng.normal(size=(n, _WAVES)) * (strength / np.sqrt(_WAVES / 2))
    speed = np.exp(coefficients @ np.cos(np.pi * np.arange(1, _WAVES + 1)[:, None] * u))
    warps = np.zeros((n, length))
    np.cumsum(speed[:, 1:] + speed[:, :-1], axis=1, out=warps[:, 1:])  # the trapezoidal rule
    if length > 1:
        warps /= warps[:, -1:]
    return warps
