"""The heat equation's separable solution (eq. 5.4 of the thesis) as an exact test of the product of w and y.

    python -m benchmarks.papers.separation.heat

A cooling bar, u(p, t) = μ sin(kπp) · exp(−(kπ)²t): with one mode the solution is a function of space times one of time.
240 bars of 30 steps with k up to 3; 60 others are asked about, 5 frames seen, 25 forecast. `w explains space` is the
share of the variance of μ sin(kπp) that a linear map of w explains on the bars asked about; `y explains time` that of
the logarithm of exp(−(kπ)²t), which is −(kπ)²t, by a linear map of y along all times; both with the other way round.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from benchmarks.papers import page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

import timelike as tl
from timelike.forecast import Analog, Persistence, Ridge
from timelike.sequences import generate

N_TRAIN, N_TEST, LENGTH, SIZE, HIGHEST, PAST = 240, 60, 30, 32, 3, 5
STEPS = 1500
Halves = tuple[NDArray[Any], NDArray[Any]]
NETWORKS: dict[str, dict[str, Any]] = {
    "Separation, product": {"combine": "multiply"},
    "Separation": {},
    "Separation, without w": {"content": False},
}


def bars(seed: int) -> generate.Heat:
    """All bars; the last ones are asked about."""
    return generate.heat(N_TRAIN + N_TEST, LENGTH, size=SIZE, interval=0.002, highest=HIGHEST, random_state=seed)


def explained(inputs: Halves, targets: Halves) -> float:
    """The share of variance that a linear map explains in the second of two halves, learned on the first."""
    model = LinearRegression().fit(inputs[0], targets[0])
    left = np.square(targets[1] - model.predict(inputs[1])).sum()
    return float(1 - left / np.square(targets[1] - targets[1].mean(axis=0)).sum())


class HeatTable(Experiment[Trial]):
    """Errors against the exact solution, and what w and y know."""

    paper, table, holds, without_data = "separation", "heat", "nothing: bars are made", True
    subject = ("separation",)
    title = "Separation of variables: the heat equation"
    question = "how well Separation solves the heat equation"

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            names = ("Persistence", "Ridge", "nearest past", *NETWORKS)
            yield from (Trial("heat", name, seed) for name in names)

    def systems(self, row: Trial) -> Iterable[str]:
        return "separation" if row.method in NETWORKS else "forecast_baselines", "generators"

    def work(self, row: Trial) -> Found:
        made = bars(row.seed)
        every = np.stack(list(made.sequences)).astype(np.float32)
        train, asked = every[:N_TRAIN], every[N_TRAIN:]
        model = self._model(row).fit(train)
        truth = asked[:, PAST:]
        forecast = model.predict(asked[:, :PAST], LENGTH - PAST).mean
        error = float(np.mean(np.square(forecast - truth, dtype=np.float64)))
        found: Found = {"error": error, "relative": error / float(np.mean(np.square(truth, dtype=np.float64)))}
        if row.method in NETWORKS and model.content:
            found |= self._known(model, made, every)
        return found

    def _model(self, row: Trial) -> Any:
        if row.method in NETWORKS:
            steps = 3 if self.quick else STEPS
            return tl.Separation(**NETWORKS[row.method], max_steps=steps, random_state=row.seed, progress=False)
        kinds = {"Persistence": Persistence(), "Ridge": Ridge(lags=PAST), "nearest past": Analog(k=1, window=PAST)}
        return kinds[row.method]

    def _known(self, model: Any, made: generate.Heat, every: NDArray[np.float32]) -> Found:
        """What linear maps of w and of y, learned on the bars that the network learned from, say of the others."""
        code = model.encode(every)[:, : model.n_content]
        states = np.stack(list(model.states(every)))
        space, passed = made.space[:, 0], np.log(made.time[:, 0])
        n_times = states.shape[1]
        each = {
            "w": np.repeat(code[:, None], n_times, axis=1),
            "y": states,
            "space": np.repeat(space[:, None], n_times, axis=1),
            "time": passed[:, :n_times, None],
        }
        cut = {name: (_flat(one[:N_TRAIN]), _flat(one[N_TRAIN:])) for name, one in each.items()}
        return {f"{who} {what}": explained(cut[who], cut[what]) for who in ("w", "y") for what in ("space", "time")}

    def seconds(self, row: Trial) -> float:
        return 25.0 if row.method in NETWORKS else 1.0

    def kind(self, row: Trial) -> str:
        return "network" if row.method in NETWORKS else "simple"

    def said(self, found: Found) -> str:
        return f"{found['relative']:.3g} of the power of what came"


def _flat(rows: NDArray[Any]) -> NDArray[Any]:
    """Bars and times in one axis."""
    return np.asarray(rows.reshape(-1, rows.shape[-1]))


# --- the page

KNOWN = ("w space", "w time", "y space", "y time")


def headline(rows: Rows) -> str:
    """The error beside ridge regression, and whether w and y separate space from time."""
    error = page.average(rows, "relative", method="Separation")
    without = page.clause(lambda: f", {page.average(rows, 'relative', method='Separation, without w'):.0e} without w")
    beside = page.clause(
        lambda: f"; ridge regression, the cheap rival, has {page.average(rows, 'relative', method='Ridge'):.0e}"
    )
    return page.sentences(
        lambda: (
            f"`Separation` forecasts the heat equation with a relative squared error of {error:.0e}{without}{beside}."
        ),
        lambda: _verdict(rows),
        lambda: "The thesis states the solution (eq. 5.4) but measures nothing.",
    )


def errors(rows: Rows) -> str:
    """Errors against the exact solution, and what w and y explain."""
    columns = {
        "squared error": page.mean_cell("error", ".2e"),
        "relative to the power of the future": page.mean_cell("relative", ".2e"),
        "seeds": page.count,
    }
    return page.tabulate("method", page.group_by(rows), columns | {name: page.mean_cell(name, ".2f") for name in KNOWN})


def _verdict(rows: Rows) -> str:
    w, wrong_w, wrong_y, y = (page.average(rows, name, method="Separation, product") for name in KNOWN)
    holds, moves = (
        "explains" if right > max(wrong, 0.5) else "does NOT explain" for right, wrong in ((w, wrong_w), (y, wrong_y))
    )
    separated = "separated" if holds == moves == "explains" else "not separated"
    return (
        f"With the product of the thesis, w {holds} space better than time ({w:.2f} and {wrong_w:.2f}) and y {moves} "
        f"time better than space ({y:.2f} and {wrong_y:.2f}), so the two are {separated}."
    )


if __name__ == "__main__":
    sys.exit(HeatTable.main())
