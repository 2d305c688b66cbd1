"""Rows that are made again: which, how they are compared, and what is said of them."""

import json
import math

import pytest
from benchmarks.evidence import comparison
from benchmarks.evidence.choice import choose_row
from benchmarks.evidence.comparison import Difference, largest_difference, numeric_fields
from benchmarks.evidence.record import Outcome, evidence_line, read_outcomes, write_outcomes
from benchmarks.papers import command
from benchmarks.papers.programs import load_program, program_modules
from benchmarks.papers.results import Trial
from benchmarks.papers.resumable import Program

from toy_repository import ToyRepository

# --- comparing


def test_times_and_what_a_row_is_made_by_are_not_compared():
    then = {"seed": 0, "map": 0.5, "seconds": 1.0, "training seconds": 2.0, "fit cpu": 3.0, "matrix peak": 10}
    now = {"seed": 0, "map": 0.5, "seconds": 9.0, "training seconds": 9.0, "fit cpu": 9.0, "matrix peak": 99}
    made = {"commit": "a", "numerics": {"tap": 1}, "background": True}
    assert largest_difference(then | made, now) == Difference("map", 0.0)


def test_names_that_only_sound_like_times_are_compared():
    assert set(numeric_fields({"w time": 1.0, "1-nn": 0.5, "no change": 2.0})) == {
        ("w time",),
        ("1-nn",),
        ("no change",),
    }


@pytest.mark.parametrize(
    ("then", "now", "relative"),
    [
        ({"a": 2.0}, {"a": 2.0}, 0.0),
        ({"a": 2.0}, {"a": 2.5}, 0.25),
        ({"a": -2.0}, {"a": 2.0}, 2.0),
        ({"a": 0.0}, {"a": 0.0}, 0.0),
        ({"a": 0.0}, {"a": 1e-6}, 1.0),  # relative to the floor
        ({"a": 3e-9}, {"a": 4e-9}, 1e-3),  # rounding errors
        ({"a": [1.0, 100.0]}, {"a": [2.0, 100.0]}, 0.01),  # relative to the size of the whole list
        ({"a": [1.0, 2.0]}, {"a": [1.0]}, math.inf),
        ({"a": {"b": 1.0}}, {"a": {"c": 1.0}}, math.inf),
        ({"a": math.nan}, {"a": math.nan}, 0.0),
        ({"a": math.nan}, {"a": 1.0}, math.inf),
        ({"a": math.inf}, {"a": math.inf}, 0.0),
        ({"a": True}, {"a": False}, 1.0),
        ({"a": 1.0}, {"a": 1.0, "b": 2.0}, 0.0),  # what is told besides today was not known then
    ],
)
def test_the_largest_difference_is_relative_to_the_field(then, now, relative):
    assert largest_difference(then, now).relative == pytest.approx(relative, rel=1e-9)


def test_the_field_that_differs_most_is_named():
    then = {"a": 1.0, "scores": {"own": {"map": 0.5, "auc": 0.5}}, "b": 1.0}
    now = {"a": 1.01, "scores": {"own": {"map": 0.5, "auc": 0.6}}, "b": 1.1}
    assert largest_difference(then, now).field == "scores/own/auc"


def test_a_row_of_times_alone_has_nothing_to_compare():
    assert largest_difference({"each": 0.5, "seconds": 3.0, "seed": 1}, {"each": 0.9}, "tap_times") is None


def test_the_files_with_times_of_their_own_exist():
    assert {load_program(module).file() for module in program_modules()} >= set(comparison.TIMES)


# --- choosing


class Toy(Program[Trial]):
    """Rows with seconds and fields of the test's choice."""

    paper, table, holds, title, without_data, seeds = "toy", "rows", "nothing", "A toy", True, 1
    subject = ("tap",)
    estimates, missing = {}, ""

    def planned(self):
        return [Trial("walks", method, 0) for method in ("DTW", "TAP", "OPW")]

    def lacks(self, row):
        return "no data" if row.method == self.missing else ""

    def seconds(self, row):
        return self.estimates.get(row.method, 0.1)

    def work(self, row):
        return {}

    def systems(self, row):
        return ("elastic",) if row.method == "DTW" else ("tap", "elastic")

    def said(self, found):
        return ""

    def headline(self):
        return "A toy."

    def body(self):
        return ""


@pytest.fixture
def choose(tmp_path, monkeypatch):
    def choose(rows, limit=60, missing="", **estimates):
        monkeypatch.setattr(Toy, "estimates", estimates)
        monkeypatch.setattr(Toy, "missing", missing)
        path = tmp_path / "toy.json"
        held = {f"walks/{method}/0": {"map": 0.5, "seconds": 1.0} | row for method, row in rows.items()}
        path.write_text(json.dumps({"rows": held}))
        choice = choose_row(Toy(command.parsed(Toy, ["--results", str(path)])), limit)
        return choice.reason if choice.row is None else choice.row.method + ", a baseline" * choice.baseline

    return choose


