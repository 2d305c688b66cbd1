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
from statistics import mean

from benchmarks.accuracy import (
    forecast_gate as gate,
    forecast_methods as methods,
    forecast_peers as peers,
    forecast_series as data,
)
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, ResultFile, Row, Rows, having

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


class Forecasts(Experiment[Asked]):
    """The gate, and sensor series."""

    place, paper, table = "benchmarks", "accuracy", "forecast"
    subject = ("separation", "forecast_baselines", "forecast_intervals")
    title, holds, without_data = "Forecasts of sensor series", data.HOUSEHOLD, True
    question = "forecasts of sensor series"

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


# --- the page

SERIES = ("household, hourly", "household, daily", "sunspots, yearly")
REFERENCE = "SeasonalNaive"
LOW, HIGH = 0.75, 0.85  # of a coverage of 80 %


def headline(rows: Rows) -> str:
    """Separation's CRPS beside the seasonal naive forecast and the best method, and what its intervals cover."""
    each, covered = [], []
    for name in SERIES:
        found = page.group_by(having(rows, part="series", dataset=name))
        if {"Separation", REFERENCE} <= found.keys():
            means = {method: mean(row["crps"] for row in some) for method, some in found.items()}
            best, cheap = min(means, key=means.__getitem__), means[REFERENCE]
            lead = "the best of all" if best == "Separation" else f"best: {best}, {means[best] / cheap:.2f}"
            each.append(f"{means['Separation'] / cheap:.2f} on {name} ({lead})")
            covered.append(f"{100 * mean(row['coverage'][0] for row in found['Separation']):.0f} %")
    if not each:
        raise page.MissingRows("Separation")
    every = markdown.format_range([100 * row["coverage"][0] for row in having(rows, part="series")], ".0f")
    return (
        "`Separation` at its defaults has a CRPS, divided by that of the seasonal naive forecast (the cheap rival), "
        f"of {markdown.join_words(each)}. Its intervals of 80 % cover {markdown.join_words(covered)} in that order; "
        f"those of all methods cover {every} %."
    )


def scores(rows: Rows, name: str) -> str:
    """Every method on a series, the best CRPS first."""
    found = page.need(rows, part="series", dataset=name)
    reference = next((row["crps"] for row in found if row["method"] == REFERENCE), None)
    ordered = sorted(page.group_by(found).items(), key=lambda group: mean(row["crps"] for row in group[1]))
    columns: dict[str, page.Cell] = {
        "CRPS": page.spread_cell("crps", ".4g"),
        "of seasonal naive's": lambda some: f"{mean(row['crps'] for row in some) / reference:.3f}" if reference else "",
        "MSE": lambda some: _number([row["mse"] for row in some], ".4g"),
        "MASE": lambda some: _number([row["mase"] for row in some], ".3f"),
        "coverage": lambda some: f"{100 * mean(row['coverage'][0] for row in some):.1f} %",
        "width": lambda some: f"{mean(row['width'][0] for row in some):.4g}",
        "processor seconds of training": page.mean_cell("training seconds", ".1f"),
    }
    return page.tabulate("method", {_shown(*group): group[1] for group in ordered}, columns)


def _shown(method: str, found: list[Found]) -> str:
    several = f" ({len(found)} seeds)" if len(found) > 1 else ""
    return (f"**{method}**" if method.startswith("Separation") else method) + several


def _number(values: list[list[float]], form: str) -> str:
    """A mean with its interval; of several seeds the mean of means and their deviation."""
    if len(values) > 1:
        return markdown.format_mean([value[0] for value in values], form)
    (only,) = values
    return f"{only[0]:{form}}" + (f" [{only[1]:{form}}, {only[2]:{form}}]" if len(only) == 3 else "")


def windows(rows: Rows, name: str) -> str:
    """How many windows there are, and what intervals of peers cover by themselves."""
    found = page.need(rows, part="series", dataset=name)
    counts = " and ".join(map(str, sorted({row["n_windows"] for row in found})))
    own = [
        f" {row['method']}'s own intervals cover {100 * row['own coverage']:.1f} %."
        for row in found
        if "own coverage" in row
    ]
    return f"{counts} windows; the best CRPS first.{''.join(own)}"


def gate_errors(rows: Rows) -> str:
    """Errors on noisy sine waves, within the trained length and after it."""
    found = page.need(rows, part="gate")
    lines = []
    for row in found:
        for span, title in {"within": "t+1…t+20", "after": "t+21…t+30"}.items():
            one = row[span]
            errors = [f"{error:.4f}" for error in (one["mse"], *one["simple"].values(), one["ratio"])]
            lines.append([str(row["seed"]), title, *errors, f"{100 * one['coverage']:.1f} %"])
    head = ["seed", "steps", "Separation", *found[0]["within"]["simple"], "ratio", "coverage"]
    return markdown.table(head, lines)


def gate_verdict(rows: Rows) -> str:
    """Whether the gate is passed within the trained length, and after it."""
    found = page.need(rows, part="gate")
    within, after = (
        "met" if all(r[span]["ratio"] <= 0.5 and 0.7 <= r[span]["coverage"] <= 0.9 for r in found) else "NOT MET"
        for span in ("within", "after")
    )
    return f"**{within}** in {markdown.count_of(len(found), 'seed')}, after it **{after}**"


def targets(rows: Rows) -> str:
    """Whether Separation is ahead of the seasonal naive forecast and its intervals cover what they should."""
    lines = []
    for name in SERIES:
        found = page.group_by(having(rows, part="series", dataset=name))
        for method in found:
            if "Separation" in method and REFERENCE in found:
                below = all(row["crps"] < found[REFERENCE][0]["crps"] for row in found[method])
                covered = all(LOW <= row["coverage"][0] <= HIGH for row in found[method])
                lines.append([name, method, *("met" if met else "NOT MET" for met in (below, covered))])
    head = ["series", "method", "CRPS below seasonal naive's", "coverage 75–85 %"]
    return markdown.table(head, lines) if lines else ""


if __name__ == "__main__":
    sys.exit(Forecasts.main())
