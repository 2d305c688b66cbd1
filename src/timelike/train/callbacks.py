"""Callback, with a method for every moment of a training; the progress bar, and the notice where there is none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..core.progress import ProgressMeter, format_duration, print_line, progress_hint

if TYPE_CHECKING:
    from .budget import Budget
    from .loop import TrainingRun


class Callback:
    """Derive from it and fill in the moments of interest.

    Each gets the `run`: `run.step` (steps done), `run.epoch`, `run.history`, `run.objective`, and `run.stop(reason)`.
    With several processes, every process calls its own; `run.processes.is_first` is true in one of them. What a
    callback needs to know after a pause it finds in the history.

    >>> class StopWhenSmall(Callback):
    ...     def on_step_end(self, run):
    ...         if run.history.last("loss") < 0.01:
    ...             run.stop("a small loss")
    """

    def on_train_start(self, run: TrainingRun) -> None:
        """Before the first step, or the first after a pause."""

    def on_step_end(self, run: TrainingRun) -> None:
        """After a step."""

    def on_epoch_end(self, run: TrainingRun) -> None:
        """After the last step of an epoch and its validation."""

    def on_validation_end(self, run: TrainingRun) -> None:
        """After a validation; the score is the last in the history."""

    def on_checkpoint(self, run: TrainingRun) -> None:
        """After a checkpoint."""

    def on_train_end(self, run: TrainingRun) -> None:
        """At the end, however it came about."""


class DurationNotice(Callback):
    """One line on the standard error that says how long the training will take, if that is worth knowing.

    Where the output is not a terminal, no bar will follow, and the line says how to have one.
    """

    _min_seconds = 10.0  # seconds
    _warmup_seconds = 1.0  # seconds after which the pace is known: the first steps are slower

    def __init__(self, budget: Budget) -> None:
        self._budget, self._start_seconds, self._start_step, self._is_printed = budget, 0.0, 0, False

    def on_train_start(self, run: TrainingRun) -> None:
        """A continued run is judged by what it does now."""
        self._start_seconds, self._start_step = run.history.seconds, run.step

    def on_step_end(self, run: TrainingRun) -> None:
        """As soon as the pace is known."""
        most, now = self._budget.max_steps, run.history.seconds
        if self._is_printed or now - self._start_seconds < self._warmup_seconds:
            return
        if most is None:
            if self._budget.max_epochs is None and self._budget.max_seconds is not None:
                self._print_notice(run, math.inf, "")  # only the clock ends it
            return
        self._print_notice(
            run, (now - self._start_seconds) / (run.step - self._start_step) * (most - run.step) + now, f"{most} steps"
        )

    def on_epoch_end(self, run: TrainingRun) -> None:
        """Where only epochs are counted, after one of them."""
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
        self._bar: ProgressMeter | None = None
        self._loss: float | None = None

    def on_train_start(self, run: TrainingRun) -> None:
        """Draw the bar, where the run is."""
        name = run.objective.owner or type(run.objective).__name__
        done, unit = (run.epoch, "epoch") if self._by_epochs else (run.step, "step")
        self._bar = ProgressMeter(self._total, self._progress, name=name, unit=unit, initial=done).__enter__()

    def on_step_end(self, run: TrainingRun) -> None:
        """Show the loss, a running mean."""
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
        """Move a bar of epochs by one."""
        assert self._bar is not None
        self._bar.update(1 if self._by_epochs else 0)

    def on_train_end(self, run: TrainingRun) -> None:
        """Leave it as it is."""
        if self._bar is not None:
            self._bar.__exit__()
