"""Retrieval among classes that nothing was learned from: recall@1, 2, 4, 8 and MAP.

    python -m benchmarks.papers.prototypes.retrieval --data DIR
    python -m benchmarks.papers.prototypes.retrieval --data DIR --only Prototypes --seeds 1 --budget 10

A row is one data set, one method and one seed, which says which classes are unseen. Every method is at its defaults and
learns from the seen classes. Each sequence of an unseen class is a query among all the others of these classes. A
learned S is read in three ways, of one training: by itself, by the cosine of its vectors, and by the mean of both.
Nothing was chosen on Omniglot and ArticularyWordRecognition; MSRAction3D is a development set.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from benchmarks.papers.markdown import table as markdown_table
from benchmarks.papers.prototypes.unseen import UnseenProgram, compare_with_dtw, list_readings, reading_name
from benchmarks.papers.results import Found, Rows, Trial

import timelike as tl
from timelike import score

RANKS = (1, 2, 4, 8)


class Retrieval(UnseenProgram):
    """Recall at several ranks, and MAP."""

    table, title = "retrieval", "Prototypes: retrieval among unseen classes"
    question = "retrieval among classes that were not learned"
    sets = ("ArticularyWordRecognition", "MSRAction3D", "Omniglot")

    def systems(self, row: Trial) -> Iterable[str]:
        return *super().systems(row), "score_intervals"

    def scores(self, model: Any, new: tl.Sequences, seed: int) -> Found:
        distances = model.pairwise(new)
        ranks = {f"recall@{k}": float(np.nanmean(score.recall_at_k(distances, new.labels, k=k))) for k in RANKS}
        precision = score.interval(score.average_precision(distances, new.labels))
        return ranks | {"map": precision.mean, "half": precision.half_width}

    def said(self, found: Found) -> str:
        each = found["readings"].items()
        return ", ".join(f"{name} R@1 {one['recall@1']:.3f} MAP {one['map']:.3f}".strip() for name, one in each)


# --- the page


def headline(rows: Rows) -> str:
    """MAP beside DTW."""
    return compare_with_dtw(rows, "map", "MAP", Retrieval.question)


def recalls(rows: Rows) -> str:
    """Recall at several ranks, and MAP with its interval over queries."""
    lines = []
    for name, method, reading, found in list_readings(rows):
        *ranks, precision = (
            f"{np.mean([one[score] for one in found]):.3f}" for score in (*(f"recall@{k}" for k in RANKS), "map")
        )
        half = f" ± {found[0]['half']:.3f}" if len(found) == 1 else ""
        lines.append([name, reading_name(method, reading), *ranks, precision + half, str(len(found))])
    return markdown_table(["data set", "method", *(f"R@{k}" for k in RANKS), "MAP", "seeds"], lines)


if __name__ == "__main__":
    sys.exit(Retrieval.main())
