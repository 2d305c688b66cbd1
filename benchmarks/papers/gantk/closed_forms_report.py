"""The page about closed forms: errors beside other ways, and how those of networks fall with their width."""

from __future__ import annotations

import math
from statistics import mean

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having, told

MOST = {"IPM": 1e-12, "LSGAN": 1e-9, "neural-tangents": 1e-8}
WORDS = {
    "IPM": "IPM beside the witness of MMD, relative",
    "LSGAN": "LSGAN beside Runge-Kutta of order 8 (its own tolerance 1e-12), relative",
    "neural-tangents": "NTK beside neural-tangents 0.6.5 (eight digits), absolute",
}


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    parts = [f"{told(rows)} The machine was shared.", _exact(rows), _networks(having(rows, part="networks"))]
    return "\n\n".join(filter(None, parts))


def _exact(rows: Rows) -> str:
    lines = []
    for part, words in WORDS.items():
        found = having(rows, part=part)
        if found:
            worst = max(found, key=lambda row: row["error"])
            met = "met" if worst["error"] <= MOST[part] else "NOT MET"
            where = f"{worst['architecture']}, {worst['setting']}"
            lines.append([words, str(len(found)), f"{worst['error']:.1e}", where, f"{MOST[part]:g}", f"**{met}**"])
    head = ["what", "comparisons", "largest error", "where", "asked", ""]
    return f"Points are 20 generated and 30 real ones in the plane, f is compared at 50 others.\n\n{table(head, lines)}"


def _networks(found: list[Found]) -> str:
    if not found:
        return ""
    names, widths = (list(dict.fromkeys(row[key] for row in found)) for key in ("architecture", "width"))
    lines, slopes = [], []
    for name in names:
        errors = {
            w: [row["error"] for row in found if row["architecture"] == name and row["width"] == w] for w in widths
        }
        means = {width: mean(values) for width, values in errors.items() if values}
        slope = _slope(means)
        slopes.append(slope)
        lines.append([name, *(f"{means[w]:.1e}" if w in means else "–" for w in widths), f"{slope:.2f}"])
    met = "met" if all(-0.65 <= slope <= -0.35 for slope in slopes) else "NOT MET"
    return f"""## Networks of finite width

The empirical tangent kernel of random networks beside the exact one, relative, mean over 32 networks (16 at width
512, 4 at 2 048) for every seed; the last column is the power of the width that the error is proportional to, −½ in
theory.

{table(["network", *(f"width {width}" for width in widths), "power"], lines)}

An error like 1 / √width: **{met}**."""


def _slope(means: dict[int, float]) -> float:
    points = [(math.log(width), math.log(error)) for width, error in means.items()]
    if len(points) < 2:
        return math.nan
    middle = mean(x for x, _ in points), mean(y for _, y in points)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) / sum((x - middle[0]) ** 2 for x, _ in points)
