"""Which tests and examples need an extra that is not installed; they are found by reading, not by trying.

A test is never left out because an import failed: a module of the core that needs torch by accident must fail here.
Left out are, in an environment without the extra `learn` (`transport` likewise):

- a test module that imports torch (or a library of that extra) at its top, itself or through a helper of the tests;
- a test module with `pytestmark = pytest.mark.learn`, and single tests and classes with `@pytest.mark.learn`;
- the examples of a module of the library that imports torch when it is imported, itself or through another module;
- an example in a docstring that imports torch or has a comment `# needs: timelike[learn]`;
- the section of a page with the comment `<!-- needs: timelike[learn] -->`; under the title that is the whole page.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestItem

# the first library of each says whether the extra is installed; the others come with it, or are peers that need it
EXTRAS = {
    "learn": ("torch", "lightning_fabric", "torchdiffeq", "torchmetrics", "pytorch_metric_learning", "geomloss"),
    "transport": ("ot",),
}
_NEEDS = re.compile(r"(?:#|<!--) *needs: *timelike\[([a-z, -]+)\]")
_HEADING = re.compile(r"(#+) ")


def missing_extras() -> frozenset[str]:
    """The extras that are not installed here."""
    return frozenset(extra for extra, libraries in EXTRAS.items() if find_spec(libraries[0]) is None)


class MissingExtras:
    """The pytest plugin that leaves out what needs the missing extras."""

    def __init__(self, missing: Iterable[str], *, root: Path) -> None:
        self.missing = frozenset(missing)
        self.libraries = frozenset(library for extra in self.missing for library in EXTRAS[extra])
        self.folders = (root / "tests", root)
        self.n_files: Counter[str] = Counter()  # left out, by extra
        self.n_tests: Counter[str] = Counter()

    def pytest_report_header(self) -> str:
        """Say what is missing, and which library is tested."""
        spec = find_spec("timelike")
        origin = spec.origin if spec else "nowhere"
        return f"not installed: {', '.join(sorted(self.missing))}; timelike from {origin}"

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Do not import modules that need a missing extra."""
        extra = self.extra_needed_by(collection_path) if collection_path.suffix == ".py" else None
        if extra is None:
            return None
        if collection_path.name.startswith("test_") or _is_of_library(collection_path):  # not their helpers
            self.n_files[extra] += 1
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect tests and examples that say that they need a missing extra."""
        extras = {item: extra for item in items if (extra := self._extra_of(item))}
        if extras:
            self.n_tests.update(extras.values())
            config.hook.pytest_deselected(items=list(extras))
            items[:] = [item for item in items if item not in extras]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Of a worker of xdist: hand the counts to the process that prints."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["left_out"] = [dict(self.n_files), dict(self.n_tests)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Of the process that starts the workers: each of them collected everything, so one report is enough."""
        counts = getattr(node, "workeroutput", {}).get("left_out")
        if counts:
            self.n_files, self.n_tests = map(Counter, counts)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say in one line what was left out."""
        parts = [
            f"{self.n_files[extra]} files and {self.n_tests[extra]} more tests need timelike[{extra}]"
            for extra in sorted(self.n_files.keys() | self.n_tests.keys())
        ]
        if parts:
            terminalreporter.write_line(f"left out: {'; '.join(parts)}")

    def extra_needed_by(self, path: Path) -> str | None:
        """The missing extra whose library a file imports when it is imported, or with which a test module is marked."""
        marks = frozenset() if _is_of_library(path) else self.missing & _module_marks(path)
        if marks:
            return min(marks)
        todo, seen = [path], {path}
        while todo:
            libraries, files = _dependencies(todo.pop(), self.folders)
            if missing := self.libraries & libraries:
                return self._extra_of_library(min(missing))
            todo += files - seen
            seen |= files
        return None

    def _extra_of(self, item: pytest.Item) -> str | None:
        """The missing extra that a test or an example says it needs; examples in such sections of a page are dropped."""
        if not isinstance(item, DoctestItem):
            return min((extra for extra in self.missing if item.get_closest_marker(extra)), default=None)
        examples = item.dtest.examples
        if item.path.suffix == ".py":
            sources = [one.source for one in examples]
            return next((extra for one in sources if (extra := self._named(one) or self._imported(one))), None)
        lines = self._needing_lines(item.path.read_text(encoding="utf-8"))
        extra = next((lines[one.lineno] for one in examples if one.lineno in lines), None)
        examples[:] = [one for one in examples if one.lineno not in lines]
        return None if examples else extra

    def _extra_of_library(self, library: str) -> str:
        return next(extra for extra in sorted(self.missing) if library in EXTRAS[extra])

    def _needing_lines(self, text: str) -> dict[int, str]:
        """Line numbers, from 0, of a page's sections that need a missing extra, and the extra."""
        lines, in_code = text.splitlines(), False
        found: dict[int, str] = {}
        levels = []  # of headings; 0 where there is none
        for line in lines:
            in_code ^= line.startswith("```")
            heading = None if in_code else _HEADING.match(line)
            levels.append(len(heading[1]) if heading else 0)
        for number, line in enumerate(lines):
            if extra := self._named(line):
                above = next((level for level in reversed(levels[: number + 1]) if level), 1)
                below = (n for n in range(number + 1, len(lines)) if 0 < levels[n] <= above)
                is_title = above == 1 and sum(level == 1 for level in levels[: number + 1]) <= 1
                found |= dict.fromkeys(range(number, len(lines) if is_title else next(below, len(lines))), extra)
        return found

    def _named(self, text: str) -> str | None:
        """The missing extra in a comment `needs: …`."""
        names = {name for match in _NEEDS.finditer(text) for name in re.split(r"[ ,]+", match[1])}
        return min(self.missing & names, default=None)

    def _imported(self, source: str) -> str | None:
        """The missing extra of a library that an example imports."""
        try:
            tree = ast.parse(source)
        except SyntaxError:  # an example may show one
            return None
        imported = {name.partition(".")[0] for name, _ in _imports_of(tree.body)} & self.libraries
        return self._extra_of_library(min(imported)) if imported else None


