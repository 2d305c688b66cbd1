"""TAP and its rivals learned from classes, beside tables 1, 3, 8 and 11 of the paper (Su and Wen, ICLR 2022).

    python -m benchmarks.papers.tap.supervised --data DIR
    python -m benchmarks.papers.tap.supervised --data DIR --only FSDD --seeds 1

A row is one data set, one method and one seed. Batches are 4 sequences of each of 4 classes (16; the paper has 64), the
learning rate is the paper's 1e-4 and the perceptron has its 1024 units; epochs and lengths are those of `data.PLANS`.
The weights of the epoch with the best MAP of the held-out part of the training data are kept; the test part is looked
at once, when a row is finished.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program
from benchmarks.papers.tap import supervised_report as report
from benchmarks.papers.tap.data import HOLDS, PLANS, SYSTEMS, Plan, Task, labels_of, scores, spaced, task
from benchmarks.papers.tap.methods import LOSSES, from_classes, loss_for
from sklearn.linear_model import LogisticRegression

import timelike as tl

WITHOUT = "-plain"  # no augmentation
FIXED = ("DTW", "OPW", "SoftDTW")
GROUND = ("RVSML+DTW", "RVSML+OPW", "DeepRVSML+DTW", "elements+DTW", "elements+OPW")


def learned(row: Trial, plan: Plan, *, quick: bool) -> Any:
    """The metric of a row before it has learned."""
    small: dict[str, Any] = {"hidden": 16, "random_state": row.seed} if quick else {"random_state": row.seed}
    first, _, rest = row.method.partition("+")
    if first == "RVSML":
        return tl.metric.RVSML(aligner=rest.lower(), standardize=False, random_state=row.seed)
    if first == "DeepRVSML":
        epochs = 1 if quick else 20
        return tl.metric.DeepRVSML(aligner=rest.lower(), max_epochs=epochs, standardize=False, **small)
    if first == "elements":
        steps = 3 if quick else 2000
        return tl.metric.ElementWise(aligner=rest.lower(), max_steps=steps, standardize=False, **small)
    aligner = rest.removesuffix(WITHOUT)
    loss, plain = loss_for(first, aligner), rest.endswith(WITHOUT)
    return from_classes(aligner, plan, row.seed, quick=quick, loss=loss, augment=not plain)


def probed(metric: tl.metric.AlignedFrames, given: Task) -> dict[str, float]:
    """Table 11: a linear classifier on the mean of the frames that the network makes; and table 3, ‖g‖ / ‖D‖."""
    train, test = (metric.pool_frames(part, n_jobs=1) for part in (given.train, given.test))
    classifier = LogisticRegression(C=100.0, max_iter=3000).fit(train, labels_of(given.train))
    order = classifier.classes_[classifier.predict_proba(test).argsort(axis=1)[:, ::-1]]
    right = order == labels_of(given.test)[:, None]
    found = {"probe top-1": float(right[:, :1].any(1).mean()), "probe top-5": float(right[:, :5].any(1).mean())}
    if not isinstance(metric, tl.TAP):
        return found
    return found | {"norm ratio": float(metric.norm_ratio(spaced(given.test), spaced(given.train), n_jobs=1).mean())}


class Supervised(Program[Trial]):
    """Every method on every data set."""

    paper, table, holds = "tap", "supervised", HOLDS
    subject = ("tap",)
    title = "Learned alignment with labels: TAP, SoftDTW and the others, beside the paper"

    def planned(self) -> Iterator[Trial]:
        """What tells most first: nothing learned, then triplets, then the rest, then more seeds."""
        for seed in range(self.given.seeds):
            if seed == 0:
                yield from (Trial(name, method, 0) for method in FIXED for name in PLANS)
            for name in PLANS:
                yield from (Trial(name, f"triplet+{aligner}", seed) for aligner in ("TAP", "SoftDTW"))
            for name in PLANS:
                yield from (Trial(name, method, seed) for method in GROUND)
                yield from (Trial(name, f"{loss}+{a}", seed) for loss in LOSSES[1:] for a in ("TAP", "SoftDTW"))
            yield from (Trial(name, f"{loss}+TAP{WITHOUT}", seed) for name in PLANS for loss in LOSSES)

    def seconds(self, row: Trial) -> float:
        plan = PLANS[row.dataset]
        if "+TAP" in row.method:
            return plan.training() + plan.comparing()
        if row.method.endswith("+SoftDTW"):
            return plan.training() / 5 + plan.comparing() / 20
        return 60.0 if "+" in row.method or row.method == "OPW" else 5.0

    def systems(self, row: Trial) -> Iterable[str]:
        if row.method in FIXED:
            return SYSTEMS[row.method], "retrieval_scores"
        if row.method in GROUND:
            return "ground", "elastic", "transport", "retrieval_scores"
        return "tap" if "+TAP" in row.method else "aligned_frames", "retrieval_scores"

    def work(self, row: Trial) -> Found:
        plan = PLANS[row.dataset]
        given, began = task(self.data, plan, self.quick), time.perf_counter()
        found: Found = {}
        metric: Any = getattr(tl, row.method)() if row.method in FIXED else learned(row, plan, quick=self.quick)
        if row.method not in FIXED:
            metric.fit(given.train, labels_of(given.train))
            found["training seconds"] = time.perf_counter() - began
        found |= scores(metric.pairwise(given.test, given.train, n_jobs=1), given)
        if isinstance(metric, tl.metric.AlignedFrames):
            found |= probed(metric, given)
            found |= {"epochs": plan.epochs, "steps": metric.history_.n_steps}
            if isinstance(metric, tl.TAP):
                found["consistency"] = metric.consistency
            found["validation"] = [round(float(score), 4) for score in metric.history_.scores]
        return found | given.sizes() | {"seconds": time.perf_counter() - began}  # without reading the files

    def said(self, found: Found) -> str:
        return ", ".join(f"{name} {found[name]:.3f}" for name in report.SCORES)

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows)

    def caveats(self) -> list[str]:
        return report.caveats(self.rows)


if __name__ == "__main__":
    sys.exit(Supervised.main())
