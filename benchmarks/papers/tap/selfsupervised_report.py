"""The page of TAP without labels: retrieval, alignments and times, beside the paper's."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import table
from benchmarks.papers.results import Rows, told
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
    for what in ("length", "dimension"):
        for size in range(100, 1001, 100):
            pair = [values(rows, f"{what} {size}", f"time {name}", "pair seconds") for name in ("TAP", "SoftDTW")]
            if all(pair):
                ours, other = pair[0][0], pair[1][0]
                ms = [f"{1000 * seconds:.2f}" for seconds in (ours, other)]
                lines.append([f"{what} {size}", *ms, f"{other / ours:.3g}"])
    return table(["one pair", "TAP, ms", "SoftDTW, ms", "SoftDTW / TAP"], lines)


def body(rows: Rows) -> str:
    """The whole page."""
    return f"""{told(rows)} The data are those of [the comparison with labels](tap_supervised.md);
frames are scaled as there and otherwise as they are. TAP learns in batches of 16 for 100 epochs.

## Retrieval (tables 6 and 7)

{retrieval(rows)}

## Alignments with augmentations (table 4)

Mean squared error of the alignment from five augmentations of each test sequence to itself, against how they were made.
The expected alignment of soft-DTW counts every step on the way as 1, so its rows do not sum to 1 (`SoftDTW`, γ = 1;
γ = 0.1 beside it); `SoftDTW rows` divides each row by its sum, as the truth has it. `-s`: learned from classes.

{alignments(rows)}

## Running time (figure 3)

One pair on one thread, no gradients; dimension 500 where the length changes, length 500 where the dimension does. The
paper's TAP, on a GPU, is about ten times as fast as a soft-DTW in Python.

{times(rows)}
"""