@cache
def _dependencies(path: Path, folders: tuple[Path, ...]) -> tuple[frozenset[str], frozenset[Path]]:
    """What importing a file imports directly: top names of other libraries, and local files with their packages.

    A test's imports from timelike are not followed: where the core needs torch by accident, the test must fail.
    """
    tree, root = _parse(path), _package_root(path)
    names, files = set(), {path.with_name("__init__.py")} if root and path.name != "__init__.py" else set()
    if root and path.name == "__init__.py" and path.parent != root:
        files.add(path.parents[1] / "__init__.py")
    if _is_of_library(path) and root:
        folders = (root.parent,)
    for name, level in _imports_of(tree.body) if tree else ():
        if level:
            files |= set(_module_files(path.parents[level - 1], name.split(".") if name else []))
            continue
        top = name.partition(".")[0]
        names.add(top)
        if top != "timelike" or _is_of_library(path):
            files |= {file for folder in folders for file in _module_files(folder, name.split("."))}
    return frozenset(names), frozenset(files)


def _imports_of(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Imports that run for certain: not those in functions, for type checkers, or whose failure is caught."""
    for line in body:
        if isinstance(line, ast.Import):
            yield from ((alias.name, 0) for alias in line.names)
        elif isinstance(line, ast.ImportFrom):
            base = line.module or ""
            yield base, line.level
            yield from ((f"{base}.{alias.name}" if base else alias.name, line.level) for alias in line.names)
        elif isinstance(line, ast.If):
            if "TYPE_CHECKING" not in ast.unparse(line.test):
                yield from _imports_of(line.body)
            yield from _imports_of(line.orelse)
        elif isinstance(line, ast.Try):
            if not any("Error" in ast.unparse(one.type) for one in line.handlers if one.type):
                yield from _imports_of(line.body)
            yield from _imports_of([*line.orelse, *line.finalbody])
        elif isinstance(line, ast.With | ast.For | ast.While | ast.ClassDef):
            yield from _imports_of(line.body)


def _module_files(folder: Path, parts: list[str]) -> Iterator[Path]:
    """The files that run when a dotted name below a folder is imported, and the home of a name that a package exports."""
    for depth, part in enumerate(parts):
        if (folder / "__init__.py").exists():
            yield folder / "__init__.py"
        if (folder / f"{part}.py").exists():
            yield folder / f"{part}.py"
            return
        if not (folder / part).is_dir():
            if depth:  # a public name, of which the package says where it is defined
                yield from _exporting_files(folder, part)
            return
        folder /= part
    if (folder / "__init__.py").exists():
        yield folder / "__init__.py"


def _exporting_files(package: Path, name: str) -> Iterator[Path]:
    """The module from which a package takes a public name, which it imports when the name is first used."""
    tree = _parse(package / "__init__.py")
    for block in tree.body if tree else []:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                if isinstance(line, ast.ImportFrom) and line.level and name in {one.asname for one in line.names}:
                    folder = (package / "__init__.py").parents[line.level - 1]
                    yield from _module_files(folder, (line.module or name).split("."))


@cache
def _module_marks(path: Path) -> frozenset[str]:
    """The names of the marks that a module gives all of its tests."""
    tree = _parse(path)
    marks: set[str] = set()
    for line in tree.body if tree else []:
        if isinstance(line, ast.Assign) and any(ast.unparse(one) == "pytestmark" for one in line.targets):
            marks |= set(re.findall(r"pytest\.mark\.(\w+)", ast.unparse(line.value)))
    return frozenset(marks)


def _is_of_library(path: Path) -> bool:
    root = _package_root(path)
    return root is not None and root.name == "timelike"


@cache
def _package_root(path: Path) -> Path | None:
    """The outermost package that a file lies in."""
    packages = [folder for folder in path.parents if (folder / "__init__.py").exists()]
    return packages[-1] if packages else None


@cache
def _parse(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, OSError):
        return None
