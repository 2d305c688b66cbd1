"""Whether MMD falls at every step (proposition 4), for smooth kernels and for ReLU's.

    python -m benchmarks.papers.gantk.monotone

Under the IPM particles descend MMD², so that with a smooth kernel it falls at every step that is small enough. 8
Gaussians, 100 particles onto 100, 3 000 steps of several sizes; a rise is one beyond rounding.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.papers.gantk import monotone_report as report, problems, settings
from benchmarks.papers.results import Found, Row
from benchmarks.papers.resumable import Program

from timelike.distributions import IPM, descend, mmd

N, STEPS = 100, 3000
SHARES = (1.0, 0.1, 0.01)  # of the thesis's step
KERNELS = ("RBF", "sigmoid", "ReLU", "ReLU without bias")
ROUNDING = 64 * np.finfo(np.float64).eps  # of the largest similarity: what sums of them may be wrong by


@dataclass(frozen=True)
class Falling(Row):
    """One flow."""

    architecture: str
    share: float
    seed: int


class Monotone(Program[Falling]):
    """Rises of MMD² along the way."""

    paper, table, holds, without_data = "gantk", "monotone", "nothing: points are drawn", True
    subject = ("gantk",)
    title = "GAN(TK)²: does MMD fall at every step?"

    def planned(self) -> Iterator[Falling]:
        for seed in range(self.given.seeds):
            yield from (Falling(name, share, seed) for share in SHARES for name in KERNELS)

    def systems(self, row: Falling) -> Iterable[str]:
        return ("gantk",)

    def work(self, row: Falling) -> Found:
        n, steps = (20, 5) if self.quick else (N, STEPS)
        points = problems.eight_gaussians(n, random_state=row.seed)
        kernel = settings.thesis_kernel(row.architecture)
        step = row.share * settings.thesis_step("IPM", row.architecture)
        scores = {"mmd": lambda particles, real: mmd(particles, real, kernel)}
        flow = descend(
            points.start,
            points.real,
            IPM(kernel),
            steps=steps,
            step=step,
            record_every=1,
            scores=scores,
            progress=False,
        )
        values = flow.history["mmd"]
        largest = float(np.abs(kernel(np.concatenate([points.real, flow.particles]))).max())
        rises = np.diff(values)
        up = rises > ROUNDING * largest
        return {
            "step": step,
            "steps": steps,
            "rises": int(up.sum()),
            "first": int(np.flatnonzero(up)[0]) + 1 if up.any() else None,
            "largest": float(rises.max()),
            "rounding": ROUNDING * largest,
            "start": float(values[0]),
            "end": float(values[-1]),
        }

    def seconds(self, row: Falling) -> float:
        return STEPS * 0.005

    def said(self, found: Found) -> str:
        return f"{found['rises']} rises, MMD² {found['start']:.3g} → {found['end']:.3g}"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)


if __name__ == "__main__":
    sys.exit(Monotone.main())
