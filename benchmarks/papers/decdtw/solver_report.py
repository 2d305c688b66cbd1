"""The page of GDTW's solver, beside figures 5 to 7 of the paper."""

from __future__ import annotations

from benchmarks.papers.markdown import format_range, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

INFERENCE = ("DTW", "grid alone, not refined", "grid alone", "GDTW", "GDTW, usual grid")
TRAINING = ("Soft-DTW", "DILATE", "DecDTW")
SAME = 0.002  # of an error
TASKS = {"generated": ("generated signals", "% of y"), "melspec": ("score to performance, melspec", "ms")}

PAPER_RATIOS = {"grid alone": (15, 50), "grid alone, not refined": (4, 12)}  # of DTW's time, on a GPU
PAPER_LOSS = 0.5  # percent of TimeErr without refinement
ABOUT = """\
Everything is compiled code on one thread, in milliseconds of processor time for one pair (the least of several runs,
four pairs at a time); the paper's figures are for a GPU, against DTW on the same GPU. M, the values per knot, is
max(50, n) as in the paper unless the column says otherwise; our first two passes have M values and later ones fewer.
"Refined" means three refinements after the first pass. The library polishes the best warp of the grid to a stationary
point of the objective (decision 0008); "grid alone" leaves this out, as in the paper.
"""


def headline(rows: Rows) -> str:
    """Time of the solver beside DTW, and what refinement is worth."""
    parts = []
    found = sizes(rows, "inference")
    if found:
        low, high = shared(found, "grid alone", "DTW")
        slow = PAPER_RATIOS["grid alone"]
        beside = "less than" if high < slow[0] else "in the range of" if high <= slow[1] else "more than"
        parts.append(
            f"The paper's dynamic program for GDTW takes {format_range([low, high])} times as long as DTW on one "
            f"thread, {beside} the {slow[0]} to {slow[1]} times that the paper reports for a GPU."
        )
    lost = [100 * (none / three - 1) for none, three in timing_errors(rows)]
    if lost:
        agrees = "agrees with" if max(lost) <= 2 * PAPER_LOSS else "contradicts"
        parts.append(
            f"Leaving out refinement raises TimeErr by {format_range(lost)} %, which {agrees} the paper's mean loss of "
            f"{PAPER_LOSS} %."
        )
    return " ".join(parts) or no_rows_yet(rows, "how long GDTW's solver takes and what refinement is worth")


def timing_errors(rows: Rows) -> list[tuple[float, float]]:
    """TimeErr of the grid alone without and with three refinements, for every task that has both."""
    pairs = []
    for task in TASKS:
        by = {int(row["size"]): both(row)[1]["TimeErr"] for row in sizes(rows, f"refinement-{task}")}
        if {0, 3} <= by.keys():
            pairs.append((by[0], by[3]))
    return pairs


def line(found: Found) -> str:
    if "times" in found:
        return ", ".join(f"{name} {1e3 * seconds:.3g} ms" for name, seconds in found["times"].items())
    if "objectives" in found:
        return f"objectives {', '.join(f'{value:.5g}' for value in found['objectives'])}"
    return ", ".join(f"{kind}: TimeErr {some['TimeErr']:.4g}" for kind, some in found["found"].items())


def body(rows: Rows) -> str:
    if not rows:
        return ""
    parts = [inference(rows), ABOUT, training(rows), passes(rows), *(refinement(rows, task) for task in TASKS)]
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

{table(["steps", *(f"{name}, ms" for name in INFERENCE)], lines)}

![Milliseconds of one pair against length: alignments, and training](../images/decdtw_time.png)

The paper's dynamic program takes {between[1]} times as long as DTW with its path (paper: {_paper_range("grid alone")}),
and without refinement {between[0]} times (paper: {_paper_range("grid alone, not refined")}). With the polish it takes
{between[2]} times as long, and with the library's default grid {between[3]} times.
"""


def _paper_range(name: str) -> str:
    return "{} to {}".format(*PAPER_RATIOS[name])


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
forward pass alone, because the backward pass solves one tridiagonal system.
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

A query of {len(row["slsqp"])} steps inside a stream, {row["size"]} values per knot. The objective after the last pass
is {last:.1e} (relative) above that of the polished warp, which is {beside} that of SLSQP.

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

Base features of the test pairs, λ = 0.4. "Objective above" is the mean relative excess over the library's default
search.

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
            f"- {kind}, no refinement instead of three changes TimeErr by {lost:+.1f} % (paper: a mean loss of\n"
            f"  {PAPER_LOSS} %) and the time by {saved:+.0f} %; {enough_said}."
        )
    return "\n".join(said)
