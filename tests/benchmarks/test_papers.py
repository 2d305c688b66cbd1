"""The published rows of the papers' programs: hours of work that a changed key or a lost column would throw away."""

from importlib import import_module
from pathlib import Path

import pytest
from benchmarks.papers import command

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "cgru.har": "Twins",
    "decdtw.alignment": "Learning",
    "tap.supervised": "Supervised",
    "tap.selfsupervised": "Unlabelled",
    "tap.fewshot": "FewShot",
    "tap.consistency": "Consistency",
    "tloss.labels": "FewLabels",
    "tloss.long": "Household",
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
    assert program.page() == program.results.path.with_suffix(".md").read_text(encoding="utf-8")


def test_a_page_without_rows_says_so(program):
    assert program.rows or "No row is finished yet" in program.page()


def test_every_program_is_in_the_list_of_programs():
    text = (ROOT / "benchmarks/papers/README.md").read_text(encoding="utf-8")
    assert all(f"`python -m benchmarks.papers.{name}`" in text for name in [*PROGRAMS, *WAITING, "tloss.ucr"])
