"""The page about digits: distances of particles to the nearest picture, and the figure."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import join_words, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

SMALLEST = "64 digits"
SHARP = 0.5  # of the distance between neighbouring digits: nearer than this, a particle shows a digit
THESIS = {"RBF": "blurry", "ReLU": "sharp", "ReLU without bias": "mostly sharp"}


def headline(rows: Rows) -> str:
    """How near particles come to 64 digits, kernel by kernel, beside the thesis's pictures."""
    found = {name: row for name in THESIS for row in having(rows, dataset=SMALLEST, method=name, seed=0)}
    if not found:
        return no_rows_yet(rows, "how near particles come to 64 digits under each kernel")
    ends = join_words([f"{name} {row['final distance']:.2g}" for name, row in found.items()])
    apart = mean(row["apart"] for row in found.values())
    agrees = all(_is_sharp(row) == (THESIS[name] != "blurry") for name, row in found.items())
    theirs = join_words([f"{name} {THESIS[name]}" for name in found])
    return (
        f"64 particles moved onto 64 digits end at these mean distances from the nearest digit: {ends} (digits are "
        f"{apart:.1f} apart). The thesis shows pictures only ({theirs}), and this "
        f"{'agrees with' if agrees else 'contradicts'} them."
    )


def _is_sharp(row: Found) -> bool:
    return bool(row["final distance"] < SHARP * row["apart"])


def body(rows: Rows) -> str:
    """Distances and the figure."""
    if not rows:
        return ""
    head = [
        "particles onto",
        "kernel",
        "steps",
        "distance at the start",
        "at the end",
        "digits reached",
        "digits apart",
        "MMD² start → end",
        "seconds",
    ]
    return f"""{table(head, [_line(row) for row in rows.values()])}

Particles in 1 024 dimensions start from a standard Gaussian and move onto as many digits, under the IPM of infinite
width with ητ / N = 97.7. The distance is the mean over particles of the distance to the nearest digit; "digits reached"
is the share of digits that are the nearest of some particle; "digits apart" is the mean distance of a digit to its
nearest neighbour.

![Digits that particles became](../images/gantk_digits.png)

*The first 64 particles of each kernel, of those moved onto 64 digits, not selected.*"""


def caveats() -> list[str]:
    return [
        "The thesis makes 50 000 steps with 1 024 particles on four graphics cards; the table says how many steps were "
        "made here. With 256 and 1 024 digits they are too few for particles to arrive."
    ]


def _line(row: Found) -> list[str]:
    moved = f"{row['mmd'][0]:.2e} → {row['mmd'][-1]:.2e}"
    distances = [f"{row['nearest'][0]:.2f}", f"{row['final distance']:.3g}"]
    shares = [f"{row['final reached']:.0%}", f"{row['apart']:.2f}"]
    return [row["dataset"], row["method"], str(row["steps"][-1]), *distances, *shares, moved, f"{row['seconds']:.0f}"]
