"""The page about closed forms: errors against other ways to the same numbers, and finite networks by width."""

from __future__ import annotations

import math
from statistics import mean

from benchmarks.papers.markdown import format_range, join_words, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

MOST = {"IPM": 1e-12, "LSGAN": 1e-9, "neural-tangents": 1e-8}
WORDS = {
    "IPM": "IPM against the witness function of MMD, relative",
    "LSGAN": "LSGAN against Runge-Kutta of order 8 (its own tolerance is 1e-12), relative",
    "neural-tangents": "NTK against neural-tangents 0.6.5 (eight digits), absolute",
}
SHORT = {
    "IPM": "IPM with the witness function of MMD",
    "LSGAN": "LSGAN with numerical integration",
    "neural-tangents": "tangent kernels with another library",
}
SLOPES = (-0.65, -0.35)  # powers of the width: −½ in theory


def headline(rows: Rows) -> str:
    """The largest errors of the closed forms, and how finite networks approach them."""
    errors = worst_errors(rows)
    parts = []
    if errors:
        found = join_words([f"{SHORT[part]} to {error:.0e}" for part, error in errors.items()])
        agree = "agree" if all(error <= MOST[part] for part, error in errors.items()) else "do NOT all agree"
        parts.append(f"The closed forms of infinitely wide discriminators {agree} with independent results: {found}.")
    slopes = fit_widths(rows)
    if slopes:
        within = all(SLOPES[0] <= slope <= SLOPES[1] for slope in slopes.values())
        parts.append(
            "The tangent kernel of random networks approaches the exact one like "
            f"width^{format_range(slopes.values(), '.2f')} (theory: −0.5), which "
            f"{'agrees with' if within else 'contradicts'} the thesis."
        )
    if not parts:
        return no_rows_yet(rows, "the closed forms of infinitely wide discriminators")
    return " ".join(parts).replace("^-", "^−").replace("to -", "to −")


def body(rows: Rows) -> str:
    """Errors, and networks of finite width."""
    if not rows:
        return ""
    return "\n\n".join(filter(None, [_exact(rows), _networks(having(rows, part="networks"))]))


def worst_errors(rows: Rows) -> dict[str, float]:
    """The largest error of every comparison that has rows."""
    return {part: max(row["error"] for row in found) for part in WORDS if (found := having(rows, part=part))}


def fit_widths(rows: Rows) -> dict[str, float]:
    """For every network, the power of the width that its error is proportional to."""
    found = having(rows, part="networks")
    slopes = {name: _slope(_means(found, name)) for name in dict.fromkeys(row["architecture"] for row in found)}
    return {name: slope for name, slope in slopes.items() if not math.isnan(slope)}


def _exact(rows: Rows) -> str:
    lines = []
    for part, words in WORDS.items():
        found = having(rows, part=part)
        if found:
            worst = max(found, key=lambda row: row["error"])
            met = "met" if worst["error"] <= MOST[part] else "NOT MET"
            where = f"{worst['architecture']}, {worst['setting']}"
            lines.append([words, str(len(found)), f"{worst['error']:.1e}", where, f"{MOST[part]:g}", f"**{met}**"])
    if not lines:
        return ""
    head = ["comparison", "rows", "largest error", "where", "target", ""]
    return (
        f"{table(head, lines)}\n\n20 generated and 30 real points in the plane; the discriminator is compared at 50 "
        "others."
    )


def _networks(found: list[Found]) -> str:
    if not found:
        return ""
    names, widths = (list(dict.fromkeys(row[key] for row in found)) for key in ("architecture", "width"))
    lines, slopes = [], []
    for name in names:
        means = _means(found, name)
        slope = _slope(means)
        slopes.append(slope)
        lines.append([name, *(f"{means[w]:.1e}" if w in means else "–" for w in widths), f"{slope:.2f}"])
    met = "met" if all(SLOPES[0] <= slope <= SLOPES[1] for slope in slopes) else "NOT MET"
    return f"""## Networks of finite width

The relative error of the empirical tangent kernel of random networks against the exact one, mean over 32 networks (16
at width 512, 4 at 2 048) for every seed. The last column is the power of the width that the error is proportional to;
theory says −½.

{table(["network", *(f"width {width}" for width in widths), "power"], lines)}

An error like 1 / √width: **{met}**."""


def _means(found: list[Found], name: str) -> dict[int, float]:
    errors: dict[int, list[float]] = {}
    for row in found:
        if row["architecture"] == name:
            errors.setdefault(row["width"], []).append(row["error"])
    return {width: mean(values) for width, values in errors.items()}


def _slope(means: dict[int, float]) -> float:
    points = [(math.log(width), math.log(error)) for width, error in means.items()]
    if len(points) < 2:
        return math.nan
    middle = mean(x for x, _ in points), mean(y for _, y in points)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) / sum((x - middle[0]) ** 2 for x, _ in points)
