"""Parts of a loaded model by what they do (compare, encode, classify, forecast), or an error if it has none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..models.predictors import is_classifier, is_regressor
from .options.data import DataOptions
from .options.remembered import ModelDataOptions

__all__ = [
    "ModelFolder",
    "as_encoder",
    "as_metric",
    "as_predictor",
    "is_classifier",
    "is_regressor",
    "open_model",
    "require_forecaster",
]

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
    from ..align.model_metric import find_metric

    metric = find_metric(model)
    if metric is None:
        raise ValueError(f"{_name(model)} does not compare sequences: expected a metric, an encoder or Prototypes")
    return metric


def as_encoder(model: Any) -> Any:
    """The part of a model that turns sequences into vectors, with the preparation steps before it."""
    from ..align.model_metric import split_steps

    steps, last = split_steps(model)
    for one in (last, getattr(last, "encoder_", None), getattr(last, "metric_", None)):
        if hasattr(one, "encode"):
            return _PreparedEncoder(steps, one) if steps else one
    raise ValueError(f"{_name(last)} makes no vectors: expected an encoder, such as learn --method rocket or tloss")


@dataclass(frozen=True)
class _PreparedEncoder:
    """An encoder after the steps of a scikit-learn Pipeline, such as the best method of `compare`."""

    steps: tuple[Any, ...]
    encoder: Any

    def encode(self, X: Any) -> Any:
        """The vectors of the prepared sequences."""
        from ..align.model_metric import apply_steps

        return self.encoder.encode(apply_steps(self.steps, X))


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
