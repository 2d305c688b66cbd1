"""A row that is to be made, as the plan has it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.queue.folders import Folders, Table, read_table
from benchmarks.queue.merge import merge_tables
from benchmarks.queue.outbox import waiting_rows


@dataclass(frozen=True, kw_only=True)
class PlannedRow:
    """One row of one program."""

    entry: int  # number of the order's entry, from 0
    program: str
    file: str
    key: str
    seconds: float  # an estimate
    arguments: list[str] = field(default_factory=list)
    lacks: str = ""  # why it cannot be made here
    after: str = ""  # what it waits for
    stale: bool = False  # whether it is made again where its numerics are outdated
    numerics: dict[str, int] | None = None  # the versions of today

    @property
    def name(self) -> tuple[str, str]:
        return self.program, self.key

    def is_missing(self, rows: dict[str, Any]) -> bool:
        """Whether these finished rows lack it, or have it by older numerics and it is to be made again."""
        if self.key not in rows:
            return True
        return self.stale and is_outdated(rows[self.key], self.numerics)


def is_outdated(row: dict[str, Any], numerics: dict[str, int] | None) -> bool:
    """Whether a row was made by other numerics than those of today."""
    return numerics is not None and row.get("numerics") != numerics


def read_plan(path: Path) -> tuple[list[PlannedRow], list[str]]:
    """The rows of a plan, and what could not be planned."""
    if not path.exists():
        return [], []
    plan = json.loads(path.read_text(encoding="utf-8"))
    return [PlannedRow(**row) for row in plan["rows"]], plan["problems"]


def finished_rows(folders: Folders, results: Path, file: str) -> Table:
    """A result file of a tree with the rows that the queue has made since; the clone's where the tree's is broken."""
    try:
        tree = read_table(results / f"{file}.json")
    except ValueError:
        tree = read_table(folders.tree / "benchmarks/results" / f"{file}.json")
    return merge_tables(tree, waiting_rows(folders.rows, file)[0])[0]
