"""The floor of ReLU's flow: how near particles come to their targets, by the step and the number of particles.

    python -m benchmarks.papers.gantk.floors

8 Gaussians under the IPM of an infinitely wide ReLU network. ReLU's tangent kernel has a cusp at x = y, so that a
particle that has arrived still jumps by a part of step / N: the Sinkhorn divergence falls to a floor like (step / N)².
All rows begin with the same steps of 4, which bring particles to where they belong, and go on with their own; the floor
is the mean of the last looks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.papers.gantk import floors_report as report, problems, settings
from benchmarks.papers.results import Found, Row
from benchmarks.papers.resumable import Program

from timelike.distributions import descend

SIZES, STEPS = (500, 200, 100), (2.0, 1.0, 4.0, 0.5)
ARRIVING, LARGEST, STAYING, LOOKS = 1500, 4.0, 1500, 10


@dataclass(frozen=True)
class Floor(Row):
    """One flow."""

    n: int
    step: float
    seed: int


class Floors(Program[Floor]):
    """The divergence at the end of every flow."""

    paper, table, holds, without_data = "gantk", "floors", "nothing: points are drawn", True
    subject = ("gantk",)
    title = "GAN(TK)²: the floor of ReLU's flow"

    def planned(self) -> Iterator[Floor]:
        for seed in range(self.given.seeds):
            yield from (Floor(n, step, seed) for n in SIZES for step in STEPS)

    def systems(self, row: Floor) -> Iterable[str]:
        return ("gantk",)

    def work(self, row: Floor) -> Found:
        n, arriving, staying = (20, 4, 4) if self.quick else (row.n, ARRIVING, STAYING)
        points = problems.eight_gaussians(n, random_state=row.seed)
        share = row.step / LARGEST
        flow = descend(
            points.start,
            points.real,
            settings.thesis_discriminator("IPM", "ReLU"),
            steps=arriving + staying,
            step=LARGEST,
            schedule=lambda done: 1.0 if done < arriving else share,
            record_every=max(staying // (2 * LOOKS), 1),
            scores=("sinkhorn",),
            progress=False,
        )
        steps, values = flow.history.steps("sinkhorn"), flow.history["sinkhorn"]
        last = values[-LOOKS:]
        return {
            "floor": float(np.mean(last)),
            "lowest": float(last.min()),
            "highest": float(last.max()),
            "before": float(values[steps <= arriving][-1]),
            "steps": int(flow.n_steps),
        }

    def seconds(self, row: Floor) -> float:
        return (ARRIVING + STAYING) * 0.015 * (row.n / 500) ** 2 + 4 * LOOKS * 0.3

    def kind(self, row: Floor) -> str:
        return str(row.n)

    def said(self, found: Found) -> str:
        return f"floor {found['floor']:.3g}"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)


if __name__ == "__main__":
    sys.exit(Floors.main())
