"""Residual steps of SRVP with sprites beside an MLP, a GRU, no z and no w, on two digits far beyond what was learned.

    python -m benchmarks.papers.srvp.ablations --data DIR --minutes 12

Table 4.1's ablations: every form is trained for as many minutes by the clock, on clips of 15 frames, and goes on for 95
frames (20 where bounces are random) after the 5 it sees.
"""

from __future__ import annotations

import sys

from benchmarks.papers.results import Found, Trial
from benchmarks.papers.srvp import ablations_report as report
from benchmarks.papers.srvp.clips import horizons, stochastic
from benchmarks.papers.srvp.digits import SAMPLES
from benchmarks.papers.srvp.workshop import RIVALS, FormsProgram


class Ablations(FormsProgram):
    """Two digits, both ways to bounce."""

    table, title = "ablations", "SRVP: residual steps and their rivals"
    versions, forms = report.VERSIONS, report.FORMS
    usual_minutes, after = 12.0, 150.0

    def work(self, row: Trial) -> Found:
        some = horizons(row.dataset)[:2] if self.quick else horizons(row.dataset)
        if row.method in RIVALS:
            return self.simple(row, some)
        model, took = self.trained(row)
        n_samples = 2 if self.quick else SAMPLES[stochastic(row.dataset)]
        return self.of_network(row, model, self.asked(row.dataset, some[-1]), some, n_samples) | took

    def said(self, found: Found) -> str:
        reading, scores = next(iter(found["scores"].items()))
        longest = max(scores["psnr"], key=int)
        return f"{reading}: PSNR {scores['psnr'][longest][0]:.2f} over t+1…t+{longest}"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()


if __name__ == "__main__":
    sys.exit(Ablations.main())
