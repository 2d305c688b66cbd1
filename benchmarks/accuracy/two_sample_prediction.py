"""The power that is predicted from pilot samples, beside the share of rejections among fresh ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from timelike import distributions as ds

EFFECTS = {"shift of 0.3": (0.3, 1.0), "shift of 0.6": (0.6, 1.0), "spread × 1.5": (0.0, 1.5), "nothing": (0.0, 1.0)}
SIZES, PILOT, FEATURES, LEVEL, TARGET = (10, 20, 50, 100), 100, 3, 0.05, 0.8


def pair(effect: str, n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """n and n vectors, the second ones shifted or spread."""
    shift, spread = EFFECTS[effect]
    return rng.standard_normal((n, FEATURES)), shift + spread * rng.standard_normal((n, FEATURES))


def predicted(effect: str, seed: int) -> ds.Power:
    """By the power helper, from a pilot of 100 and 100."""
    x, y = pair(effect, PILOT, np.random.default_rng([seed, 21]))
    return ds.power(x, y, ds.RBF(), level=LEVEL, target=TARGET, random_state=seed)


def simulated(effect: str, n: int, repetitions: int) -> int:
    """How many of so many fresh pairs of samples are told apart."""
    test = ds.TwoSample(ds.RBF(), n_permutations=199, random_state=0)
    draws = (np.random.default_rng([seed, n, 22]) for seed in range(repetitions))
    return sum(bool(test.test(*pair(effect, n, rng)).p_value <= LEVEL) for rng in draws)


def compared(effect: str, pilots: int, repetitions: int) -> dict[str, Any]:
    """Both, for samples of every size; and how many each pilot says are needed."""
    helped = [predicted(effect, seed) for seed in range(pilots)]
    guesses = {str(n): [float(one.probability(n)) for one in helped] for n in SIZES}
    rejected = {str(n): simulated(effect, n, repetitions) for n in SIZES}
    known = {"needed": [one.n_required for one in helped], "target": TARGET}
    return {"predicted": guesses, "rejected": rejected, "repetitions": repetitions, "pilots": pilots} | known
