"""What GDTW's solver costs: figures 5 to 7 of the DecDTW paper, and what refinement is worth.

    python -m benchmarks.papers.decdtw.solver --data DIR --figures docs/images
    python -m benchmarks.papers.decdtw.solver --only refinement-generated      # needs no data

Rows: `inference` and `training` at one length (figures 5 and 7), `passes` (figure 6: one problem, by values per knot)
and `refinement-…` with 0 to 5 refinements of the grid, on the base features of the test pairs. Times are seconds of the
processor on one thread.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.papers.decdtw import solver_figures as figures, solver_report as report
from benchmarks.papers.decdtw.music import FILE, score_task
from benchmarks.papers.decdtw.solving import inference, passes, refined, training
from benchmarks.papers.decdtw.tasks import Task, warped_task
from benchmarks.papers.results import Found, Row
from benchmarks.papers.resumable import Program

LENGTHS = (64, 128, 256, 512, 1024)
REFINEMENTS = range(6)
TASKS = ("generated", "melspec")
GRID = 50  # values per knot in figure 6
FEW = (24, 8, 12)  # pairs of a quick run


@dataclass(frozen=True)
class Measure(Row):
    """What is measured, and at which length, number of refinements or grid."""

    part: str
    size: int

    @property
    def task(self) -> str:
        return self.part.partition("-")[2]


class Solver(Program[Measure]):
    """Times, refinements and one problem pass by pass."""

    paper, table, holds = "decdtw", "solver", FILE
    title = "DecDTW's solver: time against length, and refinement"
    subject, without_data, draws = ("decdtw",), True, True

    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__(given)
        self.tasks: dict[str, Task] = {}

    def planned(self) -> Iterator[Measure]:
        yield Measure("passes", GRID)
        yield from (Measure(f"refinement-{task}", turns) for task in TASKS for turns in REFINEMENTS)
        yield from (Measure(part, steps) for part in ("inference", "training") for steps in LENGTHS)

    def lacks(self, row: Measure) -> str:
        if row.task != "melspec" or (self.given.data is not None and (self.data / FILE).exists()):
            return ""
        return f"--data DIR or TIMELIKE_DATA names the folder that holds {FILE}"

    def seconds(self, row: Measure) -> float:
        return 10.0 if row.task else 1.0 + row.size / 50

    def kind(self, row: Measure) -> str:
        return row.part

    def systems(self, row: Measure) -> Iterable[str]:
        return "decdtw", "elastic"

    def work(self, row: Measure) -> Found:
        if row.part == "passes":
            return passes(row.size)
        if row.task:
            return {"found": refined(self.task(row.task).test, row.size)}
        return {"times": {"inference": inference, "training": training}[row.part](row.size)}

    def said(self, found: Found) -> str:
        return report.line(found)

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def draw(self, folder: Path) -> None:
        figures.draw(self.rows, folder)

    def task(self, name: str) -> Task:
        """Made once."""
        if name not in self.tasks:
            counts = (FEW,) if self.quick else ()
            self.tasks[name] = warped_task(*counts) if name == "generated" else score_task(self.data, name, *counts)
        return self.tasks[name]


if __name__ == "__main__":
    sys.exit(Solver.main())
