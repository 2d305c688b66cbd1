"""A row that is to be made, as the plan has it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.queue.folders import RESULTS, Folders, Table, read_table
from benchmarks.queue.merge import merge_tables
from benchmarks.queue.outbox import waiting_rows

LEDGER = Path("benchmarks/numerics/ledger.json")


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
    protocol: int = 1  # the version of what its program measures

    @property
    def name(self) -> tuple[str, str]:
        return self.program, self.key

    def is_missing(self, rows: dict[str, Any], versions: dict[str, int]) -> bool:
        """Whether these finished rows lack it, or have it by numerics older than these and it is to be made again."""
        if self.key not in rows:
            return True
        return self.stale and is_outdated(rows[self.key], versions | {"protocol": self.protocol})


def is_outdated(row: dict[str, Any], versions: dict[str, int]) -> bool:
    """Whether a system that a row was made by computes something else now.

    >>> is_outdated({"numerics": {"rocket": 1}}, {"rocket": 2, "tap": 5})
    True
    >>> is_outdated({"numerics": {"rocket": 2}}, {"rocket": 2, "tap": 5})
    False
    """
    return any(versions.get(system, 0) > version for system, version in (row.get("numerics") or {}).items())


def current_versions(tree: Path) -> dict[str, int]:
    """For every system of a tree, the last version that changed its numerics and not only its random draws."""
    path = tree / LEDGER
    held = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    changes = {system: [one for one in entry["history"] if not one.get("draws")] for system, entry in held.items()}
    return {system: history[-1]["version"] for system, history in changes.items() if history}


def read_plan(path: Path) -> tuple[list[PlannedRow], list[str]]:
    """The rows of a plan, and what could not be planned."""
    if not path.exists():
        return [], []
    plan = json.loads(path.read_text(encoding="utf-8"))
    return [PlannedRow(**row) for row in plan["rows"]], plan["problems"]


def finished_rows(folders: Folders, results: Path, file: str) -> Table:
    """A result file of a tree with the rows that the queue has made since; the clone's where the tree's is broken."""
    waiting, _ = waiting_rows(folders.rows, file)  # before the tree's: what is merged meanwhile is then in both
    try:
        tree = read_table(results / f"{file}.json")
    except ValueError:
        tree = read_table(folders.tree / RESULTS / f"{file}.json")
    return merge_tables(tree, waiting)[0]
