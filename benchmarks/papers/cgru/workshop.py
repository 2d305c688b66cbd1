"""How a row of the CGRU comparison is worked out, and what it will take."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.memory import peak_memory, reset_peak
from benchmarks.papers.cgru.data import PER_CLASS, Problem, fold, parts, positions, sample
from benchmarks.papers.cgru.methods import (
    CHOOSING_EPOCHS,
    GROUND,
    METHODS,
    NETWORKS,
    RAW,
    SAMPLE,
    STANDARDIZED,
    TEST,
    Part,
)
from benchmarks.papers.cgru.scores import scores

NOISES = 3  # repeats of the noise


class Workshop:
    """Works rows out; the fitted distances of the test rows stay in a scratch folder, for the figures."""

    def __init__(self, data: Path, scratch: Path, *, quick: bool = False) -> None:
        self.data, self.scratch, self.quick = data, scratch, quick

    @cached_property
    def whole(self) -> Problem:
        """Everything, or with `quick` a sample of it."""
        return sample(parts(self.data), 0, self.per_class) if self.quick else parts(self.data)

    def work(self, row: Part) -> dict[str, Any]:
        """Scores over all queries and the whole gallery, and the time of each part."""
        given, began = self.problem(row), time.perf_counter()
        metric = self.fitted(row, given)
        trained = time.perf_counter()
        reset_peak()
        distances = metric.pairwise(given.queries, given.gallery, n_jobs=1)
        found: dict[str, Any] = {"standardized": metric.standardize, "shape": list(distances.shape)}
        found |= {"matrix seconds": time.perf_counter() - trained, "matrix peak": peak_memory()}
        found |= {"training seconds": trained - began} | scores(distances, given)
        if row.method in NETWORKS:
            found |= training(metric)
        if row.part == TEST and row.method in NETWORKS:
            found["noise"] = self.noise(metric)
        if row.part == TEST:
            queries, gallery = (positions(side, row.seed, self.per_class) for side in (given.queries, given.gallery))
            small = Problem(given.gallery[gallery], given.queries[queries])
            found["sample"] = scores(distances[np.ix_(queries, gallery)], small)
        return found

    def noise(self, metric: Any) -> dict[str, Any]:
        """Figure 3: mean distances within and between classes of a sample of the test part, the more noise there is."""
        test = self.whole.queries
        some = test[positions(test, 0, self.per_class)]
        curve = metric.noise_curve(some, n_repeats=NOISES, random_state=0, n_jobs=1)
        means = {name: values.mean(axis=0).round(5).tolist() for name, values in curve.kinds.items()}
        return {"levels": curve.levels.tolist(), "repeats": NOISES, **means}

    def fitted(self, row: Part, given: Problem) -> Any:
        """The distance, learned; from where it was interrupted, if it was. That of a test row is saved.

        The checkpoint stays: where a row stopped for `max_epochs`, a larger number in METHODS trains on from there.
        """
        method = METHODS[row.method]
        chosen = {RAW: False, STANDARDIZED: True}.get(row.part, method.standardize)
        self.scratch.mkdir(parents=True, exist_ok=True)
        pause = self.scratch / f"{row.key.replace('/', '-')}-pause"
        metric = method.estimator(row.seed, standardize=chosen, epochs=self.epochs(row), checkpoint=pause)
        metric.fit(given.gallery, given.gallery.labels)
        if row.method in NETWORKS and row.part == TEST:
            metric.set_params(trainer__checkpoint=None).save(self.model(row))
        return metric

    @property
    def per_class(self) -> int:
        return 10 if self.quick else PER_CLASS

    def problem(self, row: Part) -> Problem:
        if row.part == TEST:
            return self.whole
        if row.part == SAMPLE:
            return sample(self.whole, row.seed, self.per_class)
        left = fold(self.whole.gallery, int(row.part.removeprefix("fold")) if row.part.startswith("fold") else 0)
        return sample(left, row.seed, self.per_class) if row.method in GROUND else left

    def seconds(self, row: Part) -> float:
        """A guess, by the sequences that there are to work through."""
        method, given = METHODS[row.method], self.problem(row)
        n, pairs = len(given.gallery), len(given.gallery) * len(given.queries)
        size = n if method.epochs is None else n / 7352 * (self.epochs(row) or method.epochs)
        training = method.epoch_seconds * size
        return training + 1e-6 * pairs * (method.microseconds + 0.5)  # average precision sorts every row

    def epochs(self, row: Part) -> int | None:
        """At most so many, where the method's own number does not count."""
        return 2 if self.quick else CHOOSING_EPOCHS if row.part in (RAW, STANDARDIZED) else None

    def model(self, row: Part) -> Path:
        return self.scratch / f"{row.key.replace('/', '-')}-model"


def training(metric: Any) -> dict[str, Any]:
    """What the history of a network says, epoch by epoch."""
    history = metric.history_
    steps = history.steps("epoch_loss")
    best = int(np.searchsorted(steps, history.best_step)) + 1

    def by_epoch(track: str) -> list[float] | None:
        noted = history[track]  # of every step; the first is that of the start
        return noted[[0, *(steps - 1)]].round(5).tolist() if len(noted) else None

    return {
        "training seconds": history.seconds,  # without pauses
        "epochs": len(steps),
        "best epoch": best,
        "validation": history.best_score,
        "stopped": history.stop_reason,
        "epoch loss": history["epoch_loss"].round(5).tolist(),
        "epoch score": history["score"].round(5).tolist(),
        "coupling": by_epoch("coupling_norm"),
        "gate": by_epoch("coupling"),
    }
