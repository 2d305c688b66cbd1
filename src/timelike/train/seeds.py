"""Seeds for every moment of a run, and the global generators left as they were found.

Each step has a seed of its own, made from the run's seed and the number of the step. So nothing needs to remember the
state of a generator: a run that continues at step 1000 draws what it would have drawn without a pause, and validating
more often changes no weight.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy as np
import torch

from ..core.random import sample_seed
from ..sequences.sampling import RandomState

_generators_lock = RLock()
_BATCHES, _STEP, _SCORE = 0, 1, 2  # the first word after the seed: what is drawn for


def batch_generator(seed: int, epoch: int) -> np.random.Generator:
    """What the batches of one epoch are drawn with; the same in every process."""
    return np.random.default_rng([seed, _BATCHES, epoch])


def seed_step(seed: int, step: int, rank: int) -> None:
    """Seed the global generators (dropout, noise) for one step; other numbers in every process."""
    _seed_generators(seed, _STEP, step, rank)


def seed_validation(seed: int) -> None:
    """Seed the global generators for a validation: the same every time, so that scores can be compared."""
    _seed_generators(seed, _SCORE)


@contextmanager
def use_seed(random_state: RandomState) -> Iterator[None]:
    """Inside, torch, numpy and Python draw from `random_state`; afterwards they are as if nothing had been drawn.

    Make modules in it, so that their first weights are repeatable.

    >>> with use_seed(0):
    ...     first = torch.nn.Linear(3, 2)
    >>> with use_seed(0):
    ...     again = torch.nn.Linear(3, 2)
    >>> torch.equal(first.weight, again.weight)
    True
    """
    with preserve_generators():
        _seed_generators(sample_seed(random_state))
        yield


@contextmanager
def preserve_generators() -> Iterator[None]:
    """Whatever is drawn or seeded inside, the global generators are afterwards as before.

    There is one of each for all threads, so threads that seed them wait for each other.
    """
    with _generators_lock:
        yield from _restore_generators()


def _restore_generators() -> Iterator[None]:
    legacy, plain = np.random.get_state(), random.getstate()  # noqa: NPY002
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        np.random.set_state(legacy)  # noqa: NPY002
        random.setstate(plain)


def _seed_generators(*words: int) -> None:
    first, second, third = np.random.SeedSequence(words).generate_state(3).tolist()
    _seed_torch(first)
    np.random.seed(second)  # noqa: NPY002
    random.seed(third)


def _seed_torch(seed: int) -> None:
    """As `torch.manual_seed`, which on a machine without a GPU takes a millisecond and remembers every call."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed)
    if torch.backends.mps.is_available():
        torch.mps.manual_seed(seed)
