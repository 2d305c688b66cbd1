"""`Callback`, with a method for every event of a training, and the progress bar and duration notice built on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..core.progress import ProgressMeter, format_duration, print_line, progress_hint

if TYPE_CHECKING:
    from .budget import Budget
    from .loop import TrainingRun


class Callback:
    """Base class of callbacks: override the methods of the events of interest.

    Each method receives the `run`: `run.step` (completed steps), `run.epoch`, `run.history`, `run.objective`, and
    `run.stop(reason)`. With several processes, each calls its own callbacks; `run.processes.is_first` is true in one
    of them. A callback of a resumed run reads earlier values from the history.

    >>> class StopWhenSmall(Callback):
    ...     def on_step_end(self, run):
    ...         if run.history.last("loss") < 0.01:
    ...             run.stop("a small loss")
    """

    def on_train_start(self, run: TrainingRun) -> None:
        """Before the first step of a new or resumed run."""

    def on_step_end(self, run: TrainingRun) -> None:
        """After a step."""

    def on_epoch_end(self, run: TrainingRun) -> None:
        """After the last step of an epoch and its validation."""

    def on_validation_end(self, run: TrainingRun) -> None:
        """After a validation; the score is the last in the history."""

    def on_checkpoint(self, run: TrainingRun) -> None:
        """After a checkpoint."""

    def on_train_end(self, run: TrainingRun) -> None:
        """At the end, also after an error."""


class DurationNotice(Callback):
    """One line on standard error with the expected duration of a training that takes more than ten seconds.

    If the output is not a terminal, no bar follows, and the line explains how to get one.
    """

    _min_seconds = 10.0
    _warmup_seconds = 1.0  # the first steps are slower, so the pace is measured after this time

    def __init__(self, budget: Budget) -> None:
        self._budget, self._start_seconds, self._start_step, self._is_printed = budget, 0.0, 0, False

    def on_train_start(self, run: TrainingRun) -> None:
        """Remember the starting point, so that a resumed run is timed from here."""
        self._start_seconds, self._start_step = run.history.seconds, run.step

    def on_step_end(self, run: TrainingRun) -> None:
        """Print the notice once the pace is known."""
        most, now = self._budget.max_steps, run.history.seconds
        if self._is_printed or now - self._start_seconds < self._warmup_seconds:
            return
        if most is None:
            if self._budget.max_epochs is None and self._budget.max_seconds is not None:
                self._print_notice(run, math.inf, "")  # only max_time ends it
            return
        self._print_notice(
            run, (now - self._start_seconds) / (run.step - self._start_step) * (most - run.step) + now, f"{most} steps"
        )

    def on_epoch_end(self, run: TrainingRun) -> None:
        """Print the notice after the first epoch if the budget counts epochs only."""
        most, now = self._budget.max_epochs, run.history.seconds
        if not self._is_printed and self._budget.max_steps is None and most is not None:
            self._print_notice(run, now / run.epoch * most, f"{most} epochs")

    def _print_notice(self, run: TrainingRun, seconds: float, what: str) -> None:
        self._is_printed = True
        limit = self._budget.max_seconds
        if limit is not None and seconds > limit:
            seconds, what = limit, f"as many steps as fit max_time={limit:g}"
        if seconds > self._min_seconds:
            name = run.objective.owner or type(run.objective).__name__
            print_line(f"{name}: {what}, about {format_duration(seconds)}{progress_hint()}")


class ProgressBar(Callback):
    """A bar of steps, or of epochs if the budget counts epochs only, with the loss and the last score.

    If `max_time` will end the training first, the bar counts steps without a total.
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
        self._bar: ProgressMeter | None = None
        self._loss: float | None = None

    def on_train_start(self, run: TrainingRun) -> None:
        """Draw the bar at the position of the run."""
        name = run.objective.owner or type(run.objective).__name__
        done, unit = (run.epoch, "epoch") if self._by_epochs else (run.step, "step")
        self._bar = ProgressMeter(self._total, self._progress, name=name, unit=unit, initial=done).__enter__()

    def on_step_end(self, run: TrainingRun) -> None:
        """Show the running mean of the loss."""
        assert self._bar is not None
        loss = run.history.last("loss")
        self._loss = loss if self._loss is None else 0.95 * self._loss + 0.05 * loss
        words = f"loss={self._loss:.4g}"
        if len(run.history.scores):
            words += f", score={run.history.last('score'):.4g}"
        if self._seconds is not None:
            words += f", at most {format_duration(self._seconds)}"
            late = self._total is not None and run.history.seconds / run.step * self._total > self._seconds
            self._bar.set_total(None if late and not self._by_epochs else self._total)
        self._bar.set_postfix(words)
        self._bar.update(0 if self._by_epochs else 1)

    def on_epoch_end(self, run: TrainingRun) -> None:
        """Advance a bar of epochs by one."""
        assert self._bar is not None
        self._bar.update(1 if self._by_epochs else 0)

    def on_train_end(self, run: TrainingRun) -> None:
        """Close the bar and leave it on the screen."""
        if self._bar is not None:
            self._bar.__exit__()
