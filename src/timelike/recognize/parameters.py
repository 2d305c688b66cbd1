"""What every estimator here does alike: reads sequences, and takes its metric by value, by name and by option."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import align
from ..align import Metric
from ..sequences import Sequences
from ..sequences.reading import keep_size, read


class MetricParameters(BaseEstimator):  # type: ignore[misc]
    """An estimator with a parameter `metric`, whose own options are parameters too: `metric__window`."""

    metric: Metric | str

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, the metric's own among them as `metric__…`."""
        own: dict[str, Any] = super().get_params(deep=False)
        metric = named().get(self.metric, lambda: None)() if isinstance(self.metric, str) else self.metric
        if deep:
            own |= {f"metric__{name}": getattr(metric, name) for name in _options(metric)}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a metric is a value, so changing one of its options puts a new metric in its place."""
        inner = {
            name.removeprefix("metric__"): params.pop(name) for name in list(params) if name.startswith("metric__")
        }
        super().set_params(**params)
        if inner:
            self.metric = _changed(resolve(self.metric), inner)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def _learn_from(self, X: Any) -> Sequences:
        """The sequences to fit, at least one; their size if they have one, as scikit-learn keeps it."""
        sequences = read(X)
        if len(sequences) == 0:
            raise ValueError("X holds no sequences: expected at least one")
        sequences.refuse_missing(type(self).__name__, "X")
        keep_size(self, sequences)
        return sequences

    def _asked(self, X: Any) -> Sequences:
        """The sequences to answer for, once fitted."""
        check_is_fitted(self)
        return read(X)


def named() -> dict[str, type[Metric]]:
    """Every metric that learns nothing, by its name in lower case.

    >>> "dtw" in named()
    True
    """
    kinds = (kind for kind in _below(Metric) if kind.__module__.startswith(f"{align.__name__}."))
    found = {kind.__name__.lower(): kind for kind in kinds if _is_plain_value(kind)}
    return dict(sorted(found.items()))


def resolve(metric: Metric | str) -> Metric:
    """The metric a name stands for.

    >>> resolve("dtw").window is None
    True
    """
    if isinstance(metric, Metric):
        return metric
    kinds = named()
    if isinstance(metric, str) and metric in kinds:
        return kinds[metric]()
    raise ValueError(f"metric={metric!r}: expected a Metric such as timelike.DTW(), or one of {', '.join(kinds)}")


def _below(kind: Any) -> Iterator[type[Metric]]:
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)


def _is_plain_value(kind: type[Metric]) -> bool:
    return dataclasses.is_dataclass(kind) and not getattr(kind, "__abstractmethods__", None) and kind.__name__[0] != "_"


def _options(metric: Any) -> list[str]:
    fields = dataclasses.fields(metric) if dataclasses.is_dataclass(metric) else ()
    return [field.name for field in fields if field.init]


def _changed(metric: Any, options: dict[str, Any]) -> Metric:
    known = _options(metric)
    for name in options:
        if name not in known:
            raise ValueError(f"metric has no option {name!r}: {type(metric).__name__} has {', '.join(known)}")
    changed: Metric = dataclasses.replace(metric, **options)
    return changed
