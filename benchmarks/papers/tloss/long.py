"""One long series: forecasts by linear regression on representations and on raw values (table 3.2 of the thesis).

    python -m benchmarks.papers.tloss.long --data DIR --figures docs/images
    python -m benchmarks.papers.tloss.long --data DIR --budget 20

A household's electricity by the hour. An encoder learns from the first year (K = 10, batch 1, 400 steps, 30 channels;
80 outputs and a representation of 160: the appendix swaps them). For windows of a week and of a quarter, each a row, a
linear map predicts by how much the mean of the next period will exceed that of the window; its penalty is chosen on the
last fifth of the training windows. The thesis has minutes, days and quarters, and learns the map by gradient descent.
Errors are mean squares in units of the series' variance in the first year. The encoder is kept in the scratch folder.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.papers.canvas import blank
from benchmarks.papers.results import Found, Row
from benchmarks.papers.resumable import Program
from benchmarks.papers.tloss import long_report as report
from numpy.typing import NDArray

import timelike as tl

YEAR, DAY = 8766, 24  # hours
WINDOWS = {"week": (7 * DAY, 6), "quarter": (12 * 7 * DAY, DAY)}  # hours, and hours between two windows
PENALTIES = 10.0 ** np.arange(-2, 7)
SECONDS = {"week": 10, "quarter": 30}  # of a row, when there is an encoder
TRAINING = 700  # seconds of that
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Window(Row):
    """One size of windows."""

    window: str


class Household(Program[Window]):
    """Both kinds of input for every size of windows."""

    paper, table, holds = "tloss", "long", "household_power.npz"
    subject = ("tloss",)
    title = "One long series: a household's electricity"
    draws = True

    def planned(self) -> Iterator[Window]:
        yield from map(Window, WINDOWS)

    def seconds(self, row: Window) -> float:
        return SECONDS[row.window] + (0 if self.model.exists() else TRAINING)

    def systems(self, row: Window) -> Iterable[str]:
        return ("tloss",)

    def work(self, row: Window) -> Found:
        encoder, training = self.encoder()
        size, step = WINDOWS[row.window]
        found = compared(self.series, encoder, size, step * (20 if self.quick else 1))
        return found | {"hours": len(self.series), "training seconds": training}

    def said(self, found: Found) -> str:
        kinds = ", ".join(f"{kind} {found[kind]['error']:.3g}" for kind in ("representations", "raw"))
        return f"no change {found['no change']:.3g}, {kinds}"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows, YEAR)

    def caveats(self) -> list[str]:
        return report.caveats()

    def draw(self, folder: Path) -> None:
        if not self.model.exists():
            print(f"no figure: the encoder is not in {self.scratch}")
            return
        folder.mkdir(parents=True, exist_ok=True)
        draw(self.series, self.encoder()[0], folder / "tloss_household.svg")

    @cached_property
    def series(self) -> Floats:
        return hourly(self.data)

    @property
    def model(self) -> Path:
        return self.scratch / "household-model"

    def encoder(self) -> tuple[Any, float]:
        """The encoder of the first year and the seconds of its training, from the scratch folder if it is there."""
        noted = self.scratch / "household-seconds.txt"
        if self.model.exists() and noted.exists():
            return tl.load_model(self.model), float(noted.read_text())
        given = self.series[None, : 300 if self.quick else YEAR, None].astype(np.float32)
        began = time.perf_counter()
        encoder = untrained(2 if self.quick else 400).fit(given)
        seconds = time.perf_counter() - began
        self.scratch.mkdir(parents=True, exist_ok=True)
        noted.write_text(str(seconds))
        encoder.save(self.model)
        return encoder, seconds


def hourly(data: Path) -> Floats:
    """Active power; what is missing is drawn as a line; mean 0 and deviation 1 in the first year."""
    path = data / "household_power.npz"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: --data DIR or TIMELIKE_DATA names the folder that holds it")
    with np.load(path) as held:
        power = held["hourly"][:, 0].astype(np.float64)
    known = np.isfinite(power)
    power = np.interp(np.arange(len(power)), np.flatnonzero(known), power[known])
    return np.asarray((power - power[:YEAR].mean()) / power[:YEAR].std())


def untrained(max_steps: int) -> tl.CausalEncoder:
    """The thesis's encoder for the household."""
    return tl.CausalEncoder.preset(
        "thesis",
        n_negatives=10,
        batch_size=1,
        max_steps=max_steps,
        channels=30,
        reduced_size=80,
        n_features=160,
        standardize=False,
        random_state=0,
        progress=True,
    )


