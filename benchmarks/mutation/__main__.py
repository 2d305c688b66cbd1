"""How many small changes to the library the tests notice: samples of mutants, each against the tests that reach it.

python -m benchmarks.mutation                    all samples
python -m benchmarks.mutation --only "sample 1"  the second one
python -m benchmarks.mutation --again            only those that survived, after tests were added
python -m benchmarks.mutation --control          no mutants: the tests that have caught one must pass without it
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from functools import cached_property

from benchmarks.mutation import report
from benchmarks.mutation.mutants import LATER_PACKAGES, PACKAGES, Mutant, sample_size, sampled, site_of
from benchmarks.mutation.reach import CONTRACT, Reach
from benchmarks.mutation.verdict import judge
from benchmarks.mutation.workshop import LIMIT, Workshop
from benchmarks.papers import page
from benchmarks.papers.results import ROWS, Found
from benchmarks.papers.resumable import Program

RESULTS = ROWS / "mutation.json"


class Mutation(Program[Mutant]):
    """A row is a mutant: caught, hung (which a test notices as well), or survived."""

    paper, table, title, holds = "mutation", "packages", "What the tests notice", "nothing"
    without_data = True
    seeds = 5  # samples: three of the first packages, two of the others

    def __init__(self, given: argparse.Namespace) -> None:
        if given.quick and given.results == RESULTS:
            raise SystemExit("--quick would leave out most of the rows: give another --results FILE.json")
        super().__init__(given)
        self.earlier = dict(self.rows)

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.set_defaults(results=RESULTS)
        parser.add_argument("--seconds", type=float, default=LIMIT, help="of tests for a mutant, at most")
        parser.add_argument("--again", action="store_true", help="run only those once more that survived")
        parser.add_argument("--control", action="store_true", help="run the tests that caught mutants without any")

    def planned(self) -> Iterable[Mutant]:
        return [mutant for sample in range(self.given.seeds) for mutant in sampled(sample, sample_size(sample))]

    def run(self, rows: Iterable[Mutant], jobs: int = 1) -> list[Mutant]:
        """Run all rows that are not finished, or only those that survived although they could be caught."""
        if self.given.control:
            self.check_catching_tests()
            return []
        if self.given.again:
            survivors = {
                key for key, row in self.rows.items() if row["outcome"] == "survived" and not report.reason(row)
            }
            self.results.rows = {key: row for key, row in self.rows.items() if key not in survivors}
            rows = [row for row in rows if row.key in survivors]
        return super().run(rows, jobs)

    def check_catching_tests(self) -> None:
        """Run every test that has caught a mutant on the unchanged copy, and print those that fail or are gone."""
        tests = sorted({row["by"] for row in self.rows.values() if row["outcome"] == "caught"})
        files = sorted(
            {test.split("::", 1)[0] for test in tests if (self.workshop.folder / test.split("::")[0]).exists()}
        )
        found = self.workshop.recorded(files, only=tests)
        failed = [test for test in tests if test in found["failed"]]
        gone = [test for test in tests if test not in found["tests"] and test not in failed]
        print(f"{len(tests)} tests have caught mutants: {len(failed)} fail without one, {len(gone)} are gone")
        print("\n".join([*(f"    fails: {test}" for test in failed), *(f"    gone: {test}" for test in gone)]))

    @cached_property
    def workshop(self) -> Workshop:
        return Workshop()

    @cached_property
    def reaches(self) -> dict[str, Reach]:
        return {name: Reach(name, self.scratch) for name in (*PACKAGES, *LATER_PACKAGES, CONTRACT)}

    def systems(self, row: Mutant) -> Iterable[str]:
        return ()

    def work(self, row: Mutant) -> Found:
        """Ask the tests of the package, and where they notice nothing those that every package has to pass."""
        site, seconds = site_of(row), self.given.seconds
        found = judge(self.workshop, self.reaches[row.package], site, seconds)
        if found["outcome"] == "survived" and row.package in LATER_PACKAGES:
            own = found
            found = judge(self.workshop, self.reaches[CONTRACT], site, seconds)
            found |= {name: found.get(name, 0) + own.get(name, 0) for name in ("passed", "seconds", "work")}
        before = self.earlier.get(row.key, {}).get("outcome", found["outcome"])
        place = {"room": row.package, "line": site.node.lineno, "text": site.text}
        return place | {"at_first": before, "by": "", "how": "", "seconds": 0.0} | found

    def seconds(self, row: Mutant) -> float:
        return 3.0

    def took(self, found: Found, guess: float) -> float | None:
        return float(found["seconds"])

    def said(self, found: Found) -> str:
        return f"{found['outcome']} {found['by']}"

    def page(self) -> str:
        """Without the origin of rows: a mutant is a change of the code, and has its own."""
        repeat = page.how_to_repeat("python -m benchmarks.mutation", "No data is needed.", self.rows)
        return page.assemble_page(self.title, self.headline(), self.body(), repeat, self.caveats(), "")

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)


if __name__ == "__main__":
    sys.exit(Mutation.main())
