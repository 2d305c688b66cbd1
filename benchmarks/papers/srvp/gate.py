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
from typing import Any

import numpy as np
from benchmarks.accuracy import forecast_gate as sines
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program
from benchmarks.papers.srvp import gate_report as report

import timelike as tl
from timelike.forecast import Analog, Mean, Persistence, Ridge

SERIES, SAMPLES = "noisy sines", 20
SIMPLE = ("Persistence", "Mean", "Ridge", "Analog")
NETWORKS = ("SRVP", "Separation")


class Gate(Program[Trial]):
    """Squared errors of both spans."""

    paper, table, holds, without_data = "srvp", "gate", "nothing: series are drawn", True
    subject = ("srvp",)
    title = "SRVP: the first gate"

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

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)


if __name__ == "__main__":
    sys.exit(Gate.main())
