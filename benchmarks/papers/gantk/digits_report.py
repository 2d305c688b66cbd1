"""The page about digits: distances to the nearest picture, and the figure."""

from __future__ import annotations

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, told


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    head = [
        "particles onto",
        "kernel",
        "steps",
        "at the start",
        "at the end",
        "digits reached",
        "digits apart",
        "MMD² start → end",
        "seconds",
    ]
    return f"""{told(rows)} The machine was shared.

Particles in 1 024 dimensions, from a standard Gaussian onto as many digits, IPM of infinite width, ητ / N = 97.7.
The distance is that of a particle to the nearest digit, in the mean; "digits reached" is the share of digits that are
the nearest to some particle; "digits apart" how far a digit is from its nearest neighbour. The thesis made 50 000
steps on four graphics cards and shows pictures only: RBF blurry, ReLU sharp, ReLU without bias mostly sharp.

{table(head, [_line(row) for row in rows.values()])}

![Digits that particles became](../images/gantk_digits.png)

*The first 64 particles of each, of those onto 64 digits, not chosen.*"""


def _line(row: Found) -> list[str]:
    moved = f"{row['mmd'][0]:.2e} → {row['mmd'][-1]:.2e}"
    distances = [f"{row['nearest'][0]:.2f}", f"{row['final distance']:.3g}"]
    shares = [f"{row['final reached']:.0%}", f"{row['apart']:.2f}"]
    return [row["dataset"], row["method"], str(row["steps"][-1]), *distances, *shares, moved, f"{row['seconds']:.0f}"]
