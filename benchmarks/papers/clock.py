"""The budget of a run, and how long rows take beside what was guessed."""

from __future__ import annotations

import statistics
import time

RECENT = 5  # rows that say how slow the machine is


class Clock:
    """Knows what is left of the budget, and by how much the guesses for a kind of rows were wrong so far."""

    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes
        self.ratios: dict[str, list[float]] = {}

    def left(self) -> float:
        """Seconds of the budget."""
        return self.end - time.monotonic()

    def expected(self, kind: str, guess: float) -> float:
        """Seconds, corrected by how long the last rows of the kind took."""
        known = self.ratios.get(kind, [])[-RECENT:]
        return guess * (statistics.median(known) if known else 1.0)

    def learn(self, kind: str, guess: float, took: float) -> None:
        """A row of the kind is finished."""
        if guess > 0:
            self.ratios.setdefault(kind, []).append(took / guess)


def at(seconds: float) -> str:
    """The time of day in so many seconds."""
    return time.strftime("%H:%M", time.localtime(time.time() + seconds))


def duration(seconds: float) -> str:
    """Seconds, minutes or hours.

    >>> duration(5400)
    '90 min'
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
