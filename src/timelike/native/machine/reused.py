"""Memory that is used again: fresh pages are cleared by the system, which takes a third of a long training step."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

_lent: ContextVar[Memory | None] = ContextVar("lent", default=None)
_ALONE = 2  # references to an array that nobody else holds: the attribute, and the argument of `getrefcount`


class Memory:
    """Room for the activations of one batch, held by who trains, so that it goes when the training is over.

    >>> memory = Memory()
    >>> with memory.lent():
    ...     first = room(1000)
    >>> address = first.ctypes.data
    >>> del first
    >>> with memory.lent():
    ...     second = room(900)
    >>> second.size, second.ctypes.data == address
    (900, True)
    """

    def __init__(self) -> None:
        self._numbers = np.empty(0, np.float32)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Inside, `room` takes from here."""
        token = _lent.set(self)
        try:
            yield
        finally:
            _lent.reset(token)

    def take(self, count: int) -> NDArray[Any]:
        """So many float32, not cleared; other memory while somebody still holds what was taken before."""
        if sys.getrefcount(self._numbers) > _ALONE:
            return np.empty(count, np.float32)
        if self._numbers.size < count:
            self._numbers = np.empty(0, np.float32)  # the old room first, or both would be there at once
            self._numbers = np.empty(count, np.float32)
        return self._numbers[:count]


def room(count: int) -> NDArray[Any]:
    """So many float32, not cleared, from the memory that is lent, if any is."""
    memory = _lent.get()
    return np.empty(count, np.float32) if memory is None else memory.take(count)
