"""`Budget`, when a training stops and validates, and `DefaultBudget`, the default duration of a method."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.parameters import check_float, check_int
from .objective import Objective

if TYPE_CHECKING:
    from .loop import TrainingRun

N_VALIDATIONS = 20  # in a training whose budget is in steps
_counts_steps_only: ContextVar[bool] = ContextVar("counts_steps_only", default=False)


@contextmanager
def count_steps_only(wanted: bool = True) -> Iterator[None]:
    """Inside, default budgets are steps without seconds, so that a result does not depend on a clock.

    >>> with count_steps_only():
    ...     DefaultBudget().resolve(None, None, None, 500)
    {'max_steps': 500, 'max_epochs': None, 'max_time': None}
    """
    token = _counts_steps_only.set(wanted)
    try:
        yield
    finally:
        _counts_steps_only.reset(token)


@dataclass(frozen=True, kw_only=True)
class DefaultBudget:
    """The training duration of a method if neither steps nor epochs are given."""

    n_passes: int = 20  # through the data
    step_range: tuple[int, int] = (500, 2000)
    seconds: float | None = 120.0  # if no time is given either
    fills_time: bool = False  # whether `max_time` alone is used up, with any number of steps

    def steps(self, n_batches: float) -> int:
        """The number of steps if an epoch has `n_batches` batches."""
        return int(np.clip(self.n_passes * n_batches, *self.step_range))

    def resolve(
        self, max_steps: int | None, max_epochs: int | None, max_time: float | None, default_steps: int
    ) -> dict[str, Any]:
        """The given limits, or the default ones if neither steps nor epochs are given.

        >>> DefaultBudget().resolve(None, None, None, 500)
        {'max_steps': 500, 'max_epochs': None, 'max_time': 120.0}
        >>> DefaultBudget().resolve(30, None, None, 500)
        {'max_steps': 30, 'max_epochs': None, 'max_time': None}
        """
        is_open = max_steps is None and max_epochs is None
        if is_open and not (self.fills_time and max_time is not None):
            seconds = None if _counts_steps_only.get() else self.seconds
            max_steps, max_time = default_steps, seconds if max_time is None else max_time
        return {"max_steps": max_steps, "max_epochs": max_epochs, "max_time": max_time}


@dataclass(frozen=True)
class Budget:
    """When to stop, and when to validate."""

    max_steps: int | None
    max_epochs: int | None
    max_seconds: float | None
    has_validation: bool
    validate_every: int | None
    patience: int | None

    @classmethod
    def from_options(
        cls,
        objective: Objective,
        max_steps: int | None,
        max_epochs: int | None,
        max_time: float | timedelta | None,
        validate_every: int | None,
        patience: int | None,
    ) -> Budget:
        """A budget from checked options."""
        from torch import nn

        if not isinstance(objective, Objective):
            raise TypeError(f"objective is a {type(objective).__name__}: expected a timelike.train.Objective")
        if not isinstance(getattr(objective, "module", None), nn.Module):
            raise TypeError(f"{type(objective).__name__} has no module: expected the attribute module, a torch module")
        counts = {"max_steps": max_steps, "max_epochs": max_epochs, "validate_every": validate_every}
        for name, value in (counts | {"patience": patience}).items():
            if value is not None:
                check_int(value, name, 1)
        seconds = max_time.total_seconds() if isinstance(max_time, timedelta) else max_time
        if seconds is not None:
            check_float(seconds, "max_time", above=0)
        if max_steps is max_epochs is seconds is patience is None:
            raise ValueError("the training would never end: give max_steps, max_epochs, max_time or patience")
        validates = objective.has_validation
        if not validates and (patience or validate_every):
            name = "patience" if patience else "validate_every"
            raise ValueError(f"{name} needs a score: {type(objective).__name__} does not define validate()")
        return cls(max_steps, max_epochs, seconds, validates, validate_every, patience)

    def warn_if_exceeded(self, run: TrainingRun) -> None:
        """Warn if the checkpoint has already been trained beyond the budget; called before the first step."""
        for name, done, most in (("epochs", run.epoch, self.max_epochs), ("steps", run.step, self.max_steps)):
            if most is not None and done > most and run.processes.is_first:
                warnings.warn(
                    f"max_{name}={most}, but the checkpoint has been trained for {done} {name} and does not change: "
                    "give another folder to train for fewer",
                    stacklevel=4,
                )

    def stop_reason(self, run: TrainingRun, seconds: float) -> str | None:
        """The name of the limit that the run has reached, or None."""
        if self.max_steps is not None and run.step >= self.max_steps:
            return "max_steps"
        if self.max_epochs is not None and run.epoch >= self.max_epochs:
            return "max_epochs"
        if self.patience is not None and run.history.validations_since_best() >= self.patience:
            return "patience"
        if self.max_seconds is not None and run.step > 0 and seconds >= self.max_seconds:
            return "max_time"
        return None
