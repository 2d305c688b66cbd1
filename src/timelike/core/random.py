"""Random generators and seeds from `random_state`: None, an integer, or a `numpy.random.Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_RESAMPLES = 10**8  # permutations or bootstrap samples: this many take days, and more is a mistake
RandomState = None | int | np.random.Generator


def check_random_state(random_state: RandomState) -> np.random.Generator:
    """The generator for `random_state`: a new one for None, a seeded one for an integer, a Generator unchanged."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        old = isinstance(random_state, np.random.RandomState)
        hint = "; make one with numpy.random.default_rng(random_state.randint(2**31))" if old else ""
        raise TypeError(
            f"random_state is a {type(random_state).__name__}: expected None, an integer or a numpy.random.Generator"
            + hint
        )
    if random_state < 0:
        raise ValueError(f"random_state={random_state}: expected a seed of at least 0")
    return np.random.default_rng(int(random_state))


def check_seed(value: Any, name: str) -> RandomState:
    """The value itself if it is None, an integer or a Generator."""
    check_random_state(value)  # raises the error
    seed: RandomState = value
    return seed


def sample_seed(random_state: RandomState) -> int:
    """One seed for a whole run, drawn from `random_state`.

    >>> sample_seed(0) == sample_seed(0), sample_seed(0) == sample_seed(1)
    (True, False)
    """
    return int(check_random_state(random_state).integers(2**62))


def spawn_kernel_rng(rng: np.random.Generator) -> np.random.Generator:
    """A generator for random kernels, separate from that of permutations: equal seeds then give equal kernels."""
    return np.random.default_rng(int(rng.integers(2**62)))
