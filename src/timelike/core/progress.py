"""Progress bars and lines on standard error.

`progress=True` shows a bar at once, None after two seconds in a terminal or notebook, False never.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self

DELAY_SECONDS = 2.0  # before a bar appears by itself
_NOTICE_SECONDS = 10.0  # estimated duration from which a run without a bar is announced
_PACE_SECONDS = 1.0  # seconds after which the pace is known

_is_nested: ContextVar[bool] = ContextVar("is_nested", default=False)  # inside another bar
_is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)  # no lines either


def check_progress(progress: Any, name: str = "progress") -> bool | None:
    """True, False, or None for a bar after two seconds if the session is interactive.

    >>> check_progress(None), check_progress(True)
    (None, True)
    """
    from .parameters import check_bool  # brings NumPy, and the command line imports this module for its help

    return None if progress is None else check_bool(progress, name)


def is_interactive() -> bool:
    """Whether this is the main thread of the main process, at a terminal or in a notebook."""
    alone = threading.current_thread() is threading.main_thread()
    processes = sys.modules.get("multiprocessing")  # workers have it imported, and importing it is slow
    if not alone or (processes is not None and processes.current_process().name != "MainProcess"):
        return False
    return _is_notebook() or bool(getattr(sys.stderr, "isatty", bool)())


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


class ProgressMeter:
    """A progress bar that counts up to `total`, or without an end if that is None.

    With `progress=True` the bar is shown at once and stays. With None it is shown in interactive sessions after two
    seconds, removed at the end, and not shown at all inside another bar.

    >>> with ProgressMeter(3, None, name="three") as bar:
    ...     for done in range(3):
    ...         bar.update()
    """

    def __init__(
        self,
        total: float | None,
        progress: bool | None,
        *,
        name: str = "",
        unit: str = "it",
        bar_format: str | None = None,
        initial: float = 0,
    ) -> None:
        self.total, self.progress, self.done = total, progress, initial
        self.silent = progress is False or (progress is None and (_is_nested.get() or not is_interactive()))
        self._how: dict[str, Any] = {"desc": name or None, "unit": unit, "bar_format": bar_format, "initial": initial}
        self._bar: Any = None
        self._words = ""

    def __enter__(self) -> Self:
        self._outer = _is_nested.get()
        _is_nested.set(True)
        self._since = time.monotonic()
        if self.progress:
            self._open_bar()
        return self

    def update(self, by: float = 1) -> None:
        """Advance by `by`."""
        self.update_to(self.done + by)

    def update_to(self, done: float) -> None:
        """Set the count to `done`."""
        self.done = done
        if self.silent or (self._bar is None and time.monotonic() - self._since < DELAY_SECONDS):
            return
        if self._bar is None:
            self._open_bar()
        self._bar.update(done - self._bar.n)

    def set_total(self, total: float | None) -> None:
        """Change the total."""
        self.total = total
        if self._bar is not None:
            self._bar.total = total

    def set_postfix(self, words: str) -> None:
        """Set the text after the bar, such as a loss."""
        self._words = words
        if self._bar is not None:
            self._bar.set_postfix_str(words, refresh=False)

    def set_description(self, words: str) -> None:
        """Set the text before the bar."""
        self._how["desc"] = words
        if self._bar is not None:
            self._bar.set_description_str(words)

    def _open_bar(self) -> None:
        from tqdm.auto import tqdm

        # with miniters=0 the text is refreshed even if the count is unchanged
        size = {"dynamic_ncols": True} if _has_terminal_size() else {"ncols": 80, "nrows": 24}
        self._bar = tqdm(total=self.total, miniters=0, leave=bool(self.progress), **size, **self._how)
        late = time.monotonic() - self._since  # start its clock with the work, for the estimate of the remaining time
        self._bar.start_t, self._bar.last_print_t = self._bar.start_t - late, self._bar.last_print_t - late
        self._bar.set_postfix_str(self._words, refresh=False)

    def __exit__(self, *_: object) -> None:
        _is_nested.set(self._outer)
        if self._bar is not None:
            self._bar.close()


def _has_terminal_size() -> bool:
    """Whether the terminal knows its size: under some servers it reports zero columns, and a bar would be empty."""
    try:
        return min(os.get_terminal_size(sys.stderr.fileno())) > 0
    except (OSError, ValueError, AttributeError):  # no terminal, which tqdm handles itself
        return True


def format_duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours.

    >>> format_duration(0.123), format_duration(9.96), format_duration(40.2), format_duration(3000)
    ('0.12 s', '10 s', '40 s', '50 min')
    """
    if seconds < 10:
        return f"{round(seconds, 1 if seconds >= 1 else 2):g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def progress_hint() -> str:
    """A hint at `progress=True` for messages, empty if a bar appears automatically."""
    return "" if is_interactive() else "; progress=True shows a bar"


@contextmanager
def omit_lines(is_quiet: bool = True) -> Iterator[None]:
    """Inside, `print_line` prints nothing: for a program whose standard error is not for a person.

    >>> with omit_lines():
    ...     print_line("12 windows, about 40 s")
    """
    token = _is_quiet.set(is_quiet)
    try:
        yield
    finally:
        _is_quiet.reset(token)


def print_line(words: str) -> None:
    """Print one line on standard error, above any bar."""
    if _is_quiet.get():
        return
    if "tqdm" not in sys.modules:  # then there is no bar
        print(words, file=sys.stderr)
        return
    from tqdm.auto import tqdm

    tqdm.write(words, file=sys.stderr)


class TimedProgressMeter:
    """Counts windows up to `total`, and announces a long run if no bar is shown.

    A `ProgressMeter`, except that with `progress=None` and no terminal it prints once, on the standard error, the
    estimated duration if that exceeds ten seconds.

    >>> with TimedProgressMeter(2, None, "calibrate") as meter:
    ...     meter.step(2)
    """

    def __init__(self, total: int, progress: bool | None, name: str) -> None:
        self._bar = ProgressMeter(total, check_progress(progress), name=name, unit="window")
        self._total, self._name, self._is_announced = total, name, progress is not None or is_interactive()

    def __enter__(self) -> Self:
        self._bar.__enter__()
        self._start_time = time.monotonic()
        return self

    def step(self, by: int) -> None:
        """Count `by` more windows as done."""
        self._bar.update(by)
        spent = time.monotonic() - self._start_time
        if self._is_announced or spent < _PACE_SECONDS:
            return
        self._is_announced, seconds = True, spent * self._total / self._bar.done
        if seconds > _NOTICE_SECONDS:
            print_line(f"{self._name}: {self._total} windows, about {format_duration(seconds)}{progress_hint()}")

    def __exit__(self, *exc_info: object) -> None:
        self._bar.__exit__(*exc_info)
