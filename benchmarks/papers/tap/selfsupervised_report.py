"""The page of TAP without labels: retrieval, alignments and times, beside the paper's."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import format_range, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Rows
from benchmarks.papers.tap.data import PLANS
from benchmarks.papers.tap.supervised_report import cells, values

PAPER = {  # table 6, MSR Action3D: MAP, 1-NN, 5-NN, 30-NN (%)
    "DTW": ".590 81.32 80.95 72.53",
    "lDTW": ".567 82.78 79.12 64.84",
    "nDTW": ".565 79.85 76.92 67.40",
    "Sinkhorn": ".546 78.02 74.73 60.44",
    "TCOT": ".578 80.59 79.49 67.03",
    "OPW": ".587 84.25 80.22 67.03",
    "SoftDTW": ".589 81.32 80.95 72.89",
    "SoftDTW*": ".076 4.03 5.50 5.13",
    "TAP": ".557 79.85 78.02 67.77",
}
ERRORS = {"align TAP": 0.0062, "align SoftDTW": 0.0163, "align TAP-s": 0.0131, "align SoftDTW-s": 0.0165}  # table 4
RIVALS = ("align SoftDTW", "align SoftDTW 0.1", "align SoftDTW rows")


def retrieval(rows: Rows) -> str:
    """Tables 6 and 7."""
    lines = []
    for dataset in PLANS:
        for method, theirs in PAPER.items():
            if values(rows, dataset, method, "map"):
                reported = theirs if dataset == "MSRAction3D" else "–"
                lines.append([dataset, method, *cells(rows, dataset, method), reported])
    return table(["data set", "distance", "MAP", "1-NN %", "5-NN %", "30-NN %", "paper"], lines)


def alignments(rows: Rows) -> str:
    """Table 4."""
    methods = ("align TAP", *RIVALS, "align TAP-s", "align SoftDTW-s")
    head = ["data set", *(method.removeprefix("align ") for method in methods), "TAP below all SoftDTW"]
    lines = []
    for dataset in PLANS:
        found = {method: values(rows, dataset, method, "mse") for method in methods}
        if any(found.values()):
            errors = [f"{mean(some):.4f}" if some else "–" for some in found.values()]
            lines.append([dataset, *errors, verdict(found)])
    theirs = [f"{ERRORS[method]:.4f}" if method in ERRORS else "–" for method in methods]
    return table(head, [*lines, ["*paper, MSRAction3D*", *theirs, ""]])


def verdict(found: dict[str, list[float]]) -> str:
    """TAP below SoftDTW however its alignment is read."""
    if not all(found[method] for method in ("align TAP", *RIVALS)):
        return "not yet decided"
    return "met" if all(mean(found["align TAP"]) < mean(found[method]) for method in RIVALS) else "NOT met"


def times(rows: Rows) -> str:
    """Figure 3."""
    lines = []
    for sizes, ratio in slowdowns(rows).items():
        seconds = [values(rows, sizes, f"time {name}", "pair seconds")[0] for name in ("TAP", "SoftDTW")]
        lines.append([sizes, *(f"{1000 * one:.2f}" for one in seconds), f"{ratio:.3g}"])
    return table(["one pair", "TAP, ms", "SoftDTW, ms", "TAP / SoftDTW"], lines)


PAPER_SPEED = 10.0  # how many times as fast as a soft-DTW in Python the paper's TAP is, on a GPU


def headline(rows: Rows) -> str:
    """Alignments, retrieval and speed, each beside the paper."""
    return " ".join(
        filter(None, [_alignment_sentence(rows), _retrieval_sentence(rows), _speed_sentence(rows)])
    ) or no_rows_yet(rows, "TAP learned without labels")


def _alignment_sentence(rows: Rows) -> str:
    judged = [verdict({m: values(rows, name, m, "mse") for m in ("align TAP", *RIVALS)}) for name in PLANS]
    judged = [word for word in judged if word != "not yet decided"]
    if not judged:
        return ""
    won = sum(word == "met" for word in judged)
    own = [values(rows, "MSRAction3D", name, "mse") for name in ("align TAP", "align SoftDTW")]
    here = f" (MSR Action3D: {mean(own[0]):.4f} and {mean(own[1]):.4f}" if all(own) else " ("
    paper = f"paper: {ERRORS['align TAP']} and {ERRORS['align SoftDTW']})"
    agrees = "agrees with" if won == len(judged) else "contradicts"
    return (
        f"Without labels, TAP's alignments of augmented sequences are closer to the truth than soft-DTW's on {won} of "
        f"{len(judged)} data sets{here}{'; ' if all(own) else ''}{paper}, which {agrees} the paper."
    )


def _retrieval_sentence(rows: Rows) -> str:
    ours, cheap = (values(rows, "MSRAction3D", name, "map") for name in ("TAP", "DTW"))
    if not ours or not cheap:
        return ""
    theirs = [float("0" + PAPER[name].split()[0]) for name in ("TAP", "DTW")]
    place = "behind" if mean(ours) < mean(cheap) else "ahead of"
    same = (place == "behind") == (theirs[0] < theirs[1])
    return (
        f"In retrieval it has a MAP of {mean(ours):.3f} and DTW, the cheap rival, {mean(cheap):.3f} (paper: "
        f"{theirs[0]} and {theirs[1]}): it is {place} DTW, {'as in' if same else 'which contradicts'} the paper."
    )


def _speed_sentence(rows: Rows) -> str:
    slower = list(slowdowns(rows).values())
    if not slower:
        return ""
    word = "contradicts" if min(slower) > 1 else "falls short of" if max(slower) > 1 / PAPER_SPEED else "agrees with"
    return (
        f"Comparing one pair takes TAP {format_range(slower)} times as long as our soft-DTW, which {word} the paper, "
        f"where TAP is about {PAPER_SPEED:g} times as fast."
    )


def slowdowns(rows: Rows) -> dict[str, float]:
    """TAP's time for one pair over soft-DTW's, by what is varied and how long or wide it is."""
    found = {}
    for what in ("length", "dimension"):
        for size in range(100, 1001, 100):
            pair = [values(rows, f"{what} {size}", f"time {name}", "pair seconds") for name in ("TAP", "SoftDTW")]
            if all(pair):
                found[f"{what} {size}"] = pair[0][0] / pair[1][0]
    return found


def body(rows: Rows) -> str:
    """Alignments, retrieval and times."""
    if not rows:
        return ""
    return f"""## Alignments with augmentations (table 4)

{alignments(rows)}

Mean squared error of the alignment from five augmentations of each test sequence to itself, against how they were
made. The expected alignment of soft-DTW counts every step on the way as 1, so its rows do not sum to 1 (`SoftDTW`, γ =
1; γ = 0.1 beside it); `SoftDTW rows` divides each row by its sum, as the truth has it. `-s` is learned from classes.
The data are those of [the comparison with labels](tap_supervised.md), with frames scaled as there. TAP learns in
batches of 16 for 100 epochs.

## Retrieval (tables 6 and 7)

{retrieval(rows)}

## Running time (figure 3)

{times(rows)}

One pair on one thread, without gradients; dimension 500 where the length changes, length 500 where the dimension
does."""


def caveats() -> list[str]:
    return [
        "The paper's TAP runs on a GPU and its soft-DTW is written in Python; ours are compiled and run on one thread, "
        "so the factor is about our code, not about the paper's."
    ]
