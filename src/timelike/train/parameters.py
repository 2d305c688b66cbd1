"""The parameters of a method as JSON, methods within them included."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from . import registry, trees


def to_json(values: dict[str, Any], name: str = "parameters") -> dict[str, Any]:
    """What JSON can hold; a method in it becomes its name and its own parameters.

    >>> import timelike as tl
    >>> to_json({"k": 3, "metric": tl.Euclidean()})
    {'k': 3, 'metric': {'method': 'Euclidean', 'parameters': {}}}
    """
    plain = {key: _plain(value) for key, value in values.items()}
    found, tensors = trees.flatten(plain, name, _described)
    if tensors:
        raise TypeError(f"{min(tensors)} is an array: expected it among the tensors of the model")
    words: dict[str, Any] = found
    return words


def from_json(values: dict[str, Any]) -> dict[str, Any]:
    """The parameters that `to_json` was given.

    >>> import timelike as tl
    >>> from_json(to_json({"metric": tl.DTW(window=0.1), "range": (0, 1)}))
    {'metric': DTW(window=0.1), 'range': (0, 1)}
    """
    made: dict[str, Any] = trees.unflatten(values, {}, _made)
    return made


def _plain(value: Any) -> Any:
    """A generator has no words, and a path is its name."""
    if isinstance(value, np.random.Generator):
        return None
    return str(value) if isinstance(value, Path) else value


def _described(value: Any, name: str) -> dict[str, Any] | None:
    method = registry.name_of(type(value))
    return None if method is None else {"method": method, "parameters": to_json(_own(value), name)}


def _own(method: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(method):
        return {field.name: getattr(method, field.name) for field in dataclasses.fields(method) if field.init}
    own: dict[str, Any] = method.get_params(deep=False)
    return own


def _made(words: dict[str, Any]) -> Any:
    if words.keys() != {"method", "parameters"}:
        return None
    return registry.find(words["method"])(**from_json(words["parameters"]))
