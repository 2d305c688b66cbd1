"""An extension of griffe for two habits of this library: examples without a heading, methods from other files."""

from __future__ import annotations

import re
from typing import Any

from griffe import Alias, Class, Extension, Module, Object

_BORROWED = re.compile(r"(?:classmethod\()?(\w+)\.(\w+)\)?")  # resample = transforms.resample


class Reading(Extension):
    """Show `>>>` lines as examples, and a method written in another module as a method of its class."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Change the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = headed(obj.docstring.value)

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        """Point the borrowed methods of all classes to the functions they are."""
        for module in _modules(pkg):
            for kind in module.classes.values():
                if isinstance(kind, Class):
                    _borrow(kind, module)


def headed(text: str) -> str:
    """The docstring with its examples under a heading."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.startswith(">>>")), None)
    if first is None or "Examples" in lines[:first]:
        return text
    return "\n".join([*lines[:first], "Examples", "--------", *lines[first:]])


def _modules(package: Module) -> list[Module]:
    inner = [module for module in package.modules.values() if isinstance(module, Module)]
    return [package, *(found for module in inner for found in _modules(module))]


def _borrow(kind: Class, module: Module) -> None:
    for name, attribute in list(kind.attributes.items()):
        match = _BORROWED.fullmatch(str(attribute.value))
        neighbour = module.parent.modules.get(match[1]) if match and module.parent else None
        if match and neighbour is not None and match[2] in neighbour.functions:
            kind.set_member(name, Alias(name, neighbour.functions[match[2]], parent=kind))
