"""Learning features so that alignments come out right: the comparison of "Deep Declarative Dynamic Time Warping".

    python -m benchmarks.papers.decdtw.alignment --data DIR            # everything, three seeds; DIR holds ASAP
    python -m benchmarks.papers.decdtw.alignment --only generated      # needs no data
    python -m benchmarks.papers.decdtw.alignment --data DIR --only decdtw --seeds 1 --budget 20

Tasks: `melspec` and `chroma` (a score and its performance, section 7.1), `generated` (warped signals under
distractors), `places` (a query inside a reference with a maximum-error loss, section 7.2), and `open-…` (λ and the
constraints are learned). A row is one task, one method and one seed. λ, the epoch and everything else are chosen on
validation; the test pairs are looked at once, when the row is finished.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
from benchmarks.papers.decdtw import alignment_report
from benchmarks.papers.decdtw.constraints import OPEN, learn, validated
from benchmarks.papers.decdtw.methods import METHODS, Base
from benchmarks.papers.decdtw.music import FILE, score_task
from benchmarks.papers.decdtw.tasks import THRESHOLDS, Pairs, Task, places_task, warped_task
from benchmarks.papers.decdtw.training import WEIGHTS, Settings, errors, first_metric, select_weight, train
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Row, having

TASKS = ("melspec", "chroma", "generated", "places")
SCORES = TASKS[:2]
SETTINGS = {"places": Settings(epochs=30, patience=8), "generated": Settings(epochs=25, patience=8)}
OPEN_TASKS = ("generated", "melspec")
OPEN_EPOCHS = 10
FEW = (24, 8, 12)  # pairs of a quick run
SECONDS = {"base-dtw": 20.0, "base-gdtw": 5.0, "dilate": 200.0, "decdtw": 600.0, "decdtw-weight": 600.0}  # else 60


@dataclass(frozen=True)
class Case(Row):
    """One task, one method, one seed."""

    task: str
    method: str
    seed: int

    @property
    def source(self) -> str:
        """The task whose pairs it learns from."""
        return self.task.removeprefix("open-")


class Learning(Experiment[Case]):
    """Every method on every task, and λ and constraints learned."""

    paper, table, holds = "decdtw", "alignment", FILE
    title = "Learning to align: DecDTW beside its rivals"
    question = "how well features learned by DecDTW align"
    report = alignment_report
    subject, without_data = ("decdtw",), True

    def __init__(self, given: argparse.Namespace) -> None:
        super().__init__(given)
        self.tasks: dict[str, Task] = {}
        self.weights: dict[str, float] = {}

    def planned(self) -> Iterator[Case]:
        """One seed after the other; what is not learned has no seed but 0."""
        for seed in range(self.given.seeds):
            for task in TASKS:
                yield from (Case(task, name, seed) for name, m in METHODS.items() if m.loss is not None or seed == 0)
            for task in OPEN_TASKS:
                yield from (Case(f"open-{task}", name, seed) for name in OPEN)

    def lacks(self, row: Case) -> str:
        if row.source not in SCORES or (self.given.data is not None and (self.data / FILE).exists()):
            return ""
        return f"--data DIR or TIMELIKE_DATA names the folder that holds {FILE}"

    def seconds(self, row: Case) -> float:
        """What the same work took with another seed, or a guess."""
        same = [found["seconds"] for found in having(self.rows, task=row.task, method=row.method)]
        return float(np.mean(same)) if same else SECONDS.get(row.method, 60.0)

    def kind(self, row: Case) -> str:
        return row.task

    def systems(self, row: Case) -> Iterable[str]:
        return "decdtw", "elastic"  # every row is scored under both alignments

    def work(self, row: Case) -> Found:
        return self._open(row) if row.task.startswith("open-") else self._compared(row)

    def said(self, found: Found) -> str:
        errors = ", ".join(f"{k} {v:.3g}" for k, v in found["test GDTW"].items() if "≤" not in k)
        return f"λ={found['weight']:g}, epoch {found['epoch']}; test under GDTW: {errors}"

    def task(self, name: str) -> Task:
        """Made once."""
        if name not in self.tasks:
            makers = {"generated": warped_task, "places": places_task}
            make = makers[name] if name in makers else partial(score_task, self.data, name)
            self.tasks[name] = make(FEW) if self.quick else make()
        return self.tasks[name]

    def base_weight(self, name: str) -> float:
        """λ for the base features, chosen on validation; DecDTW is trained with it."""
        if name not in self.weights:
            self.weights[name] = select_weight(Base(), self.task(name).val, self.task(name))[0]
        return self.weights[name]

    def settings(self, name: str) -> Settings:
        found = SETTINGS.get(name, Settings())
        return replace(found, epochs=2) if self.quick else found

    def _compared(self, row: Case) -> Found:
        """A column of table 1: the features of one method under both alignments, λ chosen again for these features."""
        task, method, settings = self.task(row.task), METHODS[row.method], self.settings(row.task)
        trained = train(task, method, row.seed, self.base_weight(row.task), settings, say)
        learned = () if trained.weight is None else (trained.weight,)
        weight, _ = select_weight(trained.net, task.val, task, tuple(sorted({*WEIGHTS, *learned})))
        scores = {
            f"{part} {aligner}": summary(errors(trained.net, pairs, task, aligner, weight), pairs, task)
            for part, pairs in (("val", task.val), ("test", task.test))
            for aligner in ("DTW", "GDTW")
        }
        return {
            "weight": weight,
            "trained with": trained.weight or self.base_weight(row.task),
            "history": trained.history,
            "epoch": trained.best,
            "settings": asdict(settings) | {"rate": method.rate},
            "pairs": [len(task.train), len(task.val), len(task.test)],
        } | scores

    def _open(self, row: Case) -> Found:
        task, weight = self.task(row.source), self.base_weight(row.source)
        trained = learn(task, row.method, row.seed, weight, 2 if self.quick else OPEN_EPOCHS, say)
        constant = errors(Base(), task.test, task, "GDTW", weight)
        return {
            "weight": weight,
            "history": trained.history,
            "epoch": trained.best,
            "learned": trained.net.learned(),  # type: ignore[operator]
            "val constant": first_metric(errors(Base(), task.val, task, "GDTW", weight)),
            "test constant": summary(constant, task.test, task),
            "test GDTW": summary(validated(trained.net, task.test, task), task.test, task),
            "pairs": [len(task.train), len(task.val), len(task.test)],
        }


def summary(found: dict[str, list[float]], pairs: Pairs, task: Task) -> dict[str, float]:
    """Means over the pairs, and where the task has conditions the shares below each threshold."""
    means = {name: float(np.mean(values)) for name, values in found.items()}
    if pairs.kind is None:
        return means
    largest, kind = np.asarray(found["max error"]), pairs.kind.numpy()
    for i, condition in enumerate(task.kinds):
        for metres in THRESHOLDS:
            means[f"{condition} ≤ {metres} m"] = float((largest[kind == i] <= metres).mean())
    return means


say = partial(print, "   ", flush=True)


if __name__ == "__main__":
    sys.exit(Learning.main())
