"""The methods of a comparison: the usual ones, and what is fitted for a name, a metric, an encoder, an estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from ...align import Metric, named
from ...align.dtw import Warping
from ...encode import Encoder
from ...models import parts, registry
from ...prepare import Resample
from ...sequences import Sequences

_made = registry.find


def _plain(name: str) -> Any:
    return _made(name)()


@dataclass(frozen=True)
class Method:
    """A name, and what is fitted under it: an estimator that predicts, or a metric where only distances are asked."""

    name: str
    model: Any
    prepare: tuple[Any, ...] = ()
    """Transformers that the caller put before every method."""
    steps: tuple[Any, ...] = ()
    """Transformers of its own, after them."""

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
    "1-NN MSM": lambda: _made("Neighbors")("msm"),
    "statistics + forest": lambda: _made("EmbeddingClassifier")(_made("StatisticsEncoder")(), head="forest"),
    "Rocket + ridge": lambda: _made("EmbeddingClassifier")(_made("Rocket")(), head="ridge"),
    "Discriminant": partial(_plain, "Discriminant"),
    "Fused": lambda: _made("Fused")([_made("DTW")(normalize="length"), _made("Discriminant")(classes="open")]),
    "T-Loss + head": lambda: _made("EmbeddingClassifier")(_made("CausalEncoder")()),
    "SiameseGRU": partial(_plain, "SiameseGRU"),
    "Prototypes": partial(_plain, "Prototypes"),
    "CoupledGRU": partial(_plain, "CoupledGRU"),
    "TAP": partial(_plain, "TAP"),
}
REGRESSORS: dict[str, Callable[[], Any]] = {  # learned metrics are not among them: they need classes
    "1-NN Euclidean": lambda: _made("NeighborsRegressor")("euclidean"),
    "1-NN DTW": lambda: _made("NeighborsRegressor")("dtw"),
    "1-NN MSM": lambda: _made("NeighborsRegressor")("msm"),
    "statistics + forest": lambda: _made("EmbeddingRegressor")(_made("StatisticsEncoder")(), head="forest"),
    "Rocket + ridge": lambda: _made("EmbeddingRegressor")(_made("Rocket")()),
    "T-Loss + ridge": lambda: _made("EmbeddingRegressor")(_made("CausalEncoder")()),
}


_RESAMPLED = ", resampled"
"""After one of the usual names: with all sequences brought to the median length of the training part."""
_BETTER_RESAMPLED = ("1-NN Euclidean", "1-NN MSM", "Rocket + ridge", "Discriminant")


def read_methods(
    methods: Any, X: Sequences, *, numeric: bool, answers: bool, prepare: tuple[Any, ...] = ()
) -> list[Method]:
    """Every method by its name, as it will be fitted: `answers` is whether classes or numbers are asked for."""
    given = _given(methods, numeric, X)
    if not given:
        raise ValueError("methods is empty: expected names, metrics, encoders or estimators, or None for all")
    return [
        Method(name, _fitted_as(one, name, numeric, answers), prepare, steps) for name, (one, steps) in given.items()
    ]


Entry = tuple[Any, tuple[Any, ...]]
"""A method, and its own steps in front of it."""


def _given(methods: Any, numeric: bool, X: Sequences) -> dict[str, Entry]:
    if methods is None:
        methods = _usual(numeric, ragged=not X.equal_length)
    if isinstance(methods, Mapping):
        return {str(name): _named(one, numeric, X)[1] for name, one in methods.items()}
    if isinstance(methods, str) or not isinstance(methods, list | tuple):
        methods = [methods]
    found: dict[str, Entry] = {}
    for one in methods:
        name, entry = _named(one, numeric, X)
        if name in found:
            raise ValueError(f"methods: two are called {name!r}: give a dict {{name: method}} to tell them apart")
        found[name] = entry
    return found


def _usual(numeric: bool, *, ragged: bool) -> list[str]:
    """Names of what is tried when nothing is named; where lengths differ, also of sequences of one length."""
    names = list(REGRESSORS if numeric else CLASSIFIERS)
    if not ragged:
        return names
    kept = [name for name in names if name != "1-NN Euclidean"]  # it compares sequences of one length only
    return kept + [name + _RESAMPLED for name in _BETTER_RESAMPLED if name in names]


def _named(one: Any, numeric: bool, X: Sequences) -> tuple[str, Entry]:
    """What to call it, and the method behind a word: one of the usual names, a public class, or a metric."""
    if not isinstance(one, str):
        return _called(one), (one, ())
    word, resampled = one.removesuffix(_RESAMPLED), one.endswith(_RESAMPLED)
    model = _by_word(word, one, numeric)
    return one, (_ignores_missing(model) if X.missing else model, (Resample(),) if resampled else ())


def _by_word(word: str, given: str, numeric: bool) -> Any:
    usual = REGRESSORS if numeric else CLASSIFIERS
    if word in usual:
        return usual[word]()
    if word in named.by_name():
        return named.resolve(word)
    try:
        return registry.find(word)()
    except (ValueError, TypeError):
        raise ValueError(
            f"methods has {given!r}: expected one of {', '.join(map(repr, usual))}, a metric such as 'dtw', or a "
            f"public name such as 'SiameseGRU'; {_RESAMPLED!r} after it brings sequences to one length"
        ) from None


def _ignores_missing(model: Any) -> Any:
    """With the option that leaves out missing values, where it, or the metric inside, has it."""
    if isinstance(model, Warping):
        return replace(model, missing="ignore")
    inner = model.get_params(deep=False).get("metric") if hasattr(model, "get_params") else None
    metric = named.resolve(inner) if isinstance(inner, str) else inner
    return model.set_params(metric=replace(metric, missing="ignore")) if isinstance(metric, Warping) else model


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
