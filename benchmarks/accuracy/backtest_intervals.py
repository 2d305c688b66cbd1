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
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row, Rows

import timelike as tl
from timelike import forecast
from timelike.score import wilson_interval

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


class BacktestIntervals(Experiment[Design]):
    """Coverage of intervals."""

    place, paper, table, holds = "benchmarks", "accuracy", "backtest_intervals", "nothing: walks are drawn"
    title, without_data = "Intervals of backtests", True
    question = "how often intervals of backtests hold the true error"
    subject = ("backtest",)

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


# --- the page


def headline(rows: Rows) -> str:
    """The result, in one sentence."""
    if not rows:
        raise page.MissingRows("designs")
    least, most = (end(rows.values(), key=_share) for end in (min, max))
    walks = "one walk" if least["n_sequences"] == 1 else f"{least['n_sequences']} walks"
    return (
        f"The 95 % intervals of `backtest` held the true error in {100 * _share(least):.0f} to "
        f"{100 * _share(most):.0f} % of backtests, least often with {walks} and {least['n_windows']} windows."
    )


def coverage(rows: Rows) -> str:
    """How often the error is held, the designs in the order of the plan."""
    plan = [Design(n, WINDOWS) for n in SEVERAL] + [Design(1, n) for n in ONE]
    lines = [_line(rows[design.key]) for design in plan if design.key in rows]
    return markdown.table(["walks", "windows of each", "resampled", "interval holds the true error, %"], lines)


def _share(found: Found) -> float:
    return float(found["covered"] / found["repetitions"])


def _line(found: Found) -> list[str]:
    share = wilson_interval(_share(found), found["repetitions"])
    unit = "whole walks" if found["n_sequences"] > 1 else "blocks of windows"
    shown = f"{100 * share.mean:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    return [str(found["n_sequences"]), str(found["n_windows"]), unit, shown]


if __name__ == "__main__":
    sys.exit(BacktestIntervals.main())
