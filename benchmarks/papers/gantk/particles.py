"""Table 6.1 of the thesis: Sinkhorn divergences after particles were moved by discriminators of several architectures.

    python -m benchmarks.papers.gantk.particles

8 Gaussians, and two shapes drawn by code in place of the thesis's pictures: 500 particles onto 500 points, RBF, ReLU,
ReLU without bias and sigmoid, IPM and LSGAN, infinitely wide and of width 128. The steps of particles are the thesis's
(η / N), their number is not: it is written beside each row. `smaller last steps`: the last third of the steps
has a tenth of the size, then a hundredth.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from statistics import mean
from typing import Any, NamedTuple

from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.gantk import settings
from benchmarks.papers.gantk.problems import NAMED_PROBLEMS
from benchmarks.papers.gantk.settings import ARCHITECTURES, LOSSES
from benchmarks.papers.results import Found, Row, Rows, having

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


class Particles(Experiment[Cell]):
    """Divergences at the end, with what the flow was."""

    paper, table, holds, without_data = "gantk", "particles", "nothing: points are drawn", True
    subject = ("gantk",)
    title = "GAN(TK)²: particles under discriminators"
    question = "the infinitely wide ReLU discriminator on 8 Gaussians, the main number of table 6.1"

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


# --- the page

PROBLEMS = ("8 Gaussians", "letters", "densities")
STANDS_FOR = {"8 Gaussians": "8 Gaussians", "letters": "AB", "densities": "Density"}
COLUMNS = ("RBF", "ReLU", "ReLU without bias", "sigmoid")
# table 6.1: problem, loss, width → RBF, ReLU, ReLU without bias, sigmoid
THESIS: dict[tuple[str, str, str], tuple[float, ...]] = {
    ("densities", "IPM", "∞"): (2.4e-3, 3.3e-9, 7.3e-2, 6.3e-3),
    ("densities", "LSGAN", "∞"): (7.5e-3, 1.5e-3, 2.8e-1, 2.2e-1),
    ("letters", "IPM", "∞"): (4.7e-3, 2.6e-9, 6.1e-3, 5.7e-3),
    ("letters", "LSGAN", "∞"): (1.1e-2, 8.6e-3, 1.0e-1, 1.4e-2),
    ("8 Gaussians", "IPM", "∞"): (2.6e-2, 9.4e-7, 9.7e-2, 8.4e-2),
    ("8 Gaussians", "LSGAN", "∞"): (4.2e-1, 7.6e-2, 1.3e1, 7.4),
    ("densities", "IPM", "128"): (math.nan, 5.0e-3, 9.3e-2, 3.1e-2),
    ("densities", "LSGAN", "128"): (math.nan, 1.5e-2, 1.6e-1, 5.9e-2),
    ("letters", "IPM", "128"): (math.nan, 2.8e-3, 3.7e-2, 1.3e-2),
    ("letters", "LSGAN", "128"): (math.nan, 1.3e-1, 2.6e-2, 8.8e-2),
    ("8 Gaussians", "IPM", "128"): (math.nan, 1.2e-1, 1.2, 7.4e-1),
    ("8 Gaussians", "LSGAN", "128"): (math.nan, 3.1, 7.5, 7.4),
}
FACTOR = 2.0  # a divergence within this factor of the thesis's, or below it, is called the same
CLAIMS = (  # worse, better, in words
    ("ReLU without bias", "ReLU", "bias-free worse than biased"),
    ("sigmoid", "RBF", "sigmoid worse than RBF"),
    ("RBF", "ReLU", "ReLU better than RBF"),
)
MAIN = {"loss": "IPM", "architecture": "ReLU", "width": "∞"}


class Order(NamedTuple):
    """One of the thesis's orders between two architectures of infinite width, with our divergences of both."""

    problem: str
    loss: str
    words: str
    worse: float
    better: float

    @property
    def holds(self) -> bool:
        return self.worse > self.better


def headline(rows: Rows) -> str:
    """ReLU on 8 Gaussians beside the thesis's number and RBF, and how many orders hold."""
    how = MAIN | {"problem": "8 Gaussians", "schedule": "one step"}
    ours, theirs = mean(finals(rows, **how)), THESIS["8 Gaussians", "IPM", "∞"][1]
    seeds = markdown.count_of(len(finals(rows, **how)), "seed")
    cheap = page.clause(
        lambda: f", where the cheap RBF kernel ends at {mean(finals(rows, **how | {'architecture': 'RBF'})):.1e}"
    )
    agrees = "agrees with" if ours <= FACTOR * theirs else "falls short of"
    orders = list_orders(rows)
    held = sum(order.holds for order in orders)
    ranking = f" Of {len(orders)} of the thesis's orders between two architectures {held} hold here." if orders else ""
    return (
        f"On 8 Gaussians an infinitely wide ReLU discriminator (IPM) brings particles to a Sinkhorn divergence of "
        f"{ours:.1e} ({seeds}; thesis: {theirs:.1e}){cheap}: this {agrees} table 6.1.{ranking}"
    )


