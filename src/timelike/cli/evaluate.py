"""`timelike evaluate`: scores of a classifier, regressor, metric or forecaster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import progress
from .loaded_model import ModelFolder, as_metric, is_classifier, is_regressor, open_model
from .options.data import DataOptions, Source, with_data_options
from .output import AsJson, emit, format_cell, json_fields

if TYPE_CHECKING:
    from ..sequences import Sequences


@json_fields(
    kind="text: classification, regression, retrieval or forecast, by what the model does",
    sequences="number: of the data",
    scores="object: numbers by the name of the score",
)
@with_data_options
def evaluate(
    model: ModelFolder,
    source: Source,
    groups: Annotated[
        bool, typer.Option("--groups/--no-groups", help="Whether intervals resample whole groups, such as persons.")
    ] = True,
    horizon: Annotated[int, typer.Option(help="Steps to forecast, for a model that forecasts.", min=1)] = 1,
    windows: Annotated[int, typer.Option(help="Forecasts of every sequence, one step apart.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Of the resampling.", min=0)] = 0,
    *,
    data: DataOptions,
    as_json: AsJson = False,
) -> None:
    r"""Score a model; where the data have a test part, on that.

    A classifier is scored by its accuracy, a model that predicts numbers by its errors and R², a metric or encoder by
    what is nearest to each sequence among the others, and a forecaster by its errors.

    Examples:
      timelike evaluate motions BasicMotions
      timelike evaluate logs-model 'new/*.csv' --label '_([a-z]+)' --group '^([a-z]+)_'
    """
    from ..forecast import Forecaster

    loaded, options = open_model(model, data)
    load = options.load_unlabelled if isinstance(loaded, Forecaster) else options.load_labelled
    options.warn_about_overlap(source, "test")
    X = load(source, "test")
    units = X.groups if groups else None
    if isinstance(loaded, Forecaster):
        kind, (scores, text) = "forecast", _score_forecasts(loaded, X, horizon, windows, seed)
    elif is_classifier(loaded):
        kind, (scores, text) = "classification", _score_classes(loaded, X, units, seed)
    elif is_regressor(loaded):
        kind, (scores, text) = "regression", _score_numbers(loaded, X, units, seed)
    else:
        kind, (scores, text) = "retrieval", _score_distances(loaded, X)
    emit("evaluate", {"kind": kind, "sequences": len(X), "scores": scores}, text, as_json)


def _score_classes(model: Any, X: Sequences, groups: Any, seed: int) -> tuple[dict[str, float], str]:
    from ..score import classification_scores

    found = classification_scores(X.labels, model.predict(X), groups=groups, random_state=seed)
    return _list_intervals(found, ("accuracy", "balanced_accuracy", "macro_f1")), str(found)


def _score_numbers(model: Any, X: Sequences, groups: Any, seed: int) -> tuple[dict[str, float], str]:
    from ..score import regression_scores

    found = regression_scores(X.labels, model.predict(X), groups=groups, random_state=seed)
    return _list_intervals(found, ("mse", "mae", "r2")), str(found)


def _list_intervals(found: Any, names: tuple[str, ...]) -> dict[str, float]:
    """Scores with the bounds of their intervals by name, such as mse, mse_low and mse_high."""
    intervals = {name: getattr(found, name) for name in names}
    return {
        name + suffix: float(getattr(one, bound))
        for name, one in intervals.items()
        for suffix, bound in (("", "mean"), ("_low", "low"), ("_high", "high"))
    }


def _score_distances(model: Any, X: Sequences) -> tuple[dict[str, float], str]:
    from .. import score

    distances, labels = as_metric(model).pairwise(X, progress=progress()), X.labels
    same = score.item_pairs(distances, labels)
    scores = {
        "nearest_accuracy": score.nearest_accuracy(distances, labels),
        "mean_average_precision": score.mean_average_precision(distances, labels),
        "equal_error_rate": score.equal_error_rate(same[0], same[1]),
    }
    return scores, _list_scores(scores)


def _score_forecasts(model: Any, X: Sequences, horizon: int, windows: int, seed: int) -> tuple[dict[str, float], str]:
    from ..forecast import backtest

    found = backtest(model, X, horizon, n_windows=windows, progress=progress(), random_state=seed)
    scores = {name: float(values.mean()) for name, values in found.scores.items() if name in ("mse", "mae")}
    return scores, str(found)


def _list_scores(scores: dict[str, float]) -> str:
    width = max(map(len, scores))
    return "\n".join(f"{name.replace('_', ' ').ljust(width)}  {format_cell(value)}" for name, value in scores.items())
