"""The methods of a comparison: the usual ones, and what is fitted for a name, a metric, an encoder, an estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from ...align import Metric, named
from ...encode import Encoder
from ...models import parts, registry

_made = registry.find


def _plain(name: str) -> Any:
    return _made(name)()


@dataclass(frozen=True)
class Method:
    """A name, and what is fitted under it: an estimator that predicts, or a metric where only distances are asked."""

    name: str
    model: Any

    def fresh(self, seed: int, seconds: float | None) -> Any:
        """A copy that has learned nothing, with a seed and a limit of time where it has none of its own.

        Parts that are fitted already stay as they are.
        """
        if not hasattr(self.model, "get_params"):
            return self.model
        if isinstance(self.model, Metric) and parts.has_learned(self.model):
            return self.model
        wanted = {"random_state": seed} | ({} if seconds is None else {"max_time": seconds})
        given = self.model.get_params(deep=True)
        unset = {
            name: wanted[option]
            for name, value in given.items()
            if value is None and (option := name.rpartition("__")[2]) in wanted and self._may_change(name, given)
        }
        return clone(self.model).set_params(**unset)

    @property
    def limited(self) -> bool:
        """Whether it can be told how long it may train."""
        given = self.model.get_params(deep=True) if hasattr(self.model, "get_params") else {}
        return any(
            value is None and name.rpartition("__")[2] == "max_time" and self._may_change(name, given)
            for name, value in given.items()
        )

    def _may_change(self, name: str, given: dict[str, Any]) -> bool:
        outer = name.split("__")[:-1]
        inside = ["__".join(outer[: i + 1]) for i in range(len(outer))]
        return not any(
            isinstance(given.get(part), FrozenEstimator) or parts.has_learned(given.get(part)) for part in inside
        )

    @property
    def learned(self) -> bool:
        """Whether it, or a part of it, came fitted and is used as it is."""
        if isinstance(self.model, Metric):
            return parts.has_learned(self.model)
        given = self.model.get_params(deep=False).values() if hasattr(self.model, "get_params") else ()
        return any(isinstance(part, FrozenEstimator) or parts.has_learned(part) for part in given)


# what is tried when nothing is named, the cheapest first; each class is found by its public name when it is made
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "1-NN Euclidean": lambda: _made("Neighbors")("euclidean"),
    # a slanted band is the usual one for equal lengths, and admits a path between any others
    "1-NN DTW": lambda: _made("Neighbors")(_made("DTW")(band="slanted"), select_window=True),
    "statistics + forest": lambda: _made("EmbeddingClassifier")(_made("StatisticsEncoder")(), head="forest"),
    "Rocket + ridge": lambda: _made("EmbeddingClassifier")(_made("Rocket")(), head="ridge"),
    "Discriminant": partial(_plain, "Discriminant"),
    "T-Loss + head": lambda: _made("EmbeddingClassifier")(_made("CausalEncoder")()),
    "SiameseGRU": partial(_plain, "SiameseGRU"),
    "Prototypes": partial(_plain, "Prototypes"),
    "CoupledGRU": partial(_plain, "CoupledGRU"),
    "TAP": partial(_plain, "TAP"),
}
REGRESSORS: dict[str, Callable[[], Any]] = {  # learned metrics are not among them: they need classes
    "1-NN Euclidean": lambda: _made("NeighborsRegressor")("euclidean"),
    "1-NN DTW": lambda: _made("NeighborsRegressor")("dtw"),
    "statistics + forest": lambda: _made("EmbeddingRegressor")(_made("StatisticsEncoder")(), head="forest"),
    "Rocket + ridge": lambda: _made("EmbeddingRegressor")(_made("Rocket")()),
    "T-Loss + ridge": lambda: _made("EmbeddingRegressor")(_made("CausalEncoder")()),
}


def read_methods(methods: Any, *, numeric: bool, answers: bool) -> list[Method]:
    """Every method by its name, as it will be fitted: `answers` is whether classes or numbers are asked for."""
    given = _given(methods, numeric)
    if not given:
        raise ValueError("methods is empty: expected names, metrics, encoders or estimators, or None for all")
    return [Method(name, _fitted_as(one, name, numeric, answers)) for name, one in given.items()]


def _given(methods: Any, numeric: bool) -> dict[str, Any]:
    if methods is None:
        return {name: make() for name, make in (REGRESSORS if numeric else CLASSIFIERS).items()}
    if isinstance(methods, Mapping):
        return {str(name): _named(one, numeric)[1] for name, one in methods.items()}
    if isinstance(methods, str) or not isinstance(methods, list | tuple):
        methods = [methods]
    found: dict[str, Any] = {}
    for one in methods:
        name, model = _named(one, numeric)
        if name in found:
            raise ValueError(f"methods: two are called {name!r}: give a dict {{name: method}} to tell them apart")
        found[name] = model
    return found


def _named(one: Any, numeric: bool) -> tuple[str, Any]:
    """What to call it, and the object behind a word: one of the usual names, a public class, or a metric."""
    if not isinstance(one, str):
        return _called(one), one
    usual = REGRESSORS if numeric else CLASSIFIERS
    if one in usual:
        return one, usual[one]()
    if one in named.by_name():
        return one, named.resolve(one)
    try:
        return one, registry.find(one)()
    except (ValueError, TypeError):
        raise ValueError(
            f"methods has {one!r}: expected one of {', '.join(map(repr, usual))}, a metric such as 'dtw', or a public "
            "name such as 'SiameseGRU'"
        ) from None


def _called(one: Any) -> str:
    words = " ".join(repr(one).split())
    return words if len(words) <= 60 else type(one).__name__


def _fitted_as(one: Any, name: str, numeric: bool, answers: bool) -> Any:
    """An estimator that predicts, where answers are asked for; a metric or an encoder itself where they are not."""
    if isinstance(one, type):
        raise TypeError(f"methods: {name!r} is the class {one.__name__}: expected an object, {one.__name__}()")
    inside = parts.thawed(one)
    if isinstance(inside, Metric):
        if not answers:
            return inside
        # vectors that were learned from classes are made for distances; a head is for those that were not
        plain = isinstance(inside, Encoder) and not inside.__sklearn_tags__().target_tags.required
        names = ("EmbeddingClassifier", "EmbeddingRegressor") if plain else ("Neighbors", "NeighborsRegressor")
        return registry.find(names[numeric])(one)
    if not hasattr(one, "fit") or not hasattr(one, "predict"):
        raise TypeError(
            f"methods: {name!r} is a {type(one).__name__}: expected a name, a metric, an encoder, or an estimator with "
            "fit and predict"
        )
    return one


def distances_of(fitted: Any) -> Metric | None:
    """By what a fitted method compares sequences, where it does."""
    if isinstance(fitted, Metric):
        return fitted
    made = getattr(fitted, "metric", None)
    if callable(made):  # a verb of `Prototypes`, whose encoder is not all it compares by
        return distances_of(made())
    for inner in ("metric_", "encoder_", "best_estimator_"):
        if hasattr(fitted, inner):
            return distances_of(getattr(fitted, inner))
    return None
