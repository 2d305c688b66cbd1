"""pytest in a fork: runs chosen tests until one fails, or all of a file to see which lines each of them reaches."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn

import pytest

_ALWAYS = ["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
_LOOKED = 30  # calls of a function in one test; later ones hardly reach other lines, and a tracer is slow
Tell = Callable[[dict[str, Any]], NoReturn]


def run(asked: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """One answer of the server; told before the end where there is nothing more to learn."""
    return _recorded(asked["files"]) if "files" in asked else _tested(asked["tests"], tell)


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
    pytest.main([*_ALWAYS, *files], plugins=[chosen])
    if not chosen.passed:
        return {"outcome": "caught", "by": "collection", "how": "no test could be run"}
    return {"outcome": "survived", "passed": chosen.passed}


# --- which lines a test reaches


class Reach:
    """The lines of the library that each test executes, and the processor time it takes."""

    def __init__(self) -> None:
        self.folder = str(Path("src/timelike").resolve()) + os.sep
        self.seen: set[tuple[str, int]] = set()
        self.calls: Counter[CodeType] = Counter()
        self.tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        self.seen.clear()
        self.calls.clear()
        began, children = _work()
        threading.settrace(self._called)
        sys.settrace(self._called)
        yield
        sys.settrace(None)
        threading.settrace(None)
        ended, of_children = _work()
        self.tests.setdefault(item.nodeid, {"passed": True}).update(
            lines=self._lines(), seconds=ended - began, processes=of_children - children
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        known = self.tests.setdefault(report.nodeid, {"passed": True})
        known["passed"] = known["passed"] and report.passed

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

    def _lines(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for path, line in sorted(self.seen):
            found.setdefault(path.removeprefix(self.folder), []).append(line)
        return found


def _work() -> tuple[float, float]:
    """Seconds of this process, and of those that it has started and that are finished."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


def _recorded(files: list[str]) -> dict[str, Any]:
    reach, began = Reach(), time.perf_counter()
    pytest.main([*_ALWAYS, *files], plugins=[reach])
    passed = {test: found for test, found in reach.tests.items() if found.pop("passed") and "lines" in found}
    return {"tests": passed, "failed": sorted(reach.tests.keys() - passed.keys()), "clock": time.perf_counter() - began}
