"""A copy of the tree in which mutants are put in place and tests are run; the working tree is never touched."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Any

from benchmarks.mutation.mutants import ROOT, Site

LIMIT = 30  # seconds of tests for a mutant, by the time they took when they were recorded
_PREPARED = 20  # seconds of processor time to import the library and collect the tests, on a busy machine
FEW = 30  # of a test with many parameters: more of them find little more, and all would have to be traced
_COPIED = ("src", "tests", "benchmarks", "docs", "pyproject.toml", "README.md", "CHANGELOG.md")
_HOOK = '''"""An editable install finds the working tree before the path does: here the copy is meant."""
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
'''


class Workshop:
    """A copy, and the server that works in it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="timelike-mutation-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        for name in _COPIED:
            _copy(ROOT / name, self.folder / name)
        kernels = find_spec("timelike.native._kernels")
        if kernels is not None and kernels.origin is not None:
            shutil.copy2(kernels.origin, self.folder / "src/timelike/native")
        (self.folder / "sitecustomize.py").write_text(_HOOK)
        self.server = self._started()

    def _started(self) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(self.folder), str(self.folder / "src")])
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        # CI: hypothesis draws the same examples every time
        environment = os.environ | threads | {"PYTHONPATH": path, "CI": "true", "MPLBACKEND": "agg"}
        environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # none is needed, and some are slow to import
        command = [sys.executable, "-m", "benchmarks.mutation.server"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=self.folder, env=environment, **pipes)

    def tested(self, site: Site, tests: list[str], expected: float) -> dict[str, Any]:
        """What the tests say of a mutant; it hangs where they take three times as long as expected, and some more."""
        path = self.folder / "src" / "timelike" / site.mutant.file
        before = path.stat()
        original = path.read_bytes()
        path.write_text(site.source, encoding="utf-8")
        _forget_compiled(path)
        try:
            return self.unchanged(tests, expected)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            _forget_compiled(path)

    def unchanged(self, tests: list[str], expected: float) -> dict[str, Any]:
        """What the tests say of the copy as it is."""
        found = self.asked(tests=tests, seconds=_PREPARED + 3 * expected)
        if found["outcome"] == "impossible":
            raise RuntimeError(found["how"])
        return found

    def recorded(self, files: list[str], only: list[str] | None = None) -> dict[str, Any]:
        """What each test of some files reaches, and which of them fail; or only some of these tests."""
        found = self.asked(files=files, few=FEW, only=only, seconds=1800)
        if found.get("outcome") == "impossible":
            raise RuntimeError(found["how"])
        return found

    def asked(self, **what: Any) -> dict[str, Any]:
        """One answer of the server."""
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(what) + "\n")
        self.server.stdin.flush()
        return dict(json.loads(self.server.stdout.readline()))


def _forget_compiled(path: Path) -> None:
    """Python takes a compiled file for current by its second and size: two mutants can have the same."""
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        pictures = {"images"} if source.name == "docs" else set()  # a package may have that name too
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.so", *pictures))
    elif source.exists():
        shutil.copy2(source, target)
