"""Which tests of a room reach which lines: recorded once for each file of tests, and kept beside the scratch files."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.mutation.mutants import Site
from benchmarks.mutation.workshop import FEW, Workshop

Tests = dict[str, dict[str, Any]]  # lines by file, and seconds


class Reach:
    """The tests of one room: its folder in `tests/`, and the examples in its docstrings."""

    def __init__(self, room: str, scratch: Path) -> None:
        self.room, self.folder = room, scratch / "reach"
        self.tests: Tests = {}

    def record(self, workshop: Workshop) -> None:
        """Read what is known, and run what has changed since."""
        for name, files in self._groups(workshop.folder).items():
            kept = self.folder / f"{self.room}-{name}-{_print(workshop.folder, files)}.json"
            if not kept.exists():
                print(f"{self.room}/{name}: looking which lines its tests reach", flush=True)
                found = workshop.recorded(files)
                if found.get("failed") or "tests" not in found:
                    print(f"    not counted, because they fail without a mutant: {found.get('failed', found)}")
                self.folder.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(found), encoding="utf-8")
            self.tests |= json.loads(kept.read_text(encoding="utf-8")).get("tests", {})

    def cheapest(self, site: Site, seconds: float) -> tuple[list[str], float]:
        """The tests that reach a mutant, those first that take least, as many as there is time for; and their time."""
        chosen, total = [], 0.0
        for test in sorted(self._reaching(site), key=self._seconds):
            if total + self._seconds(test) > seconds:
                break
            total += self._seconds(test)
            chosen.append(test)
        return chosen, total

    def _reaching(self, site: Site) -> set[str]:
        if not site.inside:  # a default, or a line of a class: an import executes it, and any test may look at it
            return set(self.tests)
        file = site.mutant.file
        reached = {test for test, known in self.tests.items() if _meets(known["lines"].get(file), site.lines)}
        return reached | self._elsewhere

    @cached_property
    def _elsewhere(self) -> set[str]:
        """Tests that start processes, in which lines are executed that are not seen from here."""
        return {test for test, known in self.tests.items() if known["processes"] > 0.2}

    def _seconds(self, test: str) -> float:
        return float(self.tests[test]["seconds"] + self.tests[test]["processes"])

    def _groups(self, root: Path) -> dict[str, list[str]]:
        groups = {path.stem: [path] for path in sorted((root / "tests" / self.room).glob("test_*.py"))}
        sources = sorted((root / "src" / "timelike" / self.room).rglob("*.py"))
        groups["examples"] = [path for path in sources if ">>>" in path.read_text("utf-8")]
        return {name: [path.relative_to(root).as_posix() for path in paths] for name, paths in groups.items()}


def _print(root: Path, files: list[str]) -> str:
    """What a record depends on: the tests, what they share, and the library."""
    shared = [path for path in (root / "tests").rglob("*.py") if not path.name.startswith("test_")]
    library = (root / "src" / "timelike").rglob("*.py")
    paths = [*sorted(library), *sorted(shared), *(root / file for file in files)]
    return hashlib.sha256(b"".join([str(FEW).encode(), *(path.read_bytes() for path in paths)])).hexdigest()[:12]


def _meets(reached: list[int] | None, lines: range) -> bool:
    return reached is not None and not set(reached).isdisjoint(lines)
