"""Metrics by name, `"dtw"` for `DTW()`: the option `metric` of estimators."""

from __future__ import annotations

import dataclasses
from functools import cache
from importlib import import_module
from typing import Any

from .. import _contents
from ..models import Model, options, parts
from .base import Metric


@cache  # asked for by every estimator with a metric, whenever its parameters are read
def by_name() -> dict[str, type[Metric]]:
    """Every public metric of this room, by its name in lower case.

    >>> "dtw" in by_name()
    True
    """
    room = __name__.rpartition(".")[0]
    kinds = (getattr(import_module(room), name) for name in _contents.names(room) if name[0].isupper())
    return {kind.__name__.lower(): kind for kind in kinds if _is_plain_value(kind)}


def resolve(metric: Any) -> Metric:
    """The metric a name stands for.

    >>> resolve("dtw").window is None
    True
    """
    metric = parts.thawed(metric)
    if isinstance(metric, Metric):
        return metric
    kinds = by_name()
    if isinstance(metric, str) and metric in kinds:
        return kinds[metric]()
    if callable(getattr(metric, "metric", None)):  # of `Prototypes`, which compares and is no metric itself
        raise ValueError(f"metric={metric!r:.80}: expected a Metric; fit it, and give metric=model.metric()")
    raise ValueError(
        f"metric={metric!r:.80}: expected a Metric such as timelike.DTW(), or one of {', '.join(sorted(kinds))}"
    )


def option(*, aligner: bool = False) -> options.Option[Any]:
    """An estimator's option `metric`: a metric or the name of one, whose own options are options too."""

    def check(value: Any, name: str) -> Metric:
        found = resolve(value)
        if aligner and not hasattr(found, "align"):
            raise TypeError(f"metric={value!r:.80}: expected an Aligner such as timelike.DTW(); KMedoids takes any")
        return found

    return options.Option(check, words=_worded)


def ready(metric: Any, *given: Any) -> Metric:
    """The metric to compare with; one that has yet to learn does so, as a copy, from what is given."""
    found: Metric = parts.ready(resolve(metric), *given)
    return found


def takes_missing(model: Any) -> bool:
    """Whether values may be missing (NaN) where a model compares by its `metric`: if the metric takes them."""
    metric = parts.thawed(getattr(model, "metric_", None) or model._meant("metric", model.metric))
    return isinstance(metric, Metric) and metric._takes_missing()


def learns(metric: Any) -> bool:
    """Whether a metric is fitted before it compares."""
    return isinstance(parts.thawed(metric), Model)


def _worded(word: str | None) -> Any:
    kinds = by_name()
    return kinds[word]() if word in kinds else word


def _is_plain_value(kind: Any) -> bool:
    return (
        isinstance(kind, type)
        and issubclass(kind, Metric)
        and dataclasses.is_dataclass(kind)
        and not getattr(kind, "__abstractmethods__", None)
    )
