"""The page of GDTW's solver, beside figures 5 to 7 of the paper."""

from __future__ import annotations

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Found, Rows, having

INFERENCE = ("DTW", "grid alone, not refined", "grid alone", "GDTW", "GDTW, usual grid")
TRAINING = ("Soft-DTW", "DILATE", "DecDTW")
SAME = 0.002  # of an error
TASKS = {"generated": ("generated signals", "% of y"), "melspec": ("score to performance, melspec", "ms")}

HEAD = """\
The paper's figures are of a GPU, against a DTW on the same; here all is compiled code on one thread, in milliseconds of
the processor for one pair (the least of several runs, four pairs at a time). M, the values per knot, is max(50, n) as
in the paper, where nothing else is said; our first two passes have M values and later ones fewer. "Refined" is three
refinements after the first pass. The library polishes the best warp of the grid to a stationary point of the objective
(decision 0008); "grid alone" leaves that out, as in the paper.
"""


def line(found: Found) -> str:
    if "times" in found:
        return ", ".join(f"{name} {1e3 * seconds:.3g} ms" for name, seconds in found["times"].items())
    if "objectives" in found:
        return f"objectives {', '.join(f'{value:.5g}' for value in found['objectives'])}"
    return ", ".join(f"{kind}: TimeErr {some['TimeErr']:.4g}" for kind, some in found["found"].items())


def body(rows: Rows) -> str:
    parts = [HEAD, inference(rows), training(rows), passes(rows), *(refinement(rows, task) for task in TASKS)]
    return "\n".join(part for part in parts if part)


def sizes(rows: Rows, part: str) -> list[Found]:
    return sorted(having(rows, part=part), key=lambda row: int(row["size"]))


def shared(rows: list[Found], over: str, under: str) -> tuple[float, float]:
    """The least and the greatest ratio of two times."""
    ratios = [row["times"][over] / row["times"][under] for row in rows]
    return min(ratios), max(ratios)


def inference(rows: Rows) -> str:
    found = sizes(rows, "inference")
    if not found:
        return ""
    lines = [[str(row["size"]), *(f"{1e3 * row['times'][name]:.3g}" for name in INFERENCE)] for row in found]
    between = [f"{low:.2g} to {high:.2g}" for low, high in (shared(found, name, "DTW") for name in INFERENCE[1:])]
    return f"""\
## Test time against length (figure 5)

![Milliseconds of one pair against length: alignments, and training](../images/decdtw_time.png)

{table(["steps", *(f"{name}, ms" for name in INFERENCE)], lines)}

The paper's dynamic program takes {between[1]} times as long as DTW with its path (the paper: 15 to 50), without
refinement {between[0]} times (the paper: 4 to 12). With the polish it is {between[2]} times, and with the grid that the
library takes unless told otherwise {between[3]} times.
"""


def training(rows: Rows) -> str:
    found = sizes(rows, "training")
    if not found:
        return ""
    lines = [
        [str(row["size"]), *(f"{1e3 * row['times'][name]:.3g}" for name in (*TRAINING, "forward"))] for row in found
    ]
    soft, dilate, forward = (shared(found, "DecDTW", name) for name in ("Soft-DTW", "DILATE", "forward"))
    return f"""\
## Training time against length (figure 7)

Forward and backward through the layer, in float32.

{table(["steps", *(f"{name}, ms" for name in TRAINING), "DecDTW, forward alone, ms"], lines)}

A training step through DecDTW takes {soft[0]:.2g} to {soft[1]:.2g} times as long as through soft-DTW, {dilate[0]:.2g}
to {dilate[1]:.2g} times as long as through DILATE, and {forward[0]:.2f} to {forward[1]:.2f} times as long as its
forward pass alone, for the backward pass solves one tridiagonal system.
"""


def passes(rows: Rows) -> str:
    found = sizes(rows, "passes")
    if not found:
        return ""
    row = found[0]
    *grid, polished = row["objectives"]
    names = [*(f"pass {turn + 1}" for turn in range(len(grid))), "polished", "SLSQP from the last pass"]
    values = [*grid, polished, row["slsqp objective"]]
    gap, last = polished - row["slsqp objective"], grid[-1] / polished - 1
    beside = "as low as" if abs(gap) < 1e-12 else f"{abs(gap):.1e} {'above' if gap > 0 else 'below'}"
    return f"""\
## The search pass by pass (figure 6)

![The values of the first three passes, and the last warp beside SLSQP's](../images/decdtw_passes.png)

A query of {len(row["slsqp"])} steps inside a stream, {row["size"]} values per knot. The last pass ends {last:.1e} above
the polished warp, relatively; the objective of the polished warp is {beside} that of SLSQP.

{table(["", "objective"], [[name, f"{value:.8f}"] for name, value in zip(names, values, strict=True)])}
"""


def refinement(rows: Rows, task: str) -> str:
    found = sizes(rows, f"refinement-{task}")
    if not found:
        return ""
    title, unit = TASKS[task]
    lines = []
    for row in found:
        cells = [[f"{some['TimeErr']:.4g}", f"{some['excess']:.1e}", f"{1e3 * some['time']:.3g}"] for some in both(row)]
        lines.append([str(row["size"]), *cells[0], *cells[1]])
    head = [
        f"{kind}: {what}"
        for kind in ("polished", "grid alone")
        for what in (f"TimeErr, {unit}", "objective above", "ms")
    ]
    return f"""\
## What refinement is worth: {title}

Base features of the test pairs, λ = 0.4. "Objective above": mean excess over the library's usual search, relatively.

{table(["refinements", *head], lines)}

{worth(found)}
"""


def both(row: Found) -> tuple[dict[str, float], dict[str, float]]:
    return row["found"]["polished"], row["found"]["grid alone"]


def worth(found: list[Found]) -> str:
    """What is lost without refinement and what that saves, and how many refinements are enough."""
    by = {int(row["size"]): both(row) for row in found}
    if not {0, 3} <= by.keys():
        return ""
    said = []
    for i, kind in enumerate(("With the polish", "On the grid alone")):
        none, three, most = by[0][i], by[3][i], by[max(by)][i]
        lost, saved = (100 * (none[what] / three[what] - 1) for what in ("TimeErr", "time"))
        enough = min(turns for turns, some in by.items() if abs(some[i]["TimeErr"] / most["TimeErr"] - 1) < SAME)
        enough_said = f"from {enough} on TimeErr is within {100 * SAME:.1f} % of that with {max(by)}"
        said.append(
            f"- {kind}, no refinement in place of three changes TimeErr by {lost:+.1f} % (the paper: a mean loss of\n"
            f"  0.5 %) and the time by {saved:+.0f} %; {enough_said}."
        )
    return "\n".join(said)
