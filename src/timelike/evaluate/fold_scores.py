"""One method on one fold: fitted once, timed, and scored by every requested score."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .. import score
from ..models import components
from ..sequences import Sequences
from .methods import ComparedMethod, find_metric
from .predictions import validate_predictions
from .preparation import prepare_parts
from .problem import ComparisonProblem

T = TypeVar("T")
Floats = list[float]

_STATUS_FILE, _RESET_FILE = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MAX_PAIRED_ITEMS = 2000  # test sequences of which all pairs are compared
_MAX_RESAMPLES = 300  # for an equal error rate, at most: its pairs are many
_MAX_RESAMPLED_PAIRS = 100_000_000  # pairs in all of them
_NO_DISTANCES_REASON = "it classifies without distances: give a metric or an encoder for this score"


@dataclass(frozen=True)
class FoldResult:
    """What a method did on one fold."""

    values: dict[str, float] = field(default_factory=dict)
    """The score of the fold, by score."""
    items: dict[str, Floats] = field(default_factory=dict)
    """A number for each test sequence, of which the score is the mean; nan where it does not count."""
    draws: dict[str, Floats] = field(default_factory=dict)
    """The score when the test sequences are drawn anew, where it is no mean: the same draws for every method."""
    missing_scores: dict[str, str] = field(default_factory=dict)
    """Why there is no such score."""
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    fit_cpu_seconds: float = 0.0
    """Of all processors together, whatever else ran on them."""
    memory: int | None = None
    """Peak bytes of fitting and predicting, beyond those in use before; None where the system does not report it."""
    warnings: tuple[str, ...] = ()
    """The first lines of the warnings that the method gave."""
    interpolated: bool = False
    """Whether missing values were filled in, since the method cannot take them."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no nan."""
        held = asdict(self)
        held["items"] = {name: [None if np.isnan(v) else v for v in given] for name, given in self.items.items()}
        return held


def score_fold(method: ComparedMethod, model: Any, problem: ComparisonProblem, fold: int) -> FoldResult:
    """Fit a method's model on the training part of a fold, and score it on the test part."""
    (X, y), (X_test, _) = map(problem.select_rows, problem.folds[fold])
    before = _peak_memory(reset=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cpu = time.process_time()
        prepared, seconds = _measure_time(lambda: prepare_parts(method.prepare, method.steps, model, y, X, X_test))
        X, X_test = prepared.parts
        fitted, fit_seconds = _measure_time(lambda: _fit_model(model, X, y))
        cpu = time.process_time() - cpu
        found = FoldResult(interpolated=prepared.interpolated)
        if problem.needs_predictions:
            answer, predict_seconds = _measure_time(lambda: fitted.predict(X_test))
            _score_predictions(found, problem, fold, answer)
        if problem.needs_distances:
            _, distance_seconds = _measure_time(lambda: _score_distances(found, fitted, problem, fold, prepared.parts))
            predict_seconds = predict_seconds if problem.needs_predictions else distance_seconds
    after = _peak_memory()
    memory = None if before is None or after is None else max(after - before, 0)
    messages = tuple(dict.fromkeys(f"{one.message}".split("\n")[0] for one in caught))
    return replace(
        found,
        fit_seconds=seconds + fit_seconds,
        predict_seconds=predict_seconds,
        fit_cpu_seconds=cpu,
        memory=memory,
        warnings=messages[:3],
    )


def _fit_model(model: Any, X: Sequences, y: NDArray[Any]) -> Any:
    """Fit the model, unless it is a metric without `fit` or is already fitted."""
    if not isinstance(model, BaseEstimator) and not hasattr(model, "fit"):
        return model
    return model if components.is_fitted(model) else model.fit(X, y)


def _measure_time(work: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    done = work()
    return done, time.perf_counter() - began


def _score_predictions(found: FoldResult, problem: ComparisonProblem, fold: int, answer: Any) -> None:
    test = problem.folds[fold][1]
    truth, given = problem.y[test], validate_predictions(answer, problem.ids[test], is_regression=problem.is_regression)
    if problem.is_regression:
        with np.errstate(over="ignore"):
            items = (given - truth) ** 2
            mean = float(items.mean())
        if not np.isfinite(mean):
            raise ValueError(f"predict() gave numbers up to {np.abs(given).max():g}, whose squared error is infinite")
        found.items["mse"], found.values["mse"] = items.tolist(), mean
    else:
        right = score.is_correct(truth, given).astype(np.float64)
        found.items["accuracy"], found.values["accuracy"] = right.tolist(), float(right.mean())


def _score_distances(
    found: FoldResult, fitted: Any, problem: ComparisonProblem, fold: int, parts: tuple[Sequences, ...]
) -> None:
    """Scores of the distances between prepared sequences, `parts` being the training and the test part."""
    metric = find_metric(fitted)
    train, test = problem.folds[fold]
    X_train, X_test = parts
    if metric is None:
        found.missing_scores.update({name: _NO_DISTANCES_REASON for name in problem.scores if name in ("map", "eer")})
        return
    if "map" in problem.scores:
        distances = metric.pairwise(X_test, X_train)
        items = score.average_precision(distances, problem.y[test], problem.y[train])
        if np.isnan(items).all():
            found.missing_scores["map"] = "no test sequence has one of its class among those learned from"
        else:
            found.items["map"], found.values["map"] = items.tolist(), float(np.nanmean(items))
    if "eer" in problem.scores:
        some = np.arange(len(test))
        if len(test) > MAX_PAIRED_ITEMS:
            some = np.random.default_rng(fold).choice(some, MAX_PAIRED_ITEMS, replace=False)
        _score_pairs(found, metric.pairwise(X_test[some]), problem, test[some], fold)


def _score_pairs(
    found: FoldResult, distances: NDArray[Any], problem: ComparisonProblem, test: NDArray[Any], fold: int
) -> None:
    """Of all pairs of test sequences; the draws depend on the fold alone, so that methods can be compared by them."""
    labels = problem.y[test]
    far, same, _ = score.item_pairs((distances + distances.T) / 2, labels)
    if same.all() or not same.any():
        found.missing_scores["eer"] = "the test part has no pair of " + ("two classes" if same.all() else "one class")
        return
    found.values["eer"] = score.equal_error_rate(far, same)
    groups = problem.resampling_units(test)
    draws = score.resampled_error_rates(
        (distances + distances.T) / 2,
        labels,
        groups=groups,
        n_resamples=max(50, min(_MAX_RESAMPLES, _MAX_RESAMPLED_PAIRS // len(far))),
        random_state=fold,
    )
    found.draws["eer"] = draws.tolist()


def _peak_memory(*, reset: bool = False) -> int | None:
    """Bytes held at most since the last reset, or now with `reset`; None where the system does not tell."""
    with suppress(OSError, StopIteration, ValueError):
        if reset:
            _RESET_FILE.write_text("5")
        name = "VmRSS" if reset else "VmHWM"
        line = next(line for line in _STATUS_FILE.read_text().splitlines() if line.startswith(name))
        return 1024 * int(line.split()[1])
    return None
