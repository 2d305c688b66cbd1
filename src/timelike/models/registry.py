"""The class behind a name that a folder gives: only public names of the rooms are ever looked up, nothing else."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from .. import _contents


def find(method: str) -> type[Any]:
    """The class of that name.

    >>> find("DTW")
    <class 'timelike.align.dtw.DTW'>
    """
    for found in _offered(method.rpartition(".")[2]):
        if can_be_saved(found) and _called(found) == method:
            kind: type[Any] = found
            return kind
    raise ValueError(f"the method {method!r} is unknown: this timelike knows {', '.join(_known())}")


def name_of(kind: type[Any]) -> str | None:
    """The name under which a class is known, None if it is not: a torch layer may have the name of a value."""
    known = can_be_saved(kind) and any(found is kind for found in _offered(kind.__name__))
    return _called(kind) if known else None


def _called(kind: type[Any]) -> str:
    """Its own name, or, where a method of another room had that name first, the one that it says it is saved by."""
    called: str = vars(kind).get("_called", kind.__name__)
    return called


def can_be_saved(kind: Any) -> bool:
    """Whether a public name is a method: what is fitted, a frozen value, or what `get_params` makes the same again."""
    from .base import Model

    if not isinstance(kind, type):
        return False
    plain = getattr(kind, "_saved_by_parameters", False) or (is_value(kind) and getattr(kind, "_saved", True))
    return issubclass(kind, Model) or bool(plain)


def is_value(kind: type[Any]) -> bool:
    """Whether a class is a frozen dataclass: a method that learns nothing."""
    frozen = getattr(kind, "__dataclass_params__", None)
    return dataclasses.is_dataclass(kind) and frozen is not None and frozen.frozen


def methods() -> dict[str, type[Any]]:
    """Every method of the library by its name; this imports all rooms.

    >>> "DTW" in methods()
    True
    """
    names = {name for package in _contents.packages() for name in _contents.names(package)}
    found = {_called(kind): kind for name in sorted(names) for kind in _offered(name) if can_be_saved(kind)}
    return {name: kind for name, kind in found.items() if not inspect.isabstract(kind)}


def _offered(name: str) -> Iterator[Any]:
    """What the rooms, and the packages they offer, have under a public name."""
    for package in _contents.packages():
        if name in _contents.names(package):
            yield getattr(import_module(package), name)


def _known() -> list[str]:
    """Names that may be methods; whether they are is not known without importing them."""
    return sorted({name for package in _contents.packages() for name in _contents.names(package) if name[0].isupper()})
