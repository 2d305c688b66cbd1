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
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from benchmarks.accuracy.defaults import GROUPS, file_of, loaded, numbers, one_core, size_of
from benchmarks.papers import markdown, page
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.results import Found, Rows, Trial
from numpy.typing import NDArray
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import timelike as tl

PEER = "MiniRocket (aeon)"
RAGGED = ("JapaneseVowels", "PickupGestureWiimoteZ")
SETS = sorted(name for names in GROUPS.values() for name in names)

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


class RocketPeers(Experiment[Trial]):
    """Rocket, as it is by default and as streams need it, beside MiniRocket."""

    place, paper, table, holds = "benchmarks", "accuracy", "rocket_peers", "ucr/*.npz and uea/*.npz"
    subject = ("rocket",)
    title = "Rocket beside MiniRocket"
    question = "Rocket beside aeon's MiniRocket"

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
            return "aeon is not installed: pip install --group bench"
        return "" if file_of(self.data, row.dataset).exists() else f"{file_of(self.data, row.dataset)} is missing"

    def seconds(self, row: Trial) -> float:
        if not file_of(self.data, row.dataset).exists():
            return 5.0
        size = size_of(self.data, row.dataset)
        return 1.0 + 4e-3 * size.n_train + 4e-6 * (size.n_train + size.n_test) * size.n_steps

    def said(self, found: Found) -> str:
        return f"accuracy {found['accuracy']:.3f}, features in {found['encoding']:.2g} s"


# --- the page

COMPARED = ("Rocket", PEER, "Rocket, causal")
HALVES = {"all": SETS, "to choose on": SETS[::2], "to confirm on": SETS[1::2]}


class Beside(NamedTuple):
    """Rocket beside its peer on the sets that all methods can take: mean accuracies, wins and losses, seconds."""

    sets: list[str]
    accuracies: dict[str, float]
    won: int
    lost: int
    seconds: list[float]

    @classmethod
    def on(cls, rows: Rows, names: Sequence[str]) -> Beside:
        """On those of the sets that have equal lengths and rows of all methods."""
        accuracies, seconds = (numbers(rows, score) for score in ("accuracy", "encoding"))
        sets = [n for n in names if n not in RAGGED and {*COMPARED} <= {*accuracies.get(n, ())}]
        if not sets:
            raise page.MissingRows("sets that all methods have")
        gaps = [accuracies[name]["Rocket"] - accuracies[name][PEER] for name in sets]
        means = {method: fmean(accuracies[name][method] for name in sets) for method in COMPARED}
        spent = [sum(seconds[name][method] for name in sets) for method in ("Rocket", PEER)]
        return cls(sets, means, sum(gap > 0.0005 for gap in gaps), sum(gap < -0.0005 for gap in gaps), spent)


def headline(rows: Rows) -> str:
    """Rocket beside MiniRocket on all sets and on the half that chose nothing."""
    whole = Beside.on(rows, SETS)
    half = page.clause(
        lambda: (
            " On the half of the sets that chose nothing it is {Rocket:.4f} against {MiniRocket (aeon):.4f}.".format(
                **Beside.on(rows, SETS[1::2]).accuracies
            )
        )
    )
    return (
        f"`Rocket` has a mean accuracy of {whole.accuracies['Rocket']:.4f} on {len(whole.sets)} data sets and aeon's "
        f"MiniRocket {whole.accuracies[PEER]:.4f}: it is better on {whole.won} and worse on {whole.lost}, in "
        f"{whole.seconds[0]:.1f} s against {whole.seconds[1]:.1f} s.{half}"
    )


def summary(rows: Rows) -> str:
    """Means over the sets that both can take, halves apart."""
    lines = [line for title, names in HALVES.items() if (line := _summary_line(rows, title, names))]
    head = ["sets", "number", "Rocket", PEER, "Rocket, causal", "better / worse", "s, Rocket", "s, MiniRocket"]
    return markdown.table(head, lines)


def _summary_line(rows: Rows, title: str, names: Sequence[str]) -> list[str]:
    try:
        found = Beside.on(rows, names)
    except page.MissingRows:
        return []
    means = [f"{found.accuracies[method]:.4f}" for method in COMPARED]
    seconds = [f"{one:.1f}" for one in found.seconds]
    return [title, str(len(found.sets)), *means, f"{found.won} / {found.lost}", *seconds]


def every_set(rows: Rows) -> str:
    """Accuracies and seconds set by set."""
    accuracies, seconds = (numbers(rows, score) for score in ("accuracy", "encoding"))
    lines = []
    for name in SETS:
        if found := accuracies.get(name):
            half = "choose" if name in HALVES["to choose on"] else "confirm"
            title = f"{name} (unequal lengths)" if name in RAGGED else name
            scores = [f"{found[method]:.3f}" if method in found else "–" for method in METHODS]
            times = [f"{seconds[name][m]:.2f}" if m in found else "–" for m in ("Rocket", PEER)]
            lines.append([title, half, *scores, *times])
    return markdown.table(["set", "half", *METHODS, "s, Rocket", "s, MiniRocket"], lines)


if __name__ == "__main__":
    sys.exit(RocketPeers.main())
