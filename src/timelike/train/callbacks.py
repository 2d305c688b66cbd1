"""Callback, with a method for every moment of a training; the bar that shows progress, and the word in its place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..sequences import bars

if TYPE_CHECKING:
    from .fitting import Limits
    from .loop import Run


class Callback:
    """Derive from it and fill in the moments of interest.

    Each gets the `run`: `run.step` (steps done), `run.epoch`, `run.history`, `run.objective`, and `run.stop(reason)`.
    With several processes, every process calls its own; `run.processes.first` is true in one of them. What a callback
    needs to know after a pause it finds in the history.

    >>> class StopWhenSmall(Callback):
    ...     def stepped(self, run):
    ...         if run.history.last("loss") < 0.01:
    ...             run.stop("a small loss")
    """

    def started(self, run: Run) -> None:
        """Before the first step, or the first after a pause."""

    def stepped(self, run: Run) -> None:
        """After a step."""

    def epoch_ended(self, run: Run) -> None:
        """After the last step of an epoch and its validation."""

    def validated(self, run: Run) -> None:
        """After a validation; the score is the last in the history."""

    def saved(self, run: Run) -> None:
        """After a checkpoint."""

    def ended(self, run: Run) -> None:
        """At the end, however it came about."""


class Announcement(Callback):
    """One line on the standard error that says how long the training will take, if that is worth knowing.

    Where nobody is `watched`, no bar will follow, and it says how to have one.
    """

    _worth = 10.0  # seconds
    _enough = 1.0  # seconds after which the pace is known: the first steps are slower

    def __init__(self, limits: Limits) -> None:
        self._limits, self._begun, self._at, self._said = limits, 0.0, 0, False

    def started(self, run: Run) -> None:
        """A continued run is judged by what it does now."""
        self._begun, self._at = run.history.seconds, run.step

    def stepped(self, run: Run) -> None:
        """As soon as the pace is known."""
        most, now = self._limits.max_steps, run.history.seconds
        if self._said or now - self._begun < self._enough:
            return
        if most is None:
            if self._limits.max_epochs is None and self._limits.max_seconds is not None:
                self._say(run, math.inf, "")  # only the clock ends it
            return
        self._say(run, (now - self._begun) / (run.step - self._at) * (most - run.step) + now, f"{most} steps")

    def epoch_ended(self, run: Run) -> None:
        """Where only epochs are counted, after one of them."""
        most, now = self._limits.max_epochs, run.history.seconds
        if not self._said and self._limits.max_steps is None and most is not None:
            self._say(run, now / run.epoch * most, f"{most} epochs")

    def _say(self, run: Run, seconds: float, what: str) -> None:
        self._said = True
        limit = self._limits.max_seconds
        if limit is not None and seconds > limit:
            seconds, what = limit, f"as many steps as fit max_time={limit:g}"
        if seconds > self._worth:
            name = run.objective.owner or type(run.objective).__name__
            bars.say(f"{name}: {what}, about {bars.long(seconds)}{bars.hint()}")


class ProgressBar(Callback):
    """A bar of the steps, or of the epochs where only their number is known, with the loss and the last score.

    Where the clock will end the training before, steps are counted towards no number.
    """

    def __init__(
        self,
        max_steps: int | None,
        max_epochs: int | None,
        progress: bool | None = True,
        max_seconds: float | None = None,
    ) -> None:
        self._progress, self._seconds = progress, max_seconds
        self._by_epochs = max_steps is None and max_epochs is not None
        self._total = max_epochs if self._by_epochs else max_steps
        self._bar: bars.Bar | None = None
        self._loss: float | None = None

    def started(self, run: Run) -> None:
        """Draw the bar, where the run is."""
        name = run.objective.owner or type(run.objective).__name__
        done, unit = (run.epoch, "epoch") if self._by_epochs else (run.step, "step")
        self._bar = bars.Bar(self._total, self._progress, name=name, unit=unit, begun=done).__enter__()

    def stepped(self, run: Run) -> None:
        """Show the loss, a running mean."""
        assert self._bar is not None
        loss = run.history.last("loss")
        self._loss = loss if self._loss is None else 0.95 * self._loss + 0.05 * loss
        words = f"loss={self._loss:.4g}"
        if len(run.history.scores):
            words += f", score={run.history.last('score'):.4g}"
        if self._seconds is not None:
            words += f", at most {bars.long(self._seconds)}"
            late = self._total is not None and run.history.seconds / run.step * self._total > self._seconds
            self._bar.aim(None if late and not self._by_epochs else self._total)
        self._bar.note(words)
        self._bar.step(0 if self._by_epochs else 1)

    def epoch_ended(self, run: Run) -> None:
        """Move a bar of epochs by one."""
        assert self._bar is not None
        self._bar.step(1 if self._by_epochs else 0)

    def ended(self, run: Run) -> None:
        """Leave it as it is."""
        if self._bar is not None:
            self._bar.__exit__()
