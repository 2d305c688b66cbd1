"""Bars on the standard error: at once where they are asked for, after two seconds where somebody looks, or never."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextvars import ContextVar
from typing import Any, Self

from .parameters import check_bool

DELAY_SECONDS = 2.0  # seconds that nobody minds to wait without a word
_NOTICE_SECONDS = 10.0  # estimated duration from which a run without a bar is announced
_PACE_SECONDS = 1.0  # seconds after which the pace is known

_is_nested: ContextVar[bool] = ContextVar("within", default=False)  # the count of another bar


def check_progress(progress: Any, name: str = "progress") -> bool | None:
    """True, False, or None: whoever looks is shown a bar after two seconds.

    >>> check_progress(None), check_progress(True)
    (None, True)
    """
    return None if progress is None else check_bool(progress, name)


def is_interactive() -> bool:
    """Whether somebody may be looking: at a terminal or a notebook, and not at one of several workers."""
    alone = threading.current_thread() is threading.main_thread()
    processes = sys.modules.get("multiprocessing")  # of which a worker knows, and importing it takes time
    if not alone or (processes is not None and processes.current_process().name != "MainProcess"):
        return False
    return _is_notebook() or bool(getattr(sys.stderr, "isatty", bool)())


def _is_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


class ProgressMeter:
    """Counts up to `total`, or on and on where that is None.

    With `progress=True` it is drawn at once and stays. With None it is drawn to whoever looks when it has taken longer
    than two seconds, goes away at the end, and keeps quiet within the count of another, which knows more.

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
        """So much more is done."""
        self.update_to(self.done + by)

    def update_to(self, done: float) -> None:
        """So much is done."""
        self.done = done
        if self.silent or (self._bar is None and time.monotonic() - self._since < DELAY_SECONDS):
            return
        if self._bar is None:
            self._open_bar()
        self._bar.update(done - self._bar.n)

    def set_total(self, total: float | None) -> None:
        """Count up to another number from now on, or to none."""
        self.total = total
        if self._bar is not None:
            self._bar.total = total

    def set_postfix(self, words: str) -> None:
        """What stands behind the bar, such as a loss."""
        self._words = words
        if self._bar is not None:
            self._bar.set_postfix_str(words, refresh=False)

    def set_description(self, words: str) -> None:
        """What stands before the bar: what is done now."""
        self._how["desc"] = words
        if self._bar is not None:
            self._bar.set_description_str(words)

    def _open_bar(self) -> None:
        from tqdm.auto import tqdm

        # with miniters=0 words are shown anew also where the count stays
        size = {"dynamic_ncols": True} if _has_terminal_size() else {"ncols": 80, "nrows": 24}
        self._bar = tqdm(total=self.total, miniters=0, leave=bool(self.progress), **size, **self._how)
        late = time.monotonic() - self._since  # its clock began when the work did, for the time that is left
        self._bar.start_t, self._bar.last_print_t = self._bar.start_t - late, self._bar.last_print_t - late
        self._bar.set_postfix_str(self._words, refresh=False)

    def __exit__(self, *_: object) -> None:
        _is_nested.set(self._outer)
        if self._bar is not None:
            self._bar.close()


def _has_terminal_size() -> bool:
    """Whether the terminal knows its size: under some servers it has no columns, in which a bar would be nothing."""
    try:
        return min(os.get_terminal_size(sys.stderr.fileno())) > 0
    except (OSError, ValueError, AttributeError):  # no terminal, of which tqdm knows what to make
        return True


def format_duration(seconds: float) -> str:
    """In words that are short.

    >>> format_duration(40.2), format_duration(3000), format_duration(30000)
    ('40 s', '50 min', '8.3 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def progress_hint() -> str:
    """How to have a bar, where none comes by itself."""
    return "" if is_interactive() else "; progress=True shows a bar"


def print_line(words: str) -> None:
    """One line on the standard error, above any bar."""
    if "tqdm" not in sys.modules:  # then there is no bar
        print(words, file=sys.stderr)
        return
    from tqdm.auto import tqdm

    tqdm.write(words, file=sys.stderr)


class TimedProgressMeter:
    """Counts windows up to `total`, and announces a long run where no bar is shown.

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

    def __exit__(self, *given: object) -> None:
        self._bar.__exit__(*given)
