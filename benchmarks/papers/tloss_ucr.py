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
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, not as a module

from benchmarks.papers import tloss_report as report
from benchmarks.papers.tloss_rows import Row, Workshop, needs, planned, work

RESULTS = Path("docs/benchmarks/tloss_ucr.json")
SCRATCH = Path(tempfile.gettempdir()) / "timelike-tloss"


class Program:
    """The rows, their results on disk, and the clock."""

    def __init__(self, results: Path, workshop: Workshop, budget: float) -> None:
        self.path, self.workshop = results, workshop
        held = json.loads(results.read_text()) if results.exists() else {"rows": {}}
        self.rows: dict[str, dict[str, Any]] = held["rows"]
        self.began, self.budget = time.perf_counter(), 60 * budget
        self.pace = 1.0  # how much slower than guessed rows have been so far
        self.ratios: list[float] = []

    def run(self, rows: list[Row], jobs: int) -> list[Row]:
        """Work through the rows in order; those not begun are given back."""
        todo = [row for row in rows if row.key not in self.rows]
        if jobs == 1:
            return [row for row in todo if not (self._affordable(row, todo) and self._finish(row, self._work(row)))]
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            return self._side_by_side(todo, pool, jobs)

    def _side_by_side(self, todo: list[Row], pool: Executor, jobs: int) -> list[Row]:
        running: dict[Future[dict[str, Any]], Row] = {}
        waiting, left_out = list(todo), []
        while waiting or running:
            ready = [row for row in waiting if not self._waits(row, [*waiting, *running.values()])]
            for row in ready[: jobs - len(running)]:
                waiting.remove(row)
                if self._affordable(row, todo):
                    shop = self.workshop
                    running[pool.submit(work, row, shop.data, shop.scratch, shop.max_steps)] = row
                else:
                    left_out.append(row)
            for done in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                self._finish(running.pop(done), done.result())
        return left_out

    def _waits(self, row: Row, unfinished: list[Row]) -> bool:
        return bool(set(needs(row, self.workshop.sets)) & set(unfinished))

    def _work(self, row: Row) -> dict[str, Any]:
        return self.workshop.work(row)

    def _affordable(self, row: Row, todo: list[Row]) -> bool:
        left = self.budget - (time.perf_counter() - self.began)
        needed = self.pace * self.workshop.seconds(row)
        if needed > left:
            return False
        rest = self.pace * sum(self.workshop.seconds(other) for other in todo if other.key not in self.rows)
        done = time.strftime("%H:%M", time.localtime(time.time() + needed))
        print(f"{row.key}: about {report.duration(needed)}, until {done}; all: {report.duration(rest)}", flush=True)
        return True

    def _finish(self, row: Row, found: dict[str, Any]) -> bool:
        guessed = self.workshop.sets[row.dataset].seconds(int(row.k)) if row.k.isdigit() else 0.0
        if found["encoder seconds"] > 0.1 * guessed > 0:  # not from the scratch folder
            self.ratios.append(found["encoder seconds"] / guessed)
            self.pace = statistics.median(self.ratios[-5:])
        self.rows[row.key] = found
        self.save()
        scores = f"svm {found['svm']:.3f}, 1-nn {found['1-nn']:.3f}"
        print(f"    {row.key}: {scores}, {report.duration(found['seconds'])}", flush=True)
        return True

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps({"rows": self.rows}, indent=1, ensure_ascii=False) + "\n")
        partial.replace(self.path)
        self.path.with_suffix(".md").write_text(report.page(self.rows, list(self.workshop.sets.values())))


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
    program = Program(given.results, workshop, given.budget)
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
