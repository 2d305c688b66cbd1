"""Ctrl-C during training, and time limits.

After the first Ctrl-C the current training step may finish, and is aborted if it takes too long; a second Ctrl-C
interrupts at once.
"""

from __future__ import annotations

import _thread
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_REPEAT_SECONDS = 1.0  # between alarms of `time_limit`, as a first exception may have been caught
_DOUBLE_PRESS_SECONDS = 3.0  # within which two presses of Ctrl-C belong together
_GRACE_SECONDS = 0.4  # for the current step to finish by itself: most do
_RETRY_SECONDS = 2.0  # before the step is aborted again: Python drops an exception raised inside a destructor
_last_interrupt = -math.inf  # time at which Ctrl-C last ended a training


class StepAborted(KeyboardInterrupt):
    """A step, a batch or a validation was still running some time after Ctrl-C; it has changed nothing."""


class InterruptHandler:
    """Handler of SIGINT that lets the current step finish, and aborts it if that takes too long.

    Half an update would be neither the weights before nor those after, so the key press itself aborts nothing. Work
    that changes nothing before it is complete, such as a backward pass, is aborted if it does not finish in time.
    """

    def __init__(self) -> None:
        self.request_event = threading.Event()
        """Set by the first Ctrl-C."""
        self._closed_event = threading.Event()
        self._lock = threading.Lock()
        self._is_late = self._is_own_signal = False
        self._is_unchanged: Callable[[], bool] | None = None

    @contextmanager
    def allow_abort(self, unchanged: Callable[[], bool]) -> Iterator[None]:
        """Inside, `StepAborted` is raised some time after Ctrl-C, provided that `unchanged()` is true.

        It is raised from within the computation: kernels check for signals while they run, and Python between calls.
        """
        self._is_unchanged = unchanged
        try:
            self._abort_if_late()
            yield
        finally:
            self._is_unchanged = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The handler of SIGINT, from the keyboard or from `_wait`."""
        if self._is_own_signal:
            self._is_own_signal = False
            self._abort_if_late()
            return
        if self.request_event.is_set() or time.monotonic() - _last_interrupt < _DOUBLE_PRESS_SECONDS:
            raise KeyboardInterrupt
        self.request_event.set()
        _thread.start_new_thread(self._wait, ())  # starting a threading.Thread takes a lock that may be held

    def close(self) -> None:
        """Stop aborting."""
        with self._lock:  # else `_wait` could send a signal to the next handler
            self._closed_event.set()

    def _abort_if_late(self) -> None:
        if self._is_late and self._is_unchanged is not None and self._is_unchanged():
            raise StepAborted

    def _wait(self) -> None:
        """On a thread: send a SIGINT of our own when the grace period is over."""
        seconds = _GRACE_SECONDS
        while not self._closed_event.wait(seconds):
            with self._lock:
                if not self._closed_event.is_set():
                    self._is_late = self._is_own_signal = True
                    _thread.interrupt_main(signal.SIGINT)
            seconds = _RETRY_SECONDS


@contextmanager
def handle_interrupts() -> Iterator[InterruptHandler]:
    """Inside, Ctrl-C is handled by an `InterruptHandler`; a second one interrupts at once.

    The second one may come when this training has ended and the next one of a search has begun, and interrupts there
    too. A handler that the caller has installed is left alone.
    """
    global _last_interrupt  # noqa: PLW0603
    heard = InterruptHandler()
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield heard
        return
    signal.signal(signal.SIGINT, heard.handle)
    try:
        yield heard
    finally:
        heard.close()
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # handles pending signals first
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            raise
        finally:
            if heard.request_event.is_set():
                _last_interrupt = time.monotonic()


class TimeLimitExceeded(BaseException):
    """The time limit has passed. Not an `Exception`, so that a search does not catch it and go on."""


def _is_main_thread() -> bool:
    """Whether this is the main thread, the only one that handles signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def immediate_interrupts() -> Iterator[None]:
    """Inside, Ctrl-C raises KeyboardInterrupt at once, also during training.

    With Python's own handler a training would end early and return, and a comparison would count it as finished.
    """
    if not _is_main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
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
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `TimeLimitExceeded` inside the block after this many seconds.

    It uses SIGALRM, which interrupts kernels as well as Python. On Windows, outside the main thread, or if the alarm is
    already in use, there is no limit.
    """
    alarm = getattr(signal, "SIGALRM", None)  # not on Windows
    if seconds is None or alarm is None or not _is_main_thread() or signal.getsignal(alarm) is not signal.SIG_DFL:
        yield
        return

    def ring(number: int, frame: Any) -> None:
        raise TimeLimitExceeded

    signal.signal(alarm, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), _REPEAT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(alarm, signal.SIG_DFL)
