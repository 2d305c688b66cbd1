"""Every program behind a table: found by the line that runs it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from benchmarks.papers.resumable import Program

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks/accuracy", "benchmarks/papers")
_RUNS = re.compile(r"^    sys\.exit\((\w+)\.main\(\)\)$", re.MULTILINE)


def program_modules(root: Path = ROOT) -> dict[str, str]:
    """Module → name of the class, of all programs."""
    found = {}
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.py")):
        runs = _RUNS.search(path.read_text(encoding="utf-8"))
        if runs is not None:
            found[".".join(path.relative_to(root).with_suffix("").parts)] = runs[1]
    return found


def load_program(module: str) -> type[Program[Any]]:
    """The class of a program, by its module."""
    known = program_modules()
    if module not in known:
        raise ValueError(f"{module} is no program: {', '.join(known)}")
    program: Any = getattr(import_module(module), known[module])
    if not issubclass(program, Program):
        raise TypeError(f"{module}.{known[module]} is no Program")
    return cast(type[Program[Any]], program)
