"""Instruction counts: how a profile is read, and when a count fails the guard."""

import json

import pytest
from benchmarks.speed import guard


def test_only_instructions_inside_the_kernels_count():
    profile = """\
events: Ir
ob=(1) /site/_kernels.cpython.so
fl=(1) ???
fn=(10) run
0 100
cob=(2) /lib/libc.so
cfn=(11) memcpy
calls=3 0
0 4000
+5 20
ob=(2)
fn=(11)
0 4000
ob=(1)
fn=(12) other
* 7
"""
    assert guard.kernel_instructions(profile) == 127


def test_a_count_may_grow_by_a_tenth_and_no_more():
    _, grown = guard.comparison({"a": 1000, "b": 1000, "c": 1000}, {"a": 1100, "b": 1101, "c": 500})
    assert grown == ["b"]


def test_a_call_without_a_recorded_count_fails():
    assert guard.comparison({}, {"a": 1})[1] == ["a"]


def test_every_call_has_a_recorded_count():
    recorded = json.loads(guard.RESULTS.read_text())
    assert set(recorded["counts"]) == {call.__name__ for call in guard.CALLS}
    assert recorded["notes"]


def test_counts_are_not_recorded_without_a_reason():
    with pytest.raises(SystemExit, match="why the counts changed"):
        guard.main(["--record", " "])


@pytest.mark.parametrize("call", guard.CALLS, ids=lambda call: call.__name__)
def test_every_call_runs(call):
    call()
