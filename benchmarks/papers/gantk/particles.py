"""Table 6.1 of the thesis: Sinkhorn divergences after particles were moved by discriminators of several architectures.

    python -m benchmarks.papers.gantk.particles

8 Gaussians, and two shapes drawn by code in place of the thesis's pictures: 500 particles onto 500 points, RBF, ReLU,
ReLU without bias and sigmoid, IPM and LSGAN, infinitely wide and of width 128. The steps of particles are the thesis's
(η / N), their number is not: it is written beside each row. `smaller last steps`: the last third of the steps
has a tenth of the size, then a hundredth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.papers.gantk import particles_report as report, settings
from benchmarks.papers.gantk.problems import NAMED_PROBLEMS
from benchmarks.papers.gantk.settings import ARCHITECTURES, LOSSES
from benchmarks.papers.results import Found, Row
from benchmarks.papers.resumable import Program

from timelike.distributions import FlowDiverged, descend, sinkhorn_divergence

N, WIDTH = 500, 128
STEPS = {("IPM", "∞"): 3000, ("LSGAN", "∞"): 1000, ("IPM", "128"): 1000, ("LSGAN", "128"): 1000}
SCHEDULES = {"one step": None, "smaller last steps": (1.0, 1.0, 1.0, 1.0, 0.1, 0.01)}


@dataclass(frozen=True)
class Cell(Row):
    """One flow."""

    problem: str
    loss: str
    architecture: str
    width: str
    schedule: str
    seed: int


class Particles(Program[Cell]):
    """Divergences at the end, with what the flow was."""

    paper, table, holds, without_data = "gantk", "particles", "nothing: points are drawn", True
    subject = ("gantk",)
    title = "GAN(TK)²: particles under discriminators"

    def planned(self) -> Iterator[Cell]:
        seeds, infinite = range(self.given.seeds), "∞"
        for seed in seeds:
            yield from (Cell(problem, "IPM", "ReLU", infinite, "one step", seed) for problem in NAMED_PROBLEMS)
            shapes = [problem for problem in NAMED_PROBLEMS if problem != "8 Gaussians"]
            yield from (Cell(problem, "IPM", "ReLU", infinite, "smaller last steps", seed) for problem in shapes)
            others = [name for name in ARCHITECTURES if name != "ReLU"]
            yield from (
                Cell(problem, "IPM", name, infinite, "one step", seed) for problem in NAMED_PROBLEMS for name in others
            )
            for problem in NAMED_PROBLEMS:
                yield from (Cell(problem, "LSGAN", name, infinite, "one step", seed) for name in ARCHITECTURES)
            for problem in NAMED_PROBLEMS:
                networks = [(loss, name) for loss in LOSSES for name in ARCHITECTURES if name != "RBF"]
                yield from (Cell(problem, loss, name, str(WIDTH), "one step", seed) for loss, name in networks)

    def systems(self, row: Cell) -> Iterable[str]:
        return ("gantk",)

    def work(self, row: Cell) -> Found:
        n, steps = (30, 5) if self.quick else (N, STEPS[row.loss, row.width])
        width = None if row.width == "∞" else 8 if self.quick else int(row.width)
        points = NAMED_PROBLEMS[row.problem](n, random_state=row.seed)
        against = settings.thesis_discriminator(row.loss, row.architecture, width=width, random_state=row.seed)
        step = settings.thesis_step(row.loss, row.architecture, width=width)
        how: dict[str, Any] = {
            "step": step,
            "steps": steps,
            "schedule": None if self.quick else SCHEDULES[row.schedule],
        }
        diverged = 0
        try:
            flow = descend(points.start, points.real, against, record_every=max(steps // 10, 1), progress=False, **how)
        except FlowDiverged as error:
            flow, diverged = error.flow, error.step
        found: Found = {name: flow.history[name].tolist() for name in flow.score_names}
        found |= {"steps": flow.frame_steps.tolist(), "step": step, "n": n, "diverged": diverged}
        found["start"] = sinkhorn_divergence(points.start, points.real, blur=1e-3, scaling=0.95)
        return found | {"final": found["sinkhorn"][-1]}

    def seconds(self, row: Cell) -> float:
        each = {("IPM", "∞"): 0.02, ("LSGAN", "∞"): 0.06}.get((row.loss, row.width), 0.03)
        return STEPS[row.loss, row.width] * (each / 2 if row.architecture == "RBF" else each)

    def kind(self, row: Cell) -> str:
        return f"{row.loss}, {row.width}, {row.architecture == 'RBF'}"

    def said(self, found: Found) -> str:
        gone = f", diverged at step {found['diverged']}" if found["diverged"] else ""
        return f"Sinkhorn divergence {found['start']:.3g} → {found['final']:.3g}{gone}"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats()


if __name__ == "__main__":
    sys.exit(Particles.main())
