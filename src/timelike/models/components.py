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
    """What a `FrozenEstimator` holds, which must be fitted; anything else is itself."""
    if not isinstance(part, FrozenEstimator):
        return part
    check_is_fitted(part)
    return part.estimator


def fitted_copy(part: Any, *given: Any, again: bool = False) -> Any:
    """The part to work with: a copy of what has learned, with all it learned, or else a copy that learns now.

    With `again` a copy learns in any case. The part that was given is never changed, and what becomes of it
    later changes no model that was made with it. What learns nothing cannot change, and is itself.
    """
    if not isinstance(part, BaseEstimator):
        return part
    return copy.deepcopy(part) if is_fitted(part) and not again else unfitted_copy(part).fit(*given)


def unfitted_copy(part: Any) -> Any:
    """An unfitted copy whose components are unfitted too: `clone` keeps fitted components."""
    if isinstance(part, list | tuple):
        return type(part)(unfitted_copy(one) for one in part)
    if not isinstance(part, BaseEstimator) or isinstance(part, FrozenEstimator):
        return clone(part, safe=False)
    return type(part)(**{name: unfitted_copy(value) for name, value in part.get_params(deep=False).items()})


def keep_fitted(given: Any, cloned: Any) -> Any:
    """What a clone has in place of a parameter: parts that have learned themselves, copies of everything else."""
    if is_fitted(given):
        return given
    if isinstance(given, list | tuple) and isinstance(cloned, list | tuple) and any(map(is_fitted, given)):
        return type(given)(keep_fitted(one, other) for one, other in zip(given, cloned, strict=True))
    return cloned


def nested_parameters(part: Any, name: str) -> dict[str, Any]:
    """The options of a value or an estimator, each as `name__option`; none of anything else."""
    return {f"{name}__{option}": value for option, value in _get_parameters(part).items()}


def replace_parameters(part: Any, name: str, options: dict[str, Any]) -> Any:
    """The component with other options, unfitted then; itself where nothing changes."""
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
    known = _get_parameters(part)
    options = resolve_aliases(type(part), options)
    for option in options:
        if option.partition("__")[0] not in known or ("__" in option and not isinstance(part, BaseEstimator)):
            has = ", ".join(known) or "none"
            raise ValueError(f"{name} has no option {option!r}: {type(part).__name__} has {has}")
    if all(option in known and _is_same(known[option], value) for option, value in options.items()):
        return part  # and keeps what it has learned
    return (
        clone(part).set_params(**options) if isinstance(part, BaseEstimator) else dataclasses.replace(part, **options)
    )


def _get_parameters(part: Any) -> dict[str, Any]:
    if isinstance(part, BaseEstimator):
        found: dict[str, Any] = part.get_params()
        return found
    fields = dataclasses.fields(part) if dataclasses.is_dataclass(part) and not isinstance(part, type) else ()
    return {field.name: getattr(part, field.name) for field in fields if field.init}


def _is_same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and np.array_equal(a, b))
