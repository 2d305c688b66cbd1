"""Few-shot tasks of classes that nothing was learned from: 5-way, 1 and 5 shots, 600 tasks of 75 queries.

    python -m benchmarks.papers.prototypes.fewshot --data DIR
    python -m benchmarks.papers.prototypes.fewshot --data DIR --only Prototypes --seeds 1 --budget 10

A row is one data set, one method and one seed, which says which classes are unseen. Every method is at its defaults and
learns from the seen classes, from all of them at once and not from tasks; then tasks of the unseen classes are drawn,
the same for every method (`few_shot`). A query goes to the nearest class: by the mean distance to its shots
for metrics, to the mean vector for encoders and `Prototypes`, and once more by the nearest shot. A
learned S is read in three ways, of one training: by itself, by the cosine of its vectors, and by the mean of both.
Nothing was chosen on Omniglot and ArticularyWordRecognition; MSRAction3D and CricketX are development sets.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks.papers.markdown import table as markdown_table
from benchmarks.papers.prototypes.unseen import UnseenProgram, compare_with_dtw, list_readings, reading_name
from benchmarks.papers.results import Found, Rows, Trial

import timelike as tl
from timelike.evaluate import few_shot

TASKS = 600
SHOTS: dict[str, dict[str, Any]] = {
    "1-shot": {"k_shot": 1},
    "5-shot": {"k_shot": 5},
    "5-shot, nearest": {"k_shot": 5, "aggregation": "nearest"},
}


class FewShot(UnseenProgram):
    """Accuracies in tasks of unseen classes."""

    table, title = "fewshot", "Prototypes: few-shot tasks of unseen classes"
    question = "few-shot tasks of classes that were not learned"

    def work(self, row: Trial) -> Found:
        return {"tasks": TASKS} | super().work(row)

    def scores(self, model: Any, new: tl.Sequences, seed: int) -> Found:
        compared = model if hasattr(model, "encode") else model.pairwise(new)  # once for both numbers of shots
        scores: Found = {}
        for name, how in SHOTS.items():
            tasks = few_shot(compared, new, **how, n_tasks=TASKS, random_state=seed)
            scores[name] = (tasks.accuracy, tasks.half_width)
        return scores

    def said(self, found: Found) -> str:
        each = found["readings"].items()
        return ", ".join(
            f"{name} {100 * one['1-shot'][0]:.1f} {100 * one['5-shot'][0]:.1f}".strip() for name, one in each
        )


# --- the page


def headline(rows: Rows) -> str:
    """Accuracy with one shot beside DTW."""
    return compare_with_dtw(rows, "1-shot", "accuracy with one shot", FewShot.question)


def accuracies(rows: Rows) -> str:
    """Accuracies with 1.96 s/√n over tasks."""
    lines = []
    for name, method, reading, found in list_readings(rows):
        pairs = ([one[shots] for one in found] for shots in SHOTS)
        cells = [", ".join(f"{100 * mean:.1f} ± {100 * half:.1f}" for mean, half in some) for some in pairs]
        lines.append([name, reading_name(method, reading), *cells])
    return markdown_table(["data set", "method", *(f"{shots} %" for shots in SHOTS)], lines)


if __name__ == "__main__":
    sys.exit(FewShot.main())
