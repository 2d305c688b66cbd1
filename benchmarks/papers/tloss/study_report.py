"""The page of what training adds: means over the sets that were chosen on, and over those that were not."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from benchmarks.papers import markdown
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Found, Rows, having

HEADS = ("head", "logistic", "ridge", "svm", "1-nn")
PRECISIONS = ("plain euclidean", "plain cosine", "standardized euclidean", "standardized cosine", "whitened cosine")
ABOUT = """\
`CausalEncoder` at its defaults except for what a row names; heads learn from standardised vectors. *head* is the one of
logistic regression, ridge and SVM that cross-validation on the training part chooses, *1-nn* the nearest neighbour by
cosine. The library's default is *standardized cosine*. *cpu* is seconds of one core for `fit`."""
TITLES = ("Data sets to choose on", "Data sets to confirm on")


def headline(rows: Rows, development: Sequence[str], confirming: Sequence[str]) -> str:
    """What training adds to the untrained network, on sets that chose nothing."""
    for sets, words in ((confirming, "that chose nothing"), (development, "that settings were chosen on")):
        plain, learned = (_complete(rows, sets, name) for name in ("untrained", "default"))
        if plain and learned:
            head, precision = ((_mean(plain, of), _mean(learned, of)) for of in ("head", "map"))
            better = head[1] > head[0] and precision[1] > precision[0]
            return (
                f"On {len(sets)} data sets {words}, training a causal network with the T-Loss raises accuracy from "
                f"{head[0]:.3f} (untrained, the cheap rival) to {head[1]:.3f} and MAP from {precision[0]:.3f} to "
                f"{precision[1]:.3f}: training {'helps' if better else 'does NOT help in both'}. The thesis has no "
                "such comparison."
            )
    return no_rows_yet(rows, "what training adds to an untrained causal network")


def body(rows: Rows, development: Sequence[str], confirming: Sequence[str], settings: Sequence[str]) -> str:
    """Means over both groups of sets, and every set."""
    if not rows:
        return ""
    parts = []
    for title, sets in zip(reversed(TITLES), (confirming, development), strict=True):
        means = f"Means over {', '.join(sets)}, for settings of which all rows are finished."
        parts += [f"## {title}", _means(rows, sets, settings), means]
    parts[3:3] = [ABOUT]
    return "\n\n".join([*parts, "## Every data set", _each(rows, (*development, *confirming))]) + "\n"


def _complete(rows: Rows, sets: Sequence[str], method: str) -> list[Found]:
    """Rows of a setting on all of these sets; none where a set is missing, as means of other sets do not compare."""
    some = [row for name in sets for row in having(rows, dataset=name, method=method)]
    return some if {row["dataset"] for row in some} == set(sets) else []


def _means(rows: Rows, sets: Sequence[str], settings: Sequence[str]) -> str:
    head = ["setting", *HEADS, *(f"MAP, {name}" for name in PRECISIONS), "steps", "cpu"]
    lines = []
    for setting in settings:
        some = _complete(rows, sets, setting)
        if some:
            numbers = [f"{_mean(some, name):.3f}" for name in (*HEADS, *PRECISIONS)]
            lines.append([setting, *numbers, f"{_mean(some, 'steps'):.0f}", f"{_mean(some, 'cpu'):.0f}"])
    return markdown.table(head, lines)


def _each(rows: Rows, sets: Sequence[str]) -> str:
    head = ["data set", "head, untrained", "default", "MAP, untrained", "default", "steps", "cpu"]
    lines = []
    for name in sets:
        plain, learned = (having(rows, dataset=name, method=one) for one in ("untrained", "default"))
        if plain and learned:
            sides = [f"{_mean(side, of):.3f}" for of in ("head", "map") for side in (plain, learned)]
            lines.append([name, *sides, f"{_mean(learned, 'steps'):.0f}", f"{_mean(learned, 'cpu'):.0f}"])
    return markdown.table(head, lines)


def _mean(rows: list[Found], name: str) -> float:
    return float(mean(row["standardized cosine" if name == "map" else name] for row in rows))
