"""What queries read: rows of the benchmark programs, and tables of the speed pages."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from benchmarks.papers.results import Rows

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@cache
def read_rows(name: str) -> Rows:
    """The rows of one program, such as "defaults", by their keys."""
    rows: Rows = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["rows"]
    return rows


@cache
def read_table_rows(page: str) -> tuple[dict[str, str], ...]:
    """Every row of every table on a page under benchmarks/results, as {column: cell}."""
    rows: list[dict[str, str]] = []
    head: list[str] = []
    for line in (RESULTS / f"{page}.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            head = []
        elif not head:
            head = _cells(line)
        elif not line.startswith("|---"):
            rows.append(dict(zip(head, _cells(line), strict=True)))
    return tuple(rows)


def read_cell(page: str, work: str, column: str, beside: str = "") -> str:
    """The cell of the first row whose work, and whose rival, begin with these words; backticks do not count."""
    wanted = {"work": work, "beside": beside}
    for row in read_table_rows(page):
        if all(row.get(name, "").replace("`", "").startswith(words) for name, words in wanted.items()):
            return row[column]
    raise ValueError(f"benchmarks/results/{page}.md has no row whose work begins with {work!r} beside {beside!r}")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
