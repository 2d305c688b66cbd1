"""How often the 95 % intervals of `forecast.backtest` hold an error that is known.

    python -m benchmarks.accuracy.backtest_intervals

Random walks with steps of deviation 1, forecast by `Persistence`: the expected squared error h steps ahead is h. A row
is a design, several walks of 20 windows or one walk of many, and counts in how many of 1 000 backtests the interval of
the squared error 10 steps ahead holds 10. No data are needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.accuracy import backtest_intervals_report as report
from benchmarks.papers.results import Found, Row
from benchmarks.papers.resumable import Program

import timelike as tl
from timelike import forecast

HORIZON, WINDOWS, LEAD = 10, 20, 20  # steps ahead, windows of each of several walks, steps before the first origin
REPETITIONS = 1000
SEVERAL, ONE = (30, 10, 5, 3), (600, 200, 30)


@dataclass(frozen=True)
class Design(Row):
    """So many walks with so many windows each."""

    n_sequences: int
    n_windows: int


def covers(design: Design, seed: int) -> bool:
    """Whether the interval of one backtest holds the true error."""
    rng = np.random.default_rng([seed, design.n_sequences, design.n_windows])
    length = LEAD + design.n_windows - 1 + HORIZON
    walks = tl.Sequences(rng.standard_normal((design.n_sequences, length)).cumsum(axis=1))
    found = forecast.backtest(
        forecast.Persistence(),
        walks,
        HORIZON,
        n_windows=design.n_windows,
        step=1,
        scores=("mse",),
        random_state=seed,
        progress=False,
    )
    interval = found.at_step(HORIZON)["mse"]
    return bool(interval.low <= HORIZON <= interval.high)


class BacktestIntervals(Program[Design]):
    """Coverage of intervals."""

    place, paper, table, holds = "benchmarks", "accuracy", "backtest_intervals", "nothing: walks are drawn"
    title, without_data = "Intervals of backtests", True
    subject = ("backtest",)

    @classmethod
    def file(cls) -> str:
        return "backtest_intervals"

    def planned(self) -> Iterator[Design]:
        yield from (Design(n, WINDOWS) for n in SEVERAL)
        yield from (Design(1, n) for n in ONE)

    def systems(self, row: Design) -> Iterable[str]:
        return ("backtest", "forecast_baselines")

    def work(self, row: Design) -> Found:
        repetitions = 5 if self.quick else REPETITIONS
        return {"covered": sum(covers(row, seed) for seed in range(repetitions)), "repetitions": repetitions}

    def seconds(self, row: Design) -> float:
        return REPETITIONS * (0.004 + 5e-5 * row.n_windows)

    def kind(self, row: Design) -> str:
        return "a backtest"

    def said(self, found: Found) -> str:
        return f"{100 * found['covered'] / found['repetitions']:.1f} %"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows, [row.key for row in self.planned()], HORIZON)


if __name__ == "__main__":
    sys.exit(BacktestIntervals.main())
