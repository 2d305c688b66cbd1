"""The page about the heat equation: errors against the exact solution, and what w and y know of space and time."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having, told

KNOWN = ("w space", "w time", "y space", "y time")


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    names = list(dict.fromkeys(row["method"] for row in rows.values()))
    lines = [_line(name, having(rows, method=name)) for name in names]
    head = ["method", "squared error", "of the power of what came", "seeds", *KNOWN]
    return f"""{told(rows)} The machine was shared: seconds are those of a busy one.

A cooling bar with cold ends, u(p, t) = μ sin(kπp) · exp(−(kπ)²t), k up to 3 and μ normal: 240 bars of 30 steps to learn
from, 60 others of which 5 frames are seen and 25 forecast, compared with the exact solution. The last four columns are
shares of variance that a linear map of w, or of y, fitted on the bars learned from, explains on the others: of the
profile in space μ sin(kπp), and of −(kπ)²t, the logarithm of the factor in time, at every step. The separation is found
where w explains space and y time, and neither the other. Below 0 is worse than a constant.

{table(head, lines)}

{_verdict(rows)}"""


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
    holds = "does" if w > wrong_w and w > 0.5 else "does NOT"
    moves = "does" if y > wrong_y and y > 0.5 else "does NOT"
    return f"""With the product, w {holds} explain space more than time ({w:.2f} and {wrong_w:.2f}), and y {moves}
explain time more than space ({y:.2f} and {wrong_y:.2f})."""
