"""The table of docs/migration.md: our calls give the numbers other libraries gave, or differ from them as it says."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import timelike as tl
from naive import calls

FACTS = json.loads(Path(__file__).with_name("calls.json").read_text(encoding="utf-8"))
SERIES = {name: np.array(values) for name, values in FACTS["series"].items()}
PAGE = Path(__file__).parents[2] / "docs" / "migration.md"
LIVE = ("tslearn", "dtaidistance")  # what the test extra installs

every_row = pytest.mark.parametrize("row", FACTS["rows"], ids=lambda row: f"{row['peer']}: {row['call']}")


def answer(text, library):
    return eval(text, {"tl": library, **SERIES})


def expected(row):
    return row["value"] if row["kind"] == "same" else row["our_value"]


@every_row
def test_our_call_gives_the_number_of_the_table(row):
    assert answer(row["ours"], tl) == pytest.approx(expected(row), rel=1e-9)


@every_row
def test_the_formula_gives_the_number_of_the_table(row):
    assert answer(row["ours"], calls) == pytest.approx(expected(row), rel=1e-9)


def test_a_row_that_is_said_to_differ_does():
    for row in FACTS["rows"]:
        if row["kind"] == "differs":
            assert not math.isclose(row["value"], row["our_value"], rel_tol=1e-6), row["call"]
            assert row["reason"]


@pytest.mark.parametrize("row", [row for row in FACTS["rows"] if row["peer"] in LIVE], ids=lambda row: row["call"])
def test_the_installed_library_still_gives_the_recorded_number(row):
    scope = dict(SERIES)
    exec(FACTS["setup"][row["peer"]], scope)
    assert float(eval(row["call"], scope)) == pytest.approx(row["value"], rel=1e-9)


@every_row
def test_the_page_shows_the_row(row):
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this source")
    if row["kind"] == "same":
        line = f"| `{row['call']}` | `{row['ours']}` | {row['value']:.6g} |"
    else:
        theirs, ours = f"{row['value']:.6g}", f"{row['our_value']:.6g}"
        line = f"| `{row['call']}` | {theirs} | `{row['ours']}` | {ours} | {row['reason']} |"
    assert line in PAGE.read_text(encoding="utf-8").splitlines()
