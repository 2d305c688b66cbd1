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

from torch import nn

_TWICE = 3.0  # seconds between two presses of Ctrl-C that belong together
_PATIENCE = 0.4  # seconds that what is under way has to end by itself: most steps do, and nobody has waited a second
_AGAIN = 2.0  # seconds after which it is told again: Python drops what is raised inside a destructor
_ended = -math.inf  # the moment at which Ctrl-C last ended a training


class GivenUp(KeyboardInterrupt):
    """A step, a batch or a validation was still under way some time after Ctrl-C; nothing has changed by it."""


class CtrlC:
    """What has been pressed, and whether what is under way may be given up.

    Half an update would be neither the weights before nor those after, so the press itself breaks nothing off. What
    changes nothing before it is complete, such as a backward pass, is given up when it is not through in time.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        """Set by the first press."""
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._late = self._knocks = False
        self._unchanged: Callable[[], bool] | None = None

    @contextmanager
    def giving_up(self, unchanged: Callable[[], bool]) -> Iterator[None]:
        """Inside, `GivenUp` is raised some time after Ctrl-C, as long as `unchanged` says that nothing has changed.

        It comes out of whatever is computed there: kernels ask for signals while they work, and Python between calls.
        """
        self._unchanged = unchanged
        try:
            self._give_up_if_late()
            yield
        finally:
            self._unchanged = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """What Python calls for SIGINT, be it from the keyboard or from `_wait`."""
        if self._knocks:
            self._knocks = False
            self._give_up_if_late()
            return
        if self.asked.is_set() or time.monotonic() - _ended < _TWICE:
            raise KeyboardInterrupt
        self.asked.set()
        _thread.start_new_thread(self._wait, ())  # to start a threading.Thread takes a lock that may be held just now

    def close(self) -> None:
        """Nothing is given up from now on."""
        with self._lock:  # else `_wait` might have seen that it is not over, and knock when somebody else listens
            self._over.set()

    def _give_up_if_late(self) -> None:
        if self._late and self._unchanged is not None and self._unchanged():
            raise GivenUp

    def _wait(self) -> None:
        """On a thread: when patience is at its end, a second SIGINT that nobody pressed."""
        seconds = _PATIENCE
        while not self._over.wait(seconds):
            with self._lock:
                if not self._over.is_set():
                    self._late = self._knocks = True
                    _thread.interrupt_main(signal.SIGINT)
            seconds = _AGAIN


@contextmanager
def heard_in_backward(module: nn.Module) -> Iterator[None]:
    """Let Ctrl-C be heard during a backward pass, which is one call from Python and may take many seconds.

    A line of Python runs whenever the gradient of a parameter is there. Not at nodes between them: torch frees a graph
    whose nodes Python has seen by recursion, and the long one of a recurrent network overflows the stack.
    """
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    ears = [parameter.register_hook(lambda _: None) for parameter in parameters]  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for ear in ears:
            ear.remove()


@contextmanager
def listening() -> Iterator[CtrlC]:
    """Ctrl-C is heard by a `CtrlC`; a second one interrupts at once, as ever.

    The second one may come when this training has ended and the next one of a search has begun, so it interrupts there
    too. A handler that somebody else has put up is left alone.
    """
    global _ended  # noqa: PLW0603
    heard = CtrlC()
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
            if heard.asked.is_set():
                _ended = time.monotonic()
