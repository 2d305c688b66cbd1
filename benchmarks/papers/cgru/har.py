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

import statistics
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, not as a module

from benchmarks.papers import cgru_report as report
from benchmarks.papers.cgru_data import FILE
from benchmarks.papers.cgru_rows import SEEDS, Row, Workshop, planned
from benchmarks.papers.resumable import Found, Program, arguments, go, refuse

RESULTS = Path("docs/benchmarks/cgru_har.json")
SCRATCH = Path(tempfile.gettempdir()) / "timelike-cgru"


class Twins(Program[Row]):
    """Every method on every part of the data."""

    def __init__(self, results: Path, budget: float, workshop: Workshop) -> None:
        super().__init__(results, budget)
        self.workshop = workshop
        self.paces: dict[str, list[float]] = {}  # how much slower than guessed the rows of a method have been

    def seconds(self, row: Row) -> float:
        paces = self.paces.get(row.method, [])
        return self.workshop.seconds(row) * (statistics.median(paces[-5:]) if paces else 1.0)

    def ratio(self, row: Row, found: Found) -> None:
        took = found["training seconds"] + found["matrix seconds"]  # all of them, even if the row was interrupted
        self.paces.setdefault(row.method, []).append(took / self.workshop.seconds(row))

    def work(self, row: Row) -> Found:
        return self.workshop.work(row)

    def said(self, found: Found) -> str:
        return ", ".join(f"{name} {found[name]:.3f}" for name in ("accuracy", "f1", "map"))

    def page(self) -> str:
        return report.page(self.rows)


def main() -> int:
    parser = arguments(__doc__, RESULTS, FILE)
    parser.add_argument(
        "--scratch", type=Path, default=SCRATCH, help="checkpoints, and fitted distances for the figures"
    )
    parser.add_argument("--only", action="append", help="rows whose method, part or method/part/seed this is")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of every method on the test part")
    parser.add_argument("--folds", action="store_true", help="also leave three users out, seven times")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draw what the finished rows say")
    given = parser.parse_args()
    refuse(given, RESULTS, FILE)
    torch.set_num_threads(1)
    scratch = given.scratch / "quick" if given.quick else given.scratch
    program = Twins(given.results, given.budget, Workshop(Path(given.data), scratch, quick=given.quick))
    rows = planned(folds=given.folds, seeds=given.seeds)
    wanted = [row for row in rows if not given.only or {*row[:2], row.key} & set(given.only)]
    if given.only and not wanted:
        raise SystemExit(f"--only {' '.join(given.only)}: no such method, part or method/part/seed")
    go(program, wanted)
    if given.figures:
        from benchmarks.papers import cgru_figures as figures

        figures.draw(program.rows, program.workshop, given.figures)
        program.save()  # the page shows what was drawn
    return 0


if __name__ == "__main__":
    sys.exit(main())
