"""Accuracies of the T-Loss encoder on the archive's data sets, beside those of the thesis (chapter 3).

    python benchmarks/papers/tloss_ucr.py --data DIR                      # everything, days on one core
    python benchmarks/papers/tloss_ucr.py --only SyntheticControl --jobs 2
    python benchmarks/papers/tloss_ucr.py --budget 25                     # as many rows as 25 minutes give
    python benchmarks/papers/tloss_ucr.py --budget 0 --figures DIR        # figures and page of the rows there are
    python benchmarks/papers/tloss_ucr.py --quick --results /tmp/try.json

A row is one data set, one K (1, 2, 5, 10; multivariate 5, 10, 20) and one seed. A finished row is written to the
results at once and never run again, so the program can be stopped and started; a row is not begun when what is left of
the budget would not suffice. `combined` joins the representations of all K, `transfer` applies one encoder to all
other data sets, `lstm` is table 3.3. Representations are kept in a scratch folder only. UCR sets are used as they are,
UEA sets standardised per channel from their training part; C of the SVM is chosen on the training part, the test part
is looked at once, when a row is finished. `--quick` trains for three steps: it shows that the program works.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and torch are loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import tempfile
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, not as a module

from benchmarks.papers import tloss_report as report
from benchmarks.papers.resumable import Program
from benchmarks.papers.tloss_rows import Row, Workshop, needs, planned, work

RESULTS = Path("docs/benchmarks/tloss_ucr.json")
SCRATCH = Path(tempfile.gettempdir()) / "timelike-tloss"


class Archive(Program[Row]):
    """The rows of the comparison, worked out in a workshop."""

    def __init__(self, results: Path, workshop: Workshop, budget: float) -> None:
        super().__init__(results, budget)
        self.workshop = workshop

    def work(self, row: Row) -> dict[str, Any]:
        return self.workshop.work(row)

    def seconds(self, row: Row) -> float:
        return self.workshop.seconds(row)

    def waits(self, row: Row, unfinished: list[Row]) -> bool:
        return bool(set(needs(row, self.workshop.sets)) & set(unfinished))

    def begin(self, pool: Executor, row: Row) -> Future[dict[str, Any]]:
        shop = self.workshop
        return pool.submit(work, row, shop.data, shop.scratch, shop.max_steps)

    def ratio(self, row: Row, found: dict[str, Any]) -> float | None:
        """Of the encoder alone, and only where it does not come from the scratch folder."""
        guessed = self.workshop.sets[row.dataset].seconds(int(row.k)) if row.k.isdigit() else 0.0
        return float(found["encoder seconds"]) / guessed if found["encoder seconds"] > 0.1 * guessed > 0 else None

    def said(self, found: dict[str, Any]) -> str:
        return f"svm {found['svm']:.3f}, 1-nn {found['1-nn']:.3f}"

    def page(self) -> str:
        return report.page(self.rows, list(self.workshop.sets.values()))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help="holds ucr/ and uea/")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a .json; the page is written beside it")
    parser.add_argument("--scratch", type=Path, default=SCRATCH, help="representations and encoders, for other rows")
    parser.add_argument("--only", action="append", help="rows whose data set, K or data set/K/seed this is")
    parser.add_argument("--jobs", type=int, default=1, help="rows side by side, one thread each")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="MINUTES")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draw what the finished rows say")
    parser.add_argument("--quick", action="store_true", help="three steps of training: does it run?")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    torch.set_num_threads(1)
    if given.quick and given.results == RESULTS:
        raise SystemExit("--quick would write meaningless numbers among the results: give another --results FILE.json")
    if given.data is None:
        raise SystemExit("no data: --data DIR or TIMELIKE_DATA names the folder that holds ucr/*.npz and uea/*.npz")
    scratch = given.scratch / "quick" if given.quick else given.scratch
    workshop = Workshop(Path(given.data), scratch, 3 if given.quick else None)
    program = Archive(given.results, workshop, given.budget)
    rows = planned(list(workshop.sets.values()))
    wanted = [row for row in rows if not given.only or {*row[:2], row.key} & set(given.only)]
    if given.only and not wanted:
        raise SystemExit(f"--only {' '.join(given.only)}: no such data set, K or data set/K/seed")
    left_out = program.run(wanted, given.jobs)
    program.save()
    if left_out:
        print(f"not begun for lack of time: {len(left_out)} of {len(wanted)} rows, the first {left_out[0].key}")
    if given.figures:
        from benchmarks.papers import tloss_figures as figures

        figures.draw(program.rows, workshop, given.figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
