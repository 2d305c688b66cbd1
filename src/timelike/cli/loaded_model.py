"""Parts of a loaded model by what they do (compare, encode, classify, forecast), or an error if it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .options.data import DataOptions
from .options.remembered import ModelDataOptions

ModelFolder = Annotated[str, typer.Argument(metavar="MODEL", help="A folder written by timelike learn or model.save.")]


def open_model(folder: str, data: DataOptions) -> tuple[Any, ModelDataOptions]:
    """A model, and the options for reading data that it is applied to."""
    from ..models import load_model

    if not (Path(folder) / "config.json").exists():
        raise FileNotFoundError(f"{folder} is no model: expected a folder written by timelike learn or model.save")
    model = load_model(folder)
    return model, ModelDataOptions.from_model(folder, model, data)


def as_metric(model: Any) -> Any:
    """The part of a model that compares sequences."""
    from ..align import Metric

    candidates = (model, getattr(model, "metric_", None), getattr(model, "encoder_", None))
    metric = next((one for one in candidates if isinstance(one, Metric)), None)
    if metric is None and callable(getattr(model, "metric", None)):  # of Prototypes
        metric = model.metric()
    if metric is None:
        raise ValueError(f"{_name(model)} does not compare sequences: expected a metric, an encoder or Prototypes")
    return metric


def as_encoder(model: Any) -> Any:
    """The part of a model that turns sequences into vectors."""
    for one in (model, getattr(model, "encoder_", None), getattr(model, "metric_", None)):
        if hasattr(one, "encode"):
            return one
    raise ValueError(f"{_name(model)} makes no vectors: expected an encoder, such as learn --method rocket or tloss")


def is_classifier(model: Any) -> bool:
    """Whether it predicts classes."""
    from sklearn.base import is_classifier as has_classes

    return hasattr(model, "predict") and has_classes(model)


def is_regressor(model: Any) -> bool:
    """Whether it predicts numbers."""
    from sklearn.base import is_regressor as has_numbers

    return hasattr(model, "predict") and has_numbers(model)


def require_forecaster(model: Any) -> Any:
    """The model if it forecasts."""
    from ..forecast import Forecaster

    if not isinstance(model, Forecaster):
        raise ValueError(f"{_name(model)} does not forecast: expected learn --method ridge, separation or srvp")
    return model


def as_predictor(model: Any, X: Any, y: Any) -> Any:
    """A model that predicts classes or numbers; one that only compares takes the class of the nearest of X."""
    from ..neighbors import Neighbors

    if X is not None:
        return Neighbors(as_metric(model)).fit(X, y)
    if not (is_classifier(model) or is_regressor(model)):
        raise ValueError(
            f"{_name(model)} does not classify by itself: name labelled sequences with --reference, of which the "
            "nearest gives the class, or learn --method classifier or prototypes"
        )
    return model


def _name(model: Any) -> str:
    return type(model).__name__
