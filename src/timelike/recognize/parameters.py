"""What every estimator here does alike: reads sequences, and takes its metric by value, by name and by option."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
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
            own |= {f"metric__{name}": value for name, value in _options(metric).items()}
        return own

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a metric is a value, so changing one of its options puts a new metric in its place.

        The new one has learned nothing yet, whatever the old one had: `fit` will fit it.
        """
        inner = {
            name.removeprefix("metric__"): params.pop(name) for name in list(params) if name.startswith("metric__")
        }
        super().set_params(**params)
        if inner:
            self.metric = _changed(self.metric, inner)
        return self

    def __sklearn_clone__(self) -> Self:
        """A metric that has learned stays as it is: scikit-learn would leave out what it learned."""
        copy: Self = super().__sklearn_clone__()
        if _learns(self.metric) and _has_learned(self.metric):
            copy.metric = self.metric
        return copy

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

    def _ready_metric(self, sequences: Sequences, y: Any = None) -> Metric:
        """The metric to compare with; if it has yet to learn, a copy that has learned from these sequences."""
        metric = resolve(self.metric)
        if not _learns(metric) or _has_learned(metric):
            return metric
        untaught: Any = clone(metric)
        learned: Metric = untaught.fit(sequences) if y is None else untaught.fit(sequences, y)
        return learned

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
    if isinstance(metric, FrozenEstimator):
        check_is_fitted(metric)
        return resolve(metric.estimator)
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


def _learns(metric: Any) -> bool:
    return isinstance(metric, Metric) and hasattr(metric, "fit")


def _has_learned(metric: Any) -> bool:
    try:
        check_is_fitted(metric)
    except NotFittedError:
        return False
    return True


def _options(metric: Any) -> dict[str, Any]:
    if _learns(metric):
        found: dict[str, Any] = metric.get_params()
        return found
    fields = dataclasses.fields(metric) if dataclasses.is_dataclass(metric) else ()
    return {field.name: getattr(metric, field.name) for field in fields if field.init}


def _changed(given: Any, options: dict[str, Any]) -> Metric:
    if isinstance(given, FrozenEstimator):
        raise ValueError(
            f"metric is frozen, so its option {min(options)!r} cannot change: "
            f"give the {type(given.estimator).__name__} itself to have it fitted"
        )
    metric: Any = resolve(given)
    known = _options(metric)
    for name in options:
        if (name.partition("__")[0] if _learns(metric) else name) not in known:
            raise ValueError(f"metric has no option {name!r}: {type(metric).__name__} has {', '.join(known)}")
    if all(name in known and _same(known[name], value) for name, value in options.items()):
        unchanged: Metric = metric  # and keeps what it has learned
        return unchanged
    changed: Metric = clone(metric).set_params(**options) if _learns(metric) else dataclasses.replace(metric, **options)
    return changed


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and np.array_equal(a, b))
