"""Sea surface temperatures: anomalies by Separation beside damped persistence, climatology and the last year.

    python -m benchmarks.papers.separation.sst --data DIR
    python -m benchmarks.papers.separation.sst --data DIR --only "held out*" --budget 10

Monthly maps of 2° (`ersst_monthly.npz`, 128 months from 2010 on): the first 96 are learned from, and every later start
with six months after it is asked about. Anomalies are what is not the mean of a calendar month over the months learned
from. Rows `held out/…` learn from the first 72 of these and are judged by the other 24: `Separation, chosen` has the
best of them, and was chosen before its row was made. `fields` has whole maps for frames; `cells` has a sequence of each
cell of the ocean, of its anomaly and the mean of those around it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.papers.results import Found, ResultFile, Row
from benchmarks.papers.resumable import Program
from benchmarks.papers.separation import sst_methods as methods, sst_report as report
from benchmarks.papers.separation.sst_data import FILE, sea

CHOSEN, AVERAGE = "Separation, chosen", "Separation, chosen, mean of three"
QUICK = 2


@dataclass(frozen=True)
class Asked(Row):
    """`test` or `held out`, a method and a seed."""

    part: str
    method: str
    seed: int


class Temperatures(Program[Asked]):
    """SST."""

    paper, table, holds = "separation", "sst", FILE
    subject = ("separation",)
    title = "Separation of variables: sea surface temperatures"

    def planned(self) -> Iterator[Asked]:
        """Simple ones, candidates, what was chosen of them, and the maps that were tried before."""
        yield from (Asked("test", name, 0) for name in methods.SIMPLE)
        yield from (Asked("held out", name, 0) for name in (*methods.SIMPLE[:5], *methods.CANDIDATES))
        yield from (Asked("test", CHOSEN, seed) for seed in range(self.given.seeds))
        yield Asked("test", AVERAGE, 0)
        yield Asked("test", "Separation, fields", 0)

    def needs(self, row: Asked) -> Iterator[Asked]:
        """What is chosen needs candidates."""
        if row.method in (CHOSEN, AVERAGE):
            yield from (one for one in self.planned() if one.part == "held out")

    def systems(self, row: Asked) -> Iterable[str]:
        if row.method not in methods.SIMPLE:
            return ("separation",)
        return ("forecast_baselines",) if row.method in methods.TEMPERATURES | methods.ANOMALIES else ()

    def work(self, row: Asked) -> Found:
        world = sea(self.data, held_out=row.part == "held out")
        steps, began = (QUICK if self.quick else None), time.process_time()
        if row.method in methods.SIMPLE:
            forecast = methods.simple(row.method, world)
        else:
            setting, seeds = self._setting(row), [row.seed]
            if row.method == AVERAGE:
                seeds = [0, 1, 2]
            forecast = np.mean([methods.separated(setting, world, seed, steps) for seed in seeds], axis=0)
        taken = time.process_time() - began
        squares = np.nanmean(np.square(forecast - world.after(world.temperatures)), axis=(0, 2, 3))
        found: Found = {"errors": squares.tolist(), "error": float(squares.mean()), "n_starts": len(world.starts)}
        found["processor seconds"] = taken
        return found if row.method in methods.SIMPLE else found | {"setting": setting}

    def _setting(self, row: Asked) -> str:
        if row.part == "held out":
            return row.method
        if row.method == "Separation, fields":
            return "fields"
        return report.best(ResultFile(self.given.results).rows, tuple(methods.CANDIDATES))

    def lacks(self, row: Asked) -> str:
        return "" if (self.data / FILE).exists() else f"{self.data / FILE} is missing"

    def seconds(self, row: Asked) -> float:
        if row.method in methods.SIMPLE:
            return 5.0
        return 90.0 if "fields" in row.method else 20.0

    def kind(self, row: Asked) -> str:
        return "simple" if row.method in methods.SIMPLE else "fields" if "fields" in row.method else "cells"

    def said(self, found: Found) -> str:
        return f"{found['error']:.4f} K²"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()


if __name__ == "__main__":
    sys.exit(Temperatures.main())
