"""pytest in a fork: runs chosen tests until one fails, or all of a file to see which lines each of them reaches."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn

import pytest

_ALWAYS = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
_LOOKED = 30  # calls of a function in one test; later ones hardly reach other lines, and a tracer is slow
Tell = Callable[[dict[str, Any]], NoReturn]


class SetupError(Exception):
    """The copy cannot be used; says nothing about a mutant."""


def run(asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """One answer of the server; told before the end where there is nothing more to learn."""
    _refuse_another_library()
    if "files" in asked:
        return _recorded(asked["files"], asked["few"], asked["only"])
    return _tested(asked["tests"], tell)


def _refuse_another_library() -> None:
    """A mutant of the copy cannot be caught, or missed, by tests that import the library from somewhere else."""
    library = find_spec("timelike")
    copy = Path("src/timelike").resolve()
    if library is None or library.origin is None or Path(library.origin).resolve().parent != copy:
        raise SetupError(f"tests would import timelike from {library and library.origin}, not from {copy}")


# --- until one fails


class Chosen:
    """Only the tests that were asked for, in that order; tells the first that fails."""

    def __init__(self, tests: list[str], tell: Tell) -> None:
        self.order = {test: position for position, test in enumerate(tests)}
        self.tell, self.passed = tell, 0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed += report.when == "call" and report.passed
        self._look(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look(report)

    def _look(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            said = crash.message if crash is not None else str(report.longrepr)
            first = (said.strip().splitlines() or [""])[0][:160]
            self.tell({"outcome": "caught", "by": report.nodeid, "how": first})


def _tested(tests: list[str], tell: Tell) -> dict[str, Any]:
    chosen = Chosen(tests, tell)
    files = list(dict.fromkeys(test.split("::", 1)[0] for test in tests))
    code = pytest.main([*_ALWAYS, *files], plugins=[chosen])
    if code != pytest.ExitCode.OK:  # without a failed test: interrupted by what one did, or nothing could be run
        return {"outcome": "caught", "by": "pytest", "how": f"{pytest.ExitCode(code).name}, {chosen.passed} had passed"}
    return {"outcome": "survived", "passed": chosen.passed}


# --- which lines a test reaches


class Reach:
    """The lines of the library that each test executes, and the processor time it takes."""

    def __init__(self, few: int, only: list[str] | None) -> None:
        self.few, self.only = few, only
        self.folder = str(Path("src/timelike").resolve()) + os.sep
        self.seen: set[tuple[str, int]] = set()
        self.calls: Counter[CodeType] = Counter()
        self.shared: dict[str, tuple[set[tuple[str, int]], tuple[float, float]]] = {}  # by fixture: lines and work
        self.tests: dict[str, dict[str, Any]] = {}
        self.failed: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Of a test with many parameters, some from the first to the last; or exactly the tests that were named."""
        if self.only is not None:
            items[:] = [item for item in items if item.nodeid in self.only]
            return
        alike: dict[str, list[pytest.Item]] = {}
        for item in items:
            alike.setdefault(item.nodeid.split("[", 1)[0], []).append(item)
        items[:] = [some[i] for some in alike.values() for i in _spread(len(some), self.few)]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        self.seen.clear()
        self.calls.clear()
        began = _work()
        threading.settrace(self._called)
        sys.settrace(self._called)
        yield
        sys.settrace(None)
        threading.settrace(None)
        took, shared = _since(began), [self.shared[name] for name in _fixtures(item) if name in self.shared]
        self.tests.setdefault(item.nodeid, {"passed": True}).update(
            lines=_by_file(self.seen.union(*(one[0] for one in shared)), self.folder),
            seconds=max(took[0], sum(one[1][0] for one in shared)),
            processes=max(took[1], sum(one[1][1] for one in shared)),
        )

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, None, None]:
        """What several tests share is reached by all of them, and each of them has to make it when it runs alone."""
        began, before = _work(), set(self.seen)
        self.seen.clear()
        yield
        if fixturedef.scope != "function":
            self.shared[fixturedef.argname] = set(self.seen), _since(began)
        self.seen |= before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        known = self.tests.setdefault(report.nodeid, {"passed": True})
        known["passed"] = known["passed"] and report.passed
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(self.folder):
            return None
        self.calls[code] += 1
        return self._line if self.calls[code] <= _LOOKED else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


def _spread(n: int, few: int) -> list[int]:
    """At most so many positions of n, evenly spaced, the ends among them.

    >>> _spread(10, 4), _spread(3, 4)
    ([0, 3, 6, 9], [0, 1, 2])
    """
    return list(range(n)) if n <= few else [round(i * (n - 1) / max(1, few - 1)) for i in range(few)]


def _fixtures(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", []))


def _by_file(seen: set[tuple[str, int]], folder: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for path, line in sorted(seen):
        found.setdefault(path.removeprefix(folder), []).append(line)
    return found


def _work() -> tuple[float, float]:
    """Seconds of this process, and of those that it has started and that are finished."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def _since(began: tuple[float, float]) -> tuple[float, float]:
    now = _work()
    return now[0] - began[0], now[1] - began[1]


def _recorded(files: list[str], few: int, only: list[str] | None) -> dict[str, Any]:
    reach, began = Reach(few, only), time.perf_counter()
    pytest.main([*_ALWAYS, *files], plugins=[reach])
    passed = {test: found for test, found in reach.tests.items() if found.pop("passed") and "lines" in found}
    return {"tests": passed, "failed": sorted(reach.failed), "clock": time.perf_counter() - began}
