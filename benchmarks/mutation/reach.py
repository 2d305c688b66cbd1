"""Which tests of a room reach which lines: recorded once for each file of tests, and kept beside the scratch files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from benchmarks.mutation.mutants import LATER, Site
from benchmarks.mutation.workshop import FEW, Workshop

_NEVER = 2
_OWN_TESTS = {  # where only some folders of a package are changed: what their tests are called
    "recognize": ("test_attacks*", "test_*prototypes*", "test_similarity*", "test_fewshot*"),
    "forecast": ("test_srvp*", "test_separation*", "test_latent*", "test_unrolling*", "test_dynamics*", "test_codecs*"),
}
_STARTED = 0.2  # seconds of other processes in a test that starts any
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
        """The tests that may notice a mutant, as many as there is time for, and their time.

        Those that reach its line come first, then those that reach its function (the tracer does not follow every
        call) or start processes, whose lines are not seen from here; among these, those that take least.
        """
        chosen, total = [], 0.0
        for test in sorted(self.tests, key=lambda test: (self._distance(test, site), self._seconds(test))):
            if self._distance(test, site) == _NEVER or total + self._seconds(test) > seconds:
                break
            total += self._seconds(test)
            chosen.append(test)
        return chosen, total

    def _distance(self, test: str, site: Site) -> int:
        if site.function is None:  # a default, or a line of a class: an import executes it, and any test may look at it
            return 0
        reached = set(self.tests[test]["lines"].get(site.mutant.file, ()))
        if not reached.isdisjoint(site.lines):
            return 0
        return 1 if not reached.isdisjoint(site.function) or self.tests[test]["processes"] > _STARTED else _NEVER

    def _seconds(self, test: str) -> float:
        return float(self.tests[test]["seconds"] + self.tests[test]["processes"])

    def _groups(self, root: Path) -> dict[str, list[str]]:
        folder, patterns = root / "tests" / self.room, _OWN_TESTS.get(self.room, ("test_*",))
        groups = {path.stem: [path] for pattern in patterns for path in sorted(folder.rglob(f"{pattern}.py"))}
        if self.room in LATER:  # the numbers of presets are typed there, for all packages
            groups["presets"] = [root / "tests" / "contract" / "test_presets.py"]
        sources = sorted((root / "src" / "timelike" / self.room).rglob("*.py"))
        groups["examples"] = [path for path in sources if ">>>" in path.read_text("utf-8")]
        return {name: [path.relative_to(root).as_posix() for path in paths] for name, paths in groups.items()}


def _print(root: Path, files: list[str]) -> str:
    """What a record depends on: the tests, what they share, and the library."""
    shared = [path for path in (root / "tests").rglob("*.py") if not path.name.startswith("test_")]
    library = (root / "src" / "timelike").rglob("*.py")
    paths = [*sorted(library), *sorted(shared), *(root / file for file in files)]
    return hashlib.sha256(b"".join([str(FEW).encode(), *(path.read_bytes() for path in paths)])).hexdigest()[:12]
