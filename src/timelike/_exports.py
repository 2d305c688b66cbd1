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

from .core.extras import is_missing_extra, missing_extra

_INTERNAL = ("cli", "core")  # the command line, and what the other packages share: not part of the public API


def lazy_exports(
    package: str, *, top: tuple[str, ...] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package, from the imports in its `if TYPE_CHECKING:` block.

    One line there makes a name public: for type checkers, for `from timelike.package import name`, for the reference
    pages, for models that are saved and loaded by it, and for the contract tests. Nothing is imported before it is
    used, so a package that needs torch costs nothing to users of another. The names in `top` are also available as
    `timelike.NAME`.
    """
    module, table = sys.modules[package], _read_exports(package)
    unknown = set(top) - table.keys()
    if unknown:
        raise ImportError(f"{package} lists {min(unknown)!r} in top=, which is not one of its public names")
    # stored in the package, so that there is one table even if this module is imported twice
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
    """The public packages inside this one.

    >>> "align" in package_names(), "core" in package_names()
    (True, False)
    """
    places = sys.modules[__name__.rpartition(".")[0]].__path__
    return tuple(sorted(one.name for one in iter_modules(places) if one.ispkg and one.name not in _INTERNAL))


def top_level_names() -> dict[str, str]:
    """The names available as `timelike.NAME`, and the package each comes from."""
    names: dict[str, str] = {}
    for package in package_names():
        module = import_module(f"timelike.{package}")
        names |= dict.fromkeys(getattr(module, "__top_level__", ()), module.__name__)
    return names


def public_packages() -> list[str]:
    """Every public package, and every package among its public names, such as `timelike.metric.losses`."""
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
    module = import_public(home, f"{package}.{name}")
    return module if home == f"{package}.{name}" else getattr(module, name)


def import_public(module: str, name: str) -> Any:
    """The module of a public name, or an error which says that the name needs an extra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if not is_missing_extra(error):
            raise
        raise missing_extra(error, name) from error


def _read_exports(package: str) -> dict[str, str]:
    """Names and modules of the lines `from .module import Name as Name` in the source of the package."""
    spec = sys.modules[package].__spec__
    assert spec is not None
    source = spec.loader.get_source(package)  # type: ignore[union-attr]
    if source is None:
        raise ImportError(
            f"{package} is installed without its source, from which its public names are read: reinstall timelike"
        )
    table: dict[str, str] = {}
    for block in ast.parse(source).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if (
                    isinstance(line, ast.ImportFrom) and line.level
                ):  # imports from other libraries are for type checkers only
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
