"""`Model`, the base class of estimators: options, input validation, atomic fits, nested models and saving."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ..core.validation.arrays import refuse_column_vector, refuse_reordered_channels
from ..sequences import Sequences
from ..sequences.validation import set_n_features_in, validate_sequences, validate_targets
from . import components, schema
from .aliases import resolve_aliases
from .options import Option, any_value
from .schema import AttributeSchema, check_attributes


class Model(BaseEstimator, abc.ABC):  # type: ignore[misc]
    """An estimator that is fitted on sequences, predicts for others, and can be saved.

    A subclass declares its options (see `models.options`), and has a constructor that only stores them and a `fit` that
    runs `with self._atomic_fit():`, so that a failed fit leaves the model unchanged. Fitted attributes end in `_`. Each
    is declared in the class (see `models.schema`) and checked when a model is saved and loaded. Derived attributes are
    not saved; `_derive_attributes` recomputes them.

    >>> import numpy as np
    >>> from timelike.models import Model, options, schema
    >>> from timelike.core.parameters import store_parameters
    >>> class Mean(Model):
    ...     power = options.real(above=0)
    ...     mean_ = schema.array("*frame", least=0)
    ...
    ...     def __init__(self, *, power=1.0):
    ...         store_parameters(self, locals())
    ...
    ...     def fit(self, X, y=None):
    ...         with self._atomic_fit():
    ...             self.mean_ = (np.abs(self._validate_fit_input(X).values) ** self.power).mean(axis=0)
    ...         return self
    >>> Mean(power=2.0).fit([[1.0, 2.0], [3.0]]).mean_
    array([4.66666667])
    >>> Mean(power="x").fit([[1.0]])
    Traceback (most recent call last):
        ...
    TypeError: power='x': expected a number
    """

    frame_: tuple[int, ...] = schema.frame_shape()
    """The shape of the frames it was fitted on."""
    channel_names_: Any = schema.not_required(schema.nullable(schema.channel_names()))
    """Names of the channels it was fitted on, where these had names."""
    n_features_in_: int = schema.not_required(schema.integer(1))
    """How many numbers a sequence has, where all have as many, as in scikit-learn."""

    _n_frame_axes: ClassVar[int | None] = None  # of a frame, where only frames of this many axes make sense
    _fit_call: ClassVar[str] = "fit(X)"  # the advice in errors about an unfitted model
    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType({})  # for `preset`

    __repr__ = BaseEstimator.__repr__

    # --- options ---------------------------------------------------------------------------------------------------

    @classmethod
    def options(cls) -> dict[str, Option[Any]]:
        """The declared options by name: the arguments of the constructor."""
        names = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]
        declared = {name: inspect.getattr_static(cls, name, None) for name in names}
        return {name: option if isinstance(option, Option) else any_value() for name, option in declared.items()}

    @classmethod
    def _attribute_schemas(cls) -> dict[str, AttributeSchema]:
        """The declared fitted attributes by name, those of the base classes first."""
        lines = [vars(base).items() for base in reversed(cls.__mro__)]  # a later one replaces what bases declare
        declared = {name: one for line in lines for name, one in line if name.endswith("_")}
        return {name: one for name, one in declared.items() if isinstance(one, AttributeSchema)}

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A new model with a named set of options, such as those of the paper; `changes` override some.

        >>> from timelike.core.parameters import store_parameters
        >>> class Mean(Model):
        ...     _presets = {"paper": {"power": 2.0}}
        ...
        ...     def __init__(self, *, power=1.0, scale=1.0):
        ...         store_parameters(self, locals())
        ...
        ...     def fit(self, X, y=None):
        ...         return self
        >>> Mean.preset("paper", scale=3.0)
        Mean(power=2.0, scale=3.0)
        >>> Mean.preset("thesis")
        Traceback (most recent call last):
            ...
        ValueError: preset 'thesis': Mean has 'paper'
        """
        if name not in cls._presets:
            has = ", ".join(map(repr, cls._presets)) or "none: give its options themselves"
            raise ValueError(f"preset {name!r}: {cls.__name__} has {has}")
        return cls(**{**cls._presets[name], **changes})

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        """Arguments with which it learns in a moment, where those in tests/contract do not say enough."""
        return {}

    def _refuse_options(self) -> None:
        """Raise an error for an invalid option; a subclass adds checks of several options together."""
        for name, option in type(self).options().items():
            value = getattr(self, name)
            if not (option.optional and value is None):
                option.check(value, name)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, including the options of components: `metric__window`, `loss__margin`."""
        own: dict[str, Any] = super().get_params(deep=False)
        if not deep:
            return own
        declared = type(self).options()  # read once: it inspects the constructor
        inner = (
            components.nested_parameters(_resolve_word(declared[name], value), name) for name, value in own.items()
        )
        return own | {option: value for some in inner for option, value in some.items()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; setting an option of a component replaces it by a new, unfitted one.

        The original component does not change, because it may be used elsewhere.
        """
        params = resolve_aliases(type(self), params)
        nested = [name for name in params if "__" in name]
        inner: dict[str, dict[str, Any]] = {}
        for name in nested:
            outer, _, option = name.partition("__")
            inner.setdefault(outer, {})[option] = params.pop(name)
        super().set_params(**params)
        for outer, changed in inner.items():
            if outer not in self.get_params(deep=False):
                super().set_params(**{outer: None})  # scikit-learn's words for a parameter that there is not
            declared, value = type(self).options()[outer], getattr(self, outer)
            if declared.from_word is not None and isinstance(value, str):
                declared.check(value, outer)  # says which words there are
            setattr(self, outer, components.replace_parameters(self._resolve_parameter(outer, value), outer, changed))
        return self

    def _resolve_parameter(self, name: str, value: Any) -> Any:
        """What a parameter stands for, where it is a word, or None, that has options."""
        return _resolve_word(type(self).options()[name], value)

    def __sklearn_clone__(self) -> Self:
        """A fitted part stays fitted: scikit-learn's `clone` would drop its fitted state (decision 0012)."""
        copy: Self = super().__sklearn_clone__()
        for name, value in self.get_params(deep=False).items():
            setattr(copy, name, components.keep_fitted(value, getattr(copy, name)))
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = self._takes_missing()
        return tags

    # --- input -------------------------------------------------------------------------------------------------------

    def _validate_fit_input(self, X: Any) -> Sequences:
        """The sequences to fit, at least one, none with a missing value; their frame and size are noted."""
        self._refuse_options()
        sequences = self._validate_sequences(X)
        self.frame_ = sequences.frame
        self.__dict__.pop("channel_names_", None)
        if sequences.channel_names is not None:
            self.channel_names_ = sequences.channel_names
        set_n_features_in(self, sequences)
        return sequences

    def _validate_predict_input(self, X: Any) -> Sequences:
        """The sequences to answer for: like those it was fitted on."""
        self._require_fitted()
        if getattr(self, "n_features_in_", None) != 1:
            refuse_column_vector(X, "X")
        sequences = self._validate_sequences(X)
        self._refuse_frame(sequences.frame, "X")
        refuse_reordered_channels(
            sequences.channel_names, getattr(self, "channel_names_", None), ("X", "what it was fitted on")
        )
        return sequences

    def _validate_sequences(self, X: Any) -> Sequences:
        sequences = validate_sequences(X)
        if len(sequences) == 0:
            raise ValueError("X holds no sequences: expected at least one")
        if not self._takes_missing():
            sequences.refuse_missing(type(self).__name__, "X")
        self._refuse_unsupported(sequences)
        return sequences

    def _refuse_unsupported(self, sequences: Sequences) -> None:
        """An error for frames, or lengths, that it has no use for."""
        if self._n_frame_axes is None or len(sequences.frame) == self._n_frame_axes:
            return
        expected = ("(channel,)", "", "(channel, height, width)")[self._n_frame_axes - 1]
        way = (
            "; CausalEncoder is for frames of channels, and an array of single images (item, channel, height, width) "
            'needs Sequences(X, layout="nchw")'
        )
        raise ValueError(
            f"X has frames of shape {sequences.frame}: {type(self).__name__} expected {expected}"
            + (way if self._n_frame_axes > 1 else "")
        )

    def _takes_missing(self) -> bool:
        """Whether values may be missing (NaN)."""
        return False

    def _validate_classes(self, sequences: Sequences, y: Any, otherwise: str) -> NDArray[Any]:
        """The class of every sequence, `y` or the labels that X carries; fractions are for another estimator."""
        labels = validate_targets(self, sequences, y, "class")
        fractions = labels[labels != np.floor(labels)] if labels.dtype.kind == "f" else labels[:0]
        if len(fractions):
            raise ValueError(f"Unknown label type: y holds {fractions[0]}: expected classes; for numbers {otherwise}")
        return labels

    def _validate_numbers(self, sequences: Sequences, y: Any, otherwise: str) -> NDArray[np.float64]:
        """The number of every sequence, `y` or the labels that X carries; classes are for another estimator."""
        targets = validate_targets(self, sequences, y, "target")
        if targets.dtype.kind not in "biuf":
            raise ValueError(f"y has dtype {targets.dtype}: expected numbers; for classes use {otherwise}")
        return targets.astype(np.float64)

    def _refuse_frame(self, frame: tuple[int, ...], name: str) -> None:
        expected = self._expected_frame()
        if expected is not None and frame != expected:
            raise ValueError(
                f"{name} has frames of shape {frame}: this {type(self).__name__} was fitted on {expected}; "
                f"{_layout_hint(frame, expected)}"
            )

    def _expected_frame(self) -> tuple[int, ...] | None:
        """The shape of the frames it answers for, None if any will do."""
        return self.frame_

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet: call {self._fit_call} first, or load a model"
            )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "frame_")

    # --- learning ----------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model on sequences."""

    @contextmanager
    def _atomic_fit(self) -> Iterator[None]:
        """Discard the fitted state inside the block; if the block fails, restore it."""
        before = dict(self.__dict__)
        self.__dict__.pop("_fitted_parameters", None)
        for name in _fitted_values(before):
            delattr(self, name)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._fitted_parameters = self.get_params(deep=False)

    # --- saving ------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder for `timelike.load_model`; an existing model is replaced.

        A generator passed as a parameter is not saved and loads as None. A path loads as a string.
        """
        from .serialization import save_model

        save_model(self, folder)

    def _refuse_to_save(self) -> None:
        """Raise an error if a folder could not hold the model as it is."""
        self._refuse_options()
        self._refuse_changed_options("saving")
        self._check_attributes(_fitted_values(self.__dict__))

    def _refuse_changed_options(self, doing: str) -> None:
        """Raise an error if an option that the fitted state depends on has changed."""
        for name, value in getattr(self, "_fitted_parameters", {}).items():
            now = getattr(self, name)
            if now is value or type(self).options()[name].role != "model":
                continue
            if repr(self._resolve_parameter(name, now)) != repr(self._resolve_parameter(name, value)):
                raise ValueError(
                    f"{name}={now!r} was {value!r} when this {type(self).__name__} was fitted: set it back with "
                    f"set_params({name}={value!r}), or fit again, before {doing}"
                )

    def _get_state(self) -> dict[str, Any]:
        """The fitted attributes by name."""
        declared = type(self)._attribute_schemas()
        return {name: value for name, value in _fitted_values(self.__dict__).items() if declared[name].is_saved}

    def _set_state(self, state: dict[str, Any]) -> None:
        """Restore the state from `_get_state` into a model with the same parameters."""
        declared = type(self)._attribute_schemas()
        for name, value in state.items():
            if name not in declared or not declared[name].is_saved:
                raise ValueError(f"{name!r} is not a learned attribute of {type(self).__name__}")
            setattr(self, name, value)
        self._refuse_options()
        self._check_attributes(state)
        self._derive_attributes()
        self._fitted_parameters = self.get_params(deep=False)

    def _check_attributes(self, found: Mapping[str, Any]) -> None:
        """Raise an error if fitted attributes do not match their declarations; a subclass adds joint checks."""
        check_attributes(self, type(self)._attribute_schemas(), found)

    def _derive_attributes(self) -> None:
        """Recompute the derived attributes from the other fitted attributes."""


def _resolve_word(option: Option[Any], value: Any) -> Any:
    """The value behind a word, or behind None, where the option says which words it takes."""
    return (
        option.from_word(value) if option.from_word is not None and (value is None or isinstance(value, str)) else value
    )


def _layout_hint(frame: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """The layout that an array may have meant to have."""
    if len(expected) == 3:
        return 'an array of single images (item, channel, height, width) needs Sequences(data, layout="nchw")'
    if frame == (1,):
        return (
            "one sequence (time, channel) is s[:1], or [x] around its array; an array (item, channel, time) needs "
            'Sequences(data, layout="nct"), one of vectors (item, channel) layout="nc"'
        )
    return 'an array (item, channel, time) needs Sequences(data, layout="nct")'


def _fitted_values(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: attributes[name] for name in sorted(attributes) if name.endswith("_") and not name.startswith("_")}
