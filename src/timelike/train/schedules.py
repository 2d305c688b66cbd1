"""Schedules of the learning rate, as values: what they need to know they read from the history of the run."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from ..sequences.arguments import one_of, real, whole
from .history import History


class Schedule(ABC):
    """Gives the factor by which the optimiser's own learning rate is multiplied."""

    @abstractmethod
    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """The factor after `step` steps, of `horizon` in all if that is known."""

    def check(self, horizon: int | None) -> None:  # noqa: B027
        """Complain before the first step, not at it."""


@dataclass(frozen=True)
class Constant(Schedule):
    """The learning rate as it is."""

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """Always 1."""
        return 1.0


@dataclass(frozen=True, kw_only=True)
class Cosine(Schedule):
    """Half a cosine from 1 to `final` over `steps` (`max_steps` unless given), after a linear rise over `warmup` steps.

    >>> [round(Cosine(steps=4).factor(step, None, History()), 3) for step in range(5)]
    [1.0, 0.854, 0.5, 0.146, 0.0]
    """

    steps: int | None = None
    warmup: int = 0
    final: float = 0.0

    def __post_init__(self) -> None:
        if self.steps is not None:
            whole(self.steps, "steps", 1)
        whole(self.warmup, "warmup", 0)
        real(self.final, "final", 0, 1)

    def check(self, horizon: int | None) -> None:
        """A cosine needs to know where it ends."""
        steps = self.steps or horizon
        if steps is None:
            raise ValueError(
                "schedule=Cosine() does not know how many steps there will be: give it steps, or max_steps"
            )
        if self.warmup >= steps:
            raise ValueError(f"warmup={self.warmup}: expected fewer than the {steps} steps of the schedule")

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """Rise, then fall, then stay."""
        if step < self.warmup:
            return (step + 1) / (self.warmup + 1)
        steps = self.steps or horizon or 1
        return _eased(1.0, self.final, min(1.0, (step - self.warmup) / max(1, steps - self.warmup)))


@dataclass(frozen=True, kw_only=True)
class OneCycle(Schedule):
    """Up from `first` to 1 over the share `rise` of all steps, then down to `last`, each along half a cosine.

    A rate that would be too large at the start and too coarse at the end is the quickest in between, so that a few
    hundred steps are enough (Smith and Topin, "Super-convergence", 2019). How many steps there are it takes from
    `max_steps`, or from the pace of the training where `max_time` ends it first, unless `steps` says so.

    >>> [round(OneCycle().factor(step, 10, History()), 3) for step in (0, 3, 6, 9)]
    [0.04, 1.0, 0.611, 0.05]
    """

    rise: float = 0.3
    first: float = 0.04
    last: float = 0.0
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            whole(self.steps, "steps", 1)
        real(self.rise, "rise", 0, 1)
        real(self.first, "first", 0, 1)
        real(self.last, "last", 0, 1)

    def check(self, horizon: int | None) -> None:
        """A cycle needs to know where it ends."""
        if self.steps is None and horizon is None:
            raise ValueError(
                "schedule=OneCycle() does not know how many steps there will be: give it steps, max_steps or max_time"
            )

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """Up, then down."""
        ends = [steps for steps in (self.steps, horizon) if steps is not None]
        share = min(1.0, step / min(ends)) if ends else 0.0
        if share < self.rise:
            return _eased(self.first, 1.0, share / self.rise)
        return _eased(1.0, self.last, (share - self.rise) / max(1 - self.rise, 1e-9))


def _eased(start: float, end: float, share: float) -> float:
    """From one to the other along half a cosine."""
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