def test_the_cheapest_row_is_made_again(choose):
    assert choose({"DTW": {"seconds": 3}, "TAP": {"seconds": 2}, "OPW": {"seconds": 4}}) == "TAP"


def test_a_row_that_was_made_from_what_others_left_is_not_cheap(choose):
    assert choose({"OPW": {"seconds": 3}, "TAP": {"seconds": 2}}, TAP=50) == "OPW"


def test_a_row_of_the_pages_own_subject_comes_before_a_cheaper_baseline(choose):
    rows = {"DTW": {"seconds": 1}, "TAP": {"seconds": 50}}
    assert choose(rows) == "TAP"
    assert choose(rows, limit=10) == "DTW, a baseline"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ({}, "no row is finished"),
        ({"DTW": {"seconds": 90}}, "the cheapest row takes about 90 s, more than 60"),
        ({"DTW": {"minutes": 12.0}}, "its networks train for 12 minutes by the clock"),
        ({"DTW": {"map": None}}, "its rows have no number but times"),
        ({"OPW": {}}, "no data"),
    ],
)
def test_a_program_without_a_row_to_make_again_says_why(choose, rows, reason):
    assert choose(rows, missing="OPW") == reason


# --- what is said


def outcome(**more):
    about = {"program": "benchmarks.papers.toy.rows", "file": "toy_rows", "date": "2026-11-18", "commit": "now"}
    return Outcome(**about | {"key": "walks/DTW/0", "commit_then": "then"} | more)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (outcome(holds=True, difference=0.0), "holds: its numbers, times aside, are the same to the last digit."),
        (outcome(holds=True, difference=2e-5), "and holds: no number, times aside, differs by more than 2e-05"),
        (outcome(holds=False, difference=0.25, field="map"), "**does not hold**: `map` differs by 0.25 of its size."),
        (
            outcome(holds=False, difference=math.inf, field="map"),
            "**does not hold**: map is missing or not finite now.",
        ),
        (outcome(holds=False, reason="it fails now: ValueError"), "**does not hold**: it fails now: ValueError."),
        (
            outcome(holds=True, difference=0.0, baseline=True),
            "last digit. It is a baseline's: rows of the method itself",
        ),
        (outcome(reason="no row is finished"), "No row was made again to check the others (2026-11-18): no row is"),
    ],
)
def test_a_page_ends_with_what_was_found(tmp_path, found, words):
    path = tmp_path / "evidence.json"
    write_outcomes({"toy_rows": found}, path)
    assert words in evidence_line("toy_rows", path)
    assert evidence_line("another", path) == ""
    assert read_outcomes(path)["toy_rows"].holds is found.holds


def test_without_a_check_nothing_is_said(tmp_path):
    assert evidence_line("toy_rows", tmp_path / "evidence.json") == ""


# --- all of it


def test_a_changed_number_is_found(tmp_path):
    toy = ToyRepository(tmp_path)
    assert toy.run_module("benchmarks.papers.toy.first")[0] == 0
    then = toy.commit("Rows")
    before = toy.rows("first")
    code, output = toy.run_module("benchmarks.evidence")
    assert code == 0, output
    assert "1 of 1 rows hold; 1 programs have no row to make again" in output
    assert toy.rows("first") == before
    toy.write("src/timelike/__init__.py", '__version__ = "1"\nVALUE = 1\n')
    now = toy.commit("Another library")
    code, output = toy.run_module("benchmarks.evidence")
    assert code == 1, output
    found = json.loads((toy.root / "benchmarks/results/evidence.json").read_text())["rows"]
    about = {name: found["toy_first"][name] for name in ("holds", "field", "commit", "difference")}
    assert about == {"holds": False, "field": "accuracy", "commit": now, "difference": pytest.approx(1 / 3)}
    assert found["toy_first"]["commit_then"].rstrip("+") == toy.git("rev-parse", "--short=10", f"{then}~")
    assert (found["toy_second"]["holds"], found["toy_second"]["reason"]) == (None, "no row is finished")
    assert toy.run_module("benchmarks.evidence", "--tolerance", "0.5")[0] == 0


def test_a_row_that_fails_now_does_not_hold(tmp_path):
    toy = ToyRepository(tmp_path)
    toy.run_module("benchmarks.papers.toy.first", "--only", "TAP")
    code, output = toy.run_module("benchmarks.evidence", "--only", "first", fails="first walks/TAP/0")
    assert code == 1
    assert "BROKEN" in output
    assert "walks/TAP/0 fails now" in output
