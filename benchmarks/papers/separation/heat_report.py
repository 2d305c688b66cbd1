"""The page about the heat equation: errors against the exact solution, and what w and y know of space and time."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

KNOWN = ("w space", "w time", "y space", "y time")


def headline(rows: Rows) -> str:
    """The error beside ridge regression, and whether w and y separate space from time."""
    ours, cheap = (having(rows, method=name) for name in ("Separation", "Ridge"))
    if not ours:
        return no_rows_yet(rows, "how well Separation solves the heat equation")
    error = mean(row["relative"] for row in ours)
    beside = f"; ridge regression, the cheap rival, has {mean(row['relative'] for row in cheap):.0e}" if cheap else ""
    plain = having(rows, method="Separation, without w")
    without = f", {mean(row['relative'] for row in plain):.0e} without w" if plain else ""
    first = f"`Separation` forecasts the heat equation with a relative squared error of {error:.0e}{without}{beside}."
    return " ".join(
        filter(None, [first, _verdict(rows), "The thesis states the solution (eq. 5.4) but measures nothing."])
    )


def body(rows: Rows) -> str:
    """Errors, and what w and y explain."""
    if not rows:
        return ""
    names = list(dict.fromkeys(row["method"] for row in rows.values()))
    lines = [_line(name, having(rows, method=name)) for name in names]
    head = ["method", "squared error", "relative to the power of the future", "seeds", *KNOWN]
    return f"""{table(head, lines)}

A cooling bar with cold ends, u(p, t) = μ sin(kπp) · exp(−(kπ)²t), with k up to 3 and μ normal: 240 bars of 30 steps to
learn from, and 60 others, of which 5 frames are seen and 25 forecast and compared with the exact solution. The last
four columns are shares of variance that a linear map of w, or of y, fitted on the training bars, explains on the
others: of the profile in space μ sin(kπp), and of −(kπ)²t, the logarithm of the factor in time, at every step. The
separation is found where w explains space, y explains time, and neither explains the other. Below 0 is worse than a
constant."""


def _line(name: str, found: list[Found]) -> list[str]:
    numbers = [f"{mean(row['error'] for row in found):.2e}", f"{mean(row['relative'] for row in found):.2e}"]
    known = [f"{mean(row[key] for row in found):.2f}" if all(key in row for row in found) else "–" for key in KNOWN]
    return [name, *numbers, str(len(found)), *known]


def _verdict(rows: Rows) -> str:
    found = having(rows, method="Separation, product")
    if not found:
        return ""
    w, y = (mean(row[key] for row in found) for key in ("w space", "y time"))
    wrong_w, wrong_y = (mean(row[key] for row in found) for key in ("w time", "y space"))
    holds = "explains" if w > wrong_w and w > 0.5 else "does NOT explain"
    moves = "explains" if y > wrong_y and y > 0.5 else "does NOT explain"
    found_both = holds == moves == "explains"
    end = "so the two are separated" if found_both else "so the two are not separated"
    return (
        f"With the product of the thesis, w {holds} space better than time ({w:.2f} and {wrong_w:.2f}) and y {moves} "
        f"time better than space ({y:.2f} and {wrong_y:.2f}), {end}."
    )
