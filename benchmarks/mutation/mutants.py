"""Mutants: every change to the files of a package, and seeded samples of them."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from benchmarks.mutation.excluded import parts, skipped
from benchmarks.mutation.operators import Change, changes
from benchmarks.papers.results import Row

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "timelike"
PACKAGES = ("train", "encode", "core", "sequences", "align", "metric")
LATER_PACKAGES = {  # of the fourth and the fifth sample, and which of their folders are changed
    "prototypes": ("",),
    "attacks": ("",),
    "forecast": ("srvp", "separation"),
    "distributions": ("",),
}
_FOURTH = 3


@dataclass(frozen=True)
class Mutant(Row):
    """One change at one place. No line is part of its name: it stays the same when others edit the file above it."""

    sample: int
    file: str
    function: str
    operator: str
    was: str
    becomes: str
    nth: int  # of the same change in the same function

    @property
    def package(self) -> str:
        return self.file.split("/", 1)[0]

    @property
    def name(self) -> str:
        """Without the sample."""
        return self.key.split("/", 1)[1]

    def words(self) -> set[str]:
        return {self.package, self.file, self.operator, f"sample {self.sample}", self.key, self.name}


@dataclass(frozen=True)
class Site:
    """Where a mutant is."""

    mutant: Mutant
    lines: range  # from where its statement begins to the end of what is changed
    function: range | None  # in whose body it is; None where an import executes it, as it does defaults of arguments
    node: ast.expr | ast.stmt
    becomes: str

    @property
    def source(self) -> str:
        """The file, changed."""
        return _replaced((SOURCES / self.mutant.file).read_text(encoding="utf-8"), self.node, self.becomes)

    @property
    def text(self) -> str:
        """The line of the library that is changed, or on which the change begins."""
        lines = (SOURCES / self.mutant.file).read_text(encoding="utf-8").splitlines()
        return lines[self.node.lineno - 1].strip()


def sampled(sample: int, per_package: int) -> list[Mutant]:
    """So many of each package, the same ones as long as the code is the same; none that an earlier sample has.

    The lowest hashes are taken: code that changes changes its own mutants only.
    """
    chosen: list[Mutant] = []
    for package in LATER_PACKAGES if sample >= _FOURTH else PACKAGES:
        earlier = {m.name for s in range(sample) for m in _ranked(package, s)[: sample_size(s)]}
        fresh = [mutant for mutant in _ranked(package, sample) if mutant.name not in earlier]
        chosen += fresh[:per_package]
    return chosen


def sample_size(sample: int) -> int:
    """How many mutants of a package a sample has: the first is to be read, later ones only judge."""
    return 64 if sample == 0 else 54 if sample >= _FOURTH else 24


@cache
def _ranked(package: str, sample: int) -> list[Mutant]:
    def rank(mutant: Mutant) -> str:
        return hashlib.sha256(f"{sample}/{mutant.name}".encode()).hexdigest()

    return sorted((replace(site.mutant, sample=sample) for site in sites(package)), key=rank)


@cache
def sites(package: str) -> list[Site]:
    """Every mutant of a package."""
    folders = [SOURCES / package / folder for folder in LATER_PACKAGES.get(package, ("",))]
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    return [site for path in files for site in _in_file(path.relative_to(SOURCES).as_posix())]


def site_of(mutant: Mutant) -> Site:
    """The place of a mutant in the code as it is."""
    return next(site for site in sites(mutant.package) if site.mutant.name == mutant.name)


def _in_file(file: str) -> Iterator[Site]:
    source = (SOURCES / file).read_text(encoding="utf-8")
    counts: Counter[tuple[str, ...]] = Counter()
    for function, begin, (operator, node, becomes) in _changes(ast.parse(source), file, [], 1):
        scope = function[-1] if function and isinstance(function[-1], ast.FunctionDef) else None
        place = ".".join(part.name for part in function)
        told = (place, operator, _short(ast.unparse(node)), _short(becomes))
        mutant = Mutant(0, file, *told, nth=counts[told])
        counts[told] += 1
        lines = range(begin, (node.end_lineno or node.lineno) + 1)
        body = (
            range(scope.lineno, (scope.end_lineno or 0) + 1) if scope and node.lineno >= scope.body[0].lineno else None
        )
        yield Site(mutant, lines, body, node, becomes)


Scope = list[ast.FunctionDef | ast.ClassDef]


def _changes(node: ast.AST, file: str, scope: Scope, begin: int) -> Iterator[tuple[Scope, int, Change]]:
    """Every change below a node, with the classes and functions around it, and where its statement begins."""
    inside = [*scope, node] if isinstance(node, ast.FunctionDef | ast.ClassDef) else scope
    for part in parts(node):
        first = part.lineno if isinstance(part, ast.stmt) else begin
        for change in [*changes(part), *_assignment(part, inside)]:
            if not skipped(part, file) or change[0] == "statement removed":
                yield inside, first, change
        if not skipped(part, file):
            yield from _changes(part, file, inside, first)


def _assignment(node: ast.AST, scope: Scope) -> Iterator[Change]:
    """Left out where something else is there without it; where nothing is, a NameError is no finding."""
    if not isinstance(node, ast.Assign) or not scope or not isinstance(scope[-1], ast.FunctionDef):
        return
    known = {argument.arg for argument in ast.walk(scope[-1].args) if isinstance(argument, ast.arg)}
    known |= {
        name.id
        for name in ast.walk(scope[-1])
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and name.lineno < node.lineno
    }
    names = [name for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]
    if all(name.id in known for name in names):
        yield "statement removed", node, "pass"


def _short(text: str) -> str:
    text = text[1:-1] if _wrapped(text) else text
    return text if len(text) <= 90 else f"{text[:60]}…{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _wrapped(text: str) -> bool:
    """Whether the first and the last character are parentheses that belong together."""
    try:
        return text.startswith("(") and bool(ast.parse(text[1:-1], mode="eval"))
    except SyntaxError:
        return False


def _replaced(source: str, node: ast.expr | ast.stmt, becomes: str) -> str:
    lines = source.encode().splitlines(keepends=True)  # columns are counted in bytes
    end, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[end - 1][end_column:] + b"".join(lines[end:])
    return (before + becomes.encode() + after).decode()
