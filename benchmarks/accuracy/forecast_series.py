"""Sensor series, cut in time: learned from, calibrated on, asked about. This was fixed before scores were seen."""

from __future__ import annotations

import csv
import importlib.util
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import timelike as tl

HOUSEHOLD = "household_power.npz"
SHARES = (0.6, 0.2)  # learned from and calibrated on; the rest is asked about
FROM = np.datetime64("2006-12-16T18")  # the first hour of the household; its days begin on that day
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """How a series is forecast: steps ahead, the period of `SeasonalNaive`, a longer one, and steps between origins.

    `lookback` is what methods that are given a longer past see.
    """

    horizon: int
    period: int
    longer: int | None
    step: int
    lookback: int


PLANS = {
    # origins 25 hours apart begin at every hour of the day
    "household, hourly": Plan(24, 24, 168, 25, 168),
    "household, daily": Plan(7, 7, None, 1, 28),
    "sunspots, yearly": Plan(11, 11, None, 1, 22),
}


@dataclass(frozen=True)
class Series:
    """One channel, its times, and calendar channels that are known in advance, (time, channel)."""

    values: Floats
    times: NDArray[np.datetime64]
    calendar: Floats

    @cached_property
    def cuts(self) -> tuple[int, int]:
        """Where calibration begins, and where what is asked about does."""
        first = int(SHARES[0] * len(self.values))
        return first, first + int(SHARES[1] * len(self.values))

    def part(self, begin: int, end: int, *, calendar: bool) -> tl.Sequences:
        """A stretch as one sequence, with calendar channels after the series where asked for."""
        columns = [self.values[begin:end, None]] + ([self.calendar[begin:end]] if calendar else [])
        return tl.Sequences([np.hstack(columns)], times=[self.times[begin:end]])

    def training(self, *, calendar: bool = False) -> tl.Sequences:
        return self.part(0, self.cuts[0], calendar=calendar)

    def calibration(self, need: int, *, calendar: bool = False) -> tl.Sequences:
        """What comes after the training, with just the past that its first window needs: none ends in the training."""
        return self.part(self.cuts[0] - need, self.cuts[1], calendar=calendar)

    def asked(self, context: int, *, calendar: bool = False) -> tl.Sequences:
        """What is asked about, after so much of what came before."""
        return self.part(max(0, self.cuts[1] - context), len(self.values), calendar=calendar)

    def n_windows(self, plan: Plan) -> int:
        """How many origins lie in what is asked about, the last of which leaves just the horizon."""
        return (len(self.values) - self.cuts[1] - plan.horizon) // plan.step + 1


def series(name: str, data: Path) -> Series:
    """By its name."""
    if name == "sunspots, yearly":
        years, values = sunspots(_sunspots())
        times = np.array([str(year) for year in years], "datetime64[Y]").astype("datetime64[h]")
        return Series(values, times, np.zeros((len(values), 0)))
    path = data / HOUSEHOLD
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: --data DIR or TIMELIKE_DATA names the folder that holds it")
    hourly = name.endswith("hourly")
    with np.load(path) as held:
        values = filled(held["hourly" if hourly else "daily"][:, 0].astype(np.float64))  # global active power
    times = FROM + np.arange(len(values)) * np.timedelta64(1 if hourly else 24, "h")
    return Series(values, times, calendar(times, ("day", "week") if hourly else ("week", "year")))


def lacks(name: str, data: Path | None) -> str:
    """Why a series is not to be had."""
    if name == "sunspots, yearly":
        return "" if _sunspots().exists() else "statsmodels is not installed: pip install --no-deps statsmodels"
    if data is None:
        return "--data DIR or TIMELIKE_DATA does not name a folder"
    return "" if (data / HOUSEHOLD).exists() else f"{data / HOUSEHOLD} is missing"


def filled(values: Floats) -> Floats:
    """With the last value that is known where one is missing; nothing is taken from later.

    >>> filled(np.array([1.0, np.nan, np.nan, 4.0])).tolist()
    [1.0, 1.0, 1.0, 4.0]
    """
    known = np.maximum.accumulate(np.where(np.isnan(values), 0, np.arange(len(values))))
    return np.asarray(values[known])


def calendar(times: NDArray[np.datetime64], cycles: tuple[str, ...]) -> Floats:
    """Sine and cosine of where a time is in its day, its week and its year."""
    hours = (times - np.datetime64("2001-01-01T00")).astype("timedelta64[h]").astype(float)  # a Monday
    lengths = {"day": 24.0, "week": 168.0, "year": 8766.0}
    angles = [2 * np.pi * hours / lengths[cycle] for cycle in cycles]
    return np.stack([turn(angle) for angle in angles for turn in (np.sin, np.cos)], axis=1)


def _sunspots() -> Path:
    """The file in the wheel of statsmodels, whose code is not imported."""
    found = importlib.util.find_spec("statsmodels")
    places = [] if found is None else list(found.submodule_search_locations or [])
    return Path(places[0] if places else "statsmodels") / "datasets" / "sunspots" / "sunspots.csv"


def sunspots(path: Path) -> tuple[list[int], Floats]:
    """Years, and sunspot numbers of each."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [int(float(row["YEAR"])) for row in rows], np.array([float(row["SUNACTIVITY"]) for row in rows])
