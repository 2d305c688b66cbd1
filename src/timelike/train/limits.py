"""When a training stops, and when it is judged."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import timedelta

from torch import nn

from ..sequences.arguments import real, whole
from .objective import Objective
from .run import Run


@dataclass(frozen=True)
class Limits:
    """When to stop, and when to validate."""

    max_steps: int | None
    max_epochs: int | None
    max_seconds: float | None
    validates: bool
    validate_every: int | None
    patience: int | None

    @classmethod
    def checked(
        cls,
        objective: Objective,
        max_steps: int | None,
        max_epochs: int | None,
        max_time: float | timedelta | None,
        validate_every: int | None,
        patience: int | None,
    ) -> Limits:
        """What was asked for, if it makes sense."""
        if not isinstance(objective, Objective):
            raise TypeError(f"objective is a {type(objective).__name__}: expected a timelike.train.Objective")
        if not isinstance(getattr(objective, "module", None), nn.Module):
            raise TypeError(f"{type(objective).__name__} has no module: expected the attribute module, a torch module")
        counts = {"max_steps": max_steps, "max_epochs": max_epochs, "validate_every": validate_every}
        for name, value in (counts | {"patience": patience}).items():
            if value is not None:
                whole(value, name, 1)
        seconds = max_time.total_seconds() if isinstance(max_time, timedelta) else max_time
        if seconds is not None:
            real(seconds, "max_time", above=0)
        if max_steps is max_epochs is seconds is patience is None:
            raise ValueError("the training would never end: give max_steps, max_epochs, max_time or patience")
        validates = objective.validates
        if not validates and (patience or validate_every):
            name = "patience" if patience else "validate_every"
            raise ValueError(f"{name} needs a score: {type(objective).__name__} does not define validate()")
        return cls(max_steps, max_epochs, seconds, validates, validate_every, patience)

    def warn_if_passed(self, run: Run) -> None:
        """Before the first step: a checkpoint may be older than it was asked to become."""
        for name, done, most in (("epochs", run.epoch, self.max_epochs), ("steps", run.step, self.max_steps)):
            if most is not None and done > most and run.processes.first:
                warnings.warn(
                    f"max_{name}={most}, but the checkpoint has been trained for {done} {name} and is kept as it is: "
                    "give another folder to train for fewer",
                    stacklevel=4,
                )

    def reached(self, run: Run, seconds: float) -> str | None:
        """The limit at which the run has arrived."""
        if self.max_steps is not None and run.step >= self.max_steps:
            return "max_steps"
        if self.max_epochs is not None and run.epoch >= self.max_epochs:
            return "max_epochs"
        if self.patience is not None and run.history.validations_since_best() >= self.patience:
            return "patience"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return "max_time"
        return None
