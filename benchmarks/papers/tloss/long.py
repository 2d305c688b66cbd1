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
from benchmarks.papers import markdown, page
from benchmarks.papers.canvas import blank
from benchmarks.papers.clock import duration
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row, Rows
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


class Household(Experiment[Window]):
    """Both kinds of input for every size of windows."""

    paper, table, holds = "tloss", "long", "household_power.npz"
    subject = ("tloss",)
    title = "One long series: a household's electricity"
    question = "forecasts of a household's electricity from representations"
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
        trainer=tl.Trainer(batch_size=1),
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


# --- the page

THESIS = {"day": ("8.92e-2", "8.92e-2", "12 s", "3 min"), "quarter": ("7.26e-2", "6.26e-2", "9 s", "1 h 40 min")}
CLOSE = 20.0  # percent: the thesis's quarter is 16 % worse, which it calls slight


def headline(rows: Rows) -> str:
    """Representations beside raw values and no change, in error and in time."""
    if not rows:
        raise page.MissingRows("windows")
    each, worse, slower = [], [], []
    for name, row in rows.items():
        ours, raw = row["representations"], row["raw"]
        each.append(
            f"{ours['error']:.3g} for windows of a {name} (raw values {raw['error']:.3g}, no change "
            f"{row['no change']:.3g})"
        )
        worse.append(_percent_above(ours["error"], raw["error"]))
        slower.append((row["encoding"] + ours["seconds"]) / raw["seconds"])
    near = "agrees with" if max(worse) <= CLOSE else "contradicts"
    speed = "contradicts" if min(slower) > 1 else "agrees with"
    return (
        f"Linear regression on representations has an error of {markdown.join_words(each)}. It is "
        f'{markdown.format_range(worse, ".0f")} % worse than raw values, which {near} the thesis\'s "only slightly", '
        "and with "
        f"the encoding it takes {markdown.format_range(slower)} times as long, which {speed} the thesis, where it is "
        "far faster."
    )


def errors(rows: Rows) -> str:
    """Errors and times, row by row."""
    head = ["windows", "test windows", "no change", "error, representations", "error, raw values"]
    head += ["regression, representations", "regression, raw", "encoding"]
    return markdown.table(head, [_line(name, row) for name, row in rows.items()])


def _line(name: str, row: Found) -> list[str]:
    ours, raw = row["representations"], row["raw"]
    errors = [f"{value:.3g}" for value in (row["no change"], ours["error"], raw["error"])]
    times = [f"{ours['seconds']:.2g} s", f"{raw['seconds']:.2g} s", duration(row["encoding"])]
    return [name, str(row["windows"][1]), *errors, *times]


def verdicts(rows: Rows) -> str:
    """What the figures of every row say."""
    return page.bullets(verdict(name, row) for name, row in rows.items())


def verdict(name: str, row: Found) -> str:
    """What the figures of a row say, in words."""
    ours, raw = row["representations"], row["raw"]
    nothing, other = (_percent_above(ours["error"], error) for error in (row["no change"], raw["error"]))
    first = "**lose to predicting no change**" if nothing > 0 else "are ahead of predicting no change"
    second = ("and to" if nothing > 0 else "and lose to") if other > 0 else "and are ahead of"
    return (
        f"{name}: representations {first}, {ours['error']:.3g} against {row['no change']:.3g} ({nothing:+.0f} %), "
        f"{second} raw values, {raw['error']:.3g} ({other:+.0f} %). With the encoding they take "
        f"{row['encoding'] + ours['seconds']:.2g} s, raw values {raw['seconds']:.2g} s."
    )


def _percent_above(error: float, other: float) -> float:
    return 100 * (error / other - 1)


def n_hours(rows: Rows) -> str:
    """The length of the series."""
    return str(next(iter(rows.values()))["hours"])


def training_time(rows: Rows) -> str:
    """How long the encoder learned."""
    return duration(next(iter(rows.values()))["training seconds"])


def thesis(rows: Rows) -> str:
    """Table 3.2."""
    head = ["windows", "error, representations", "error, raw values", "time, representations", "time, raw"]
    return markdown.table(head, [[name, *cells] for name, cells in THESIS.items()])


if __name__ == "__main__":
    sys.exit(Household.main())
