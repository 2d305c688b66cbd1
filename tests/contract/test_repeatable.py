"""The tests themselves: the same everywhere, every time, and beside whatever else a machine does."""

import ast
import os
import re
from pathlib import Path

import pytest
from hypothesis import settings

CLOCKS = {"perf_counter", "monotonic", "time", "process_time", "thread_time"}
CLOCKS |= {f"{name}_ns" for name in CLOCKS}
MAY_NAME_CLOCK = re.compile(r"\btimeit\b|\bimport\b.*\btime\b|\bfrom\s+time\b|\btime\s*\.")  # else nothing is parsed
MAY_READ_CLOCKS = {  # to end what hangs, or to stop a process some time after it began; never to compare durations
    "contract/test_hostile.py",
    "native/test_machine.py",
    "toy_repository.py",
    "train/killed.py",
    "train/test_interrupts.py",
}


@pytest.mark.skipif("HYPOTHESIS_PROFILE" in os.environ, reason="make explore draws new examples")
def test_examples_are_the_same_every_time():
    assert settings().derandomize
    assert settings().database is None


def test_few_tests_read_a_clock_and_none_asserts_how_long_something_took():
    """On a busy machine it would fail: calls and bytes are counted, and clocks are moved by hand."""
    root, reading, asserting = Path(__file__).parents[1], set(), []
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not MAY_NAME_CLOCK.search(text):
            continue
        tree, name = ast.parse(text), path.relative_to(root).as_posix()
        if reads_clock(tree):
            reading.add(name)
        asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
        asserting += [f"{name}:{node.lineno}" for node in asserts if any(map(_is_clock, ast.walk(node.test)))]
    assert reading == MAY_READ_CLOCKS
    assert asserting == []


def reads_clock(tree):
    """Whether a program imports a clock by its name, or `timeit`, or asks one of the module `time`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "timeit"):
            if node.module == "timeit" or any(one.name in {*CLOCKS, "*"} for one in node.names):
                return True
        elif isinstance(node, ast.Import):
            if any(one.name == "timeit" or (one.name == "time" and one.asname) for one in node.names):
                return True
        elif _is_clock(node):
            return True
    return False


@pytest.mark.parametrize(
    ("program", "reads"),
    [
        ("import time\ndef took():\n    return time.perf_counter()", True),
        ("import time\nclock = time.process_time", True),
        ("from time import monotonic_ns", True),
        ("import time as other", True),
        ("from timeit import default_timer", True),
        ("import time\ntime.sleep(1)", False),
        ("from time import sleep", False),
        ("X.time", False),
    ],
)
def test_a_clock_is_found_however_it_is_read(program, reads):
    assert reads_clock(ast.parse(program)) == reads
    assert MAY_NAME_CLOCK.search(program) or not reads


def _is_clock(node):
    return (
        isinstance(node, ast.Attribute)
        and node.attr in CLOCKS
        and isinstance(node.value, ast.Name)
        and node.value.id == "time"
    )
