"""Training: the one verb of this room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from ..sequences.arguments import real
from ..sequences.sampling import RandomState
from . import interrupts, randomness
from .callbacks import Callback, ProgressBar
from .history import History
from .limits import Limits
from .loop import Loop
from .objective import Objective
from .processes import Accelerator, Precision, Processes, Strategy
from .run import Run
from .saving import Saving
from .schedules import Constant, Schedule


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
    progress: bool = False,
    random_state: RandomState = None,
) -> History:
    """Train the module of an objective until the first of the limits is reached.

    Parameters
    ----------
    max_steps, max_epochs, max_time : optional
        When to stop: after so many steps, epochs, or seconds (a number or a `timedelta`). Together with `patience`, at
        least one is needed. A run that continues counts the time before its pause.
    accelerator, devices, strategy, precision
        Where to compute. `strategy="ddp"` with several devices starts as many processes, also with
        `accelerator="cpu"`: each runs the calling program, takes its part of every batch, and ends with the same
        weights.
    gradient_clip : float, optional
        Norm to which longer gradients are shortened.
    schedule : Schedule, optional
        What becomes of the learning rate: `Constant`, `Plateau`, `Cosine`, `Steps`; for several optimisers, one for
        all or a dict with one for each.
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
    random_state
        Repeats the whole run; without it each is different, but a continued run keeps the seed it began with.
        torch's, numpy's and Python's global generators are left as they were.

    Raises
    ------
    Diverged
        A loss or gradient is not finite: the message names the step and the sequences.
    """
    limits = Limits.checked(objective, max_steps, max_epochs, max_time, validate_every, patience)
    schedules = _checked_schedules(schedule, max_steps)
    saving = Saving.checked(checkpoint, checkpoint_every, resume)
    clip = None if gradient_clip is None else real(gradient_clip, "gradient_clip", above=0)
    seed = randomness.drawn_seed(random_state)
    processes = Processes.start(accelerator, devices, strategy, precision)
    bars = [ProgressBar(max_steps, max_epochs)] if progress and processes.first else []
    with randomness.untouched(), interrupts.noticed() as interrupted:
        run = Run(objective, processes, processes.agreed(seed))
        saving.restore(run, random_state is not None)
        limits.warn_if_passed(run)
        loop = Loop(run, limits, schedules, saving, clip, [*callbacks, *bars], interrupted)
        loop.go()
    return run.history


def _checked_schedules(schedule: Any, max_steps: int | None) -> Mapping[str, Schedule] | Schedule:
    found = Constant() if schedule is None else schedule
    for one in found.values() if isinstance(found, Mapping) else [found]:
        if not isinstance(one, Schedule):
            raise TypeError(
                f"schedule is a {type(one).__name__}: expected a Schedule such as Cosine(), or a dict of them"
            )
        one.check(max_steps)
    return found
