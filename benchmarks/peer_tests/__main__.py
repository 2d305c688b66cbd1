"""Write down what the tests of aeon, tslearn, dtaidistance and dtw-python expect, beside our calls.

    pip install -c constraints.txt aeon tslearn dtaidistance dtw-python
    python -m benchmarks.peer_tests

writes tests/peers/expectations.json (numbers only, each with the test it comes from) and the tables between the marks
of benchmarks/results/peers.md. The tests run our side of every row. Where a row differs, our number there is that of
the naive reference in tests/naive, and the row says why, and who is right.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer_tests.expectation import Expectation

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "tests" / "peers" / "expectations.json"
PAGE = ROOT / "benchmarks" / "results" / "peers.md"
LIBRARIES = ("aeon", "tslearn", "dtaidistance", "dtw_python")


def recorded(row: Expectation, data: dict[str, Any], references: Any) -> dict[str, Any]:
    """The row as it is stored; where the two differ, with the naive reference's number, or None where ours refuses."""
    fact: dict[str, Any] = {"test": row.test, "expected": row.expected, "ours": row.ours, "within": row.within}
    if row.why is None:
        return fact
    try:
        value = np.asarray(eval(row.ours, {"tl": references, "np": np, **data}), float)
    except (AssertionError, AttributeError):  # the reference of a distance that needs equal lengths, or has no matrix
        value = np.array(math.inf)
    if np.shape(value) == np.shape(row.expected) and np.allclose(value, row.expected, rtol=0, atol=row.within):
        return fact
    number = value.tolist() if np.isfinite(value).all() else None
    return fact | {"our_value": number, "reason": row.why.reason, "right": row.why.right}


def library(name: str, references: Any) -> dict[str, Any]:
    """Everything that is kept of one library."""
    module = importlib.import_module(f"benchmarks.peer_tests.{name}")
    data = {key: np.asarray(values, float) for key, values in module.series().items()}
    rows = [recorded(row, data, references) for row in module.expectations()]
    return {
        "version": version(module.PACKAGE),
        "not_here": module.NOT_HERE,
        "series": {key: values.tolist() for key, values in data.items()},
        "rows": rows,
    }


def shown(value: Any) -> str:
    """A number, or what there is of them."""
    if value is None:
        return "refused"
    return f"{value:.6g}" if np.ndim(value) == 0 else " × ".join(map(str, np.shape(value))) + " numbers"


def line(row: dict[str, Any]) -> str:
    """One row of the table; tests/peers/test_expectations.py looks for it in the page."""
    verdict = {"ours": "differs: ours is right", "both": "differs: two conventions"}.get(row.get("right", ""), "agrees")
    ours = shown(row["our_value"] if "right" in row else row["expected"])
    why = row.get("reason", "")
    return f"| `{row['test']}` | {shown(row['expected'])} | `{row['ours']}` | {ours} | {verdict} | {why} |"


def table(fact: dict[str, Any]) -> str:
    """All rows of one library in Markdown."""
    head = ["| its test | expects | our call | ours | verdict | why |", "|---|---:|---|---:|---|---|"]
    return "\n".join([f"Not here: {fact['not_here']}.", "", *head, *map(line, fact["rows"])])


def summary(facts: dict[str, Any]) -> str:
    """How many rows agree: all in a sentence, then each library."""
    head = ["| library | rows | agree | differ, ours is right | differ, two conventions |", "|---|---:|---:|---:|---:|"]
    lines = []
    every = Counter(row.get("right", "agrees") for fact in facts.values() for row in fact["rows"])
    said = (
        f"Of {every.total()} numbers that the tests of {len(facts)} other libraries expect, ours agree with "
        f"{every['agrees']}; {every['ours']} differ where the formula is on our side, and {every['both']} by "
        "convention."
    )
    for name, fact in facts.items():
        count = Counter(row.get("right", "agrees") for row in fact["rows"])
        numbers = (len(fact["rows"]), count["agrees"], count["ours"], count["both"])
        lines.append(f"| {name.replace('_', '-')} {fact['version']} | " + " | ".join(map(str, numbers)) + " |")
    return "\n".join([said, "", *head, *lines])


def rewritten(page: str, facts: dict[str, Any]) -> str:
    """The page with what stands between `<!-- name -->` and `<!-- end -->` made anew."""
    parts = {"summary": summary(facts)} | {name: table(fact) for name, fact in facts.items()}
    for name, made in parts.items():
        before, after = page.split(f"<!-- {name} -->\n", 1)
        page = f"{before}<!-- {name} -->\n{made}\n<!-- end -->{after.split('<!-- end -->', 1)[1]}"
    return page


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    calls = importlib.import_module("naive.calls")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = {name: library(name, calls) for name in LIBRARIES}
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+(-?[\d.e-]+(?:,\s+-?[\d.e-]+)*)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m[1]) + "]", text)
    TARGET.write_text(text + "\n", encoding="utf-8")
    if PAGE.exists():
        PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8"), facts), encoding="utf-8")
    print(summary(facts))


if __name__ == "__main__":
    main()
