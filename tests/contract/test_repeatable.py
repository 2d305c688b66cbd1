"""The tests themselves: the same everywhere, every time, and beside whatever else a machine does."""

import ast
import os
from pathlib import Path

import pytest
from hypothesis import settings

CLOCKS = {"perf_counter", "monotonic", "time", "process_time", "perf_counter_ns", "monotonic_ns"}


@pytest.mark.skipif("HYPOTHESIS_PROFILE" in os.environ, reason="make explore draws new examples")
def test_examples_are_the_same_every_time():
    assert settings().derandomize
    assert settings().database is None


def test_no_test_asserts_how_long_something_took():
    """On a busy machine it would fail: calls and bytes are counted, and clocks are moved by hand."""
    found = []
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert) and any(_is_clock(part) for part in ast.walk(node.test)):
                found.append(f"{path.name}:{node.lineno}")
    assert found == []


def _is_clock(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CLOCKS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "time"
    )
