"""What the tests of other libraries expect: our calls give it, or differ as benchmarks/results/peers.md says, and why."""

import json
from pathlib import Path

import numpy as np
import pytest

import timelike as tl
from naive import calls

FACTS = json.loads(Path(__file__).with_name("expectations.json").read_text(encoding="utf-8"))
PAGE = Path(__file__).parents[2] / "benchmarks" / "results" / "peers.md"
ROWS = [(name, row) for name, fact in FACTS.items() for row in fact["rows"]]
SERIES = {name: {k: np.array(v) for k, v in fact["series"].items()} for name, fact in FACTS.items()}

every_row = pytest.mark.parametrize(("library", "row"), ROWS, ids=[f"{n}: {r['ours']:.80}" for n, r in ROWS])
differing = pytest.mark.parametrize(
    ("library", "row"), [(n, r) for n, r in ROWS if "right" in r], ids=[r["ours"][:80] for _, r in ROWS if "right" in r]
)


def answer(text, library, source=tl):
    return np.asarray(eval(text, {"tl": source, "np": np, **SERIES[library]}), float)


@every_row
def test_our_call_gives_what_the_table_says(library, row):
    if "right" in row and row["our_value"] is None:
        with pytest.raises(ValueError, match="lengths"):
            answer(row["ours"], library)
        return
    expected, within = (row["our_value"], 1e-9) if "right" in row else (row["expected"], row["within"])
    found = answer(row["ours"], library)
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=within)


@differing
def test_a_row_that_is_said_to_differ_does_and_our_number_is_that_of_the_formula(library, row):
    assert row["reason"]
    if row["our_value"] is None:
        return
    assert not np.allclose(row["our_value"], row["expected"], rtol=0, atol=row["within"])
    np.testing.assert_allclose(answer(row["ours"], library, calls), row["our_value"], rtol=1e-9)


def test_the_page_shows_every_row():
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this source")
    lines = set(PAGE.read_text(encoding="utf-8").splitlines())
    verdicts = {"ours": "differs: ours is right", "both": "differs: two conventions"}
    for _, row in ROWS:
        ours = row["our_value"] if "right" in row else row["expected"]
        cells = [f"`{row['test']}`", shown(row["expected"]), f"`{row['ours']}`", shown(ours)]
        cells += [verdicts.get(row.get("right"), "agrees"), row.get("reason", "")]
        assert f"| {' | '.join(cells)} |" in lines


def shown(value):
    if value is None:
        return "refused"
    return f"{value:.6g}" if np.ndim(value) == 0 else " × ".join(map(str, np.shape(value))) + " numbers"


def test_the_page_counts_the_rows():
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this source")
    text = PAGE.read_text(encoding="utf-8")
    for name, fact in FACTS.items():
        right = [row.get("right") for row in fact["rows"]]
        numbers = len(right), right.count(None), right.count("ours"), right.count("both")
        assert f"| {name.replace('_', '-')} {fact['version']} | " + " | ".join(map(str, numbers)) + " |" in text
