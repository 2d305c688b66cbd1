"""The page about Rocket beside MiniRocket: means by halves of the sets, and every set."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from benchmarks.accuracy.defaults_report import GROUPS
from benchmarks.papers.markdown import table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Rows

PEER = "MiniRocket (aeon)"
RAGGED = ("JapaneseVowels", "PickupGestureWiimoteZ")
SETS = sorted(name for names in GROUPS.values() for name in names)
HALVES = {"to choose on": SETS[::2], "to confirm on": SETS[1::2]}

Numbers = dict[str, dict[str, float]]
"""By data set and method, the mean over seeds."""


def headline(rows: Rows) -> str:
    """Rocket beside MiniRocket on all sets and on the half that chose nothing."""
    accuracies, seconds = (means(rows, score) for score in ("accuracy", "encoding"))
    shared = _shared(accuracies, SETS)
    if not shared:
        return no_rows_yet(rows, "Rocket beside aeon's MiniRocket")
    ours, theirs = (fmean(accuracies[name][method] for name in shared) for method in ("Rocket", PEER))
    won, lost = _wins(accuracies, shared)
    spent = [sum(seconds[name][method] for name in shared) for method in ("Rocket", PEER)]
    half = _shared(accuracies, HALVES["to confirm on"])
    confirmed = (
        " On the half of the sets that chose nothing it is {:.4f} against {:.4f}.".format(
            *(fmean(accuracies[name][method] for name in half) for method in ("Rocket", PEER))
        )
        if half
        else ""
    )
    return (
        f"`Rocket` has a mean accuracy of {ours:.4f} on {len(shared)} data sets and aeon's MiniRocket {theirs:.4f}: it "
        f"is better on {won} and worse on {lost}, in {spent[0]:.1f} s against {spent[1]:.1f} s.{confirmed}"
    )


def body(rows: Rows, methods: Sequence[str]) -> str:
    """Means by halves, and every set."""
    if not rows:
        return ""
    accuracies, seconds = (means(rows, score) for score in ("accuracy", "encoding"))
    return "\n\n".join([_summary(accuracies, seconds), ABOUT, _sets(accuracies, seconds, methods)])


def caveats() -> list[str]:
    return [
        "Choices were made on every other set of the alphabet, from the first on, and confirmed on the rest ([decision "
        "0060](../decisions/0060-rocket-is-minirocket-with-runs.md)).",
        "aeon's transform takes equal lengths only. Where lengths differ it was given zeros after the end, and the "
        "set counts in no mean.",
    ]


def _shared(accuracies: Numbers, names: Sequence[str]) -> list[str]:
    """Sets of equal lengths that all methods have."""
    wanted = {"Rocket", "Rocket, causal", PEER}
    return [name for name in names if name not in RAGGED and wanted <= {*accuracies.get(name, ())}]


def _wins(accuracies: Numbers, names: Sequence[str]) -> tuple[int, int]:
    differences = [accuracies[name]["Rocket"] - accuracies[name][PEER] for name in names]
    return sum(one > 0.0005 for one in differences), sum(one < -0.0005 for one in differences)


def means(rows: Rows, score: str) -> Numbers:
    """Means over the seeds of one score."""
    each: dict[str, dict[str, list[float]]] = {}
    for row in rows.values():
        each.setdefault(row["dataset"], {}).setdefault(row["method"], []).append(row[score])
    return {name: {method: fmean(some) for method, some in found.items()} for name, found in each.items()}


ABOUT = """Official splits, defaults, one core, both with aeon's head: features divided by their deviation and
`RidgeClassifierCV` with ten penalties from 10⁻³ to 10³. Seconds are of the processor, for fitting and encoding both
parts of
a set, without what aeon compiles on its first call."""


def _summary(accuracies: Numbers, seconds: Numbers) -> str:
    """Means over the sets that both can take, halves apart."""
    lines = []
    for title, names in {"all": SETS, **HALVES}.items():
        shared = _shared(accuracies, names)
        if not shared:
            continue
        by = {
            method: fmean(accuracies[name][method] for name in shared) for method in ("Rocket", PEER, "Rocket, causal")
        }
        won, lost = _wins(accuracies, shared)
        spent = [sum(seconds[name][method] for name in shared) for method in ("Rocket", PEER)]
        numbers = [f"{by[method]:.4f}" for method in ("Rocket", PEER, "Rocket, causal")]
        lines.append([title, str(len(shared)), *numbers, f"{won} / {lost}", f"{spent[0]:.1f}", f"{spent[1]:.1f}"])
    head = ["sets", "number", "Rocket", PEER, "Rocket, causal", "better / worse", "s, Rocket", "s, MiniRocket"]
    return "## Means\n\n" + table(head, lines)


def _sets(accuracies: Numbers, seconds: Numbers, methods: Sequence[str]) -> str:
    lines = []
    for name in SETS:
        found = accuracies.get(name)
        if found is None:
            continue
        half = "choose" if name in HALVES["to choose on"] else "confirm"
        said = f"{name} (unequal lengths)" if name in RAGGED else name
        numbers = [f"{found[method]:.3f}" if method in found else "–" for method in methods]
        times = [f"{seconds[name][m]:.2f}" if m in found else "–" for m in ("Rocket", PEER)]
        lines.append([said, half, *numbers, *times])
    return "## Every set\n\n" + table(["set", "half", *methods, "s, Rocket", "s, MiniRocket"], lines)
