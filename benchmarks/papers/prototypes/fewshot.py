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
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.papers.prototypes import unseen
from benchmarks.papers.prototypes.unseen_report import SHOTS, caveats, fewshot_body, fewshot_headline
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program

import timelike as tl
from timelike.evaluate import few_shot

TASKS = 600


class FewShot(Program[Trial]):
    """Every method on every data set."""

    paper, table, holds = "prototypes", "fewshot", unseen.HOLDS
    subject = ("prototypes",)
    title = "Prototypes: few-shot tasks of unseen classes"

    def planned(self) -> Iterator[Trial]:
        for seed in range(self.given.seeds):
            yield from (Trial(name, method, seed) for name in unseen.SETS for method in unseen.METHODS)

    def seconds(self, row: Trial) -> float:
        return unseen.guess(row.method)

    def kind(self, row: Trial) -> str:
        return row.method

    def systems(self, row: Trial) -> Iterable[str]:
        return *unseen.SYSTEMS[row.method], "retrieval_scores"

    def work(self, row: Trial) -> Found:
        seen, new = unseen.parts(self.data, row.dataset, row.seed, self.quick)
        if self.quick:
            model = unseen.learned(row.method, seen, row.seed, quick=True)
        else:
            model = unseen.kept(row, seen, self.scratch, self.commit)
        counts = {"n_seen": len(seen), "n_new": len(new), "classes": unseen.SETS[row.dataset].unseen}
        ways = unseen.readings(model).items()
        return counts | {"tasks": TASKS, "readings": {name: self._scores(one, new, row.seed) for name, one in ways}}

    def _scores(self, model: Any, new: tl.Sequences, seed: int) -> dict[str, tuple[float, float]]:
        compared = model if hasattr(model, "encode") else model.pairwise(new)  # once for both numbers of shots
        found = {}
        for name, how in SHOTS.items():
            tasks = few_shot(compared, new, **how, n_tasks=TASKS, random_state=seed)
            found[name] = (tasks.accuracy, tasks.half_width)
        return found

    def said(self, found: Found) -> str:
        each = found["readings"].items()
        return ", ".join(
            f"{name} {100 * one['1-shot'][0]:.1f} {100 * one['5-shot'][0]:.1f}".strip() for name, one in each
        )

    def headline(self) -> str:
        return fewshot_headline(self.rows)

    def body(self) -> str:
        return fewshot_body(self.rows)

    def caveats(self) -> list[str]:
        return caveats()


if __name__ == "__main__":
    sys.exit(FewShot.main())
