"""The clock of trainings, and the start of the current `fit`, from which time budgets count."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=time.monotonic)
_fit_start: ContextVar[float | None] = ContextVar("began", default=None)


def now() -> float:
    """Seconds on a monotonic clock."""
    return _clock.get()()


def fit_start() -> float:
    """The start of the current `fit`; the current time outside of one."""
    start = _fit_start.get()
    return now() if start is None else start


@contextmanager
def fit_timer() -> Iterator[None]:
    """Mark the start of a `fit`, from which time budgets count; a nested `fit` has its own start."""
    token = _fit_start.set(now())
    try:
        yield
    finally:
        _fit_start.reset(token)


@contextmanager
def use_clock(clock: Callable[[], float]) -> Iterator[None]:
    """Trainings of this thread use another clock inside, so that tests need not wait.

    >>> with use_clock(lambda: 7.0):
    ...     now()
    7.0
    """
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)
