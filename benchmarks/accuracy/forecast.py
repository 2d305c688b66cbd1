"""Forecasts of sensor series: every method at its defaults, calibrated on one stretch of time and judged on the next.

    python -m benchmarks.accuracy.forecast --data DIR
    python -m benchmarks.accuracy.forecast --data DIR --only gate --only "sunspots, yearly" --budget 5
    python -m benchmarks.accuracy.forecast --data DIR --statsforecast /elsewhere/bin/python

- `gate/noisy sines/Separation/<seed>`: 12 channels, 200 series, 400 steps of training (`forecast_gate`).
- `series/<series>/<method>/<seed>`: a household's electricity by the hour and by the day, and yearly sunspots; the
  first 60 % are learned from, the next 20 % calibrated on, the last 20 % asked about (`forecast_series` has the rules,
  which were fixed before any score was seen; `forecast_methods` the methods, `forecast_dlinear` a DLinear of ours that
  is given the seconds that `Separation` took).
- the same with AutoETS, AutoTheta and AutoARIMA of statsforecast (`forecast_peers`), installed here or where the
  Python is that `--statsforecast` names.

Sunspots are read out of the wheel of statsmodels (`pip install --no-deps statsmodels`), whose code is not imported.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.accuracy import (
    forecast_gate as gate,
    forecast_methods as methods,
    forecast_peers as peers,
    forecast_report as report,
    forecast_series as data,
)
from benchmarks.papers.results import Found, ResultFile, Row, having
from benchmarks.papers.resumable import Program

QUICK = 3  # steps of a training that only shows that a program runs
ORDER = ("household, daily", "sunspots, yearly", "household, hourly")  # the cheapest first
SECONDS = {"Separation": 60.0, methods.LONG: 120.0, "DLinear": 60.0, "AutoARIMA": 120.0}


@dataclass(frozen=True)
class Asked(Row):
    """A part of the page, a series, a method and a seed."""

    part: str
    dataset: str
    method: str
    seed: int


class Forecasts(Program[Asked]):
    """The gate, and sensor series."""

    place, paper, table = "benchmarks", "accuracy", "forecast"
    subject = ("separation", "forecast_baselines", "forecast_intervals")
    title, holds, without_data = "Forecasts of sensor series", data.HOUSEHOLD, True

    @classmethod
    def file(cls) -> str:
        return "forecast"

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        known = os.environ.get("TIMELIKE_STATSFORECAST", peers.here())
        parser.add_argument(
            "--statsforecast", type=Path, default=known, metavar="PYTHON", help="of an environment with statsforecast"
        )

    def planned(self) -> Iterator[Asked]:
        """The gate, then ours, then peers; networks of other seeds last."""
        yield from (Asked("gate", "noisy sines", "Separation", seed) for seed in range(self.given.seeds))
        for name in ORDER:
            some = methods.named(data.PLANS[name], calendar=name != "sunspots, yearly")
            yield from (Asked("series", name, method, 0) for method in some)
        yield from (Asked("series", name, method, 0) for method in peers.PEERS for name in ORDER)
        for seed in range(1, self.given.seeds):
            yield from (Asked("series", name, "Separation", seed) for name in ORDER)

    def needs(self, row: Asked) -> Iterator[Asked]:
        """DLinear is given the seconds of Separation."""
        if row.method == "DLinear":
            yield Asked("series", row.dataset, "Separation", row.seed)

    def systems(self, row: Asked) -> Iterable[str]:
        if row.method in peers.PEERS:
            return ("forecast_scores",)
        shared = ("forecast_intervals", "forecast_scores")
        if row.part == "gate":
            return "separation", "forecast_baselines", *shared
        if row.method == "DLinear":  # a network of this program
            return shared
        return "separation" if row.method.startswith("Separation") else "forecast_baselines", *shared

    def work(self, row: Asked) -> Found:
        if row.part == "gate":
            return gate.judged(row.seed, QUICK if self.quick else gate.STEPS)
        series, plan = data.series(row.dataset, self.data), data.PLANS[row.dataset]
        if row.method in peers.PEERS:
            assert self.peer is not None
            return peers.judged(row.method, series, plan, self.peer)
        steps = QUICK if self.quick else None
        return methods.judged(row.method, series, plan, row.seed, steps, self._budget(row))

    def _budget(self, row: Asked) -> float:
        """Seconds of DLinear: those that the training of Separation took here, in another process maybe."""
        rows = ResultFile(self.given.results).rows
        found = having(rows, part="series", dataset=row.dataset, method="Separation", seed=row.seed)
        return float(found[0]["training seconds"]) if found else 60.0

    @property
    def peer(self) -> Path | None:
        return None if self.given.statsforecast is None else Path(self.given.statsforecast)

    def lacks(self, row: Asked) -> str:
        if row.part == "gate":
            return ""
        if row.method in peers.PEERS and (why := peers.lacks(self.peer)):
            return why
        return data.lacks(row.dataset, None if self.given.data is None else self.data)

    def seconds(self, row: Asked) -> float:
        if row.part == "gate":
            return 15.0
        return SECONDS.get(row.method, SECONDS["Separation"] if row.method.startswith("Separation") else 5.0)

    def limited_by_time(self, row: Asked) -> str:
        return "DLinear is trained for as many seconds as Separation took" if row.method == "DLinear" else ""

    def kind(self, row: Asked) -> str:
        return row.part if row.method.startswith("Separation") else row.method

    def said(self, found: Found) -> str:
        if found["part"] == "gate":
            return ", ".join(f"{span} {found[span]['ratio']:.2f} of the better simple forecast" for span in gate.SPANS)
        return f"CRPS {found['crps']:.4g}, MSE {found['mse'][0]:.4g}, covers {found['coverage'][0]:.1%}"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()


if __name__ == "__main__":
    sys.exit(Forecasts.main())
