"""The pages of `retrieval` and `fewshot`: tables of the finished rows, seeds side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.papers.markdown import table
from benchmarks.papers.prototypes.unseen import FRAMES, METHODS, PERCEPTRON, READINGS, SETS
from benchmarks.papers.results import Found, Rows, having, told

SHOTS: dict[str, dict[str, Any]] = {
    "1-shot": {"k_shot": 1},
    "5-shot": {"k_shot": 5},
    "5-shot, nearest": {"k_shot": 5, "by": "nearest"},
}
ABOUT = f"""Methods are at their defaults. `DTW` is `DTW(normalize="length")` and learns nothing; `Rocket` compares its
features, which learn nothing either; `Discriminant` is `classes="open"` on them, `Fused` the sum of this and DTW;
`T-Loss` is `CausalEncoder`, without labels. `Prototypes` compares by the cosine of vectors, those of a network and
those of `Discriminant` beside it; the network alone is `beside=[]`. The learned S, `similarity="learned"`, is the
paper's perceptron; it is trained once and read by itself (SIM), by the cosine of its vectors, and by the mean of both
(fused). Sequences are of at most {FRAMES} frames."""


def retrieval_body(rows: Rows, sets: tuple[str, ...], ranks: tuple[int, ...]) -> str:
    """Recall at several ranks, and MAP with its interval over queries."""
    lines = []
    for name, method, reading, own in _found(rows, sets):
        each = [row["readings"][reading] for row in own]
        recalls = [f"{np.mean([one[f'recall@{k}'] for one in each]):.3f}" for k in ranks]
        half = f" ± {each[0]['half']:.3f}" if len(each) == 1 else ""
        lines.append(
            [
                name,
                _named(method, reading),
                *recalls,
                f"{np.mean([one['map'] for one in each]):.3f}{half}",
                str(len(own)),
            ]
        )
    head = ["data set", "method", *(f"R@{k}" for k in ranks), "MAP", "seeds"]
    return f"""{told(rows)}

{_classes(rows, sets)} Each sequence of an unseen class is a query among all others of these classes; R@k is the share
of queries with one of their class among the k nearest. Where there are several seeds, which also draw the unseen
classes, numbers are their means; ± is half of the 95 % interval over queries where there is one.

{table(head, lines)}

{_findings(rows, sets, "map", "mean average precision")}

{ABOUT}
"""


def fewshot_body(rows: Rows) -> str:
    """Accuracies with 1.96 s/√n over tasks."""
    lines = []
    for name, method, reading, own in _found(rows, tuple(SETS)):
        cells = []
        for shots in SHOTS:
            each = [row["readings"][reading][shots] for row in own]
            cells.append(", ".join(f"{100 * mean:.1f} ± {100 * half:.1f}" for mean, half in each))
        lines.append([name, _named(method, reading), *cells])
    return f"""{told(rows)}

{_classes(rows, tuple(SETS))} Accuracy in percent over 600 tasks of 5 classes and 75 queries ± 1.96 s/√600, one number
for each seed, which also draws the unseen classes. The interval is over tasks of the same classes: other classes may
differ by more. A query goes to the class whose shots are nearest in the mean (of the vectors, where there are any), or
that has the nearest one. CricketX has as many unseen classes as a task.

{table(["data set", "method", *(f"{shots} %" for shots in SHOTS)], lines)}

{_findings(rows, tuple(SETS), "1-shot", "accuracy with one shot")}

{ABOUT}
"""


def _found(rows: Rows, sets: tuple[str, ...]) -> Iterator[tuple[str, str, str, list[Found]]]:
    for name in sets:
        for method in METHODS:
            own = having(rows, dataset=name, method=method)
            for reading in ("", *READINGS):
                if own and reading in own[0]["readings"]:
                    yield name, method, reading, own


def _findings(rows: Rows, sets: tuple[str, ...], score: str, words: str) -> str:
    """The best of every data set, and what a learned S is worth beside the cosine of the same vectors."""
    means: dict[str, dict[tuple[str, str], float]] = {}
    for name, method, reading, own in _found(rows, sets):
        each = [float(np.ravel(row["readings"][reading][score])[0]) for row in own]
        means.setdefault(name, {})[method, reading] = float(np.mean(each))
    best = "; ".join(f"{name} {_named(*max(some, key=lambda one: some[one]))}" for name, some in means.items())
    pairs = {name: [some.get((PERCEPTRON, one)) for one in ("SIM", "cosine")] for name, some in means.items()}
    apart = "; ".join(
        f"{name} {a:.3f} and {b:.3f}" for name, (a, b) in pairs.items() if a is not None and b is not None
    )
    return f"Best {words}: {best}. The learned S, and the cosine of the very vectors it was trained with: {apart}."


def _named(method: str, reading: str) -> str:
    return f"{method}, {reading}" if reading else method


def _classes(rows: Rows, sets: tuple[str, ...]) -> str:
    """How many classes and sequences there are, of those that have rows."""
    said: dict[str, Any] = {}
    for name in sets:
        own = having(rows, dataset=name)
        if own:
            word = " (development)" if SETS[name].development else ""
            said[name] = f"{name}{word} {own[0]['classes']} with {own[0]['n_new']} sequences"
    return f"Unseen classes: {'; '.join(said.values())}." if said else ""
