"""The first gate: on 200 series of 12 noisy sine channels 400 steps of training halve the error of simple forecasts.

    python -m benchmarks.papers.srvp.gate

The series are those of `benchmarks.accuracy.forecast_gate`, where `Separation` has passed it: 120 series to learn from,
the last 40 asked about, 30 steps seen and 30 forecast. The chunks that a network learns from go 20 steps beyond the
past; both spans are judged apart. `SRVP` is at its defaults, and its forecast is the mean of 20 futures.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from statistics import mean
from typing import Any

import numpy as np
from benchmarks.accuracy import forecast_gate as sines
from benchmarks.papers import page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial, having

import timelike as tl
from timelike.forecast import Analog, Mean, Persistence, Ridge

SERIES, SAMPLES = "noisy sines", 20
SIMPLE = ("Persistence", "Mean", "Ridge", "Analog")
NETWORKS = ("SRVP", "Separation")


class Gate(Experiment[Trial]):
    """Squared errors of both spans."""

    paper, table, holds, without_data = "srvp", "gate", "nothing: series are drawn", True
    subject = ("srvp",)
    title = "SRVP: the first gate"
    question = "SRVP on noisy sine waves"

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            yield from (Trial(SERIES, name, seed) for name in (*SIMPLE, *NETWORKS))

    def systems(self, row: Trial) -> Iterable[str]:
        return {"SRVP": "srvp", "Separation": "separation"}.get(row.method, "forecast_baselines"), "forecast_scores"

    def work(self, row: Trial) -> Found:
        every = sines.sines(row.seed)
        train, asked = every[: sines.LEARNED], np.stack(list(every[sines.LEARNED + sines.CALIBRATED :]))
        past, truth = asked[:, : sines.PAST], asked[:, sines.PAST :]
        began, model = time.process_time(), self._model(row)
        model.fit(train)
        more: dict[str, Any] = {"n_samples": SAMPLES, "random_state": row.seed} if row.method == "SRVP" else {}
        forecast = np.asarray(model.predict(past, truth.shape[1], **more).mean)
        found: Found = {
            name: float(tl.score.mse(truth[:, span], forecast[:, span])) for name, span in sines.SPANS.items()
        }
        return found | {"processor seconds": time.process_time() - began}

    def _model(self, row: Trial) -> Any:
        if row.method in NETWORKS:
            steps = 3 if self.quick else sines.STEPS
            return getattr(tl, row.method)(max_steps=steps, progress=False, random_state=row.seed)
        kinds = {"Persistence": Persistence(), "Mean": Mean(), "Ridge": Ridge(lags=5), "Analog": Analog(window=5)}
        return kinds[row.method]

    def seconds(self, row: Trial) -> float:
        return 20.0 if row.method in NETWORKS else 1.0

    def kind(self, row: Trial) -> str:
        return row.method

    def said(self, found: Found) -> str:
        return f"squared error {found['within']:.4f} within the trained length, {found['after']:.4f} after it"


# --- the page

SPANS = {"within": "t+1…t+20", "after": "t+21…t+30"}
HALF = 0.5  # the target: of the error of the better simple forecast


def headline(rows: Rows) -> str:
    """SRVP beside the better of two simple forecasts and beside ridge regression, in both spans."""
    parts = []
    for span, title in SPANS.items():
        if ratios := _ratios(rows, "SRVP", span):
            rival = _ratios(rows, "Ridge", span)
            ridge = f"ridge regression {mean(rival):.2f}; " if rival else ""
            met = "met" if max(ratios) <= HALF else "NOT met"
            parts.append(f"{mean(ratios):.2f} over {title} ({ridge}target {met})")
    if not parts:
        raise page.MissingRows("SRVP")
    return (
        "After 400 training steps on noisy sine waves, SRVP's squared error divided by that of the better of "
        f"persistence and the training mean is {' and '.join(parts)}; the target is {HALF}. The thesis has no such "
        "experiment."
    )


def errors(rows: Rows) -> str:
    """Errors of both spans, and their ratios to the better simple forecast."""
    columns = {title: page.spread_cell(span, ".4f") for span, title in SPANS.items()}
    columns |= {f"of the better simple one, {title}": _ratio_cell(rows, span) for span, title in SPANS.items()}
    return page.tabulate(
        "method", page.group_by(rows), columns | {"processor seconds": page.spread_cell("processor seconds", ".1f")}
    )


def _ratio_cell(rows: Rows, span: str) -> page.Cell:
    return lambda found: " · ".join(f"{one:.3f}" for one in _ratios(rows, found[0]["method"], span))


def _ratios(rows: Rows, name: str, span: str) -> list[float]:
    """The error over that of the better of persistence and the mean, for every seed that has all three."""
    ratios = []
    for row in having(rows, method=name):
        simple = [
            other[span] for one in ("Persistence", "Mean") for other in having(rows, method=one, seed=row["seed"])
        ]
        if len(simple) == 2:
            ratios.append(row[span] / min(simple))
    return ratios


def target(rows: Rows) -> str:
    """Whether errors are halved."""
    lines = []
    for name in NETWORKS:
        for span, title in SPANS.items():
            if ratios := _ratios(rows, name, span):
                met = "met" if max(ratios) <= HALF else "NOT MET"
                lines.append(f"{name}, {title}: **{met}** (at most {max(ratios):.3f} in {len(ratios)} seeds)")
    return page.bullets(lines)


def ahead(rows: Rows) -> str:
    """Who else is ahead of SRVP, by means over seeds."""
    parts = []
    for span, title in SPANS.items():
        means = {name: page.average(rows, span, method=name) for name in page.names(rows)}
        better = sorted((name for name in means if means[name] < means.get("SRVP", 0)), key=means.__getitem__)
        if better:
            shown = ", ".join(f"{name} ({means[name]:.4f})" for name in better)
            parts.append(f"Over {title} SRVP ({means['SRVP']:.4f}) is behind {shown}.")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(Gate.main())
