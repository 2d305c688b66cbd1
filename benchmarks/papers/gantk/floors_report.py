"""The page about floors: the divergence by step and number of particles, and the law it follows."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import mean

from benchmarks.papers.markdown import format_mean, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Rows, having

SIZES, STEPS = (100, 200, 500), (4.0, 2.0, 1.0, 0.5)
RATIOS = (3.0, 5.0)  # what halving the step must divide the floor by: 4 in theory
POWERS = (1.8, 2.2)  # of step / N, in which the law of power 2 is said to be found


def headline(rows: Rows) -> str:
    """The law that the floors follow."""
    if not rows:
        return no_rows_yet(rows, "how close particles under a ReLU discriminator come to their targets")
    slope = fit_power(rows)
    if slope is None:
        shown = "; ".join(f"{row['floor']:.1e} for N = {row['n']}, step {row['step']:g}" for row in rows.values())
        return (
            f"The Sinkhorn divergence of particles under an infinitely wide ReLU discriminator ends at {shown}: too "
            "few rows to say how it depends on the step."
        )
    found = "as expected from" if POWERS[0] <= slope <= POWERS[1] else "which contradicts"
    return (
        "Particles under an infinitely wide ReLU discriminator never settle: their Sinkhorn divergence ends on a "
        f"floor proportional to (step / N)^{slope:.2f}, {found} the cusp of ReLU's tangent kernel, which gives the "
        "power 2. The thesis has no number for this; it explains why smaller last steps are needed."
    )


def body(rows: Rows) -> str:
    """Floors by step and number of particles."""
    if not rows:
        return ""
    lines = [[str(n), *(_cell(rows, n, step) for step in STEPS)] for n in SIZES]
    return "\n\n".join(
        filter(None, [table(["N", *(f"step {step:g}" for step in STEPS)], lines), ABOUT, _halving(rows)])
    )


ABOUT = """8 Gaussians, IPM, ReLU, infinite width: the Sinkhorn divergence (blur 0.001, scaling 0.95, cost ‖x − y‖²/2)
after 1 500 steps of 4 and 1 500 of the step in the column, as the mean of ten values at the end, ± over seeds.

A particle on its target feels a gradient of the same size from every side, because ReLU's tangent kernel has a cusp at
x = y. Each step therefore carries it past the target by a part of step / N, and the divergence, a square, stays at
about (step / N)²."""


def _floor(rows: Rows, n: int, step: float) -> float | None:
    found = [row["floor"] for row in having(rows, n=n, step=step)]
    return mean(found) if found else None


def _cell(rows: Rows, n: int, step: float) -> str:
    return format_mean([row["floor"] for row in having(rows, n=n, step=step)], ".1e")


def _halving(rows: Rows) -> str:
    low, high = RATIOS
    lines = []
    for n in SIZES:
        for large, small in pairwise(STEPS):
            pair = _floor(rows, n, large), _floor(rows, n, small)
            if pair[0] is not None and pair[1] is not None:
                ratio = pair[0] / pair[1]
                met = "met" if low <= ratio <= high else "NOT MET"
                lines.append(
                    f"- N = {n}, step {large:g} → {small:g}: divided by {ratio:.2f}, target {low:g} to {high:g}: "
                    f"**{met}**"
                )
    slope = fit_power(rows)
    if slope is not None:
        lines.append(f"- over all rows the floor is proportional to (step / N) to the power {slope:.2f}; 2 is the law")
    return "\n".join(["## Halving the step", "", *lines]) if lines else ""


def fit_power(rows: Rows) -> float | None:
    """The power of step / N that the floor is proportional to, by least squares of logarithms."""
    points = [(math.log(row["step"] / row["n"]), math.log(row["floor"])) for row in rows.values()]
    if len({x for x, _ in points}) < 3:
        return None
    middle = mean(x for x, _ in points), mean(y for _, y in points)
    above = sum((x - middle[0]) * (y - middle[1]) for x, y in points)
    return above / sum((x - middle[0]) ** 2 for x, _ in points)
