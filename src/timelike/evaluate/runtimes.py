"""Estimated seconds of a method on one fold, from the sizes of the data, and their correction by measured ones."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from ..align import DTW, Aligner, metric_names
from ..align.elastic import ElasticDistance
from ..models import components
from ..train import Trained
from .problem import ComparisonProblem

_MIN_MEASURED_SECONDS = 0.3  # seconds: a shorter estimate does not measure the speed of the machine
_MAX_SPEED_FACTOR = 5.0  # largest assumed ratio of measured and estimated seconds
_USUAL_STEPS = 500  # of a training, to which the estimates below refer
_USUAL_ENCODER_STEPS = 200
_N_WINDOW_TABLES = 50.0  # tables for the choice of a window: 101 of them, on average half as wide


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
    kind = type(inside).__name__
    if kind == "Fused":  # what learns is fitted several times, also on parts
        parts = map(metric_names.resolve_metric, inside.metrics)
        return sum((10 if isinstance(one, Trained) else 4) * estimate_seconds(one, size) for one in parts)
    if isinstance(inside, Aligner) and kind != "Euclidean":
        return _estimate_alignment_seconds(model, inside, size)
    if kind in _NETWORK_SECONDS:
        return _estimate_network_seconds(inside, size)
    n, total = size.n_train, (size.n_train + size.n_test) * size.n_steps
    convolutions = 1e-6 * total * (1 + size.n_channels / 4)
    guesses = {
        "Euclidean": 0.01 + 1e-10 * size.n_train * size.n_test * size.n_steps * size.n_channels,
        "StatisticsEncoder": 0.4 + 1e-3 * n + 5e-7 * total * size.n_channels,
        "Rocket": 0.05 + 2e-3 * n + convolutions,
        "Discriminant": 0.05 + 2e-3 * n + 2e-6 * n**2 + convolutions,
    }
    return guesses.get(kind, 1.0)


def _estimate_alignment_seconds(model: Any, metric: Aligner, size: FoldSize) -> float:
    """All pairs of a test and a training sequence, and pairs of training sequences for the choice of a window."""
    cell_seconds = 2e-11 if isinstance(metric, DTW) else 1e-10 if isinstance(metric, ElasticDistance) else 1.5e-9
    n_pairs = (size.n_test + _n_window_searches(model) * size.n_train) * size.n_train
    return 0.01 + cell_seconds * n_pairs * size.n_steps**2 * (1 + size.n_channels) / 2


# seconds of the usual number of steps: without time steps, and for each of them, averaged to 500 where there are more
_NETWORK_SECONDS = {
    "CausalEncoder": (4.0, 0.04),
    "SiameseGRU": (3.0, 0.04),
    "Prototypes": (4.0, 0.05),
    "CoupledGRU": (4.5, 0.06),
    "TAP": (12.0, 0.16),
}
_QUADRATIC = ("CoupledGRU", "TAP")  # distances are computed pair by pair


def _estimate_network_seconds(network: Any, size: FoldSize) -> float:
    kind, n_steps = type(network).__name__, min(size.n_steps, 500)
    base, per_step = _NETWORK_SECONDS[kind]
    usual_steps = _USUAL_ENCODER_STEPS if kind == "CausalEncoder" else _USUAL_STEPS
    training_seconds = (base + per_step * n_steps) * (network.max_steps or usual_steps) / usual_steps
    n_used = size.n_train * size.n_test if kind in _QUADRATIC else 10 * (size.n_train + size.n_test)
    return training_seconds + 1e-6 * n_used * n_steps


def _inner_model(model: Any) -> Any:
    """The metric or the encoder of an estimator, if it has one."""
    inner = getattr(model, "metric", None) if hasattr(model, "metric") else getattr(model, "encoder", None)
    if callable(inner):  # a method, as of `Prototypes`
        inner = None
    if isinstance(inner, str):
        inner = metric_names.metrics_by_name()[inner]() if inner in metric_names.metrics_by_name() else None
    return components.unfreeze(model) if inner is None else components.unfreeze(inner)


def _n_window_searches(model: Any) -> float:
    """The number of tables over the training part for the choice of a window."""
    return _N_WINDOW_TABLES / 2 if getattr(model, "select_window", False) else 0.0


class SpeedTracker:
    """Measured against estimated seconds of folds, for all methods and for each."""

    def __init__(self) -> None:
        self._ratios: list[float] = []
        self._seconds_by_method: dict[str, list[float]] = {}

    def record(self, name: str, guess: float, seconds: float) -> None:
        """Record the seconds of a finished fold beside the estimate."""
        self._seconds_by_method.setdefault(name, []).append(seconds)
        if guess > _MIN_MEASURED_SECONDS:
            self._ratios.append(seconds / guess)

    def estimate(self, name: str, guess: float) -> float:
        """Seconds for a fold: the mean of recorded ones, or the estimate at the measured speed of the machine."""
        if name in self._seconds_by_method:
            return statistics.fmean(self._seconds_by_method[name])
        factor = statistics.median(self._ratios) if self._ratios else 1.0
        return guess * min(max(factor, 1 / _MAX_SPEED_FACTOR), _MAX_SPEED_FACTOR)
