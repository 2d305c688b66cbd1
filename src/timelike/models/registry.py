"""Lookup of classes by the name in a model folder, among the public names of the packages only."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from .. import _exports
from ..core.extras import MissingExtraError


def find_class(method: str) -> type[Any]:
    """The class of that name.

    >>> find_class("DTW")
    <class 'timelike.align.dtw.DTW'>
    """
    for candidate in _public_objects(method):
        if is_saveable(candidate):
            kind: type[Any] = candidate
            return kind
    raise ValueError(f"the method {method!r} is unknown: this timelike knows {', '.join(public_class_names())}")


def registered_name(kind: type[Any]) -> str | None:
    """The name under which a class is known, None if it is not: a torch layer may have the name of a value."""
    candidates = _installed_objects(kind.__name__) if is_saveable(kind) else ()
    is_registered = any(candidate is kind for candidate in candidates)
    return kind.__name__ if is_registered else None


def is_saveable(kind: Any) -> bool:
    """Whether a public name is a method: an estimator, a frozen value, or a class that `get_params` can recreate."""
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

    Methods that need an extra are left out where it is not installed.

    >>> "DTW" in all_methods()
    True
    """
    names = {name for package in _exports.public_packages() for name in _exports.public_names(package)}
    classes = {name: kind for name in sorted(names) for kind in _installed_objects(name) if is_saveable(kind)}
    return {name: kind for name, kind in classes.items() if not inspect.isabstract(kind)}


def _public_objects(name: str) -> Iterator[Any]:
    """The objects with a public name in the packages and their subpackages."""
    for package in _packages_with(name):
        yield getattr(import_module(package), name)


def _installed_objects(name: str) -> Iterator[Any]:
    """Those among them that need no extra that is missing; any other error of an import is raised."""
    for package in _packages_with(name):
        try:
            public = getattr(import_module(package), name)
        except MissingExtraError:
            continue
        yield public


def _packages_with(name: str) -> list[str]:
    return [package for package in _exports.public_packages() if name in _exports.public_names(package)]


def public_class_names() -> list[str]:
    """Names that may be methods; whether they are is not known without importing them."""
    return sorted(
        {name for package in _exports.public_packages() for name in _exports.public_names(package) if name[0].isupper()}
    )
