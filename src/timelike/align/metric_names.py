"""Metrics by name, `"dtw"` for `DTW()`: the option `metric` of estimators."""

from __future__ import annotations

import dataclasses
from functools import cache
from importlib import import_module
from typing import Any

from .. import _exports
from ..models import Model, components, options
from .base import Metric


@cache  # asked for by every estimator with a metric, whenever its parameters are read
def metrics_by_name() -> dict[str, type[Metric]]:
    """Every public metric of this package, by its name in lower case.

    >>> "dtw" in metrics_by_name()
    True
    """
    package = __name__.rpartition(".")[0]
    kinds = (getattr(import_module(package), name) for name in _exports.public_names(package) if name[0].isupper())
    return {kind.__name__.lower(): kind for kind in kinds if _is_plain_value(kind)}


def resolve_metric(metric: Any) -> Metric:
    """The metric a name stands for.

    >>> resolve_metric("dtw").window is None
    True
    """
    metric = components.unfreeze(metric)
    if isinstance(metric, Metric):
        return metric
    kinds = metrics_by_name()
    if isinstance(metric, str) and metric in kinds:
        return kinds[metric]()
    if callable(getattr(metric, "metric", None)):  # of `Prototypes`, which compares and is no metric itself
        raise ValueError(f"metric={metric!r:.80}: expected a Metric; fit it, and give metric=model.metric()")
    raise ValueError(
        f"metric={metric!r:.80}: expected a Metric such as timelike.DTW(), or one of {', '.join(sorted(kinds))}"
    )


def metric_option(*, aligner: bool = False) -> options.Option[Any]:
    """An estimator's option `metric`: a metric or the name of one, whose own options are options too."""

    def check(value: Any, name: str) -> Metric:
        resolved = resolve_metric(value)
        if aligner and not hasattr(resolved, "align"):
            raise TypeError(f"metric={value!r:.80}: expected an Aligner such as timelike.DTW(); KMedoids takes any")
        return resolved

    return options.Option(check, from_word=_metric_from_word)


def fit_metric_copy(metric: Any, *training: Any) -> Metric:
    """The metric to compare with; an unfitted one is copied and fitted on the `training` data that is not None."""
    fitted: Metric = components.fitted_copy(resolve_metric(metric), *(part for part in training if part is not None))
    return fitted


def takes_missing(model: Any) -> bool:
    """Whether values may be missing (NaN) where a model compares by its `metric`: if the metric takes them."""
    metric = components.unfreeze(getattr(model, "metric_", None) or model._resolve_parameter("metric", model.metric))
    return isinstance(metric, Metric) and metric._takes_missing()


def is_estimator(metric: Any) -> bool:
    """Whether a metric is fitted before it compares."""
    return isinstance(components.unfreeze(metric), Model)


def _metric_from_word(word: str | None) -> Any:
    kinds = metrics_by_name()
    return kinds[word]() if word in kinds else word


def _is_plain_value(kind: Any) -> bool:
    return (
        isinstance(kind, type)
        and issubclass(kind, Metric)
        and dataclasses.is_dataclass(kind)
        and not getattr(kind, "__abstractmethods__", None)
    )
