"""Siamese and coupled GRUs on UCI HAR, beside table 1 of the CGRU paper.

    python benchmarks/papers/cgru_har.py --data DIR                       # everything but the folds, hours on one core
    python benchmarks/papers/cgru_har.py --data DIR --only coupled --seeds 1
    python benchmarks/papers/cgru_har.py --data DIR --folds               # table 1a too: three users left out, 7 times
    python benchmarks/papers/cgru_har.py --data DIR --budget 25           # as many rows as 25 minutes give
    python benchmarks/papers/cgru_har.py --data DIR --budget 0 --figures docs/images
    python benchmarks/papers/cgru_har.py --data DIR --quick --results /tmp/try.json

A row is one method, one part of the data and one seed. A finished row is written to the results at once and never run
again, so the program can be stopped and started; a row is not begun when what is left of the budget would not suffice.
DIR holds uci_har.npz. Weights are kept by users of the training part who take no part in the training; the test part
is looked at once, when a row is finished. A scratch folder holds checkpoints, from which an interrupted row goes on,
and the fitted distances of the test rows, from which the figures are drawn. `--quick` trains for two epochs on few
sequences: it shows that the program works.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and torch are loaded
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, not as a module

from benchmarks.papers import cgru_report as report
from benchmarks.papers.cgru_data import FILE
from benchmarks.papers.cgru_rows import SEEDS, Row, Workshop, planned

RESULTS = Path("docs/benchmarks/cgru_har.json")
SCRATCH = Path(tempfile.gettempdir()) / "timelike-cgru"


class Program:
    """The rows, their results on disk, and the clock."""

    def __init__(self, results: Path, workshop: Workshop, budget: float) -> None:
        self.path, self.workshop = results, workshop
        held = json.loads(results.read_text()) if results.exists() else {"rows": {}}
        self.rows: dict[str, dict[str, Any]] = held["rows"]
        self.began, self.budget = time.perf_counter(), 60 * budget
        self.ratios: dict[str, list[float]] = {}  # how much slower than guessed the rows of a method have been

    def run(self, rows: list[Row]) -> list[Row]:
        """Work through the rows in order; those not begun are given back."""
        todo, left_out = [row for row in rows if row.key not in self.rows], []
        for row in todo:
            if self._affordable(row, todo):
                self._finish(row, self.workshop.work(row))
            else:
                left_out.append(row)
        return left_out

    def _seconds(self, row: Row) -> float:
        ratios = self.ratios.get(row.method, [])
        return self.workshop.seconds(row) * (statistics.median(ratios[-5:]) if ratios else 1.0)

    def _affordable(self, row: Row, todo: list[Row]) -> bool:
        left, needed = self.budget - (time.perf_counter() - self.began), self._seconds(row)
        if needed > left:
            return False
        rest = sum(self._seconds(other) for other in todo if other.key not in self.rows)
        done = time.strftime("%H:%M", time.localtime(time.time() + needed))
        print(f"{row.key}: about {report.duration(needed)}, until {done}; all: {report.duration(rest)}", flush=True)
        return True

    def _finish(self, row: Row, found: dict[str, Any]) -> None:
        took = found["training seconds"] + found["matrix seconds"]  # all of them, even if the row was interrupted
        self.ratios.setdefault(row.method, []).append(took / self.workshop.seconds(row))
        self.rows[row.key] = found
        self.save()
        said = ", ".join(f"{name} {found[name]:.3f}" for name in ("accuracy", "f1", "map"))
        print(f"    {row.key}: {said}, {report.duration(found['seconds'])}", flush=True)

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps({"rows": self.rows}, indent=1, ensure_ascii=False) + "\n")
        partial.replace(self.path)
        self.path.with_suffix(".md").write_text(report.page(self.rows))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("TIMELIKE_DATA"), help=f"holds {FILE}")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a .json; the page is written beside it")
    parser.add_argument(
        "--scratch", type=Path, default=SCRATCH, help="checkpoints, and fitted distances for the figures"
    )
    parser.add_argument("--only", action="append", help="rows whose method, part or method/part/seed this is")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of every method on the test part")
    parser.add_argument("--folds", action="store_true", help="also leave three users out, seven times")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="MINUTES")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draw what the finished rows say")
    parser.add_argument("--quick", action="store_true", help="two epochs on few sequences: does it run?")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    torch.set_num_threads(1)
    if given.quick and given.results == RESULTS:
        raise SystemExit("--quick would write meaningless numbers among the results: give another --results FILE.json")
    if given.data is None or not (Path(given.data) / FILE).exists():
        raise SystemExit(f"no data: --data DIR or TIMELIKE_DATA names the folder that holds {FILE}")
    scratch = given.scratch / "quick" if given.quick else given.scratch
    program = Program(given.results, Workshop(Path(given.data), scratch, quick=given.quick), given.budget)
    rows = planned(folds=given.folds, seeds=given.seeds)
    wanted = [row for row in rows if not given.only or {*row[:2], row.key} & set(given.only)]
    if given.only and not wanted:
        raise SystemExit(f"--only {' '.join(given.only)}: no such method, part or method/part/seed")
    left_out = program.run(wanted)
    program.save()
    if left_out:
        print(f"not begun for lack of time: {len(left_out)} of {len(wanted)} rows, the first {left_out[0].key}")
    if given.figures:
        from benchmarks.papers import cgru_figures as figures

        figures.draw(program.rows, program.workshop, given.figures)
        program.save()  # the page shows what was drawn
    return 0


if __name__ == "__main__":
    sys.exit(main())
