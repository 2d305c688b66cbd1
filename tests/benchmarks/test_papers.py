"""The published rows of the papers' programs: hours of work that a changed key or a lost column would throw away."""

import re
from datetime import date, timedelta
from importlib import import_module
from pathlib import Path

import pytest
from benchmarks.papers import command

import timelike as tl

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "cgru.coupling": "Coupling",
    "cgru.har": "Twins",
    "decdtw.alignment": "Learning",
    "decdtw.solver": "Solver",
    "prototypes.enrolment": "Enrolment",
    "prototypes.shift": "Shift",
    "prototypes.fewshot": "FewShot",
    "prototypes.retrieval": "Retrieval",
    "prototypes.mnist": "Mnist",
    "tap.supervised": "Supervised",
    "tap.selfsupervised": "Unlabelled",
    "tap.fewshot": "FewShot",
    "tap.consistency": "Consistency",
    "tloss.labels": "FewLabels",
    "tloss.long": "Household",
    "tloss.study": "Study",
}  # tloss.ucr plans its rows by the files that there are
WAITING = {"tap.times": "Times", "tap.variants": "Variants"}  # complete, but no row was worked out yet


@pytest.fixture(params=PROGRAMS | WAITING)
def program(request, monkeypatch):
    """As it is run from the root of the repository."""
    monkeypatch.chdir(ROOT)
    kind = getattr(import_module(f"benchmarks.papers.{request.param}"), (PROGRAMS | WAITING)[request.param])
    return kind(command.parsed(kind, ["--data", "nowhere"]))


def test_a_published_row_is_one_of_those_planned(program):
    planned = [row.key for row in program.planned()]
    assert len(set(planned)) == len(planned)
    assert program.rows or f"{program.paper}.{program.table}" in WAITING
    assert set(program.rows) <= set(planned)


def test_a_published_page_is_made_of_the_published_rows(program):
    """And marks those that are stale: a raised version of a system is followed by `make pages`."""
    published = program.results.page.read_text(encoding="utf-8")
    assert published == program.page(), f"write {program.results.path.stem}.md anew: `make pages`, or --budget 0"


def test_a_published_row_says_when_and_by_what_it_was_made(program):
    planned = {row.key: row for row in program.planned()}
    for key, row in program.rows.items():
        assert date.fromisoformat(row["date"]) <= date.today() + timedelta(1)
        assert row["version"] <= tl.__version__
        assert re.fullmatch(r"[0-9a-f]{10}(\+| or earlier)?", row["commit"])
        assert {*row["numerics"], *row.get("unchecked", ())} == {"protocol", *program.systems(planned[key])}


def test_a_page_without_rows_says_so(program):
    assert program.rows or "No row is finished yet" in program.page()


def test_every_program_is_in_the_list_of_programs():
    text = (ROOT / "benchmarks/papers/README.md").read_text(encoding="utf-8")
    assert all(f"`python -m benchmarks.papers.{name}`" in text for name in [*PROGRAMS, *WAITING, "tloss.ucr"])
