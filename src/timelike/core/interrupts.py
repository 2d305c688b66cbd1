"""Ctrl-C in a training: the step under way may end, is given up if it takes long, and a second one interrupts."""

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

_REPEAT_SECONDS = 1.0  # seconds after which it rings again, where somebody has caught the first

_DOUBLE_PRESS_SECONDS = 3.0  # seconds between two presses of Ctrl-C that belong together
_GRACE_SECONDS = (
    0.4  # seconds that what is under way has to end by itself: most steps do, and nobody has waited a second
)
_RETRY_SECONDS = 2.0  # seconds after which it is told again: Python drops what is raised inside a destructor
_last_interrupt = -math.inf  # the moment at which Ctrl-C last ended a training


class StepAborted(KeyboardInterrupt):
    """A step, a batch or a validation was still under way some time after Ctrl-C; nothing has changed by it."""


class InterruptHandler:
    """What has been pressed, and whether what is under way may be given up.

    Half an update would be neither the weights before nor those after, so the press itself breaks nothing off. What
    changes nothing before it is complete, such as a backward pass, is given up when it is not through in time.
    """

    def __init__(self) -> None:
        self.request_event = threading.Event()
        """Set by the first press."""
        self._closed_event = threading.Event()
        self._lock = threading.Lock()
        self._is_late = self._is_own_signal = False
        self._is_unchanged: Callable[[], bool] | None = None

    @contextmanager
    def allow_abort(self, unchanged: Callable[[], bool]) -> Iterator[None]:
        """Inside, `StepAborted` is raised some time after Ctrl-C, as long as `unchanged` says that nothing has changed.

        It comes out of whatever is computed there: kernels ask for signals while they work, and Python between calls.
        """
        self._is_unchanged = unchanged
        try:
            self._abort_if_late()
            yield
        finally:
            self._is_unchanged = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """What Python calls for SIGINT, be it from the keyboard or from `_wait`."""
        if self._is_own_signal:
            self._is_own_signal = False
            self._abort_if_late()
            return
        if self.request_event.is_set() or time.monotonic() - _last_interrupt < _DOUBLE_PRESS_SECONDS:
            raise KeyboardInterrupt
        self.request_event.set()
        _thread.start_new_thread(self._wait, ())  # to start a threading.Thread takes a lock that may be held just now

    def close(self) -> None:
        """Nothing is given up from now on."""
        with self._lock:  # else `_wait` might have seen that it is not over, and knock when somebody else listens
            self._closed_event.set()

    def _abort_if_late(self) -> None:
        if self._is_late and self._is_unchanged is not None and self._is_unchanged():
            raise StepAborted

    def _wait(self) -> None:
        """On a thread: when patience is at its end, a second SIGINT that nobody pressed."""
        seconds = _GRACE_SECONDS
        while not self._closed_event.wait(seconds):
            with self._lock:
                if not self._closed_event.is_set():
                    self._is_late = self._is_own_signal = True
                    _thread.interrupt_main(signal.SIGINT)
            seconds = _RETRY_SECONDS


@contextmanager
def handle_interrupts() -> Iterator[InterruptHandler]:
    """Ctrl-C is heard by a `InterruptHandler`; a second one interrupts at once, as ever.

    The second one may come when this training has ended and the next one of a search has begun, so it interrupts there
    too. A handler that somebody else has put up is left alone.
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
            signal.signal(signal.SIGINT, signal.default_int_handler)  # what is still to be handled, it handles first
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            raise
        finally:
            if heard.request_event.is_set():
                _last_interrupt = time.monotonic()


class TimeLimitExceeded(BaseException):
    """The budget was spent while a method was at work; no `Exception`, after which a search would go on."""


def _is_main_thread() -> bool:
    """Where alone Python hears signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def immediate_interrupts() -> Iterator[None]:
    """Ctrl-C ends the method under way, and the comparison.

    Where Python's own handler is in place a training ends early and is returned, and would count as finished.
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
    """`TimeLimitExceeded` is raised in whatever runs inside after so many seconds.

    By an alarm of the system, which kernels and Python hear; where there is none, or somebody else waits for it, the
    method comes to its own end.
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
