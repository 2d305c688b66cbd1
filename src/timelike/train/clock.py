"""The clock of trainings, and when the fit began that a training is a part of: what comes before its loop counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=time.monotonic)
_fit_start: ContextVar[float | None] = ContextVar("began", default=None)


def now() -> float:
    """Seconds on a clock that never goes back."""
    return _clock.get()()


def fit_start() -> float:
    """When the fit of the model began that is being fitted; now, where none is."""
    start = _fit_start.get()
    return now() if start is None else start


@contextmanager
def fit_timer() -> Iterator[None]:
    """A fit begins here: a budget of time counts from now on. A fit within it has a beginning of its own."""
    token = _fit_start.set(now())
    try:
        yield
    finally:
        _fit_start.reset(token)


@contextmanager
def use_clock(clock: Callable[[], float]) -> Iterator[None]:
    """Inside, trainings of this thread go by another clock: tests need not wait.

    >>> with use_clock(lambda: 7.0):
    ...     now()
    7.0
    """
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)
