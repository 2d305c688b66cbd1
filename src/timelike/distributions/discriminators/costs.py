"""Costs of a generator, c(f) of the value f of a discriminator, one for every loss, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cost:
    """c and c′, of an array of values."""

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]


def _same(f: Floats) -> Floats:
    return f


def _negative(f: Floats) -> Floats:
    return -f


def _falling(f: Floats) -> Floats:
    return -np.ones_like(f)


def _twice(f: Floats) -> Floats:
    return 2 * f


def _softly(f: Floats) -> Floats:
    return np.logaddexp(0.0, -f)  # −log σ(f), finite for any f


def _softly_slope(f: Floats) -> Floats:
    return -np.asarray(expit(-f))


def _saturating(f: Floats) -> Floats:
    return -np.logaddexp(0.0, f)  # log(1 − σ(f))


def _saturating_slope(f: Floats) -> Floats:
    return -np.asarray(expit(f))


IDENTITY = Cost(_same, np.ones_like)
"""c(f) = f: IPM."""
NEGATIVE = Cost(_negative, _falling)
"""c(f) = −f: hinge."""
SQUARE = Cost(np.square, _twice)
"""c(f) = f²: LSGAN."""
NON_SATURATING = Cost(_softly, _softly_slope)
"""c(f) = −log σ(f): vanilla, as in §6.3.1."""
SATURATING = Cost(_saturating, _saturating_slope)
"""c(f) = log(1 − σ(f)): vanilla, the first term of the game itself."""
