"""Ctrl-C between two steps, never inside one."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_TWICE = 3.0  # seconds between two presses that belong together
_ended = -math.inf  # the moment at which Ctrl-C last ended a training


@contextmanager
def noticed() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets; a second Ctrl-C interrupts at once, as ever.

    Half an update would be neither the weights before nor those after, so the step is finished first. The second one
    may come when this training has ended and the next one of a search has begun, so it interrupts there too. A handler
    that somebody else has put up is left alone.
    """
    global _ended  # noqa: PLW0603
    asked = threading.Event()
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if asked.is_set() or time.monotonic() - _ended < _TWICE:
            raise KeyboardInterrupt
        asked.set()

    signal.signal(signal.SIGINT, handle)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if asked.is_set():
            _ended = time.monotonic()
