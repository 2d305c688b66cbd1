"""The page of what training adds: means over the sets that were chosen on, and over those that were not."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from benchmarks.papers import markdown
from benchmarks.papers.results import Found, Rows, having, told

HEADS = ("head", "logistic", "ridge", "svm", "1-nn")
PRECISIONS = ("plain euclidean", "plain cosine", "standardized euclidean", "standardized cosine", "whitened cosine")
ABOUT = """\
`CausalEncoder` at its defaults but for what a row names; heads learn from standardized vectors. *head* is the one of
logistic regression, ridge and SVM that cross-validation on the training part chooses, *1-nn* the nearest neighbour by
cosine. The default of the library is *standardized cosine*. *cpu* is seconds of one core for `fit`, on a machine that
others used too."""


def body(rows: Rows, development: Sequence[str], confirming: Sequence[str], settings: Sequence[str]) -> str:
    parts = [ABOUT]
    for title, sets in (("Chosen on these", development), ("Looked at once, after the choice", confirming)):
        means = f"Means of {', '.join(sets)}, for settings of which all rows are finished."
        parts += [f"## {title}", means, _means(rows, sets, settings)]
    parts += [
        "## Set by set",
        _each(rows, (*development, *confirming)),
        told(rows) if rows else "No row is finished yet.",
    ]
    return "\n\n".join(parts) + "\n"


def _means(rows: Rows, sets: Sequence[str], settings: Sequence[str]) -> str:
    head = ["setting", *HEADS, *(f"MAP, {name}" for name in PRECISIONS), "steps", "cpu"]
    lines = []
    for setting in settings:
        some = [row for name in sets for row in having(rows, dataset=name, method=setting)]
        if {row["dataset"] for row in some} == set(sets):  # means of other sets could not be compared
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
