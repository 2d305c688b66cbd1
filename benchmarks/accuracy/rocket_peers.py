"""Rocket beside aeon's MiniRocket on official splits, under one head: accuracy and seconds of the processor.

    python -m benchmarks.accuracy.rocket_peers --data DIR
    python -m benchmarks.accuracy.rocket_peers --data DIR --only GunPoint --budget 5
    python -m benchmarks.accuracy.rocket_peers --data DIR --budget 0          # the page only

A row is one data set, one method and one seed. The head is aeon's for both: features by their deviation, and
scikit-learn's `RidgeClassifierCV` with ten penalties from 10⁻³ to 10³. aeon's transform takes equal lengths only; where
lengths differ it is given zeros behind the end, and the set counts in no mean.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from benchmarks.accuracy import rocket_peers_report as report
from benchmarks.accuracy.defaults import file_of, loaded, one_core, size_of
from benchmarks.accuracy.rocket_peers_report import PEER, RAGGED, SETS
from benchmarks.papers.results import Found, Trial
from benchmarks.papers.resumable import Program
from numpy.typing import NDArray
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import timelike as tl

Vectors = tuple[NDArray[np.float32], NDArray[np.float32]]


def ours(train: tl.Sequences, test: tl.Sequences, seed: int, **options: Any) -> Vectors:
    """Features by Rocket at its defaults, but for the options."""
    encoder = tl.Rocket(random_state=seed, **options).fit(train)
    return encoder.encode(train, n_jobs=1), encoder.encode(test, n_jobs=1)


def peer(train: tl.Sequences, test: tl.Sequences, seed: int) -> Vectors:
    """Features by aeon's MiniRocket at its defaults."""
    from aeon.transformations.collection.convolution_based import MiniRocket

    length = int(train.lengths.max())
    model = MiniRocket(random_state=seed).fit(block(train, length))
    return model.transform(block(train, length)), model.transform(block(test, length))


def block(sequences: tl.Sequences, length: int) -> NDArray[np.float32]:
    """(item, channel, time) with zeros behind the end, and nothing beyond the length."""
    found = np.zeros((len(sequences), sequences.frame[0], length), np.float32)
    for item, x in enumerate(sequences):
        found[item, :, : len(x)] = np.asarray(x)[:length].T
    return found


METHODS: dict[str, Callable[[tl.Sequences, tl.Sequences, int], Vectors]] = {
    "Rocket": ours,
    PEER: peer,
    "Rocket, causal": lambda train, test, seed: ours(train, test, seed, causal=True),
    "Rocket, mean length": lambda train, test, seed: ours(train, test, seed, length="mean"),
}


class RocketPeers(Program[Trial]):
    """Rocket, as it is by default and as streams need it, beside MiniRocket."""

    place, paper, table, holds = "benchmarks", "accuracy", "rocket_peers", "ucr/*.npz and uea/*.npz"
    subject = ("rocket",)
    title = "Rocket beside MiniRocket"

    @classmethod
    def file(cls) -> str:
        return "rocket_peers"

    def planned(self) -> Iterator[Trial]:
        """One seed everywhere, then the others; one length for all only where lengths differ."""
        for seed in range(self.given.seeds):
            for dataset in SETS:
                for method in METHODS:
                    if method != "Rocket, mean length" or dataset in RAGGED:
                        yield Trial(dataset, method, seed)

    def systems(self, row: Trial) -> Iterable[str]:
        return () if row.method == PEER else ("rocket",)

    def work(self, row: Trial) -> Found:
        train, labels, (test, truth) = loaded(self.data, row.dataset)
        if self.quick:
            train, labels, test, truth = train[::3], labels[::3], test[::5], truth[::5]
        with one_core():
            METHODS[row.method](train[:2], test[:2], row.seed)  # aeon compiles when it is first called
            began = time.process_time()
            known, asked = METHODS[row.method](train, test, row.seed)
            seconds = time.process_time() - began
            head = make_pipeline(StandardScaler(with_mean=False), RidgeClassifierCV(alphas=np.logspace(-3, 3, 10)))
            accuracy = float(head.fit(known, labels).score(asked, truth))
        return {"accuracy": accuracy, "encoding": seconds}

    def lacks(self, row: Trial) -> str:
        if self.given.budget == 0:  # nothing is run
            return ""
        if row.method == PEER and find_spec("aeon") is None:
            return "aeon is not installed: pip install timelike[bench]"
        return "" if file_of(self.data, row.dataset).exists() else f"{file_of(self.data, row.dataset)} is missing"

    def seconds(self, row: Trial) -> float:
        if not file_of(self.data, row.dataset).exists():
            return 5.0
        size = size_of(self.data, row.dataset)
        return 1.0 + 4e-3 * size.n_train + 4e-6 * (size.n_train + size.n_test) * size.n_steps

    def said(self, found: Found) -> str:
        return f"accuracy {found['accuracy']:.3f}, features in {found['encoding']:.2g} s"

    def headline(self) -> str:
        return report.headline(self.rows)

    def body(self) -> str:
        return report.body(self.rows, list(METHODS))

    def caveats(self) -> list[str]:
        return report.caveats()


if __name__ == "__main__":
    sys.exit(RocketPeers.main())
