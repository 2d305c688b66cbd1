"""The floor of ReLU's flow: how near particles come to their targets, by the step and the number of particles.

    python -m benchmarks.papers.gantk.floors

8 Gaussians under the IPM of an infinitely wide ReLU network. ReLU's tangent kernel has a cusp at x = y, so that a
particle that has arrived still jumps by a part of step / N: the Sinkhorn divergence falls to a floor like (step / N)².
All rows begin with the same steps of 4, which bring particles to where they belong, and go on with their own; the floor
is the mean of the last looks.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import linear_regression, mean

import numpy as np
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.gantk import problems, settings
from benchmarks.papers.results import Found, Row, Rows, having

from timelike.distributions import descend

SIZES, STEPS = (500, 200, 100), (2.0, 1.0, 4.0, 0.5)
ARRIVING, LARGEST, STAYING, LOOKS = 1500, 4.0, 1500, 10


@dataclass(frozen=True)
class Floor(Row):
    """One flow."""

    n: int
    step: float
    seed: int


class Floors(Experiment[Floor]):
    """The divergence at the end of every flow."""

    paper, table, holds, without_data = "gantk", "floors", "nothing: points are drawn", True
    subject = ("gantk",)
    title = "GAN(TK)²: the floor of ReLU's flow"
    question = "how close particles under a ReLU discriminator come to their targets"

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


# --- the page

RATIOS = (3.0, 5.0)  # what halving the step must divide the floor by: 4 in theory
POWERS = (1.8, 2.2)  # of step / N, in which the law of power 2 is said to be found


def headline(rows: Rows) -> str:
    """The law that the floors follow."""
    if not rows:
        raise page.MissingRows("floors")
    slope = fit_power(rows)
    if slope is None:
        shown = "; ".join(f"{row['floor']:.1e} for N = {row['n']}, step {row['step']:g}" for row in rows.values())
        return (
            f"The Sinkhorn divergence of particles under an infinitely wide ReLU discriminator ends at {shown}: too "
            "few rows to say how it depends on the step."
        )
    agrees = "as expected from" if POWERS[0] <= slope <= POWERS[1] else "which contradicts"
    return (
        "Particles under an infinitely wide ReLU discriminator never settle: their Sinkhorn divergence ends on a "
        f"floor proportional to (step / N)^{slope:.2f}, {agrees} the cusp of ReLU's tangent kernel, which gives the "
        "power 2. The thesis has no number for this; it explains why smaller last steps are needed."
    )


def floors(rows: Rows) -> str:
    """Floors by step and number of particles; a line for every number."""
    steps = sorted(STEPS, reverse=True)
    lines = [[str(n), *(markdown.format_mean(_floors(rows, n, step), ".1e") for step in steps)] for n in sorted(SIZES)]
    return markdown.table(["N", *(f"step {step:g}" for step in steps)], lines)


def _floors(rows: Rows, n: int, step: float) -> list[float]:
    return [row["floor"] for row in having(rows, n=n, step=step)]


def halving(rows: Rows) -> str:
    """What halving the step divides the floor by."""
    low, high = RATIOS
    lines = []
    for n in sorted(SIZES):
        for large, small in pairwise(sorted(STEPS, reverse=True)):
            before, after = (_floors(rows, n, step) for step in (large, small))
            if before and after:
                ratio = mean(before) / mean(after)
                met = "met" if low <= ratio <= high else "NOT MET"
                steps = f"N = {n}, step {large:g} → {small:g}"
                lines.append(f"{steps}: divided by {ratio:.2f}, target {low:g} to {high:g}: **{met}**")
    slope = fit_power(rows)
    if slope is not None:
        lines.append(f"over all rows the floor is proportional to (step / N) to the power {slope:.2f}; 2 is the law")
    return page.bullets(lines)


def fit_power(rows: Rows) -> float | None:
    """The power of step / N that the floor is proportional to, by least squares of logarithms."""
    shares = [math.log(row["step"] / row["n"]) for row in rows.values()]
    if len(set(shares)) < 3:
        return None
    return linear_regression(shares, [math.log(row["floor"]) for row in rows.values()]).slope


if __name__ == "__main__":
    sys.exit(Floors.main())
