"""Interrupts of a comparison: Ctrl-C, and the alarm of a budget that is spent."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_AGAIN = 1.0  # seconds after which it rings again, where somebody has caught the first


class OutOfTime(BaseException):
    """The budget was spent while a method was at work; no `Exception`, after which a search would go on."""


def _in_main_thread() -> bool:
    """Where alone Python hears signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def interrupted_at_once() -> Iterator[None]:
    """Ctrl-C ends the method under way, and the comparison.

    Where Python's own handler is in place a training ends early and is returned, and would count as finished.
    """
    if not _in_main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def ended_after(seconds: float | None) -> Iterator[None]:
    """`OutOfTime` is raised in whatever runs inside after so many seconds.

    By an alarm of the system, which kernels and Python hear; where there is none, or somebody else waits for it, the
    method comes to its own end.
    """
    alarm = getattr(signal, "SIGALRM", None)  # not on Windows
    if seconds is None or alarm is None or not _in_main_thread() or signal.getsignal(alarm) is not signal.SIG_DFL:
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise OutOfTime

    signal.signal(alarm, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(alarm, signal.SIG_DFL)
