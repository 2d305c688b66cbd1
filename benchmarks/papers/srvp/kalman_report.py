"""The page about the linear system: nats per frame, the gap to the exact likelihood, and whether it is as was said."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having, told

GAP = 0.25  # nats per frame, said before the first run
PARTS = ("likelihood", "first", "random")


def body(rows: Rows) -> str:
    """The whole page."""
    if not rows:
        return "No row is finished yet."
    names = list(dict.fromkeys(row["method"] for row in rows.values()))
    lines = [_line(row) for name in names for row in having(rows, method=name)]
    head = ["method", "seed", "nats per frame", "below the exact ones", "frames given states", "− first", "− random"]
    return f"""{told(rows)} The machine was shared.

A state of two numbers turns by 0.3 a step, loses 5 % and is given as much by chance; 4 channels show it through a
matrix that is drawn for each seed, with noise of deviation 0.7. 1000 sequences of 20 frames to learn from; 200 others
are asked about, with means over them. The Kalman filter knows the true system, and its likelihood is exact; those of
independent normal frames and of regressions on frames before are exact too, of models fitted to the sequences learned
from. SRVP's are evidence lower bounds of 3000 steps of training, without w (which looks at the frames: log p(x | w) is
no likelihood of x), by the mean of 50 draws. Brackets: 95 % intervals when sequences are drawn anew. The last columns
are the parts of the bound.

{table([*head, "processor seconds"], lines)}

{_verdict(rows)}"""


def _line(row: Found) -> list[str]:
    low, high = row["gap"][1:]
    apart = f"{row['gap'][0]:.3f} [{low:.3f}, {high:.3f}]"
    parts = [f"{row[name]:.3f}" if name in row else "–" for name in PARTS]
    return [row["method"], str(row["seed"]), f"{row['nats']:.3f}", apart, *parts, f"{row['processor seconds']:.0f}"]


def _verdict(rows: Rows) -> str:
    found = having(rows, method="SRVP")
    if not found:
        return ""
    gaps = [row["gap"][0] for row in found]
    below = "is below the exact likelihood in every seed" if min(gaps) > 0 else "is **above** the exact likelihood"
    met = "met" if max(gaps) <= GAP and min(gaps) > 0 else "NOT MET"
    shown = ", ".join(f"{gap:.3f}" for gap in gaps)
    return f"""## Target

Said before the first run: the bound stays below the exact likelihood and comes within {GAP} nats per frame. It
{below}; the gaps are {shown} nats per frame: **{met}**. {_beside(rows, mean(gaps))}

A gap is left by three things: what is learned is not the true system; each z is inferred from the frames up to its
own, as in the thesis, so that what comes later does not correct it; and it does not know the state that was drawn
before it, so that errors of the state are not mended."""


def _beside(rows: Rows, gap: float) -> str:
    """The same in words, beside the rivals."""
    others = {row["method"] for row in rows.values() if row["method"].startswith(("independent", "regression"))}
    means = {name: mean(row["gap"][0] for row in having(rows, method=name)) for name in others}
    if not means:
        return ""
    ahead = sorted((name for name, other in means.items() if other > gap), key=lambda name: means[name])
    behind = sorted((name for name, other in means.items() if other <= gap), key=lambda name: means[name])
    parts = []
    if ahead:
        parts.append("SRVP is nearer than " + " and ".join(f"{name} ({means[name]:.3f})" for name in ahead))
    if behind:
        parts.append(
            ("and " if ahead else "SRVP is ")
            + "farther away than "
            + " and ".join(f"{name} ({means[name]:.3f})" for name in behind)
            + ", whose likelihood is exact and which is made for such systems"
        )
    return ", ".join(parts) + "."
