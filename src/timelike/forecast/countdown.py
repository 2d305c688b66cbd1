"""Countdown: a bar for work of known size, or one line that says how long it will take where nobody watches."""

from __future__ import annotations

import time
from typing import Self

from ..core.progress import ProgressMeter, check_progress, format_duration, is_interactive, print_line, progress_hint

_NOTICE_SECONDS = 10.0  # seconds from which on it is said
_PACE_SECONDS = 1.0  # seconds after which the pace is known


class TimedProgressMeter:
    """Counts windows up to `total`.

    With `progress=None` and no terminal it says once, on the standard error, how long all of it will take, if that is
    more than ten seconds; otherwise it is a `ProgressMeter`.

    >>> with TimedProgressMeter(2, None, "calibrate") as countdown:
    ...     countdown.step(2)
    """

    def __init__(self, total: int, progress: bool | None, name: str) -> None:
        self._bar = ProgressMeter(total, check_progress(progress), name=name, unit="window")
        self._total, self._name, self._is_announced = total, name, progress is not None or is_interactive()

    def __enter__(self) -> Self:
        self._start_time = time.monotonic()
        self._bar.__enter__()
        return self

    def step(self, by: int) -> None:
        """So many more are done."""
        self._bar.update(by)
        spent = time.monotonic() - self._start_time
        if self._is_announced or spent < _PACE_SECONDS:
            return
        self._is_announced, seconds = True, spent * self._total / self._bar.done
        if seconds > _NOTICE_SECONDS:
            print_line(f"{self._name}: {self._total} windows, about {format_duration(seconds)}{progress_hint()}")

    def __exit__(self, *given: object) -> None:
        self._bar.__exit__(*given)