def finals(rows: Rows, **fields: str) -> list[float]:
    """Divergences at the end, of every seed."""
    return [float(row["final"]) for row in having(rows, **fields)]


def divergences(rows: Rows, problem: str) -> str:
    """Our divergences beside the thesis's."""
    lines = [line for key in THESIS if key[0] == problem and (line := _line(rows, *key))]
    return markdown.table(["loss", "width", "steps", *COLUMNS], lines) if lines else ""


def _line(rows: Rows, problem: str, loss: str, width: str) -> list[str]:
    cells, steps = [], set[int]()
    for name, theirs in zip(COLUMNS, THESIS[problem, loss, width], strict=True):
        found = having(rows, problem=problem, loss=loss, width=width, architecture=name, schedule="one step")
        steps |= {row["steps"][-1] for row in found if not row["diverged"]}
        known = "" if math.isnan(theirs) else f" ({theirs:.1e})"
        cells.append(f"{_final_cell(found)}{known}" if found else "–")
    return [loss, width, ", ".join(map(str, sorted(steps))), *cells] if set(cells) != {"–"} else []


def _final_cell(found: list[Found]) -> str:
    values = [row["final"] for row in found if not row["diverged"]]
    diverged = len(found) - len(values)
    parts = [markdown.format_mean(values, ".1e") if values else "", f"{diverged} diverged" if diverged else ""]
    return ", ".join(filter(None, parts))


def _schedules(rows: Rows) -> dict[str, list[float]]:
    """Problem → our divergence with one step, and with smaller last steps, where there are both."""
    both = {
        problem: [finals(rows, problem=problem, schedule=name, **MAIN) for name in SCHEDULES] for problem in PROBLEMS
    }
    return {problem: [*map(mean, pair)] for problem, pair in both.items() if all(pair)}


def smaller_steps(rows: Rows) -> str:
    """Divergences of both schedules."""
    lines = [[problem, *(f"{one:.1e}" for one in pair)] for problem, pair in _schedules(rows).items()]
    return markdown.table(["problem", "step 2 throughout", "smaller last steps"], lines) if lines else ""


def beside_thesis(rows: Rows) -> str:
    """How many times the thesis's divergence one step leaves."""
    words = [
        f"{pair[0] / THESIS[problem, 'IPM', '∞'][1]:.0f} times the thesis's {STANDS_FOR[problem]} for {problem}"
        for problem, pair in _schedules(rows).items()
    ]
    if not words:
        raise page.MissingRows("both schedules")
    return " and ".join(words)


def targets(rows: Rows) -> str:
    """Whether divergences are small enough."""
    lines = []
    for problem in PROBLEMS:
        schedule, most = ("one step", 2e-6) if problem == "8 Gaussians" else ("smaller last steps", 1e-7)
        if found := finals(rows, problem=problem, schedule=schedule, **MAIN):
            met = "met" if max(found) <= most else "NOT MET"
            words = f"at most {max(found):.1e} in {markdown.count_of(len(found), 'seed')}, target {most:.0e}"
            lines.append(f"{problem}, ReLU, IPM, infinite width, {schedule}: **{met}** ({words})")
    return page.bullets(lines)


def list_orders(rows: Rows, problems: tuple[str, ...] = PROBLEMS) -> list[Order]:
    """The thesis's orders between architectures of infinite width for which both have rows."""
    orders = []
    for problem, loss in product(problems, ("IPM", "LSGAN")):
        for worse, better, words in CLAIMS:
            pair = [
                finals(rows, architecture=name, problem=problem, loss=loss, width="∞", schedule="one step")
                for name in (worse, better)
            ]
            if all(pair):
                orders.append(Order(problem, loss, words, mean(pair[0]), mean(pair[1])))
    return orders


def orders(rows: Rows) -> str:
    """Which orders hold."""
    return page.bullets(
        f"{one.problem}, {one.loss}: {one.words}: **{'holds' if one.holds else 'DOES NOT HOLD'}** "
        f"({one.worse:.1e} and {one.better:.1e})"
        for one in list_orders(rows)
    )


if __name__ == "__main__":
    sys.exit(Particles.main())
