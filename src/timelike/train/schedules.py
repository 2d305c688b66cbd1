"""Learning-rate schedules as values without state; they read scores and losses from the history of the run."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from ..core.parameters import check_choice, check_float, check_int
from .history import History

ScheduleName = Literal["constant", "one_cycle", "cosine", "linear", "plateau", "milestones"]

_MILESTONE_EPOCHS = 200  # epochs after which "milestones" lowers the rate, as in the paper on prototypes


class Schedule(ABC):
    """A schedule: the factor on the optimiser's learning rate at every step."""

    @abstractmethod
    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """The factor after `step` steps; `horizon` is the expected total, if known."""

    def check(self, horizon: int | None) -> None:  # noqa: B027
        """Raise an error before the first step if the schedule cannot be used."""


@dataclass(frozen=True)
class Constant(Schedule):
    """A constant learning rate."""

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """Always 1."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Cosine(Schedule):
    """Half a cosine from 1 to `final` over `steps` (default: `max_steps`), after a linear rise over `warmup` steps.

    >>> [round(Cosine(steps=4).factor(step, None, History()), 3) for step in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """

    steps: int | None = None
    warmup: int = 0
    final: float = 0.0

    def __post_init__(self) -> None:
        if self.steps is not None:
            check_int(self.steps, "steps", 1)
        check_int(self.warmup, "warmup", 0)
        check_float(self.final, "final", 0, 1)

    def check(self, horizon: int | None) -> None:
        """Raise an error if the number of steps is unknown."""
        steps = self.steps or horizon
        if steps is None:
            raise ValueError("schedule=Cosine() needs the number of steps: give it steps, or max_steps")
        if self.warmup >= steps:
            raise ValueError(f"warmup={self.warmup}: expected fewer than the {steps} steps of the schedule")

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """The factor: a linear rise, a cosine, then a constant."""
        if step < self.warmup:
            return (step + 1) / (self.warmup + 1)
        steps = self.steps or horizon or 1
        return _ease_cosine(1.0, self.final, min(1.0, (step - self.warmup) / max(1, steps - self.warmup)))


@dataclass(frozen=True, kw_only=True)
class OneCycle(Schedule):
    """Up from `first` to 1 over the fraction `warmup_share` of the steps, then down to `last`, along half cosines.

    A high rate in the middle speeds up training, so that a few hundred steps are enough; the start needs a smaller one
    for stability, and the end for precision (Smith and Topin, "Super-convergence", 2019). The number of steps is
    `steps`, or by default `max_steps`, or the number that `max_time` allows if that ends the training first.

    >>> [round(OneCycle().factor(step, 10, History()), 3) for step in (0, 3, 6, 9)]
    [0.04, 1.0, 0.611, 0.05]
    """

    warmup_share: float = 0.3
    first: float = 0.04
    last: float = 0.0
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            check_int(self.steps, "steps", 1)
        check_float(self.warmup_share, "warmup_share", 0, 1)
        check_float(self.first, "first", 0, 1)
        check_float(self.last, "last", 0, 1)

    def check(self, horizon: int | None) -> None:
        """Raise an error if the number of steps is unknown."""
        if self.steps is None and horizon is None:
            raise ValueError("schedule=OneCycle() needs the number of steps: give it steps, max_steps or max_time")

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """The factor: up, then down."""
        ends = [steps for steps in (self.steps, horizon) if steps is not None]
        share = min(1.0, step / min(ends)) if ends else 0.0
        if share < self.warmup_share:
            return _ease_cosine(self.first, 1.0, share / self.warmup_share)
        return _ease_cosine(1.0, self.last, (share - self.warmup_share) / max(1 - self.warmup_share, 1e-9))


def _ease_cosine(start: float, end: float, share: float) -> float:
    """Interpolate between two values along half a cosine."""
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


@dataclass(frozen=True, kw_only=True)
class StepDecay(Schedule):
    """Multiplied by `gamma` after every `every` steps.

    >>> [StepDecay(every=2, gamma=0.5).factor(step, None, History()) for step in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    every: int
    gamma: float = 0.1

    def __post_init__(self) -> None:
        check_int(self.every, "every", 1)
        check_float(self.gamma, "gamma", above=0)

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """The factor: a staircase with steps of equal length."""
        return float(self.gamma ** (step // self.every))


@dataclass(frozen=True, kw_only=True)
class Milestones(Schedule):
    """Multiplied by `gamma` once at each of the steps `milestones`, as torch's `MultiStepLR` does.

    Floats between 0 and 1 are fractions of all steps: of `max_steps`, or of the number that `max_time` allows.

    >>> [Milestones(milestones=(2, 3), gamma=0.5).factor(step, None, History()) for step in range(5)]
    [1.0, 1.0, 0.5, 0.25, 0.25]
    >>> [Milestones(milestones=(0.5, 0.75), gamma=0.5).factor(step, 4, History()) for step in range(5)]
    [1.0, 1.0, 0.5, 0.25, 0.25]
    """

    milestones: tuple[int, ...] | tuple[float, ...]
    gamma: float = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.milestones, tuple) or not self.milestones:
            raise TypeError(
                f"milestones={self.milestones!r:.60}: expected a tuple of steps, such as (1000, 2000), or of fractions "
                "of all steps"
            )
        for one in self.milestones:
            if not isinstance(one, float):
                check_int(one, "milestones", 1)
            elif not 0 < one < 1:
                raise ValueError(
                    f"milestones={self.milestones!r:.60}: expected whole steps, or fractions between 0 and 1"
                )
        check_float(self.gamma, "gamma", above=0)

    def check(self, horizon: int | None) -> None:
        """Raise an error if there are fractions and the number of steps is unknown."""
        if horizon is None and any(isinstance(one, float) for one in self.milestones):
            raise ValueError(
                f"schedule={self!r:.80} needs the number of steps: give steps instead of fractions, or max_steps or "
                "max_time"
            )

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """The factor: a staircase with steps of any length."""
        passed = sum(
            step >= (one * (horizon or math.inf) if isinstance(one, float) else one) for one in self.milestones
        )
        return float(self.gamma**passed)


@dataclass(frozen=True, kw_only=True)
class LinearDecay(Schedule):
    """Constant at first, then linearly down to 0 over the last fraction `share` of the steps.

    >>> [LinearDecay(share=0.5).factor(step, 8, History()) for step in range(9)]
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """

    share: float = 0.1
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            check_int(self.steps, "steps", 1)
        check_float(self.share, "share", 0, 1, above=0)

    def check(self, horizon: int | None) -> None:
        """Raise an error if the number of steps is unknown."""
        if self.steps is None and horizon is None:
            raise ValueError("schedule=LinearDecay() needs the number of steps: give it steps, max_steps or max_time")

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """The factor: constant, then down."""
        ends = [steps for steps in (self.steps, horizon) if steps is not None]
        left = 1 - min(1.0, step / min(ends)) if ends else 1.0
        return min(1.0, left / self.share)


MonitoredTrack = Literal["auto", "loss", "score"]


@dataclass(frozen=True, kw_only=True)
class Plateau(Schedule):
    """Multiplied by `gamma` (default: halved) after every `patience` epochs without progress.

    Progress is a better validation score if there is one (`patience` then counts validations), otherwise a smaller
    mean loss of an epoch; `monitor` selects one of them.

    >>> history = History()
    >>> for epoch, loss in enumerate([3.0, 2.0, 2.5, 2.4, 1.0]):
    ...     history.record("epoch_loss", epoch, loss)
    >>> Plateau(patience=2).factor(0, None, history), Plateau(patience=3).factor(0, None, history)
    (0.5, 1.0)
    """

    patience: int = 10
    gamma: float = 0.5
    minimum: float = 0.0
    monitor: MonitoredTrack = "auto"

    def __post_init__(self) -> None:
        check_int(self.patience, "patience", 1)
        check_float(self.gamma, "gamma", 0, 1, above=0)
        check_float(self.minimum, "minimum", 0, 1)
        check_choice(self.monitor, "monitor", get_args(MonitoredTrack))

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """The factor, recomputed from the history at every step, so that there is no state."""
        scored = self.monitor == "score" or (self.monitor == "auto" and len(history.scores) > 0)
        values = history.scores if scored else history["epoch_loss"]
        factor, best, waited = 1.0, math.inf, 0
        for value in (-values if scored and history.higher_is_better else values).tolist():
            best, waited = (value, 0) if value < best else (best, waited + 1)
            if waited == self.patience:
                factor, waited = factor * self.gamma, 0
        return max(factor, self.minimum)


def check_schedule(value: Any, name: str) -> ScheduleName | Schedule:
    """Check and return the name of a schedule, or a schedule."""
    if isinstance(value, Schedule):
        return value
    if not isinstance(value, str):
        raise TypeError(
            f"{name}={value!r:.60}: expected one of {', '.join(map(repr, get_args(ScheduleName)))}, or a schedule such "
            "as train.LinearDecay(share=0.25)"
        )
    return cast(ScheduleName, check_choice(value, name, get_args(ScheduleName)))


def make_schedule(
    schedule: ScheduleName | Schedule, *, max_steps: int | None, max_epochs: int | None, n_batches: float | None
) -> Schedule | None:
    """The schedule with a name, for a training of `max_steps`, or of `max_epochs` with `n_batches` each.

    >>> make_schedule("cosine", max_steps=200, max_epochs=None, n_batches=None)
    Cosine(steps=None, warmup=20, final=0.0)
    """
    if isinstance(schedule, Schedule):
        return schedule
    in_epochs = None if max_epochs is None or n_batches is None else math.ceil(max_epochs * n_batches)
    ends = [steps for steps in (max_steps, in_epochs) if steps is not None]
    if schedule == "one_cycle":
        return OneCycle(steps=in_epochs)
    if schedule == "cosine":
        return Cosine(steps=in_epochs, warmup=min(ends) // 10 if ends else 0)
    if schedule == "milestones":
        if n_batches is None:
            raise ValueError(
                "schedule='milestones' counts epochs, but this training has none: give train.Milestones(…)"
            )
        return Milestones(milestones=(_MILESTONE_EPOCHS * math.ceil(n_batches),))
    named = {"linear": LinearDecay(steps=in_epochs), "plateau": Plateau(patience=10, monitor="loss")}
    return named.get(schedule)
