"""Rows that are made again: which, how they are compared, and what is said of them."""

import json
import math

import pytest
from benchmarks.evidence import comparison
from benchmarks.evidence.__main__ import describe, judge
from benchmarks.evidence.choice import choose_row
from benchmarks.evidence.comparison import Difference, largest_difference, numeric_fields
from benchmarks.evidence.record import Outcome, evidence_line, read_outcomes, write_outcomes
from benchmarks.numerics.ledger import Entry, Version
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
        return [Trial("walks", method, seed) for seed in range(self.given.seeds) for method in ("DTW", "TAP", "OPW")]

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
    def choose(rows, limit=60, missing="", ledger=None, **estimates):
        monkeypatch.setattr(Toy, "estimates", estimates)
        monkeypatch.setattr(Toy, "missing", missing)
        path = tmp_path / "toy.json"
        keys = {name: name if "/" in name else f"walks/{name}/0" for name in rows}
        held = {keys[name]: {"map": 0.5, "seconds": 1.0} | row for name, row in rows.items()}
        path.write_text(json.dumps({"rows": held}))
        program = Toy(command.parsed(Toy, ["--results", str(path), "--seeds", "2"]))
        program.ledger.entries = {name: Entry(tuple(history), {}) for name, history in (ledger or {}).items()}
        choice = choose_row(program, limit)
        if choice.row is None:
            return choice.reason
        return choice.row.method + (f", a baseline: {choice.baseline}" if choice.baseline else "")

    return choose


def test_the_cheapest_row_is_made_again(choose):
    assert choose({"DTW": {"seconds": 3}, "TAP": {"seconds": 2}, "OPW": {"seconds": 4}}) == "TAP"


def test_a_row_that_was_made_from_what_others_left_is_not_cheap(choose):
    assert choose({"OPW": {"seconds": 3}, "TAP": {"seconds": 2}}, TAP=50) == "OPW"


def test_a_row_of_the_pages_own_subject_comes_before_a_cheaper_baseline(choose):
    rows = {"DTW": {"seconds": 1}, "TAP": {"seconds": 50}}
    assert choose(rows) == "TAP"
    assert choose(rows, limit=10) == "DTW, a baseline: the cheapest row takes about 50 s, more than 10"
    assert choose({"DTW": {}}) == "DTW, a baseline: none is finished"


def version(number, draws=False):
    return Version(number, "2026-11-18", "0" * 10, "why", draws)


def test_a_stale_row_is_not_made_again_and_named_with_its_versions(choose):
    ledger = {"tap": [version(1), version(2), version(3, draws=True), version(4)]}
    rows = {"DTW": {}, "TAP": {"numerics": {"tap": 1}}}
    assert choose(rows, ledger=ledger) == "DTW, a baseline: changed: stale by `tap` versions 2 and 4"
    assert choose({"TAP": rows["TAP"]}, ledger=ledger) == "changed: stale by `tap` versions 2 and 4"
    assert choose({"TAP": {"numerics": {"tap": 4}}}, ledger=ledger) == "TAP"


def test_a_dearer_row_that_should_hold_comes_before_a_cheap_stale_one(choose):
    rows = {"TAP": {"numerics": {"tap": 1}}, "OPW": {"numerics": {"tap": 2}, "seconds": 40.0}}
    assert choose(rows, ledger={"tap": [version(1), version(2)]}) == "OPW"


def test_a_row_with_other_random_draws_is_made_again_where_another_seed_says_how_far_they_are_apart(choose):
    ledger = {"tap": [version(1), version(2, draws=True)]}
    row = {"numerics": {"tap": 1}}
    assert choose({"TAP": row}, ledger=ledger) == "not repeatable: other random draws by `tap` version 2"
    assert choose({"TAP": row, "walks/TAP/1": row}, ledger=ledger) == "TAP"
    of_another_version = {"TAP": row, "walks/TAP/1": {"numerics": {"tap": 2}, "seconds": 90.0}}
    assert choose(of_another_version, ledger=ledger) == "the cheapest row takes about 90 s, more than 60"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ({}, "no row is finished"),
        ({"DTW": {"seconds": 90}}, "the cheapest row takes about 90 s, more than 60"),
        ({"DTW": {"minutes": 12.0}}, "not repeatable: limited by time: its networks train for 12 minutes by the clock"),
        ({"DTW": {"map": None}}, "its rows have no number but times"),
        ({"OPW": {}}, "no data"),
    ],
)
def test_a_program_without_a_row_to_make_again_says_why(choose, rows, reason):
    assert choose(rows, missing="OPW") == reason


