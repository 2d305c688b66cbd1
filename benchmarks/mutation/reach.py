"""Which tests reach which lines: recorded once for each file of tests, and kept beside the scratch files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from benchmarks.mutation.mutants import LATER_PACKAGES, Site
from benchmarks.mutation.workshop import FEW, Workshop

CONTRACT = "contract"  # stands where a package does: tests that every package has to pass
_FOLDERS = {CONTRACT: ("contract", "models")}  # in `tests/`; a package has one of its own name
_NEVER = 2  # how far a test is from a mutant that it cannot reach
_STARTED = 0.2  # seconds of other processes in a test that starts any
Tests = dict[str, dict[str, Any]]  # lines by file, and seconds


class Reach:
    """The tests of one package: its folder in `tests/`, and the examples in its docstrings; or those of all packages.

    `tests` are those that pass without a mutant; `failing` are the others, and files that cannot be collected.
    """

    def __init__(self, package: str, scratch: Path) -> None:
        self.package, self.folder = package, scratch / "reach"
        self.tests: Tests = {}
        self.failing: list[str] = []

    def record(self, workshop: Workshop) -> None:
        """Read what is known, and run what has changed since."""
        for name, files in self._groups(workshop.folder).items():
            path = self.folder / f"{self.package}-{name}-{_print(workshop.folder, files)}.json"
            if not path.exists():
                print(f"{self.package}/{name}: recording which lines its tests reach", flush=True)
                self.folder.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(workshop.recorded(files)), encoding="utf-8")
            found = json.loads(path.read_text(encoding="utf-8"))
            self.tests |= found.get("tests", {})
            self.failing += found["failed"] if "tests" in found else files
        if self.failing:
            print(
                f"{self.package}: excluded, because they fail without a mutant: {', '.join(self.failing)}", flush=True
            )

    def exclude(self, test: str) -> None:
        """Leave out a test that failed without a mutant after it had passed once."""
        self.tests.pop(test, None)
        self.failing.append(test)

    def cheapest(self, site: Site, seconds: float) -> tuple[list[str], float]:
        """The tests that may notice a mutant, as many as there is time for, and their time.

        Those that reach its line come first, then those that reach its function (the tracer does not follow every
        call) or start processes, whose lines are not seen from here; among these, those that take least. What an import
        executes is reached by no test in particular: there is as much time again for tests that do not use the file,
        such as those that compare defaults with a table.
        """
        chosen, total, left = [], 0.0, seconds
        for distance in (0, 1):
            left = seconds if site.function is None else left
            for test in sorted((t for t in self.tests if self._distance(t, site) == distance), key=self._seconds):
                left -= self._seconds(test)
                if left < 0:
                    break
                total += self._seconds(test)
                chosen.append(test)
        return chosen, total

    def _distance(self, test: str, site: Site) -> int:
        reached = set(self.tests[test]["lines"].get(site.mutant.file, ()))
        if site.function is None:  # a default, or a line of a class: an import executes it, and any test may look at it
            return 0 if reached else 1
        if not reached.isdisjoint(site.lines):
            return 0
        return 1 if not reached.isdisjoint(site.function) or self.tests[test]["processes"] > _STARTED else _NEVER

    def _seconds(self, test: str) -> float:
        return float(self.tests[test]["seconds"] + self.tests[test]["processes"])

    def _groups(self, root: Path) -> dict[str, list[str]]:
        folders = [root / "tests" / name for name in _FOLDERS.get(self.package, (self.package,))]
        groups = {path.stem: [path] for folder in folders for path in sorted(folder.rglob("test_*.py"))}
        if self.package in LATER_PACKAGES:  # the numbers of presets are typed there, for all packages
            groups["presets"] = [root / "tests" / "contract" / "test_presets.py"]
        sources = sorted((root / "src" / "timelike" / self.package).rglob("*.py"))
        groups["examples"] = [path for path in sources if ">>>" in path.read_text("utf-8")]
        return {name: [path.relative_to(root).as_posix() for path in paths] for name, paths in groups.items() if paths}


def _print(root: Path, files: list[str]) -> str:
    """What a record depends on: the tests, what they share, and the library."""
    shared = [path for path in (root / "tests").rglob("*.py") if not path.name.startswith("test_")]
    library = (root / "src" / "timelike").rglob("*.py")
    paths = [*sorted(library), *sorted(shared), *(root / file for file in files)]
    return hashlib.sha256(b"".join([str(FEW).encode(), *(path.read_bytes() for path in paths)])).hexdigest()[:12]
