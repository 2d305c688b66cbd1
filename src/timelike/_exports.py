"""The public names of a package, read from its `if TYPE_CHECKING:` imports and loaded when they are first used."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any


def lazy_exports(
    package: str, *, top: tuple[str, ...] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package whose public names stand in its `if TYPE_CHECKING:` imports.

    One line makes a name public: for type checkers, for `from timelike.package import name`, for the reference pages,
    for models that are saved and loaded by it, and for the contract tests. Nothing is imported before it is used, so a
    package that needs torch costs nothing to those who use another. The names in `top` are also at the top, as
    `timelike.NAME`.
    """
    module, table = sys.modules[package], _read_exports(package)
    unknown = set(top) - table.keys()
    if unknown:
        raise ImportError(f"{package} offers {min(unknown)!r} at the top, which is not among its names")
    # kept in the package, so that there is one table however often this module is imported
    vars(module).update(__exports__=table, __top_level__=frozenset(top))

    def load(name: str) -> Any:
        if name not in table:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _load_name(package, table[name], name)
        setattr(module, name, value)
        return value

    return sorted(table), load, lambda: sorted({*vars(module), *table})


def public_names(package: str) -> dict[str, str]:
    """The public names of a package and the module each is in; nothing but the package itself is imported.

    >>> public_names("timelike.align")["DTW"]
    'timelike.align.dtw'
    """
    found: dict[str, str] = getattr(import_module(package), "__exports__", {})
    return found


@cache
def package_names() -> tuple[str, ...]:
    """The packages inside this one.

    >>> "align" in package_names()
    True
    """
    places = sys.modules[__name__.rpartition(".")[0]].__path__
    return tuple(sorted(module.name for module in iter_modules(places) if module.ispkg))


def top_level_names() -> dict[str, str]:
    """The names at the top, and the package each comes from."""
    names: dict[str, str] = {}
    for package in package_names():
        module = import_module(f"timelike.{package}")
        names |= dict.fromkeys(getattr(module, "__top_level__", ()), module.__name__)
    return names


def public_packages() -> list[str]:
    """Every package, and every package that one of them offers by name, such as `timelike.metric.losses`."""
    packages = []
    for name in package_names():
        package = f"timelike.{name}"
        packages.append(package)
        packages += [
            home for inner, home in public_names(package).items() if home == f"{package}.{inner}" and _is_package(home)
        ]
    return packages


@cache
def _is_package(module: str) -> bool:
    spec = find_spec(module)
    return spec is not None and spec.submodule_search_locations is not None


def _load_name(package: str, home: str, name: str) -> Any:
    module = import_module(home)
    return module if home == f"{package}.{name}" else getattr(module, name)


def _read_exports(package: str) -> dict[str, str]:
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
                    table |= _import_homes(package, line)
    return table


def _import_homes(package: str, line: ast.ImportFrom) -> dict[str, str]:
    base = package if line.level == 1 else package.rsplit(".", line.level - 1)[0]
    home = f"{base}.{line.module}" if line.module else base
    return {
        (alias.asname or alias.name): home if line.module else f"{home}.{alias.name}"
        for alias in line.names
        if not alias.name.startswith("_")
    }