def targets(series: Floats, size: int, step: int) -> tuple[NDArray[np.int64], Floats]:
    """Where windows begin, and the mean of the period after each less its own."""
    sums = np.concatenate([[0.0], np.cumsum(series)])
    starts = np.arange(0, len(series) - 2 * size + 1, step)
    own, after = ((sums[starts + (i + 1) * size] - sums[starts + i * size]) / size for i in (0, 1))
    return starts, after - own


def regressed(inputs: Floats, wanted: Floats, train: NDArray[np.bool_], test: NDArray[np.bool_]) -> dict[str, Any]:
    """Test error of a ridge regression and the seconds for choosing, fitting and applying it."""
    began = time.perf_counter()
    rows = np.flatnonzero(train)
    cut = int(0.8 * len(rows))
    tried = [error(inputs, wanted, rows[:cut], rows[cut:], penalty) for penalty in PENALTIES]
    penalty = float(PENALTIES[int(np.argmin(tried))])
    found = error(inputs, wanted, rows, np.flatnonzero(test), penalty)
    return {"error": found, "penalty": penalty, "seconds": time.perf_counter() - began, "inputs": inputs.shape[1]}


def error(inputs: Floats, wanted: Floats, fit_on: Any, judge_on: Any, penalty: float) -> float:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=penalty).fit(inputs[fit_on], wanted[fit_on])
    return float(np.mean((model.predict(inputs[judge_on]) - wanted[judge_on]) ** 2))


def compared(series: Floats, encoder: Any, size: int, step: int) -> dict[str, Any]:
    """Both kinds of input for one size of windows; what a window predicts lies wholly in its own part."""
    starts, wanted = targets(series, size, step)
    train, test = starts + 2 * size <= YEAR, starts >= YEAR
    began = time.perf_counter()
    vectors = encoder.encode(series[None, : len(series) - size, None].astype(np.float32), windows=(size, step))
    encoding = time.perf_counter() - began
    features = vectors.values[: len(starts)].astype(np.float64)
    spread = features[train].std(0)
    features = (features - features[train].mean(0)) / np.where(spread > 0, spread, 1)
    raw = np.lib.stride_tricks.sliding_window_view(series, size)[starts]
    return {
        "windows": [int(train.sum()), int(test.sum())],
        "no change": float(np.mean(wanted[test] ** 2)),
        "encoding": encoding,
        "representations": regressed(features, wanted, train, test),
        "raw": regressed(raw, wanted, train, test),
    }


def draw(series: Floats, encoder: Any, path: Path) -> None:
    """Ten days of the second year, coloured by the cluster of the day that ends there."""
    from sklearn.cluster import KMeans

    shown = 10 * DAY
    part = series[YEAR - DAY + 1 : YEAR + 60 * DAY]
    vectors = encoder.encode(part[None, :, None].astype(np.float32), windows=(DAY, 1)).values
    of = KMeans(6, n_init=10, random_state=0).fit_predict(vectors)[:shown]
    figure, (axes,) = blank(10, 3)
    hours = np.arange(shown)
    axes.plot(hours / DAY, series[YEAR : YEAR + shown], color="k", lw=1)
    for hour, cluster in zip(hours, of, strict=True):
        axes.axvspan(hour / DAY, (hour + 1) / DAY, color=f"C{cluster}", alpha=0.3, lw=0)
    axes.set(xlabel="day", ylabel="active power", title="clusters of the last 24 hours", xlim=(0, shown / DAY))
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(Household.main())
