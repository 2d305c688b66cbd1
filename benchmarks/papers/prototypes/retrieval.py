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
from collections.abc import Iterable, Iterator

import numpy as np
from benchmarks.papers.prototypes import unseen
from benchmarks.papers.prototypes.unseen_report import caveats, retrieval_body, retrieval_headline
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program

from timelike import score

SETS = ("ArticularyWordRecognition", "MSRAction3D", "Omniglot")
RANKS = (1, 2, 4, 8)


class Retrieval(Program[Trial]):
    """Every method on every data set."""

    paper, table, holds = "prototypes", "retrieval", unseen.HOLDS
    subject = ("prototypes",)
    title = "Prototypes: retrieval among unseen classes"

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            yield from (Trial(name, method, seed) for name in SETS for method in unseen.METHODS)

    def seconds(self, row: Trial) -> float:
        return unseen.guess(row.method)

    def kind(self, row: Trial) -> str:
        return row.method

    def systems(self, row: Trial) -> Iterable[str]:
        return *unseen.SYSTEMS[row.method], "retrieval_scores", "score_intervals"

    def work(self, row: Trial) -> Found:
        seen, new = unseen.parts(self.data, row.dataset, row.seed, self.quick)
        if self.quick:
            model = unseen.learned(row.method, seen, row.seed, quick=True)
        else:
            model = unseen.kept(row, seen, self.scratch, self.commit)
        counts = {"n_seen": len(seen), "n_new": len(new), "classes": unseen.SETS[row.dataset].unseen}
        found = {name: self._scores(one, new) for name, one in unseen.readings(model).items()}
        return counts | {"readings": found}

    def _scores(self, model: object, new: object) -> dict[str, float]:
        distances = model.pairwise(new)  # type: ignore[attr-defined]
        labels = new.labels  # type: ignore[attr-defined]
        ranks = {f"recall@{k}": float(np.nanmean(score.recall_at_k(distances, labels, k=k))) for k in RANKS}
        precision = score.interval(score.average_precision(distances, labels))
        return ranks | {"map": precision.mean, "half": precision.half_width}

    def said(self, found: Found) -> str:
        each = found["readings"].items()
        return ", ".join(f"{name} R@1 {one['recall@1']:.3f} MAP {one['map']:.3f}".strip() for name, one in each)

    def headline(self) -> str:
        return retrieval_headline(self.rows, SETS)

    def body(self) -> str:
        return retrieval_body(self.rows, SETS, RANKS)

    def caveats(self) -> list[str]:
        return caveats()


if __name__ == "__main__":
    sys.exit(Retrieval.main())
