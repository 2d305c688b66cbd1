"""Frame rates that were not trained: SRVP's steps divided at test, and frames between those of the training.

    python -m benchmarks.papers.srvp.rates --data DIR --minutes 12

Tables B.1 to B.3's shape, on digits, with sprites: a network is trained with Δt = 1 or 1/2, and asked with Δt = 1, 1/2,
1/3, 1/4 and 1/5 for the frames at whole steps. With Δt = 1/2 it also draws frames at half steps, which are compared
with where the digits truly were then, beside the mean of the two forecast frames around each.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.srvp import methods, rates_report as report
from benchmarks.papers.srvp.clips import MIDDLE, Clips
from benchmarks.papers.srvp.judging import judged
from benchmarks.papers.srvp.workshop import RIVALS, FormsProgram

HORIZONS = (10, MIDDLE)


class Rates(FormsProgram):
    """One and two digits with mirror-like bounces."""

    table, title = "rates", "SRVP: frame rates that were not trained"
    versions, forms = report.VERSIONS, report.TRAINED
    usual_minutes, after = 12.0, 100.0

    def work(self, row: Trial) -> Found:
        whole = self.asked(row.dataset, MIDDLE)
        halves = self.asked(row.dataset, MIDDLE, frames_per_step=2)
        if row.method in RIVALS:
            return self._simple(row, halves)
        model, took = self.trained(row)
        at = {str(parts): self._divided(row, model, whole, parts) for parts in report.PARTS}
        return {"tested": at, "between": self._between(row, model, halves)} | took

    def _simple(self, row: Trial, halves: Clips) -> Found:
        """What learns nothing, at whole and at half steps."""
        futures = self.continued(row, halves, MIDDLE)[None]
        scores = [judged(lambda rows: futures[:, rows], halves.truth[:, start::2], HORIZONS) for start in (1, 0)]
        return {
            "tested": {"1": scores[0]["scores"]["forecast"]},
            "between": {"forecast": scores[1]["scores"]["forecast"]},
        }

    def _divided(self, row: Trial, model: Any, test: Clips, parts: int) -> Found:
        """Scores at whole steps, each taken in so many parts."""

        def draw(rows: slice) -> Any:
            return methods.futures(model, test.past[rows], MIDDLE, 1, row.seed, substeps=parts)

        found: Found = judged(draw, test.truth, HORIZONS)["scores"]["forecast"]
        return found

    def _between(self, row: Trial, model: Any, test: Clips) -> Found:
        """Scores at half steps: of frames that are drawn there, and of the mean of the forecast frames around them."""

        def draw(rows: slice) -> Any:
            how = {"substeps": 2, "frames_per_step": 2}
            return methods.futures(model, test.past[rows], MIDDLE, 1, row.seed, **how)[:, :, 0::2]

        def faded(rows: slice) -> Any:
            ahead = methods.futures(model, test.past[rows], MIDDLE, 1, row.seed)
            before = np.concatenate([test.past[None, rows, -1:], ahead[:, :, :-1]], axis=2)
            return (before + ahead) / 2

        drawn = {"drawn at half steps": draw, "mean of both neighbours": faded}
        return {name: judged(one, test.truth[:, 0::2], HORIZONS)["scores"]["forecast"] for name, one in drawn.items()}

    def said(self, found: Found) -> str:
        return ", ".join(f"1/{parts}: {one['psnr']['20'][0]:.2f} dB" for parts, one in found["tested"].items())

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()


if __name__ == "__main__":
    sys.exit(Rates.main())
