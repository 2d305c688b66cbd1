"""The class behind a name that a folder gives: only public names of the rooms are ever looked up, nothing else."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import Any

from .. import _contents


def find(method: str) -> type[Any]:
    """The class of that name.

    >>> find("DTW")
    <class 'timelike.align.dtw.DTW'>
    """
    for package in _contents.packages():
        if method in _contents.names(package):
            found = getattr(import_module(package), method)
            if can_be_saved(found):
                kind: type[Any] = found
                return kind
    raise ValueError(f"the method {method!r} is unknown: this timelike knows {', '.join(_known())}")


def name_of(kind: type[Any]) -> str | None:
    """The name under which a class is known, None if it is not."""
    home = _home(kind.__name__, kind.__module__)  # a torch layer may have the name of a value, in another package
    found = None if home is None else getattr(import_module(home), kind.__name__)
    return kind.__name__ if found is kind and can_be_saved(kind) else None


def can_be_saved(kind: Any) -> bool:
    """Whether a public name is a method: what is fitted, or a frozen value."""
    from .base import Model

    return isinstance(kind, type) and (issubclass(kind, Model) or is_value(kind))


def is_value(kind: type[Any]) -> bool:
    """Whether a class is a frozen dataclass: a method that learns nothing."""
    frozen = getattr(kind, "__dataclass_params__", None)
    return dataclasses.is_dataclass(kind) and frozen is not None and frozen.frozen


def _home(name: str, module: str) -> str | None:
    """The package that offers the name, if the module is in it."""
    for package in _contents.packages():
        if name in _contents.names(package) and (module == package or module.startswith(f"{package}.")):
            return package
    return None


def _known() -> list[str]:
    """Names that may be methods; whether they are is not known without importing them."""
    return sorted({name for package in _contents.packages() for name in _contents.names(package) if name[0].isupper()})
