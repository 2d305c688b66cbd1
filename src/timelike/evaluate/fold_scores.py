"""One method on one fold: fitted once, timed, and scored by every requested score."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .. import score
from ..align.model_metric import find_metric
from ..core.validation.arrays import validate_array
from ..models import components
from ..sequences import Sequences
from .methods import ComparedMethod, prepare_parts
from .problem import ComparisonProblem
from .rows import FoldResult

T = TypeVar("T")

_STATUS_FILE, _RESET_FILE = Path("/proc/self/status"), Path("/proc/self/clear_refs")
MAX_PAIRED_ITEMS = 2000  # test sequences of which all pairs are compared
_MAX_RESAMPLES = 300  # for an equal error rate, at most: its pairs are many
_MAX_RESAMPLED_PAIRS = 100_000_000  # pairs in all of them
_NO_DISTANCES_REASON = "it classifies without distances: give a metric or an encoder for this score"


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
        result = FoldResult(interpolated=prepared.interpolated)
        if problem.needs_predictions:
            answer, predict_seconds = _measure_time(lambda: fitted.predict(X_test))
            _score_predictions(result, problem, fold, answer)
        if problem.needs_distances:
            _, distance_seconds = _measure_time(lambda: _score_distances(result, fitted, problem, fold, prepared.parts))
            predict_seconds = predict_seconds if problem.needs_predictions else distance_seconds
    after = _peak_memory()
    memory = None if before is None or after is None else max(after - before, 0)
    messages = tuple(dict.fromkeys(f"{one.message}".split("\n")[0] for one in caught))
    return replace(
        result,
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
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def _score_predictions(result: FoldResult, problem: ComparisonProblem, fold: int, answer: Any) -> None:
    test = problem.folds[fold][1]
    truth, predictions = (
        problem.y[test],
        validate_predictions(answer, problem.ids[test], is_regression=problem.is_regression),
    )
    if problem.is_regression:
        with np.errstate(over="ignore"):
            items = (predictions - truth) ** 2
            mean = float(items.mean())
        if not np.isfinite(mean):
            raise ValueError(
                f"predict() gave numbers up to {np.abs(predictions).max():g}, whose squared error is infinite"
            )
        result.items["mse"], result.values["mse"] = items.tolist(), mean
    else:
        right = score.is_correct(truth, predictions).astype(np.float64)
        result.items["accuracy"], result.values["accuracy"] = right.tolist(), float(right.mean())


def _score_distances(
    result: FoldResult, model: Any, problem: ComparisonProblem, fold: int, parts: tuple[Sequences, ...]
) -> None:
    """Scores of the distances between prepared sequences, `parts` being the training and the test part."""
    metric = find_metric(model)
    train, test = problem.folds[fold]
    X_train, X_test = parts
    if metric is None:
        result.missing_scores.update({name: _NO_DISTANCES_REASON for name in problem.scores if name in ("map", "eer")})
        return
    if "map" in problem.scores:
        distances = metric.pairwise(X_test, X_train)
        items = score.average_precision(distances, problem.y[test], problem.y[train])
        if np.isnan(items).all():
            result.missing_scores["map"] = "no test sequence has one of its class in the training part"
        else:
            result.items["map"], result.values["map"] = items.tolist(), float(np.nanmean(items))
    if "eer" in problem.scores:
        some = np.arange(len(test))
        if len(test) > MAX_PAIRED_ITEMS:
            some = np.random.default_rng(fold).choice(some, MAX_PAIRED_ITEMS, replace=False)
        _score_pairs(result, metric.pairwise(X_test[some]), problem, test[some], fold)


def _score_pairs(
    result: FoldResult, distances: NDArray[Any], problem: ComparisonProblem, test: NDArray[Any], fold: int
) -> None:
    """The equal error rate of all test pairs; resamples depend on the fold alone, so that methods are comparable."""
    labels = problem.y[test]
    pair_distances, same, _ = score.item_pairs((distances + distances.T) / 2, labels)
    if same.all() or not same.any():
        result.missing_scores["eer"] = "the test part has no pair of " + ("two classes" if same.all() else "one class")
        return
    result.values["eer"] = score.equal_error_rate(pair_distances, same)
    groups = problem.resampling_units(test)
    draws = score.resampled_error_rates(
        (distances + distances.T) / 2,
        labels,
        groups=groups,
        n_resamples=max(50, min(_MAX_RESAMPLES, _MAX_RESAMPLED_PAIRS // len(pair_distances))),
        random_state=fold,
    )
    result.draws["eer"] = draws.tolist()


def _peak_memory(*, reset: bool = False) -> int | None:
    """Peak bytes since the last reset, or current bytes with `reset`; None if the system does not report them."""
    with suppress(OSError, StopIteration, ValueError):
        if reset:
            _RESET_FILE.write_text("5")
        name = "VmRSS" if reset else "VmHWM"
        line = next(line for line in _STATUS_FILE.read_text().splitlines() if line.startswith(name))
        return 1024 * int(line.split()[1])
    return None


def validate_predictions(answer: Any, ids: NDArray[Any], *, is_regression: bool) -> NDArray[Any]:
    """Validate the predictions for the sequences with these `ids`, as (item,).

    A column (item, 1), which many regressors return, is accepted. Any other shape is an error, since NumPy would
    broadcast it against the truth.

    >>> validate_predictions([[1.0], [2.0]], np.array(["a", "b"]), is_regression=True)
    array([1., 2.])
    """
    predictions = validate_array(answer, "predict()") if is_regression else _to_label_array(answer)
    n = len(ids)
    if predictions.shape not in ((n,), (n, 1)):
        what = "number" if is_regression else "class"
        raise ValueError(
            f"predict() gave shape {predictions.shape} for {n} sequences: expected ({n},), one {what} each"
        )
    return _check_finite(predictions.reshape(n).astype(np.float64), ids) if is_regression else predictions.reshape(n)


def _to_label_array(answer: Any) -> NDArray[Any]:
    """Classes without conversion; an array of objects may mix numbers and text."""
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu().numpy()
    return np.asarray(answer)


def _check_finite(numbers: NDArray[np.float64], ids: NDArray[Any]) -> NDArray[np.float64]:
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        more = f", and {bad.size - 1} more are not finite" if bad.size > 1 else ""
        raise ValueError(f"predict() gave {numbers[bad[0]]} for sequence {ids[bad[0]]}{more}: expected finite numbers")
    return numbers
