"""Countdown: a bar for work of known size, or one line that says how long it will take where nobody watches."""

from __future__ import annotations

import time
from typing import Self

from ..sequences import bars

_WORTH = 10.0  # seconds from which on it is said
_ENOUGH = 1.0  # seconds after which the pace is known


class Countdown:
    """Counts windows up to `total`.

    With `progress=None` and no terminal it says once, on the standard error, how long all of it will take, if that is
    more than ten seconds; otherwise it is a `Bar`.

    >>> with Countdown(2, None, "calibrate") as countdown:
    ...     countdown.step(2)
    """

    def __init__(self, total: int, progress: bool | None, name: str) -> None:
        self._bar = bars.Bar(total, bars.checked(progress), name=name, unit="window")
        self._total, self._name, self._said = total, name, progress is not None or bars.watched()

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        self._bar.__enter__()
        return self

    def step(self, by: int) -> None:
        """So many more are done."""
        self._bar.step(by)
        spent = time.monotonic() - self._began
        if self._said or spent < _ENOUGH:
            return
        self._said, seconds = True, spent * self._total / self._bar.done
        if seconds > _WORTH:
            bars.say(f"{self._name}: {self._total} windows, about {bars.long(seconds)}{bars.hint()}")

    def __exit__(self, *given: object) -> None:
        self._bar.__exit__(*given)
