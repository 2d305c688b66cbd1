"""The code a row was made by: a fingerprint of every module that was loaded for it, comments and docstrings aside."""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNELS = "timelike.native._kernels"
INDEXES = {"timelike", "timelike._contents", "timelike.nn"}  # they hand out names of other modules
TELLS = re.compile(r"timelike\.(draw|report|cli)\b|.*(report|figures)$")  # modules that show numbers and make none
# what a program plans and tells: it can change without changing a number
SAYING = {"planned", "lacks", "needs", "seconds", "kind", "took", "options", "said", "body", "draw"}

Body = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Texts = dict[str, tuple[list[str], list[str]]]  # module → its Python, its C++
Code = dict[str, str]  # module → fingerprint


@dataclass(frozen=True)
class Sources:
    """Where the library and the papers' programs are read from."""

    root: Path = ROOT

    def texts(self, paper: str, place: str = "benchmarks.papers") -> Texts:
        """Of every module of the library, and of the paper's folder in its place, that makes numbers."""
        library, papers = self.root / "src", self.root.joinpath(*place.split("."))
        paths = [*library.glob("timelike/**/*.py"), *papers.glob(f"{paper}/**/*.py")]
        names = [_name(path.relative_to(library if library in path.parents else self.root)) for path in paths]
        found = {name: self._read(name) for name in [*names, KERNELS] if _counts(name)}
        return {name: texts for name, texts in found.items() if any(texts)}

    def changed(self, then: Code) -> list[str]:
        """The modules that are not what they were."""
        return [module for module, mark in then.items() if fingerprint(*self._read(module)) != mark]

    def _read(self, module: str) -> tuple[list[str], list[str]]:
        python, cpp = ([path.read_text(encoding="utf-8") for path in of(module)] for of in (self._python, self._cpp))
        return python, cpp

    def _folder(self, module: str) -> Path:
        return (self.root / "src" if module.startswith("timelike") else self.root).joinpath(*module.split("."))

    def _python(self, module: str) -> Iterator[Path]:
        place = self._folder(module)
        yield from (path for path in (place.with_suffix(".py"), place / "__init__.py") if path.exists())

    def _cpp(self, module: str) -> list[Path]:
        """A family's own; the compiled library itself is what all families stand on."""
        native, place = self.root / "src/timelike/native", self._folder(module)
        if module == KERNELS:
            found = [*native.glob("*.cpp"), *native.glob("machine/*.?pp")]
        else:
            found = [*place.glob("*.?pp")] if native in place.parents else []
        return sorted(found)


def loaded(texts: Texts, program: type) -> Code:
    """Those of these modules that this process has loaded, and the program's own, which runs under another name."""
    spec = sys.modules[program.__module__].__spec__
    used = {*sys.modules, program.__module__ if spec is None else spec.name}
    return {module: fingerprint(*texts[module]) for module in sorted(used.intersection(texts))}


def fingerprint(python: list[str], cpp: list[str]) -> str:
    """Of what a module does; empty where there is none."""
    return _short("\n".join([*map(_of_python, python), *map(_of_cpp, cpp)])) if python or cpp else ""


def state(code: Code) -> str:
    """One short word for all of it."""
    return _short("\n".join(f"{module} {mark}" for module, mark in sorted(code.items())))


def _counts(module: str) -> bool:
    return module not in INDEXES and TELLS.match(module) is None


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def _of_python(text: str) -> str:
    return _written(ast.parse(text))


@cache
def _of_cpp(text: str) -> str:
    """Without comments and line breaks; strings are looked at first, for they may have slashes in them."""
    kept = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', lambda found: found[1] or " ", text, flags=re.DOTALL)
    return " ".join(kept.split())


def _written(node: object) -> str:
    """A tree as text; `ast.dump` also writes what is empty, and every version of Python has more that can be."""
    if isinstance(node, ast.AST):
        acting = _acting(node) if isinstance(node, Body) else None
        parts = [type(node).__name__]
        for name in node._fields:
            value = acting if acting is not None and name == "body" else getattr(node, name, None)
            if value is not None and value != []:
                parts.append(f"{name}={_written(value)}")
        return f"({' '.join(parts)})"
    return f"[{' '.join(map(_written, node))}]" if isinstance(node, list) else repr(node)


def _acting(node: Body) -> list[ast.stmt]:
    """What a body does: not its docstring, the names that a package lists, and what a program says."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    programs = isinstance(node, ast.ClassDef) and any("Program" in ast.unparse(base) for base in node.bases)
    return [one for one in body if not _listing(one) and not (programs and getattr(one, "name", "") in SAYING)]


def _listing(one: ast.stmt) -> bool:
    return isinstance(one, ast.If) and ast.unparse(one.test).removeprefix("not ") == "TYPE_CHECKING"
