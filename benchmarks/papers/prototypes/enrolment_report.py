"""The page about enrolled classes: accuracies on all classes, on those trained and on those enrolled."""

from __future__ import annotations

from statistics import mean

from benchmarks.papers.markdown import join_words, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.results import Rows, having

METHODS = (
    "1-NN DTW",
    "Whitened Rocket",
    "Discriminant, open",
    "Prototypes",
    "SiameseGRU",
    "Prototypes, network alone",
    "Prototypes, perceptron",
)
COLUMNS = ("all", "known", "new", "closed")
TARGET = {"all": 0.90, "known": 0.97, "new": 0.75}  # of JapaneseVowels, draw 0, by the defaults


def headline(rows: Rows, sets: tuple[str, ...]) -> str:
    """Accuracy on enrolled classes: the defaults, 1-NN DTW, and the paper's similarity."""
    ours = [
        f"{score:.3f} on {name}" for name in sets if (score := accuracy_on_new(rows, name, "Prototypes")) is not None
    ]
    if not ours:
        return no_rows_yet(rows, "how well Prototypes recognises classes that are enrolled after training")
    first = (
        "`Prototypes` at its defaults recognises classes enrolled after training with an accuracy of "
        f"{join_words(ours)}"
    )
    cheap = _list(rows, sets, "1-NN DTW")
    beside = f"; 1-NN DTW, the cheap rival, has {cheap}" if cheap else ""
    perceptron = _list(rows, sets, "Prototypes, perceptron")
    pairs = [
        (accuracy_on_new(rows, name, "Prototypes, perceptron"), accuracy_on_new(rows, name, "1-NN DTW"))
        for name in sets
    ]
    behind = [a < b for a, b in pairs if a is not None and b is not None]
    if not perceptron:
        second = "The paper's similarity, a learned perceptron, has no rows."
    else:
        verdict = "falls short of the cheap rival everywhere" if behind and all(behind) else "does not always beat it"
        second = f"The paper's similarity, a learned perceptron on the network alone, has {perceptron} and {verdict}."
    return f"{first}{beside}. {second} The paper enrols classes of pictures, so its numbers do not compare."


def accuracy_on_new(rows: Rows, name: str, method: str) -> float | None:
    """Mean accuracy on enrolled classes over draws; None without rows."""
    found = having(rows, dataset=name, method=method)
    return mean(row["new"] for row in found) if found else None


def _list(rows: Rows, sets: tuple[str, ...], method: str) -> str:
    scores = [accuracy_on_new(rows, name, method) for name in sets]
    return join_words([f"{score:.3f}" for score in scores if score is not None])


def body(rows: Rows, sets: tuple[str, ...]) -> str:
    """A table for every data set."""
    if not rows:
        return ""
    return f"""{"".join(_section(rows, name) for name in sets)}## What is measured

Two thirds of the classes are known; the others are enrolled with their training sequences after training. The columns
are the accuracy on test sequences of **all** classes, of those **known** in training and of the **new** ones; *closed*
is the accuracy of a model trained on all classes. Draw 0 knows the first two thirds of the classes in the order of
their labels, other draws are random; numbers are means over draws, whose number is in brackets. UCI HAR is a sample of
60 windows of every class on either side.

`1-NN DTW` takes the class of the nearest training sequence of any class. `Whitened Rocket`, `Discriminant, open` and
`SiameseGRU` learn from the known classes, and a class is the mean vector of its training sequences. `Prototypes` is at
its defaults: a network, discriminants of two kinds of features beside it, and the cosine; `network alone` has
`extra_encoders=[]`; `perceptron` is the paper's similarity on the network alone
(`similarity_fn="learned", extra_encoders=[]`). Networks train for 500 steps, the default for so few sequences.

{_verdict(rows)}
"""


def caveats() -> list[str]:
    return [
        "What stands beside the network does most of the work: see `Discriminant, open`, which is a part of "
        "`Prototypes`.",
    ]


def _section(rows: Rows, name: str) -> str:
    lines = []
    for method in METHODS:
        found = having(rows, dataset=name, method=method)
        if found:
            lines.append([f"{method} ({len(found)})", *(f"{mean(row[c] for row in found):.3f}" for c in COLUMNS)])
    return f"## {name}\n\n{table(['method', *COLUMNS], lines)}\n\n{_order(rows, name)}\n\n" if lines else ""


def _order(rows: Rows, name: str) -> str:
    """Who is best, for every column."""
    best = []
    for column in COLUMNS:
        scores = {m: mean(row[column] for row in own) for m in METHODS if (own := having(rows, dataset=name, method=m))}
        first = [method for method, score in scores.items() if score > max(scores.values()) - 5e-4]
        best.append(f"{column}: {' and '.join(f'`{method}`' for method in first)}")
    return f"Best method: {'; '.join(best)}."


def _verdict(rows: Rows) -> str:
    """Whether the defaults reach what was asked for: JapaneseVowels, speakers 1 to 6 known."""
    found = having(rows, dataset="JapaneseVowels", method="Prototypes", seed=0)
    if not found:
        return ""
    cells = [f"{name} {found[0][name]:.3f} (at least {least:.2f})" for name, least in TARGET.items()]
    missed = [name for name, least in TARGET.items() if found[0][name] < least]
    end = f"missed: {', '.join(missed)}" if missed else "all are reached"
    return f"""## Target

JapaneseVowels, speakers 1 to 6 known, 7 to 9 enrolled, `Prototypes` at its defaults: {", ".join(cells)}; {end}."""