@dataclass(frozen=True, kw_only=True)
class Steps(Schedule):
    """Multiplied by `by` after every `every` steps.

    >>> [Steps(every=2, by=0.5).factor(step, None, History()) for step in range(5)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    every: int
    by: float = 0.1

    def __post_init__(self) -> None:
        whole(self.every, "every", 1)
        real(self.by, "by", above=0)

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """A staircase."""
        return float(self.by ** (step // self.every))


@dataclass(frozen=True, kw_only=True)
class Milestones(Schedule):
    """Multiplied by `by` once at each of the steps `at`, as torch's `MultiStepLR` does.

    Fractions between 0 and 1 are shares of all steps: of `max_steps`, or of as many as `max_time` allows.

    >>> [Milestones(at=(2, 3), by=0.5).factor(step, None, History()) for step in range(5)]
    [1.0, 1.0, 0.5, 0.25, 0.25]
    >>> [Milestones(at=(0.5, 0.75), by=0.5).factor(step, 4, History()) for step in range(5)]
    [1.0, 1.0, 0.5, 0.25, 0.25]
    """

    at: tuple[int, ...] | tuple[float, ...]
    by: float = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.at, tuple) or not self.at:
            raise TypeError(f"at={self.at!r:.60}: expected a tuple of steps, such as (1000, 2000), or of shares of all")
        for one in self.at:
            if not isinstance(one, float):
                whole(one, "at", 1)
            elif not 0 < one < 1:
                raise ValueError(f"at={self.at!r:.60}: expected whole steps, or shares of all steps between 0 and 1")
        real(self.by, "by", above=0)

    def check(self, horizon: int | None) -> None:
        """Shares need to know of how many steps."""
        if horizon is None and any(isinstance(one, float) for one in self.at):
            raise ValueError(
                f"schedule={self!r:.80} does not know how many steps there will be: give it steps in place of shares, "
                "or max_steps or max_time"
            )

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """A staircase with steps of any length."""
        passed = sum(step >= (one * (horizon or math.inf) if isinstance(one, float) else one) for one in self.at)
        return float(self.by**passed)


@dataclass(frozen=True, kw_only=True)
class Linear(Schedule):
    """As it is for most of the steps, then straight down to 0 over the last `share` of them.

    >>> [Linear(share=0.5).factor(step, 8, History()) for step in range(9)]
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """

    _called: ClassVar[str] = "train.Linear"  # what folders call Linear is a kernel

    share: float = 0.1
    steps: int | None = None

    def __post_init__(self) -> None:
        if self.steps is not None:
            whole(self.steps, "steps", 1)
        real(self.share, "share", 0, 1, above=0)

    def check(self, horizon: int | None) -> None:
        """A fall needs to know where it ends."""
        if self.steps is None and horizon is None:
            raise ValueError(
                "schedule=Linear() does not know how many steps there will be: give it steps, max_steps or max_time"
            )

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """Level, then down."""
        ends = [steps for steps in (self.steps, horizon) if steps is not None]
        left = 1 - min(1.0, step / min(ends)) if ends else 1.0
        return min(1.0, left / self.share)


Watched = Literal["auto", "loss", "score"]


@dataclass(frozen=True, kw_only=True)
class Plateau(Schedule):
    """Multiplied by `by` (halved) after `patience` epochs without progress, and then again after as many.

    Progress is a better validation score where there is one (`patience` then counts validations), otherwise a smaller
    mean loss of an epoch; `watch` chooses.

    >>> history = History()
    >>> for epoch, loss in enumerate([3.0, 2.0, 2.5, 2.4, 1.0]):
    ...     history.note("epoch_loss", epoch, loss)
    >>> Plateau(patience=2).factor(0, None, history), Plateau(patience=3).factor(0, None, history)
    (0.5, 1.0)
    """

    patience: int = 10
    by: float = 0.5
    least: float = 0.0
    watch: Watched = "auto"

    def __post_init__(self) -> None:
        whole(self.patience, "patience", 1)
        real(self.by, "by", 0, 1, above=0)
        real(self.least, "least", 0, 1)
        one_of(self.watch, "watch", get_args(Watched))

    def factor(self, step: int, horizon: int | None, history: History) -> float:
        """Counted anew from the history, so that there is no state to keep."""
        scored = self.watch == "score" or (self.watch == "auto" and len(history.scores) > 0)
        seen = history.scores if scored else history["epoch_loss"]
        factor, best, waited = 1.0, math.inf, 0
        for value in (-seen if scored and history.higher_is_better else seen).tolist():
            best, waited = (value, 0) if value < best else (best, waited + 1)
            if waited == self.patience:
                factor, waited = factor * self.by, 0
        return max(factor, self.least)
