"""`fit`, the one function of this package: its budget, its schedules, and where its checkpoints go."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from torch import nn

from ..core.interrupts import handle_interrupts
from ..core.parameters import check_float, check_folder as folder_path, check_int
from ..core.progress import check_progress
from ..core.random import sample_seed
from ..sequences.sampling import RandomState
from . import seeds
from .callbacks import Callback, DurationNotice, ProgressBar
from .checkpoints import Checkpoints
from .history import History
from .loop import TrainingLoop, TrainingRun
from .objective import Objective
from .processes import Accelerator, Precision, Processes, Strategy
from .schedules import Schedule


def fit(
    objective: Objective,
    *,
    max_steps: int | None = None,
    max_epochs: int | None = None,
    max_time: float | timedelta | None = None,
    accelerator: Accelerator = "cpu",
    devices: int = 1,
    strategy: Strategy = "auto",
    precision: Precision = "32-true",
    gradient_clip: float | None = None,
    schedule: Schedule | Mapping[str, Schedule] | None = None,
    validate_every: int | None = None,
    patience: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int | timedelta = timedelta(minutes=1),
    resume: Literal["auto"] | bool = "auto",
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    random_state: RandomState = None,
) -> History:
    """Train the module of an objective until the first of the limits is reached.

    Parameters
    ----------
    max_steps, max_epochs, max_time : optional
        When to stop: after so many steps, epochs, or seconds (a number or a `timedelta`). Together with `patience`, at
        least one is needed. A run that continues counts the time before its pause. Within the `fit` of a model the
        time is that of all of it: what comes before the first step counts, and as much is kept for what comes after
        the last one as `Objective.closing_steps` says. One step is always made. A validation for which there is no
        time is left out.
    accelerator, devices, strategy, precision
        Where to compute. `strategy="ddp"` with several devices starts as many processes, also with
        `accelerator="cpu"`: each runs the calling program, takes its part of every batch, and ends with the same
        weights.
    gradient_clip : float, optional
        Norm to which longer gradients are shortened.
    schedule : Schedule, optional
        What becomes of the learning rate: `Constant`, `Plateau`, `Cosine`, `OneCycle`, `LinearDecay`, `StepDecay`,
        `Milestones`; for several optimisers, one for all or a dict with one for each.
    validate_every : int, optional
        Steps between two validations; once per epoch unless given.
    patience : int, optional
        Stop after so many validations without a better score. The module ends with the weights of the best one.
    checkpoint : path, optional
        A folder for checkpoints: the last two are kept. A training that is at its end there is returned as it is, also
        if the learning rate is another now or `max_epochs` smaller.
    checkpoint_every : int or timedelta
        Steps or time between two of them. One is written at the end, too, and after Ctrl-C.
    resume : "auto" or bool
        Continue from the checkpoint in the folder: if there is one, always (an error without one), or never (those
        that are there are removed).
    progress : bool or None
        True draws a bar. None says once, on the standard error, how long it will take if that is more than ten seconds,
        and draws the bar on a terminal, where it takes over two.
    random_state
        Repeats the whole run; without it each is different, but a continued run keeps the seed it began with.
        torch's, numpy's and Python's global generators are left as they were.

    Raises
    ------
    Diverged
        A loss or gradient is not finite: the message names the step and the sequences.
    """
    limits = Budget.from_options(objective, max_steps, max_epochs, max_time, validate_every, patience)
    schedules = _check_schedules(schedule, max_steps if max_time is None else max_steps or sys.maxsize)
    checkpoints = _check_checkpoints(checkpoint, checkpoint_every, resume)
    clip = None if gradient_clip is None else check_float(gradient_clip, "gradient_clip", above=0)
    check_progress(progress)
    seed = sample_seed(random_state)
    processes = Processes.start(accelerator, devices, strategy, precision)
    shown: list[Callback] = []
    if processes.is_first and progress is not False:
        shown = [ProgressBar(max_steps, max_epochs, progress, limits.max_seconds)]
        if progress is None:
            shown.insert(0, DurationNotice(limits))  # before the bar
    with seeds.preserve_generators(), handle_interrupts() as ctrl_c:
        run = TrainingRun(objective, processes, processes.broadcast(seed))
        if checkpoints is not None:
            checkpoints.restore(run, random_state is not None)
        limits.warn_if_exceeded(run)
        loop = TrainingLoop(run, limits, schedules, checkpoints, clip, [*callbacks, *shown], ctrl_c)
        loop.train()
    return run.history


def _check_schedules(schedule: Any, horizon: int | None) -> Mapping[str, Schedule] | Schedule | None:
    if schedule is None:
        return None
    for one in schedule.values() if isinstance(schedule, Mapping) else [schedule]:
        if not isinstance(one, Schedule):
            raise TypeError(
                f"schedule is a {type(one).__name__}: expected a Schedule such as Cosine(), or a dict of them"
            )
        one.check(horizon)
    found: Mapping[str, Schedule] | Schedule = schedule
    return found


def _check_checkpoints(folder: str | Path | None, every: int | timedelta, resume: Any) -> Checkpoints | None:
    if resume not in ("auto", True, False):
        raise ValueError(f"resume={resume!r}: expected 'auto', True or False")
    if folder is None and resume is True:
        raise ValueError("resume=True needs a checkpoint: give the folder it is in")
    if isinstance(every, timedelta):
        steps, seconds = None, check_float(every.total_seconds(), "checkpoint_every (in seconds)", above=0)
    else:
        steps, seconds = check_int(every, "checkpoint_every", 1), None
    return None if folder is None else Checkpoints(folder_path(folder, "checkpoint"), steps, seconds, resume)


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
        """The budget, checked."""
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
        """Before the first step: the checkpoint may already have passed the budget."""
        for name, done, most in (("epochs", run.epoch, self.max_epochs), ("steps", run.step, self.max_steps)):
            if most is not None and done > most and run.processes.is_first:
                warnings.warn(
                    f"max_{name}={most}, but the checkpoint has been trained for {done} {name} and is kept as it is: "
                    "give another folder to train for fewer",
                    stacklevel=4,
                )

    def stop_reason(self, run: TrainingRun, seconds: float) -> str | None:
        """The limit at which the run has arrived."""
        if self.max_steps is not None and run.step >= self.max_steps:
            return "max_steps"
        if self.max_epochs is not None and run.epoch >= self.max_epochs:
            return "max_epochs"
        if self.patience is not None and run.history.validations_since_best() >= self.patience:
            return "patience"
        if self.max_seconds is not None and run.step > 0 and seconds >= self.max_seconds:
            return "max_time"
        return None
