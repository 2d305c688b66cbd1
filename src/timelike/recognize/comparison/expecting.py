"""How long a method will take on a fold: a guess by the size of the data, corrected by what was measured."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from ...align import DTW, Aligner, named
from ...models import parts
from .problem import Problem

_STEADY = 0.3  # seconds: a guess below says nothing about the speed of the machine
_MOST = 5.0  # by how much the machine is taken to be slower or faster than the guesses
_CELL = (1.5e-9, 3e-10)  # seconds for a cell of the table of one channel: any aligner, DTW
_WINDOWS = 50.0  # tables that a window is chosen by: 101 of them, each half as wide in the mean


@dataclass(frozen=True)
class Size:
    """Of one fold: sequences to learn from and to test, time steps, channels."""

    n: float
    m: float
    steps: float
    channels: float

    @classmethod
    def of(cls, problem: Problem) -> Size:
        n = sum(len(train) for train, _ in problem.folds) / len(problem.folds)
        m = sum(len(test) for _, test in problem.folds) / len(problem.folds)
        channels = 1
        for axis in problem.X.frame:
            channels *= axis
        return cls(n, m, float(problem.X.lengths.mean()), channels)


def seconds(model: Any, size: Size) -> float:
    """Seconds for one fold on an ordinary core; a second for what nothing is known about.

    >>> seconds(None, Size(100, 100, 100, 1))
    1.0
    """
    inside = _inside(model)
    values, cell = size.steps * size.channels, _CELL[isinstance(inside, DTW)]
    guesses = {
        "Euclidean": 0.01 + 1e-9 * size.n * size.m * values,
        "elastic": 0.01 + cell * (size.m + _tried(model) * size.n) * size.n * size.steps * (size.steps + values) / 2,
        "StatisticsEncoder": 0.4 + 2e-3 * size.n + 5e-7 * (size.n + size.m) * values,
        "Rocket": 0.3 + 3e-3 * size.n + 3e-6 * (size.n + size.m) * size.steps * (1 + size.channels / 4),
        "Discriminant": 1.0 + 5e-3 * size.n + 3e-6 * (size.n + size.m) * size.steps * (1 + size.channels / 4),
        "CausalEncoder": 30 * (0.3 + size.steps / 300) + 1e-5 * (size.n + size.m) * size.steps,
        "SiameseGRU": 10 * (0.3 + min(size.steps, 500) / 250),
        "Prototypes": 1.0 + 12 * (0.3 + min(size.steps, 500) / 250) + 5e-3 * size.n,
        "CoupledGRU": 15 * (0.3 + min(size.steps, 500) / 250) + 1e-6 * size.n * size.m * min(size.steps, 500),
        "TAP": 40 * (0.3 + min(size.steps, 500) / 250) + 1e-6 * size.n * size.m * min(size.steps, 500),
    }
    if type(inside).__name__ == "Fused":  # what learns is fitted ten times, and everything compares all pairs
        return sum(10 * seconds(one, size) for one in map(named.resolve, inside.metrics))
    kind = type(inside).__name__
    return guesses[kind] if kind in guesses else guesses["elastic"] if isinstance(inside, Aligner) else 1.0


def _inside(model: Any) -> Any:
    """The metric or the encoder of an estimator, where it has one."""
    inner = getattr(model, "metric", None) if hasattr(model, "metric") else getattr(model, "encoder", None)
    if callable(inner):  # a verb, as of `Prototypes`
        inner = None
    if isinstance(inner, str):
        inner = named.by_name()[inner]() if inner in named.by_name() else None
    return parts.thawed(model) if inner is None else parts.thawed(inner)


def _tried(model: Any) -> float:
    """How many tables over the training part the choice of a window takes."""
    return _WINDOWS / 2 if getattr(model, "select_window", False) else 0.0


class Speed:
    """How long folds took beside what was guessed, for all methods and for each."""

    def __init__(self) -> None:
        self._ratios: list[float] = []
        self._took: dict[str, list[float]] = {}

    def learn(self, name: str, guess: float, took: float) -> None:
        """A fold of the method is finished."""
        self._took.setdefault(name, []).append(took)
        if guess > _STEADY:
            self._ratios.append(took / guess)

    def expected(self, name: str, guess: float) -> float:
        """Seconds for a fold: as it took before, or the guess at the speed that the machine has shown."""
        if name in self._took:
            return statistics.fmean(self._took[name])
        factor = statistics.median(self._ratios) if self._ratios else 1.0
        return guess * min(max(factor, 1 / _MOST), _MOST)
