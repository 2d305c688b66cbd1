"""The class behind a name that a folder gives: only public names of the packages are ever looked up, nothing else."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from .. import _exports


def find_class(method: str) -> type[Any]:
    """The class of that name.

    >>> find_class("DTW")
    <class 'timelike.align.dtw.DTW'>
    """
    for found in _public_objects(method):
        if is_saveable(found):
            kind: type[Any] = found
            return kind
    raise ValueError(f"the method {method!r} is unknown: this timelike knows {', '.join(_public_class_names())}")


def registered_name(kind: type[Any]) -> str | None:
    """The name under which a class is known, None if it is not: a torch layer may have the name of a value."""
    known = is_saveable(kind) and any(found is kind for found in _public_objects(kind.__name__))
    return kind.__name__ if known else None


def is_saveable(kind: Any) -> bool:
    """Whether a public name is a method: what is fitted, a frozen value, or what `get_params` makes the same again."""
    from .base import Model

    if not isinstance(kind, type):
        return False
    plain = getattr(kind, "_saved_by_parameters", False) or (is_frozen_value(kind) and getattr(kind, "_saved", True))
    return issubclass(kind, Model) or bool(plain)


def is_frozen_value(kind: type[Any]) -> bool:
    """Whether a class is a frozen dataclass: a method that learns nothing."""
    frozen = getattr(kind, "__dataclass_params__", None)
    return dataclasses.is_dataclass(kind) and frozen is not None and frozen.frozen


def all_methods() -> dict[str, type[Any]]:
    """Every method of the library by its name; this imports all packages.

    >>> "DTW" in all_methods()
    True
    """
    names = {name for package in _exports.public_packages() for name in _exports.public_names(package)}
    found = {name: kind for name in sorted(names) for kind in _public_objects(name) if is_saveable(kind)}
    return {name: kind for name, kind in found.items() if not inspect.isabstract(kind)}


def _public_objects(name: str) -> Iterator[Any]:
    """What the packages, and the packages inside them, have under a public name."""
    for package in _exports.public_packages():
        if name in _exports.public_names(package):
            yield getattr(import_module(package), name)


def _public_class_names() -> list[str]:
    """Names that may be methods; whether they are is not known without importing them."""
    return sorted(
        {name for package in _exports.public_packages() for name in _exports.public_names(package) if name[0].isupper()}
    )
