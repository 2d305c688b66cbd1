"""Bars on the standard error: at once where they are asked for, after two seconds where somebody looks, or never."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextvars import ContextVar
from typing import Any, Self

from .arguments import flag

SOON = 2.0  # seconds that nobody minds to wait without a word

_within: ContextVar[bool] = ContextVar("within", default=False)  # the count of another bar


def checked(progress: Any, name: str = "progress") -> bool | None:
    """True, False, or None: whoever looks is shown a bar after two seconds.

    >>> checked(None), checked(True)
    (None, True)
    """
    return None if progress is None else flag(progress, name)


def watched() -> bool:
    """Whether somebody may be looking: at a terminal or a notebook, and not at one of several workers."""
    alone = threading.current_thread() is threading.main_thread()
    processes = sys.modules.get("multiprocessing")  # of which a worker knows, and importing it takes time
    if not alone or (processes is not None and processes.current_process().name != "MainProcess"):
        return False
    return _notebook() or bool(getattr(sys.stderr, "isatty", bool)())


def _notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


class Bar:
    """Counts up to `total`, or on and on where that is None.

    With `progress=True` it is drawn at once and stays. With None it is drawn to whoever looks when it has taken longer
    than two seconds, goes away at the end, and keeps quiet within the count of another, which knows more.

    >>> with Bar(3, None, name="three") as bar:
    ...     for done in range(3):
    ...         bar.step()
    """

    def __init__(
        self,
        total: float | None,
        progress: bool | None,
        *,
        name: str = "",
        unit: str = "it",
        form: str | None = None,
        begun: float = 0,
    ) -> None:
        self.total, self.progress, self.done = total, progress, begun
        self.silent = progress is False or (progress is None and (_within.get() or not watched()))
        self._how: dict[str, Any] = {"desc": name or None, "unit": unit, "bar_format": form, "initial": begun}
        self._bar: Any = None
        self._words = ""

    def __enter__(self) -> Self:
        self._outer = _within.get()
        _within.set(True)
        self._since = time.monotonic()
        if self.progress:
            self._draw()
        return self

    def step(self, by: float = 1) -> None:
        """So much more is done."""
        self.to(self.done + by)

    def to(self, done: float) -> None:
        """So much is done."""
        self.done = done
        if self.silent or (self._bar is None and time.monotonic() - self._since < SOON):
            return
        if self._bar is None:
            self._draw()
        self._bar.update(done - self._bar.n)

    def aim(self, total: float | None) -> None:
        """Count up to another number from now on, or to none."""
        self.total = total
        if self._bar is not None:
            self._bar.total = total

    def note(self, words: str) -> None:
        """What stands behind the bar, such as a loss."""
        self._words = words
        if self._bar is not None:
            self._bar.set_postfix_str(words, refresh=False)

    def name(self, words: str) -> None:
        """What stands before the bar: what is done now."""
        self._how["desc"] = words
        if self._bar is not None:
            self._bar.set_description_str(words)

    def _draw(self) -> None:
        from tqdm.auto import tqdm

        # with miniters=0 words are shown anew also where the count stays
        size = {"dynamic_ncols": True} if _sized() else {"ncols": 80, "nrows": 24}
        self._bar = tqdm(total=self.total, miniters=0, leave=bool(self.progress), **size, **self._how)
        late = time.monotonic() - self._since  # its clock began when the work did, for the time that is left
        self._bar.start_t, self._bar.last_print_t = self._bar.start_t - late, self._bar.last_print_t - late
        self._bar.set_postfix_str(self._words, refresh=False)

    def __exit__(self, *_: object) -> None:
        _within.set(self._outer)
        if self._bar is not None:
            self._bar.close()


def _sized() -> bool:
    """Whether the terminal knows its size: under some servers it has no columns, in which a bar would be nothing."""
    try:
        return min(os.get_terminal_size(sys.stderr.fileno())) > 0
    except (OSError, ValueError, AttributeError):  # no terminal, of which tqdm knows what to make
        return True


def long(seconds: float) -> str:
    """In words that are short.

    >>> long(40.2), long(3000), long(30000)
    ('40 s', '50 min', '8.3 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def hint() -> str:
    """How to have a bar, where none comes by itself."""
    return "" if watched() else "; progress=True shows a bar"


def say(words: str) -> None:
    """One line on the standard error, above any bar."""
    if "tqdm" not in sys.modules:  # then there is no bar
        print(words, file=sys.stderr)
        return
    from tqdm.auto import tqdm

    tqdm.write(words, file=sys.stderr)
