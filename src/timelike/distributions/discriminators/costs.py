"""Costs of a generator, c(f) of the value f of a discriminator, one for every loss, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GeneratorCost:
    """c and c′, of an array of values."""

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]


def _identity(f: Floats) -> Floats:
    return f


def _negate(f: Floats) -> Floats:
    return -f


def _minus_one(f: Floats) -> Floats:
    return -np.ones_like(f)


def _double(f: Floats) -> Floats:
    return 2 * f


def _softplus_of_negative(f: Floats) -> Floats:
    return np.logaddexp(0.0, -f)  # −log σ(f), finite for any f


def _softplus_of_negative_slope(f: Floats) -> Floats:
    return -np.asarray(expit(-f))


def _saturating_value(f: Floats) -> Floats:
    return -np.logaddexp(0.0, f)  # log(1 − σ(f))


def _saturating_slope(f: Floats) -> Floats:
    return -np.asarray(expit(f))


IDENTITY = GeneratorCost(_identity, np.ones_like)
"""c(f) = f: IPM."""
NEGATIVE = GeneratorCost(_negate, _minus_one)
"""c(f) = −f: hinge."""
SQUARE = GeneratorCost(np.square, _double)
"""c(f) = f²: LSGAN."""
NON_SATURATING = GeneratorCost(_softplus_of_negative, _softplus_of_negative_slope)
"""c(f) = −log σ(f): vanilla, as in §6.3.1."""
SATURATING = GeneratorCost(_saturating_value, _saturating_slope)
"""c(f) = log(1 − σ(f)): vanilla, the first term of the game itself."""
