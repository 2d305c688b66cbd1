"""The public names of a package, read from its `if TYPE_CHECKING:` imports and loaded when they are first used."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any


def contents(
    package: str,
    *,
    top: bool = True,
    inner: tuple[str, ...] = (),
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package whose public names stand in its `if TYPE_CHECKING:` imports.

    One line makes a name public: for type checkers, for `from timelike.room import name`, for the reference pages, for
    models that are saved and loaded by it, and for the contract tests. Nothing is imported before it is asked for, so a
    room with torch in it costs nothing to those who use another. The names of a room are also had from the top, as
    `timelike.NAME`, but for the `inner` ones (bases, records and networks, which nobody looks for there), or for all
    of them with `top=False`. What was `renamed` is still had by its earlier name, with a warning, and listed nowhere.
    """
    module, table = sys.modules[package], _read(package)
    unknown = set(inner) - table.keys()
    if unknown:
        raise ImportError(f"{package} keeps {min(unknown)!r} to itself, which is not among its names")
    # kept in the package, so that there is one table however often this module is imported
    vars(module).update(__contents__=table, __offered__=frozenset(table.keys() - set(inner)) if top else frozenset())

    def load(name: str) -> Any:
        if name in renamed:
            now = renamed[name]
            warnings.warn(f"{package}.{name} is {package}.{now} now", DeprecationWarning, stacklevel=2)
            return _loaded(package, table[now], now)
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _loaded(package, table[name], name)
        setattr(module, name, value)
        return value

    return sorted(table), load, lambda: sorted({*vars(module), *table})


def names(package: str) -> dict[str, str]:
    """The public names of a package and the module each is in; nothing but the package itself is imported.

    >>> names("timelike.align")["DTW"]
    'timelike.align.dtw'
    """
    found: dict[str, str] = getattr(import_module(package), "__contents__", {})
    return found


@cache
def rooms() -> tuple[str, ...]:
    """Every room: the packages inside this one.

    >>> "align" in rooms()
    True
    """
    places = sys.modules[__name__.rpartition(".")[0]].__path__
    return tuple(sorted(module.name for module in iter_modules(places) if module.ispkg))


def offered(*, inner: bool = False) -> dict[str, str]:
    """What is to be had from the top, and the room each name comes from.

    With `inner` also what a room that offers names keeps to itself: it is not listed, but who asks for it by name, as
    type checkers allow, gets it.
    """
    found: dict[str, str] = {}
    for room in rooms():
        module = import_module(f"timelike.{room}")
        own = getattr(module, "__offered__", ())
        found |= dict.fromkeys((*own, *(module.__contents__ if inner and own else ())), module.__name__)
    return found


def packages() -> list[str]:
    """Every room, and every package that a room offers by name, such as `timelike.metric.losses`."""
    found = []
    for room in rooms():
        package = f"timelike.{room}"
        found.append(package)
        found += [home for name, home in names(package).items() if home == f"{package}.{name}" and _is_package(home)]
    return found


@cache
def _is_package(module: str) -> bool:
    spec = find_spec(module)
    return spec is not None and spec.submodule_search_locations is not None


def _loaded(package: str, home: str, name: str) -> Any:
    module = import_module(home)
    return module if home == f"{package}.{name}" else getattr(module, name)


def _read(package: str) -> dict[str, str]:
    """Names and modules of `from .module import Name as Name`, as they stand in the source of the package."""
    spec = sys.modules[package].__spec__
    assert spec is not None
    source = spec.loader.get_source(package)  # type: ignore[union-attr]
    if source is None:
        raise ImportError(f"{package} is installed without its source, from which its names are read: install it whole")
    table: dict[str, str] = {}
    for block in ast.parse(source).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.level:  # names of others are for type checkers alone
                    table |= _homes(package, line)
    return table


def _homes(package: str, line: ast.ImportFrom) -> dict[str, str]:
    base = package if line.level == 1 else package.rsplit(".", line.level - 1)[0]
    home = f"{base}.{line.module}" if line.module else base
    return {
        (alias.asname or alias.name): home if line.module else f"{home}.{alias.name}"
        for alias in line.names
        if not alias.name.startswith("_")
    }
