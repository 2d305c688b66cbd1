"""Rows of the CGRU comparison: which there are, how one is worked out, and what it will take."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.papers.cgru_data import FOLDS, Problem, fold, parts, positions, sample
from benchmarks.papers.cgru_scores import peak_memory, reset_peak, scores

import timelike as tl

SEEDS = 3
TEST, SAMPLE, RAW, STANDARDIZED = "test", "sample", "raw", "standardized"


class Method(NamedTuple):
    """A learned distance: the class, its options, epochs at most and without progress, and what it costs.

    Whether channels are standardised was decided by the rows `raw` and `standardized`, without the test part.
    """

    title: str
    kind: str
    options: dict[str, Any]
    epochs: int | None
    patience: int | None
    epoch_seconds: float
    microseconds: float  # of a pair
    standardize: bool = True

    def estimator(self, seed: int, *, standardize: bool, epochs: int | None, checkpoint: Path) -> Any:
        given = self.options | {"standardize": standardize, "random_state": seed}
        if self.epochs is None:
            return tl.metric.RVSML(**given)
        most = self.epochs if epochs is None else epochs
        given |= {"hidden": 20, "max_epochs": most, "patience": self.patience, "validation": 0.2}
        return getattr(tl, self.kind)(**given, checkpoint=checkpoint)


METHODS = {
    "siamese": Method("SiameseGRU", "SiameseGRU", {}, 60, 20, 8.0, 0.1),
    "coupled": Method("CoupledGRU, bias 0", "CoupledGRU", {"coupling_bias": 0.0}, 60, 20, 10.0, 25.0),
    "coupled-3": Method("CoupledGRU, bias −3", "CoupledGRU", {"coupling_bias": -3.0}, 60, 20, 10.0, 25.0),
    "lstm": Method("Siamese LSTM", "SiameseGRU", {"cell": "lstm"}, 60, 20, 8.0, 0.1),
    "rvsml-dtw": Method("RVSML (DTW)", "RVSML", {"aligner": "dtw"}, None, None, 0.01, 20.0, False),
    "rvsml-opw": Method("RVSML (OPW)", "RVSML", {"aligner": "opw"}, None, None, 0.01, 3200.0, False),
}
METHODS |= {  # as the paper has it
    f"{name}-raw": METHODS[name]._replace(title=f"{METHODS[name].title}, raw channels", standardize=False)
    for name in ("siamese", "coupled")
}
NETWORKS = [name for name, method in METHODS.items() if method.epochs is not None]
GROUND = [name for name in METHODS if name not in NETWORKS]
CHOOSING_EPOCHS = 15
CHOOSING = ["siamese", "rvsml-dtw"]  # by which it is decided whether channels are standardised


class Row(NamedTuple):
    """One method, one part of the data (`test`, `sample`, `fold0` …, `raw`, `standardized`) and one seed."""

    method: str
    part: str
    seed: int

    @property
    def key(self) -> str:
        return "/".join(map(str, self))


def planned(*, folds: bool, seeds: int = SEEDS) -> Iterator[Row]:
    """Every row: the networks on the test part, one seed after the other, and the others; folds if they are wanted."""
    yield from (Row(method, part, 0) for method in CHOOSING for part in (RAW, STANDARDIZED))
    for seed in range(seeds):
        yield from (Row(method, TEST, seed) for method in NETWORKS if not method.endswith("-raw"))
        yield from (Row(method, SAMPLE, seed) for method in GROUND)
    yield Row("rvsml-dtw", TEST, 0)
    yield from (Row(method, TEST, seed) for seed in range(seeds) for method in NETWORKS if method.endswith("-raw"))
    if folds:
        yield from (Row(method, f"fold{n}", 0) for n in range(FOLDS) for method in ("siamese", "coupled"))


class Workshop:
    """Works rows out; the fitted distances of the test rows stay in a scratch folder, for the figures."""

    def __init__(self, data: Path, scratch: Path, *, quick: bool = False) -> None:
        self.scratch, self.quick, self.whole = scratch, quick, parts(data)
        if quick:
            self.whole = sample(self.whole, 0)

    def work(self, row: Row) -> dict[str, Any]:
        """Scores over all queries and the whole gallery, and the time of each part."""
        began, given = time.perf_counter(), self.problem(row)
        metric = self.fitted(row, given)
        trained = time.perf_counter()
        reset_peak()
        distances = metric.pairwise(given.queries, given.gallery, n_jobs=1)
        found: dict[str, Any] = row._asdict() | {"standardized": metric.standardize, "shape": list(distances.shape)}
        found |= {"matrix seconds": time.perf_counter() - trained, "matrix peak": peak_memory()}
        found |= {"training seconds": trained - began} | training(metric) | scores(distances, given)
        if row.part == TEST:
            queries, gallery = (positions(side, row.seed, self.per_class) for side in (given.queries, given.gallery))
            small = Problem(given.gallery[gallery], given.queries[queries])
            found["sample"] = scores(distances[np.ix_(queries, gallery)], small)
        return found | {"seconds": time.perf_counter() - began, "machine": machine()}

    def fitted(self, row: Row, given: Problem) -> Any:
        """The distance, learned; from where it was interrupted, if it was. That of a test row is saved.

        The checkpoint stays: where a row stopped for `max_epochs`, a larger number in METHODS trains on from there.
        """
        method = METHODS[row.method]
        chosen = {RAW: False, STANDARDIZED: True}.get(row.part, method.standardize)
        self.scratch.mkdir(parents=True, exist_ok=True)
        pause = self.scratch / f"{row.key.replace('/', '-')}-pause"
        metric = method.estimator(row.seed, standardize=chosen, epochs=self.epochs(row), checkpoint=pause)
        metric.fit(given.gallery, given.gallery.labels)
        if row.method in NETWORKS and metric.history_.stopped == "Ctrl-C":
            raise SystemExit(f"{row.key} goes on from its checkpoint when the program is started again")
        if row.method in NETWORKS and row.part == TEST:
            metric.set_params(checkpoint=None).save(self.model(row))
        return metric

    @property
    def per_class(self) -> int:
        return 10 if self.quick else 50

    def problem(self, row: Row) -> Problem:
        if row.part == TEST:
            return self.whole
        if row.part == SAMPLE:
            return sample(self.whole, row.seed, self.per_class)
        left = fold(self.whole.gallery, int(row.part.removeprefix("fold")) if row.part.startswith("fold") else 0)
        return sample(left, row.seed, self.per_class) if row.method in GROUND else left

    def seconds(self, row: Row) -> float:
        """A guess, by the sequences that there are to work through."""
        method, given = METHODS[row.method], self.problem(row)
        n, pairs = len(given.gallery), len(given.gallery) * len(given.queries)
        size = n if method.epochs is None else n / 7352 * (self.epochs(row) or method.epochs)
        training = method.epoch_seconds * size
        return training + 1e-6 * pairs * (method.microseconds + 0.5)  # average precision sorts every row

    def epochs(self, row: Row) -> int | None:
        """At most so many, where the method's own number does not count."""
        return 2 if self.quick else CHOOSING_EPOCHS if row.part in (RAW, STANDARDIZED) else None

    def model(self, row: Row) -> Path:
        return self.scratch / f"{row.key.replace('/', '-')}-model"


def training(metric: Any) -> dict[str, Any]:
    """What the history of a network says, epoch by epoch; nothing of a distance that has none."""
    if not hasattr(metric, "history_"):
        return {}
    history = metric.history_
    steps = history.steps("epoch_loss")
    best = int(np.searchsorted(steps, history.best_step)) + 1
    norms = history["coupling"]  # of every step; the first is that of the start
    coupling = norms[[0, *(steps - 1)]].round(5).tolist() if len(norms) else None
    return {
        "training seconds": history.seconds,  # without pauses
        "epochs": len(steps),
        "best epoch": best,
        "validation": history.best_score,
        "stopped": history.stopped,
        "epoch loss": history["epoch_loss"].round(5).tolist(),
        "epoch score": history["score"].round(5).tolist(),
        "coupling": coupling,
    }


def machine() -> str:
    return f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, one thread"
