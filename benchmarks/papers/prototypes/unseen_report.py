"""The pages of `retrieval` and `fewshot`: tables of the finished rows, seeds side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.papers.markdown import join_words, table
from benchmarks.papers.page import no_rows_yet
from benchmarks.papers.prototypes.unseen import FRAMES, METHODS, PERCEPTRON, READINGS, SETS
from benchmarks.papers.results import Found, Rows, having

SHOTS: dict[str, dict[str, Any]] = {
    "1-shot": {"k_shot": 1},
    "5-shot": {"k_shot": 5},
    "5-shot, nearest": {"k_shot": 5, "aggregation": "nearest"},
}
ABOUT = f"""All methods are at their defaults. `DTW` is `DTW(normalize="length")` and learns nothing; `Rocket` compares
its features, which learn nothing either; `Discriminant` is `classes="open"` on them, `Fused` the sum of this and DTW;
`T-Loss` is `CausalEncoder`, without labels. `Prototypes` compares the cosine of vectors, those of a network and those
of `Discriminant` beside it; the network alone is `extra_encoders=[]`. The learned similarity,
`similarity_fn="learned"`, is the paper's perceptron; it is trained once and scored by itself (SIM), by the cosine of
its vectors, and by the mean of both (fused). Sequences have at most {FRAMES} frames."""
CHEAP = "DTW"


def retrieval_headline(rows: Rows, sets: tuple[str, ...]) -> str:
    return _headline(rows, sets, "map", "MAP", "retrieval among classes that were not learned")


def fewshot_headline(rows: Rows) -> str:
    return _headline(
        rows, tuple(SETS), "1-shot", "accuracy with one shot", "few-shot tasks of classes that were not learned"
    )


def _headline(rows: Rows, sets: tuple[str, ...], score: str, words: str, about: str) -> str:
    """The defaults beside DTW, and the paper's similarity beside the cosine of its own vectors."""
    means = mean_scores(rows, sets, score)
    ours = {name: some["Prototypes", ""] for name, some in means.items() if ("Prototypes", "") in some}
    if not ours:
        return no_rows_yet(rows, about)
    best = [name for name, value in ours.items() if value >= max(means[name].values())]
    each = [
        f"{value:.3f} on {name}" + (f" (DTW {means[name][CHEAP, '']:.3f})" if (CHEAP, "") in means[name] else "")
        for name, value in ours.items()
    ]
    first = (
        f"In {about}, `Prototypes` at its defaults has the best {words} on {len(best)} of {len(ours)} data sets: "
        f"{join_words(each)}; DTW is the cheap rival."
    )
    pairs = {name: [some.get((PERCEPTRON, how)) for how in ("SIM", "cosine")] for name, some in means.items()}
    known = {name: (a, b) for name, (a, b) in pairs.items() if a is not None and b is not None}
    if not known:
        return f"{first} The paper's learned similarity has no rows."
    shown = join_words([f"{a:.3f} against {b:.3f} on {name}" for name, (a, b) in known.items()])
    worse = sum(a < b for a, b in known.values())
    return (
        f"{first} The paper's learned similarity is worse than the cosine of its own vectors on {worse} of "
        f"{len(known)} ({shown}). The paper has pictures, so its numbers do not compare."
    )


def caveats() -> list[str]:
    return [
        "Seeds also draw the unseen classes: other classes may differ by more than the intervals, which are over "
        "queries or tasks of the same classes.",
        "MSRAction3D and CricketX are development sets: settings were chosen on them. Nothing was chosen on the "
        "others.",
    ]


def mean_scores(rows: Rows, sets: tuple[str, ...], score: str) -> dict[str, dict[tuple[str, str], float]]:
    """{data set: {(method, how it is read): mean over seeds}}."""
    means: dict[str, dict[tuple[str, str], float]] = {}
    for name, method, reading, own in _found(rows, sets):
        each = [float(np.ravel(row["readings"][reading][score])[0]) for row in own]
        means.setdefault(name, {})[method, reading] = float(np.mean(each))
    return means


def retrieval_body(rows: Rows, sets: tuple[str, ...], ranks: tuple[int, ...]) -> str:
    """Recall at several ranks, and MAP with its interval over queries."""
    if not rows:
        return ""
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
    return f"""{table(head, lines)}

{_classes(rows, sets)} Each sequence of an unseen class is a query among all others of these classes; R@k is the share
of queries with one of their class among the k nearest. Numbers are means over seeds; with one seed ± is half of the 95
% interval over queries.

{ABOUT}
"""


def fewshot_body(rows: Rows) -> str:
    """Accuracies with 1.96 s/√n over tasks."""
    if not rows:
        return ""
    lines = []
    for name, method, reading, own in _found(rows, tuple(SETS)):
        cells = []
        for shots in SHOTS:
            each = [row["readings"][reading][shots] for row in own]
            cells.append(", ".join(f"{100 * mean:.1f} ± {100 * half:.1f}" for mean, half in each))
        lines.append([name, _named(method, reading), *cells])
    return f"""{table(["data set", "method", *(f"{shots} %" for shots in SHOTS)], lines)}

{_classes(rows, tuple(SETS))} Accuracy in percent over 600 tasks of 5 classes and 75 queries ± 1.96 s/√600, one number
for each seed. A query goes to the class whose shots are nearest on average (of the vectors, where there are any), or
to that of the nearest shot. CricketX has as many unseen classes as a task.

{ABOUT}
"""


def _found(rows: Rows, sets: tuple[str, ...]) -> Iterator[tuple[str, str, str, list[Found]]]:
    for name in sets:
        for method in METHODS:
            own = having(rows, dataset=name, method=method)
            for reading in ("", *READINGS):
                if own and reading in own[0]["readings"]:
                    yield name, method, reading, own


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
