"""Components: parameters that are methods, such as the encoder of a classifier: unfitted, fitted, frozen."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .aliases import resolve_aliases


def is_fitted(part: Any) -> bool:
    """Whether it is an estimator that is fitted."""
    if not isinstance(part, BaseEstimator):
        return False
    try:
        check_is_fitted(part)
    except NotFittedError:
        return False
    return True


def unfreeze(part: Any) -> Any:
    """The fitted estimator inside a `FrozenEstimator`; anything else is returned unchanged."""
    if not isinstance(part, FrozenEstimator):
        return part
    check_is_fitted(part)
    return part.estimator


def fitted_copy(part: Any, *data: Any, again: bool = False) -> Any:
    """A fitted copy of a component: a copy of a fitted one with its state, otherwise a copy that is fitted now.

    With `again`, a copy is always fitted. The original component is never changed, and later changes of it do not
    affect the model. A component without `fit` is immutable and is returned unchanged.
    """
    if not isinstance(part, BaseEstimator):
        return part
    return copy.deepcopy(part) if is_fitted(part) and not again else unfitted_copy(part).fit(*data)


def unfitted_copy(part: Any) -> Any:
    """An unfitted copy whose components are unfitted too: `clone` keeps fitted components."""
    if isinstance(part, list | tuple):
        return type(part)(unfitted_copy(one) for one in part)
    if not isinstance(part, BaseEstimator) or isinstance(part, FrozenEstimator):
        return clone(part, safe=False)
    return type(part)(**{name: unfitted_copy(value) for name, value in part.get_params(deep=False).items()})


def keep_fitted(value: Any, cloned: Any) -> Any:
    """The value of a parameter in a clone: fitted components themselves, copies of everything else."""
    if is_fitted(value):
        return value
    if isinstance(value, list | tuple) and isinstance(cloned, list | tuple) and any(map(is_fitted, value)):
        return type(value)(keep_fitted(one, other) for one, other in zip(value, cloned, strict=True))
    return cloned


def nested_parameters(part: Any, name: str) -> dict[str, Any]:
    """The options of a value or an estimator, each as `name__option`; none of anything else."""
    return {f"{name}__{option}": value for option, value in _get_parameters(part).items()}


def replace_parameters(part: Any, name: str, options: dict[str, Any]) -> Any:
    """An unfitted component with other options; the component itself if nothing changes."""
    if isinstance(part, FrozenEstimator):
        raise ValueError(
            f"{name} is frozen, so its option {min(options)!r} cannot change: "
            f"give the {type(part.estimator).__name__} itself to have it fitted"
        )
    if isinstance(part, str):
        option = min(options)
        raise ValueError(
            f"{name}__{option}={options[option]!r}: {name}={part!r} is a word, and words have no options: give {name} "
            "as a value first, such as loss=losses.Triplet(margin=0.3) or aligner=tl.SoftDTW(gamma=0.1)"
        )
    options = resolve_aliases(type(part), options)
    if not isinstance(part, BaseEstimator):
        return _replace_fields(part, name, options)
    parameters = _get_parameters(part)
    for option in options:
        field, nested, _ = option.partition("__")
        has_options = not nested or isinstance(parameters.get(field), str) or _get_parameters(parameters.get(field))
        if option not in parameters and (field not in parameters or not has_options):
            has = ", ".join(parameters) or "none"
            raise ValueError(f"{name} has no option {option!r}: {type(part).__name__} has {has}")
    if all(option in parameters and _is_same(parameters[option], value) for option, value in options.items()):
        return part  # and keeps what it has learned
    return clone(part).set_params(**options)


def _replace_fields(part: Any, name: str, options: dict[str, Any]) -> Any:
    """A value with other fields; an option of a field is looked for in the field as it is then."""
    inner: dict[str, dict[str, Any]] = {}
    for option in [option for option in options if "__" in option]:
        field, _, rest = option.partition("__")
        inner.setdefault(field, {})[rest] = options.pop(option)
    parameters = {option: value for option, value in _get_parameters(part).items() if "__" not in option}
    changed_fields = parameters | options
    for option in (*options, *inner):
        value = changed_fields.get(option)
        nested = "".join(f"__{rest}" for rest in list(inner.get(option, ()))[:1])
        if option not in parameters or (nested and not isinstance(value, str) and not _get_parameters(value)):
            has = ", ".join(parameters) or "none"
            raise ValueError(f"{name} has no option {option + nested!r}: {type(part).__name__} has {has}")
    if any(not _is_same(parameters[option], value) for option, value in options.items()):
        part = dataclasses.replace(part, **options)
    changed = {
        field: replace_parameters(getattr(part, field), f"{name}__{field}", some) for field, some in inner.items()
    }
    return dataclasses.replace(part, **changed) if changed else part


def _get_parameters(part: Any) -> dict[str, Any]:
    if isinstance(part, BaseEstimator):
        parameters: dict[str, Any] = part.get_params()
        return parameters
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return {}
    own = {field.name: getattr(part, field.name) for field in dataclasses.fields(part) if field.init}
    inner = (nested_parameters(value, name) for name, value in own.items())
    return own | {option: value for some in inner for option, value in some.items()}


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and np.array_equal(a, b))
