"""How long a method takes on a fold: an estimate from the size of the data, corrected by measured times."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from ..align import DTW, Aligner, metric_names
from ..models import components
from .problem import ComparisonProblem

_MIN_MEASURED_SECONDS = 0.3  # seconds: a guess below says nothing about the speed of the machine
_MAX_SPEED_FACTOR = 5.0  # by how much the machine is taken to be slower or faster than the guesses
_CELL_SECONDS = (1.5e-9, 3e-10)  # seconds for a cell of the table of one channel: any aligner, DTW
_N_WINDOW_TABLES = 50.0  # tables that a window is chosen by: 101 of them, each half as wide in the mean


@dataclass(frozen=True)
class FoldSize:
    """Of one fold: sequences to learn from and to test, time steps, channels."""

    n_train: float
    n_test: float
    n_steps: float
    n_channels: float

    @classmethod
    def from_problem(cls, problem: ComparisonProblem) -> FoldSize:
        n = sum(len(train) for train, _ in problem.folds) / len(problem.folds)
        m = sum(len(test) for _, test in problem.folds) / len(problem.folds)
        channels = 1
        for axis in problem.X.frame:
            channels *= axis
        return cls(n, m, float(problem.X.lengths.mean()), channels)


def estimate_seconds(model: Any, size: FoldSize) -> float:
    """Seconds for one fold on an ordinary core; 1 for an unknown method.

    >>> estimate_seconds(None, FoldSize(100, 100, 100, 1))
    1.0
    """
    inside = _inner_model(model)
    values, cell = size.n_steps * size.n_channels, _CELL_SECONDS[isinstance(inside, DTW)]
    guesses = {
        "Euclidean": 0.01 + 1e-9 * size.n_train * size.n_test * values,
        "elastic": 0.01
        + cell
        * (size.n_test + _n_window_searches(model) * size.n_train)
        * size.n_train
        * size.n_steps
        * (size.n_steps + values)
        / 2,
        "StatisticsEncoder": 0.4 + 2e-3 * size.n_train + 5e-7 * (size.n_train + size.n_test) * values,
        "Rocket": 0.3
        + 3e-3 * size.n_train
        + 3e-6 * (size.n_train + size.n_test) * size.n_steps * (1 + size.n_channels / 4),
        "Discriminant": 1.0
        + 5e-3 * size.n_train
        + 3e-6 * (size.n_train + size.n_test) * size.n_steps * (1 + size.n_channels / 4),
        "CausalEncoder": 30 * (0.3 + size.n_steps / 300) + 1e-5 * (size.n_train + size.n_test) * size.n_steps,
        "SiameseGRU": 10 * (0.3 + min(size.n_steps, 500) / 250),
        "Prototypes": 1.0 + 12 * (0.3 + min(size.n_steps, 500) / 250) + 5e-3 * size.n_train,
        "CoupledGRU": 15 * (0.3 + min(size.n_steps, 500) / 250)
        + 1e-6 * size.n_train * size.n_test * min(size.n_steps, 500),
        "TAP": 40 * (0.3 + min(size.n_steps, 500) / 250) + 1e-6 * size.n_train * size.n_test * min(size.n_steps, 500),
    }
    if type(inside).__name__ == "Fused":  # what learns is fitted ten times, and everything compares all pairs
        return sum(10 * estimate_seconds(one, size) for one in map(metric_names.resolve_metric, inside.metrics))
    kind = type(inside).__name__
    return guesses[kind] if kind in guesses else guesses["elastic"] if isinstance(inside, Aligner) else 1.0


def _inner_model(model: Any) -> Any:
    """The metric or the encoder of an estimator, where it has one."""
    inner = getattr(model, "metric", None) if hasattr(model, "metric") else getattr(model, "encoder", None)
    if callable(inner):  # a verb, as of `Prototypes`
        inner = None
    if isinstance(inner, str):
        inner = metric_names.metrics_by_name()[inner]() if inner in metric_names.metrics_by_name() else None
    return components.unfreeze(model) if inner is None else components.unfreeze(inner)


def _n_window_searches(model: Any) -> float:
    """How many tables over the training part the choice of a window takes."""
    return _N_WINDOW_TABLES / 2 if getattr(model, "select_window", False) else 0.0


class SpeedTracker:
    """Measured against estimated seconds of folds, for all methods and for each."""

    def __init__(self) -> None:
        self._ratios: list[float] = []
        self._seconds_by_method: dict[str, list[float]] = {}

    def record(self, name: str, guess: float, took: float) -> None:
        """Record the seconds of a finished fold beside the estimate."""
        self._seconds_by_method.setdefault(name, []).append(took)
        if guess > _MIN_MEASURED_SECONDS:
            self._ratios.append(took / guess)

    def estimate(self, name: str, guess: float) -> float:
        """Seconds for a fold: the mean of recorded ones, or the estimate at the measured speed of the machine."""
        if name in self._seconds_by_method:
            return statistics.fmean(self._seconds_by_method[name])
        factor = statistics.median(self._ratios) if self._ratios else 1.0
        return guess * min(max(factor, 1 / _MAX_SPEED_FACTOR), _MAX_SPEED_FACTOR)
