"""How often the 95 % intervals of `forecast.backtest` hold an error that is known.

    python -m benchmarks.accuracy.backtest_intervals

Random walks with steps of deviation 1, forecast by `Persistence`: the expected squared error h steps ahead is h. A row
is a design, several walks of 20 windows or one walk of many, and counts in how many of 1 000 backtests the interval of
the squared error 10 steps ahead holds 10. No data are needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Row, having, told
from benchmarks.papers.resumable import Program

import timelike as tl
from timelike import forecast
from timelike.score import wilson

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
    interval = found.at(HORIZON)["mse"]
    return bool(interval.low <= HORIZON <= interval.high)


class BacktestIntervals(Program[Design]):
    """Coverage of intervals."""

    place, paper, table, holds = "benchmarks", "accuracy", "backtest_intervals", "nothing: walks are drawn"
    title, without_data = "Intervals of backtests", True

    @classmethod
    def file(cls) -> str:
        return "backtest_intervals"

    def planned(self) -> Iterator[Design]:
        yield from (Design(n, WINDOWS) for n in SEVERAL)
        yield from (Design(1, n) for n in ONE)

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
        """The result, in one sentence."""
        if not self.rows:
            return "No row is finished yet."
        ordered = sorted(self.rows.values(), key=lambda row: row["covered"] / row["repetitions"])
        least, most = (100 * row["covered"] / row["repetitions"] for row in (ordered[0], ordered[-1]))
        walks = "one walk" if ordered[0]["n_sequences"] == 1 else f"{ordered[0]['n_sequences']} walks"
        return (
            f"The 95 % intervals of `backtest` held the true error in {least:.0f} to {most:.0f} % of backtests, least "
            f"often with {walks} and {ordered[0]['n_windows']} windows."
        )

    def body(self) -> str:
        if not self.rows:
            return "No row is finished yet."
        lines = [_line(found) for row in self.planned() for found in having(self.rows, **vars(row))]
        return f"""\
{table(["walks", "windows of each", "drawn anew", "interval holds the true error, %"], lines)}

Random walks, forecast by `Persistence`: the expected squared error {HORIZON} steps ahead is {HORIZON}. Shares of
backtests whose 95 % interval holds it, with Wilson's intervals of the shares. Windows begin one step apart, so that
neighbours share most of their future. {told(self.rows)}"""


def _line(found: Found) -> list[str]:
    share = wilson(found["covered"] / found["repetitions"], found["repetitions"])
    unit = "whole walks" if found["n_sequences"] > 1 else "blocks of windows"
    shown = f"{100 * share.mean:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    return [str(found["n_sequences"]), str(found["n_windows"]), unit, shown]


if __name__ == "__main__":
    sys.exit(BacktestIntervals.main())
