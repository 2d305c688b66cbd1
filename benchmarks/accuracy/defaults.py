"""Every method at its defaults on official splits, by `timelike.compare`: accuracy and MAP from one fit, on one core.

    python -m benchmarks.accuracy.defaults --data DIR                                     # everything
    python -m benchmarks.accuracy.defaults --data DIR --sets GunPoint Ham --methods "1-NN DTW" TAP --budget 10
    python -m benchmarks.accuracy.defaults --data DIR --budget 0 --figures docs/images    # the page and its pictures

A row is one data set, one method and one seed, with at most three minutes of training (`max_time`). Defaults were
chosen on the six sets of the first group only, and confirmed on the six of the second; the others come after. UCR and
UEA sets are used as they are. MAP: test sequences are queries among the training sequences. `--seed N`: that one only.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accuracy import defaults_report as report
from benchmarks.accuracy.defaults_report import GROUPS
from benchmarks.numerics.systems import DISCRIMINANT, FUSED, PROTOTYPES
from benchmarks.papers.clock import duration
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program

import timelike as tl
from timelike.evaluate.methods import DEFAULT_CLASSIFIERS, ComparedMethod
from timelike.evaluate.runtime_estimate import FoldSize, estimate_seconds

MINUTES = 3.0  # for one row
SEEDLESS = ("1-NN Euclidean", "1-NN DTW (full)", "1-NN DTW", "statistics + forest")  # always, or nearly, the same
FULL, UNTRAINED = "1-NN DTW (full)", "T-Loss untrained + head"
SYSTEMS: dict[str, tuple[str, ...]] = {
    "1-NN Euclidean": ("elastic",),
    FULL: ("elastic",),
    "1-NN DTW": ("elastic",),
    "1-NN MSM": ("elastic",),
    "statistics + forest": ("statistics",),
    "Rocket + ridge": ("rocket", "heads"),
    "Discriminant": DISCRIMINANT,
    "Fused": FUSED,
    UNTRAINED: ("tloss", "heads"),
    "T-Loss + head": ("tloss", "heads"),
    "SiameseGRU": ("siamese",),
    "Prototypes": PROTOTYPES,
    "CoupledGRU": ("coupled",),
    "TAP": ("tap",),
}
SETS = [name for names in GROUPS.values() for name in names]
FIRST = [name for group in ("choose", "confirm") for name in GROUPS[group]]


def methods() -> list[str]:
    """By name, the cheapest first."""
    names = list(DEFAULT_CLASSIFIERS)
    names.insert(names.index("1-NN DTW"), FULL)
    names.insert(names.index("T-Loss + head"), UNTRAINED)
    return names


def model(name: str) -> Any:
    """A method as `timelike.compare` takes it, nothing changed."""
    if name == FULL:
        return tl.Neighbors("dtw")
    if name == UNTRAINED:
        return tl.EmbeddingClassifier(tl.CausalEncoder(max_steps=0))
    return DEFAULT_CLASSIFIERS[name]()


class Defaults(Program[Trial]):
    """Methods on data sets, as a user would find them."""

    place, paper, table, holds = "benchmarks", "accuracy", "defaults", "ucr/*.npz and uea/*.npz"
    subject = ("rocket", "discriminant", "fused", "tloss", "siamese", "prototypes", "coupled", "tap")
    title = "Every method at its defaults"
    draws = True

    @classmethod
    def file(cls) -> str:
        return "defaults"

    @classmethod
    def options(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--sets", nargs="+", choices=SETS, metavar="SET", help="these data sets only")
        parser.add_argument("--methods", nargs="+", choices=methods(), metavar="METHOD", help=", ".join(methods()))
        parser.add_argument("--seed", type=int, help="this seed only")

    def planned(self) -> Iterator[Trial]:
        """One seed on the twelve sets, then on the others, then more seeds on the twelve."""
        for row in self._everything():
            wanted = (self.given.sets, row.dataset), (self.given.methods, row.method)
            if all(names is None or one in names for names, one in wanted) and self.given.seed in (None, row.seed):
                yield row

    def _everything(self) -> Iterator[Trial]:
        yield from (Trial(one, method, 0) for one in SETS for method in methods())
        for seed in range(1, self.given.seeds):
            drawn = [method for method in methods() if method not in SEEDLESS]
            yield from (Trial(one, method, seed) for one in FIRST for method in drawn)

    def systems(self, row: Trial) -> Iterable[str]:
        return *SYSTEMS[row.method], "comparison"

    def work(self, row: Trial) -> Found:
        X, y, test = loaded(self.data, row.dataset)
        if self.quick:
            X, y, test = X[::3], y[::3], (test[0][::5], test[1][::5])
        with one_core():
            found = tl.compare(
                X,
                y,
                {row.method: model(row.method)},
                test=test,
                metric=("accuracy", "map"),
                budget=0.1 if self.quick else MINUTES,
                random_state=row.seed,
                progress=False,
            )
        if "stopped by Ctrl-C" in found.notes:  # a comparison ends with what it has, and that is no row
            raise KeyboardInterrupt
        return summary(found)

    def lacks(self, row: Trial) -> str:
        if self.given.budget == 0:  # nothing is run
            return ""
        if not file_of(self.data, row.dataset).exists():
            return f"{file_of(self.data, row.dataset)} is missing"
        needed = estimate_seconds(model(row.method), size_of(self.data, row.dataset))
        limited = ComparedMethod(row.method, model(row.method)).accepts_time_limit
        return "" if limited or needed <= 60 * MINUTES else f"it would take about {duration(needed)}, and has no limit"

    def seconds(self, row: Trial) -> float:
        if not file_of(self.data, row.dataset).exists():
            return 60.0
        return min(estimate_seconds(model(row.method), size_of(self.data, row.dataset)), 60 * MINUTES)

    def limited_by_time(self, row: Trial) -> str:
        """Also of rows that had half of the time: a machine that is twice as busy would not have let them end."""
        limited = ComparedMethod(row.method, model(row.method)).accepts_time_limit
        long = (self.rows[row.key]["fit"] or 0.0) > 30 * MINUTES
        return f"trainings end after {MINUTES:g} minutes by the clock" if limited and long else ""

    def kind(self, row: Trial) -> str:
        return row.method

    def said(self, found: Found) -> str:
        return found["why"] or f"accuracy {found['accuracy']:.3f}, MAP {found['map']:.3f}"

    def headline(self) -> str:
        return report.headline(self.rows, methods())

    def body(self) -> str:
        return report.body(self.rows, methods())

    def caveats(self) -> list[str]:
        return report.caveats()

    def draw(self, folder: Path) -> None:
        report.draw(self.rows, methods(), folder)


def summary(found: tl.evaluate.Comparison) -> Found:
    """What a row keeps of a comparison of one method."""
    (row,) = found.rows
    numbers: Found = {name: interval.mean for name, interval in row.scores.items()}
    times = {"fit": row.fit_seconds, "fit cpu": row.fit_cpu_seconds, "predict": row.predict_seconds}
    said = [words for fold in row.folds for words in fold.warnings]
    return numbers | times | {"memory": row.memory, "state": row.state, "why": row.reason, "said": said}


def file_of(data: Path, name: str) -> Path:
    """Where a data set is."""
    found = data / "uea" / f"{name}.npz"
    return found if found.exists() else data / "ucr" / f"{name}.npz"


def loaded(data: Path, name: str) -> tuple[tl.Sequences, Any, tuple[tl.Sequences, Any]]:
    """The official split: X, y and (X, y) of the test part."""
    with np.load(file_of(data, name)) as held:
        X = tl.Sequences.from_packed(held["values"].astype(np.float32), held["offsets"])
        labels, split = held["labels"], held["split"]
    return X[split == 0], labels[split == 0], (X[split == 1], labels[split == 1])


@cache
def size_of(data: Path, name: str) -> FoldSize:
    """Of a data set, as the guess of the time takes it."""
    with np.load(file_of(data, name)) as held:
        n = int((held["split"] == 0).sum())
        width = float(np.prod(held["values"].shape[1:]))
        return FoldSize(n, len(held["split"]) - n, float(np.diff(held["offsets"]).mean()), width)


@contextmanager
def one_core() -> Iterator[None]:
    """The process stays on one processor, where the system can do it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {before[os.getpid() % len(before)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


if __name__ == "__main__":
    sys.exit(Defaults.main())
