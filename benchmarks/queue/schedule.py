"""Which rows are made next: the first of the order that are missing and for which the budget suffices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Any

from benchmarks.queue.planned_row import PlannedRow

ATTEMPTS = 2  # of a row that fails, each in another run
TOGETHER = 900.0  # seconds that rows of one worker may take: a process is started for each group
MOST = 100  # rows of one worker, whose keys are on its command line
Name = tuple[str, str]


@dataclass
class Schedule:
    """The rest of a plan, within a budget in seconds of the clock."""

    rows: list[PlannedRow]
    finished_rows: Callable[[str], dict[str, Any]]  # those of a result file
    budget: float
    clock: Callable[[], float]
    versions: dict[str, int] = field(default_factory=dict)  # of the numerics of today
    failed: Counter[Name] = field(default_factory=Counter)  # in earlier runs
    tried: set[Name] = field(default_factory=set)  # in this run, without success

    def __post_init__(self) -> None:
        self.end = self.clock() + self.budget

    @property
    def left(self) -> float:
        """Seconds of the budget."""
        return self.end - self.clock()

    def is_possible(self, row: PlannedRow) -> bool:
        """Whether a row can be made in this run, as far as is known before."""
        if row.lacks or row.after or row.name in self.tried:
            return False
        return self.failed[row.name] < ATTEMPTS

    def todo(self) -> list[PlannedRow]:
        """What is still to be made, in order."""
        finished = {file: self.finished_rows(file) for file in {row.file for row in self.rows}}
        return [row for row in self.rows if self.is_possible(row) and row.is_missing(finished[row.file], self.versions)]

    def next_group(self) -> list[PlannedRow]:
        """The first row that the budget allows, and those after it that the same process can make."""
        left, todo = self.left, self.todo()
        first = next((place for place, row in enumerate(todo) if 0 < left >= row.seconds), None)
        if first is None:
            return []
        alike = list(takewhile(lambda row: _process(row) == _process(todo[first]), todo[first:]))
        total, group = 0.0, alike[:1]
        for before, row in pairwise(alike[:MOST]):
            total += before.seconds
            if total + row.seconds > min(left, TOGETHER):
                break
            group.append(row)
        return group


def _process(row: PlannedRow) -> tuple[int, str, str]:
    return row.entry, row.program, row.file
