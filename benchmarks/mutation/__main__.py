"""How many small changes to the library the tests notice: a sample of mutants, each against the tests of its room.

python -m benchmarks.mutation                    all samples
python -m benchmarks.mutation --only "sample 1"  the second one
python -m benchmarks.mutation --again            those that survived, after tests were added
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import cached_property

from benchmarks.mutation import report
from benchmarks.mutation.mutants import LATER, ROOMS, Mutant, per_room_of, sampled, site_of
from benchmarks.mutation.reach import Reach
from benchmarks.mutation.workshop import LIMIT, Workshop
from benchmarks.papers.results import ROWS, Found
from benchmarks.papers.resumable import Program

RESULTS = ROWS / "mutation.json"


class Mutation(Program[Mutant]):
    """A row is a mutant: caught, hung (which a test notices as well), or survived."""

    paper, table, title, holds = "mutation", "rooms", "What the tests notice", "nothing"
    without_data = True
    seeds = 4  # samples: to read what survives and write tests for it, and a last one that judges; then other packages

    def __init__(self, given: argparse.Namespace) -> None:
        if given.quick and given.results == RESULTS:
            raise SystemExit("--quick would leave out most of the rows: give another --results FILE.json")
        super().__init__(given)
        self.earlier = dict(self.rows)

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.set_defaults(results=RESULTS)
        parser.add_argument("--seconds", type=float, default=LIMIT, help="of tests for a mutant, at most")
        parser.add_argument("--again", action="store_true", help="run those once more that survived")

    def planned(self) -> Iterable[Mutant]:
        return [mutant for sample in range(self.given.seeds) for mutant in sampled(sample, per_room_of(sample))]

    def run(self, rows: Iterable[Mutant], jobs: int = 1) -> list[Mutant]:
        """Those that survived although they could be caught are forgotten, if that is wished."""
        if self.given.again:
            kept = {key: row for key, row in self.rows.items() if row["outcome"] != "survived" or report.reason(row)}
            self.results.rows = kept
        return super().run(rows, jobs)

    @cached_property
    def workshop(self) -> Workshop:
        return Workshop()

    @cached_property
    def reaches(self) -> dict[str, Reach]:
        return {room: Reach(room, self.scratch) for room in (*ROOMS, *LATER)}

    def work(self, row: Mutant) -> Found:
        site, reach = site_of(row), self.reaches[row.room]
        if not reach.tests:
            reach.record(self.workshop)
        tests, expected = reach.cheapest(site, self.given.seconds)
        found = self.workshop.tested(site, tests, expected) if tests else {"outcome": "survived", "passed": 0}
        before = self.earlier.get(row.key, {}).get("outcome", found["outcome"])
        return {"room": row.room, "line": site.node.lineno, "at_first": before, "by": "", "how": ""} | found

    def seconds(self, row: Mutant) -> float:
        return 3.0

    def took(self, found: Found, guess: float) -> float | None:
        return float(found["seconds"])

    def said(self, found: Found) -> str:
        return f"{found['outcome']} {found['by']}"

    def page(self) -> str:
        return f"# {self.title}\n\n```console\npython -m benchmarks.mutation\n```\n\n{self.body()}"

    def body(self) -> str:
        return report.body(self.rows)


if __name__ == "__main__":
    sys.exit(Mutation.main())
