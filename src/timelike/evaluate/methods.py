"""Methods of a comparison, from a name, a metric, an encoder or an estimator, and their preparation steps."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from ..align import Metric, metric_names
from ..align.dtw import WarpingDistance
from ..core.extras import MissingExtraError, import_extra
from ..core.warnings import find_stack_level
from ..encode import Encoder
from ..models import components, registry
from ..prepare import Interpolate, Resample
from ..sequences import Sequences
from ..sequences.validation import validate_sequences
from ..train import Trained

_find_class = registry.find_class


def _make_default(name: str) -> Any:
    return _find_class(name)()


@dataclass(frozen=True)
class ComparedMethod:
    """A method and its name: an estimator that predicts, or a metric if only distances are needed."""

    name: str
    model: Any
    prepare: tuple[Any, ...] = ()
    """Transformers before every method, from the argument `prepare`."""
    steps: tuple[Any, ...] = ()
    """Transformers of its own, after them."""

    def make_model(self, seed: int, seconds: float | None) -> Any:
        """An unfitted copy, with a seed and a time limit unless it has its own.

        Parts that are already fitted are unchanged.
        """
        if not hasattr(self.model, "get_params"):
            return self.model
        if isinstance(self.model, Metric) and components.is_fitted(self.model):
            return self.model
        defaults = {"random_state": seed} | ({} if seconds is None else {"max_time": seconds})
        parameters = self.model.get_params(deep=True)
        unset = {
            name: defaults[option]
            for name, value in parameters.items()
            if value is None and (option := name.rpartition("__")[2]) in defaults and self._may_change(name, parameters)
        }
        return clone(self.model).set_params(**unset)

    @property
    def accepts_time_limit(self) -> bool:
        """Whether its training time can be limited."""
        parameters = self.model.get_params(deep=True) if hasattr(self.model, "get_params") else {}
        return any(
            value is None and name.rpartition("__")[2] == "max_time" and self._may_change(name, parameters)
            for name, value in parameters.items()
        )

    @property
    def networks(self) -> list[Trained]:
        """The parts that are networks to be trained, and the model itself if it is one."""
        parts = self.model.get_params(deep=True) if hasattr(self.model, "get_params") else {}
        fitted_here = [part for name, part in parts.items() if self._may_change(f"{name}__", parts)]
        if not (isinstance(self.model, Metric) and components.is_fitted(self.model)):
            fitted_here.append(self.model)
        return [part for part in fitted_here if isinstance(part, Trained)]

    def refuse_missing_extra(self) -> None:
        """Raise the error that names the extra if a part of it is to be trained and torch is not installed."""
        for network in self.networks:
            import_extra("torch", f"{type(network).__name__}.fit")

    def with_max_steps(self, max_steps: int) -> ComparedMethod:
        """The method with this many steps for every training whose steps are open."""
        if not self.networks:
            return self
        parameters = self.model.get_params(deep=True)
        is_open = [
            name
            for name, value in parameters.items()
            if value is None and name.rpartition("__")[2] == "max_steps" and self._may_change(name, parameters)
        ]
        return replace(self, model=clone(self.model).set_params(**dict.fromkeys(is_open, max_steps)))

    def _may_change(self, name: str, parameters: dict[str, Any]) -> bool:
        outer = name.split("__")[:-1]
        inside = ["__".join(outer[: i + 1]) for i in range(len(outer))]
        return not any(
            isinstance(parameters.get(part), FrozenEstimator) or components.is_fitted(parameters.get(part))
            for part in inside
        )

    @property
    def is_fitted(self) -> bool:
        """Whether it, or a part of it, is already fitted and used unchanged."""
        if isinstance(self.model, Metric):
            return components.is_fitted(self.model)
        parts = self.model.get_params(deep=False).values() if hasattr(self.model, "get_params") else ()
        return any(isinstance(part, FrozenEstimator) or components.is_fitted(part) for part in parts)

    @property
    def description(self) -> str:
        """The options of the model and of the steps before it as text, without memory addresses."""
        parts = (self.model, *reversed((*self.prepare, *self.steps)))
        words = " after ".join(map(_describe_options, parts))
        return " ".join(re.sub(r" at 0x[0-9a-f]+", "", words).split())


def _describe_options(model: Any) -> str:
    parameters = model.get_params(deep=True) if hasattr(model, "get_params") else {}
    options = ", ".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    return f"{type(model).__name__}({options})" if parameters else repr(model)


# the default methods, the cheapest first; each class is looked up by its public name when it is created
DEFAULT_CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "1-NN Euclidean": lambda: _find_class("Neighbors")("euclidean"),
    # a slanted band is the usual one for equal lengths, and admits a path between any others
    "1-NN DTW": lambda: _find_class("Neighbors")(_find_class("DTW")(band="slanted"), select_window=True),
    "1-NN MSM": lambda: _find_class("Neighbors")("msm"),
    "statistics + forest": lambda: _find_class("EmbeddingClassifier")(
        _find_class("StatisticsEncoder")(), head="forest"
    ),
    "Rocket + ridge": lambda: _find_class("EmbeddingClassifier")(_find_class("Rocket")(), head="ridge"),
    "Discriminant": partial(_make_default, "Discriminant"),
    "Fused": lambda: _find_class("Fused")(
        [_find_class("DTW")(normalize="length"), _find_class("Discriminant")(classes="open")]
    ),
    "T-Loss + head": lambda: _find_class("EmbeddingClassifier")(_find_class("CausalEncoder")()),
    "SiameseGRU": partial(_make_default, "SiameseGRU"),
    "Prototypes": partial(_make_default, "Prototypes"),
    "CoupledGRU": partial(_make_default, "CoupledGRU"),
    "TAP": partial(_make_default, "TAP"),
}
DEFAULT_REGRESSORS: dict[str, Callable[[], Any]] = {  # without learned metrics, which need classes
    "1-NN Euclidean": lambda: _find_class("NeighborsRegressor")("euclidean"),
    "1-NN DTW": lambda: _find_class("NeighborsRegressor")("dtw"),
    "1-NN MSM": lambda: _find_class("NeighborsRegressor")("msm"),
    "statistics + forest": lambda: _find_class("EmbeddingRegressor")(_find_class("StatisticsEncoder")(), head="forest"),
    "Rocket + ridge": lambda: _find_class("EmbeddingRegressor")(_find_class("Rocket")()),
    "T-Loss + ridge": lambda: _find_class("EmbeddingRegressor")(_find_class("CausalEncoder")()),
}

_RESAMPLED_SUFFIX = ", resampled"
"""Suffix of a name: all sequences are resampled to the median length of the training part."""
_RESAMPLED_METHODS = ("1-NN Euclidean", "1-NN MSM", "Rocket + ridge", "Discriminant")


def parse_methods(
    methods: Any, X: Sequences, *, is_regression: bool, needs_predictions: bool, prepare: tuple[Any, ...] = ()
) -> tuple[list[ComparedMethod], list[str]]:
    """The methods of the argument `methods`, each with its name, and notes on those that are left out.

    A method is left out, with a warning, if an extra that it needs is not installed; if all are, this is an error.
    `needs_predictions` is as in `ComparisonProblem`.
    """
    entries = _entries_by_name(methods, is_regression, X)
    if not entries:
        raise ValueError("methods is empty: expected names, metrics, encoders or estimators, or None for all")
    compared: list[ComparedMethod] = []
    left_out: dict[str, MissingExtraError] = {}
    for name, one in entries.items():
        try:
            model, steps = _make_method(one, is_regression, X)
            method = ComparedMethod(name, _as_predictor(model, name, is_regression, needs_predictions), prepare, steps)
            method.refuse_missing_extra()
        except MissingExtraError as error:
            left_out[name] = error
        else:
            compared.append(method)
    if not compared:
        raise next(iter(left_out.values()))
    return compared, _warn_of_left_out(left_out)


def _warn_of_left_out(errors: Mapping[str, MissingExtraError]) -> list[str]:
    """Warn of the methods that are left out, and return a note for every package that is missing."""
    notes = []
    for package in dict.fromkeys(error.name for error in errors.values()):
        names = [name for name, error in errors.items() if error.name == package]
        remedy = f"{errors[names[0]]}".rpartition(" needs ")[2]  # such as: torch: pip install "timelike[learn]"
        notes.append(f"left out: {', '.join(names)}, which need{'s' if len(names) == 1 else ''} {remedy}")
        warnings.warn(notes[-1].replace("left out:", "compare() leaves out", 1), stacklevel=find_stack_level())
    return notes


def _entries_by_name(methods: Any, numeric: bool, X: Sequences) -> dict[str, Any]:
    if methods is None:
        methods = _default_names(numeric, ragged=not X.has_equal_lengths)
    if isinstance(methods, Mapping):
        return {str(name): one for name, one in methods.items()}
    if isinstance(methods, str) or not isinstance(methods, list | tuple):
        methods = [methods]
    entries: dict[str, Any] = {}
    for one in methods:
        name = one if isinstance(one, str) else _display_name(one)
        if name in entries:
            raise ValueError(f"methods: two are called {name!r}: give a dict {{name: method}} to tell them apart")
        entries[name] = one
    return entries


def _default_names(numeric: bool, *, ragged: bool) -> list[str]:
    """Names of the default methods; if lengths differ, also of methods on resampled sequences."""
    names = list(DEFAULT_REGRESSORS if numeric else DEFAULT_CLASSIFIERS)
    if not ragged:
        return names
    ragged_names = [name for name in names if name != "1-NN Euclidean"]  # it compares sequences of one length only
    return ragged_names + [name + _RESAMPLED_SUFFIX for name in _RESAMPLED_METHODS if name in names]


def _make_method(one: Any, numeric: bool, X: Sequences) -> tuple[Any, tuple[Any, ...]]:
    """The model of an entry and its own steps before it; a word is a default name, a public class, or a metric."""
    if not isinstance(one, str):
        return one, ()
    word, is_resampled = one.removesuffix(_RESAMPLED_SUFFIX), one.endswith(_RESAMPLED_SUFFIX)
    model = _model_from_word(word, one, numeric)
    return _ignore_missing(model) if X.has_missing else model, (Resample(),) if is_resampled else ()


def _model_from_word(word: str, entry: str, numeric: bool) -> Any:
    usual = DEFAULT_REGRESSORS if numeric else DEFAULT_CLASSIFIERS
    if word in usual:
        return usual[word]()
    if word in metric_names.metrics_by_name():
        return metric_names.resolve_metric(word)
    try:
        return registry.find_class(word)()
    except (ValueError, TypeError):
        raise ValueError(
            f"methods has {entry!r}: expected one of {', '.join(map(repr, usual))}, a metric such as 'dtw', or a "
            f"public name such as 'SiameseGRU'; {_RESAMPLED_SUFFIX!r} after it brings sequences to one length"
        ) from None


def is_method_name(entry: str) -> bool:
    """Whether a word stands for a method, of classes or of numbers."""
    word = entry.removesuffix(_RESAMPLED_SUFFIX)
    return word in method_names() or word in registry.public_class_names()


def method_names() -> list[str]:
    """The names of the default methods and of the metrics."""
    return list(dict.fromkeys((*DEFAULT_CLASSIFIERS, *DEFAULT_REGRESSORS, *metric_names.metrics_by_name())))


def _ignore_missing(model: Any) -> Any:
    """The model with the option that skips missing values, if it, or its metric, has it."""
    if isinstance(model, WarpingDistance):
        return replace(model, missing="ignore")
    inner = model.get_params(deep=False).get("metric") if hasattr(model, "get_params") else None
    metric = metric_names.resolve_metric(inner) if isinstance(inner, str) else inner
    return model.set_params(metric=replace(metric, missing="ignore")) if isinstance(metric, WarpingDistance) else model


def _display_name(one: Any) -> str:
    words = " ".join(repr(one).split())
    return words if len(words) <= 60 else type(one).__name__


def _as_predictor(one: Any, name: str, numeric: bool, answers: bool) -> Any:
    """An estimator that predicts, if predictions are needed; otherwise a metric or an encoder itself."""
    if isinstance(one, type):
        raise TypeError(f"methods: {name!r} is the class {one.__name__}: expected an object, {one.__name__}()")
    inside = components.unfreeze(one)
    if isinstance(inside, Metric):
        if not answers:
            return inside
        # vectors learned from classes are compared by distances; others get a head
        plain = isinstance(inside, Encoder) and not inside.__sklearn_tags__().target_tags.required
        names = ("EmbeddingClassifier", "EmbeddingRegressor") if plain else ("Neighbors", "NeighborsRegressor")
        return registry.find_class(names[numeric])(one)
    if not hasattr(one, "fit") or not hasattr(one, "predict"):
        raise TypeError(
            f"methods: {name!r} is a {type(one).__name__}: expected a name, a metric, an encoder, or an estimator with "
            "fit and predict"
        )
    return one


# --- preparation steps before a method --------------------------------------------------------------------------------


def parse_prepare(prepare: Any) -> tuple[Any, ...]:
    """The steps of the argument `prepare`: None, a transformer, or several.

    >>> parse_prepare(Interpolate())
    (Interpolate(),)
    """
    if prepare is None:
        return ()
    steps = tuple(prepare) if isinstance(prepare, list | tuple) else (prepare,)
    for step in steps:
        if isinstance(step, type) or not (hasattr(step, "fit") and hasattr(step, "transform")):
            raise TypeError(
                f"prepare has {step!r:.80}: expected a transformer such as timelike.prepare.Interpolate(), or a list "
                "of them"
            )
    return steps


def takes_missing(model: Any) -> bool:
    """Whether a method allows missing values (NaN)."""
    if isinstance(model, BaseEstimator):
        return bool(get_tags(model).input_tags.allow_nan)
    return isinstance(model, Metric) and model._takes_missing()


class PreparedParts(NamedTuple):
    """Fitted steps, the transformed sequences, and whether missing values were interpolated."""

    steps: tuple[Any, ...]
    parts: tuple[Sequences, ...]
    interpolated: bool


def prepare_parts(
    first: Iterable[Any], last: Iterable[Any], model: Any, y: NDArray[Any], *parts: Sequences
) -> PreparedParts:
    """Steps fitted on the first part and applied to all: those of the caller, `first`, and the method's own, `last`.

    Values that are still missing in between are interpolated where the method, or a step of its own, cannot take them.
    """
    own = tuple(last)
    prepared = _apply_steps((), first, y, parts)
    has_gaps = any(part.has_missing for part in prepared.parts) and (bool(own) or not takes_missing(model))
    if has_gaps:
        prepared = _apply_steps(prepared.steps, (Interpolate(),), y, prepared.parts)
    return _apply_steps(prepared.steps, own, y, prepared.parts)._replace(interpolated=has_gaps)


def _apply_steps(
    done: tuple[Any, ...], steps: Iterable[Any], y: NDArray[Any], parts: tuple[Sequences, ...]
) -> PreparedParts:
    for step in steps:
        fitted = clone(step).fit(parts[0], y)
        parts = tuple(_restore_metadata(validate_sequences(fitted.transform(part)), part, step) for part in parts)
        done = (*done, fitted)
    return PreparedParts(done, parts, False)


def _restore_metadata(transformed: Sequences, part: Sequences, step: Any) -> Sequences:
    """The output of a step, with the ids and groups of its input."""
    if len(transformed) != len(part):
        raise ValueError(
            f"prepare: {step!r:.80} makes {len(transformed)} sequences of {len(part)}: expected one of each; for "
            "windows give an estimator that votes, such as neighbors.WindowedClassifier"
        )
    return transformed.replace(ids=part.ids, groups=part.groups)