# --- judging


@pytest.mark.parametrize(
    ("now", "others", "expected"),
    [
        ({"map": 0.5, "loss": 2.0}, [], {"holds": True, "difference": 0.0, "field": "map"}),
        ({"map": 0.55, "loss": 2.0}, [], {"holds": False, "difference": 0.1, "field": "map"}),
        (
            {"map": 0.55, "loss": 2.0},
            [{"map": 0.4, "loss": 2.0}],
            {"holds": True, "difference": 0.1, "field": "map", "spread": 0.2},
        ),
        (  # a smaller difference of a field that is the same for all seeds is named
            {"map": 0.55, "loss": 2.1},
            [{"map": 0.4, "loss": 2.0}],
            {"holds": False, "difference": 0.05, "field": "loss"},
        ),
        ({"map": 0.65, "loss": 2.0}, [{"map": 0.4, "loss": 2.0}], {"holds": False, "difference": 0.3, "field": "map"}),
        ({"loss": 2.0}, [{"map": 0.4, "loss": 2.0}], {"holds": False, "difference": math.inf, "field": "map"}),
    ],
)
def test_a_row_holds_by_the_tolerance_or_by_its_spread_over_seeds(now, others, expected):
    found = judge({"map": 0.5, "loss": 2.0}, now, others, 1e-3)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("file", "key", "fit", "time"),
    [
        ("forecast", "series/household, daily/DLinear/0", 9.0, True),
        ("forecast", "series/household, daily/Ridge/0", 9.0, False),
        ("defaults", "NATOPS/TAP/0", 120.0, True),  # of the 180 s that a row may take
        ("defaults", "NATOPS/TAP/0", 60.0, False),
        ("defaults", "CricketX/1-NN DTW/0", 500.0, False),  # it has nothing that the clock could end
        ("defaults", "NATOPS/TAP/0", None, False),  # not fitted at all
    ],
)
def test_programs_name_the_rows_that_the_clock_ended(file, key, fit, time):
    kind = next(kind for kind in map(load_program, program_modules()) if kind.file() == file)
    program = kind(command.parsed(kind, ["--data", "nowhere"]))
    row = next(row for row in program.planned() if row.key == key)
    program.results.rows = {key: {"fit": fit}}
    assert bool(program.limited_by_time(row)) is time


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
            outcome(holds=True, difference=0.0, baseline="changed: stale by `tap` version 2"),
            "last digit. It is a baseline's; of the rows of the method itself: changed: stale by `tap` version 2.",
        ),
        (
            outcome(holds=True, difference=0.01, field="map", spread=0.2),
            "and holds within the spread over seeds only: `map` differs by 0.01 of its size, and by 0.2 over seeds.",
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


def test_the_table_tells_rows_that_hold_by_their_seeds_from_those_that_hold():
    by_seeds = outcome(holds=True, difference=0.01, field="map", spread=0.2)
    assert (
        " seeds  walks/DTW/0, made by then: map differs by 1.0e-02 of its size, and by 2.0e-01 over seeds"
        in describe(by_seeds)
    )
    assert " holds* walks/DTW/0, made by then: identical" in describe(outcome(holds=True, difference=0.0, baseline="x"))


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


def test_new_rows_do_not_mark_the_commit_and_changed_code_does(tmp_path):
    toy = ToyRepository(tmp_path)
    toy.run_module("benchmarks.papers.toy.first", "--only", "TAP")  # leaves a row that is not committed
    toy.run_module("benchmarks.papers.toy.first", "--only", "DTW")
    head = toy.git("rev-parse", "--short=10", "HEAD")
    assert toy.rows("first")["walks/DTW/0"]["commit"] == head
    toy.write("src/timelike/__init__.py", '__version__ = "1"\nVALUE = 0\n')
    toy.run_module("benchmarks.papers.toy.first", "--only", "OPW")
    assert toy.rows("first")["walks/OPW/0"]["commit"] == f"{head}+"
