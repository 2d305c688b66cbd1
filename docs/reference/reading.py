"""An extension of griffe for habits of this library: examples without a heading, options together, borrowed methods."""

from __future__ import annotations

import re
from typing import Any

from griffe import Alias, Class, Extension, Function, Module, Object, Parameter, ParameterKind, Parameters

_TOGETHER = re.compile(r"^(\w+(?:, \w+)+)((?: : .*)?(?:\n +.*)+)", re.MULTILINE)  # width, height : int
_BORROWED = re.compile(r"(?:classmethod\()?(\w+)\.(\w+)\)?")  # resample = transforms.resample


class Reading(Extension):
    """Show `>>>` lines as examples, each option with its default, the fields of records, and borrowed methods."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Change the docstring of one module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = headed(apart(obj.docstring.value))

    def on_class(self, *, cls: Class, **kwargs: Any) -> None:
        """Give a record the constructor that `NamedTuple` writes for it."""
        if any(str(base) == "NamedTuple" for base in cls.bases):
            cls.set_member("__init__", _constructor(cls))

    def on_package(self, *, pkg: Module, **kwargs: Any) -> None:
        """Point the borrowed methods of all classes to the functions they are."""
        for module in _modules(pkg):
            for kind in module.classes.values():
                if isinstance(kind, Class):
                    _borrow(kind, module)


def apart(text: str) -> str:
    """The docstring with every option under its own name: of several together griffe shows the default of the first."""
    return _TOGETHER.sub(lambda found: "\n".join(f"{name}{found[2]}" for name in found[1].split(", ")), text)


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


def _constructor(record: Class) -> Function:
    fields = [f for f in record.attributes.values() if f.annotation is not None and "property" not in f.labels]
    kind = ParameterKind.positional_or_keyword
    own = Parameter("self", kind=ParameterKind.positional_only)
    given = [Parameter(f.name, annotation=f.annotation, default=f.value, kind=kind) for f in fields]
    return Function("__init__", lineno=0, endlineno=0, parent=record, parameters=Parameters(own, *given))
