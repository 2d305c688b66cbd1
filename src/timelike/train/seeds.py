"""Seeds for every step of a run, and contexts that restore the global generators.

Each step has its own seed, made from the run's seed and the number of the step, so no generator state is stored: a run
that resumes at step 1000 draws the same numbers as without a pause, and more frequent validation changes no weight.
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
_BATCHES, _STEP, _SCORE = 0, 1, 2  # the purpose of the draws, the first word after the seed


def batch_generator(seed: int, epoch: int) -> np.random.Generator:
    """The generator for the batches of one epoch; the same in every process."""
    return np.random.default_rng([seed, _BATCHES, epoch])


def seed_step(seed: int, step: int, rank: int) -> None:
    """Seed the global generators (dropout, noise) for one step, differently in every process."""
    _seed_generators(seed, _STEP, step, rank)


def seed_validation(seed: int) -> None:
    """Seed the global generators for a validation: the same every time, so that scores can be compared."""
    _seed_generators(seed, _SCORE)


@contextmanager
def use_seed(random_state: RandomState) -> Iterator[None]:
    """Seed the global generators of torch, numpy and Python inside, and restore them afterwards.

    Create modules in this context to make their initial weights reproducible.

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
    """Restore the global generators afterwards, whatever is drawn or seeded inside.

    All threads share these generators, so threads that seed them wait for each other.
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
    """Like `torch.manual_seed`, which takes a millisecond without a GPU and keeps a record of every call."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed)
    if torch.backends.mps.is_available():
        torch.mps.manual_seed(seed)
