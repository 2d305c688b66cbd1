"""The page about floors: by step and number of particles, what halving the step divides them by, and the law."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import mean

from benchmarks.papers.markdown import spread, table
from benchmarks.papers.results import Rows, having, told

SIZES, STEPS = (100, 200, 500), (4.0, 2.0, 1.0, 0.5)


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    lines = [[str(n), *(_cell(rows, n, step) for step in STEPS)] for n in SIZES]
    return "\n\n".join(
        filter(None, [_about(rows), table(["N", *(f"step {step:g}" for step in STEPS)], lines), _law(rows)])
    )


def _about(rows: Rows) -> str:
    return f"""{told(rows)} The machine was shared.

8 Gaussians, IPM, ReLU, infinite width: the Sinkhorn divergence (blur 0.001, scaling 0.95; cost ‖x − y‖²/2) after 1 500
steps of 4 and 1 500 of the step in the head, mean of ten looks at the end, ± over seeds. A particle on its target feels
a gradient of the same size from every side, as ReLU's tangent kernel has a cusp at x = y: each step carries it beyond
by a part of step / N, so that no step is small enough for MMD to fall for ever, and the divergence, a square, ends on a
floor like (step / N)²."""


def _floor(rows: Rows, n: int, step: float) -> float | None:
    found = [row["floor"] for row in having(rows, n=n, step=step)]
    return mean(found) if found else None


def _cell(rows: Rows, n: int, step: float) -> str:
    return spread([row["floor"] for row in having(rows, n=n, step=step)], ".1e")


def _law(rows: Rows) -> str:
    said = []
    for n in SIZES:
        for large, small in pairwise(STEPS):
            pair = _floor(rows, n, large), _floor(rows, n, small)
            if pair[0] is not None and pair[1] is not None:
                ratio = pair[0] / pair[1]
                met = "met" if 3 <= ratio <= 5 else "NOT MET"
                said.append(f"- N = {n}, step {large:g} → {small:g}: divided by {ratio:.2f}, 3 to 5 asked: **{met}**")
    slope = _slope(rows)
    if slope is not None:
        said.append(f"- over all rows the floor is proportional to (step / N) to the power {slope:.2f}; 2 is the law")
    return "\n".join(["## Halving the step", "", *said]) if said else ""


def _slope(rows: Rows) -> float | None:
    """By least squares, of logarithms."""
    points = [(math.log(row["step"] / row["n"]), math.log(row["floor"])) for row in rows.values()]
    if len({x for x, _ in points}) < 3:
        return None
    middle = mean(x for x, _ in points), mean(y for _, y in points)
    above = sum((x - middle[0]) * (y - middle[1]) for x, y in points)
    return above / sum((x - middle[0]) ** 2 for x, _ in points)
