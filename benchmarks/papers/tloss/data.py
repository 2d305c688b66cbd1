"""The archive's data sets as the T-Loss programs use them, and what a row of the comparison costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import timelike as tl

KS = {"UCR": (1, 2, 5, 10), "UEA": (5, 10, 20)}
SHORT = 10  # data sets of three seeds
BATCH = 10
PER_TIME_STEP, PER_TRAINING_STEP = 6e-6, 12e-3  # seconds on one core, until rows have been timed


@dataclass(frozen=True)
class Problem:
    """One data set: series and classes, the official split."""

    name: str
    archive: str
    train: tl.Sequences
    train_labels: NDArray[Any]
    test: tl.Sequences
    test_labels: NDArray[Any]

    @property
    def standardize(self) -> bool:
        """UCR sets are used as they are; channels of UEA sets have scales of their own."""
        return self.archive == "UEA"


@dataclass(frozen=True)
class Known:
    """What can be said of a data set without its values."""

    name: str
    archive: str
    longest: int
    mean_length: float
    n_train: int
    n_test: int

    @property
    def ks(self) -> tuple[int, ...]:
        return KS[self.archive]

    def seconds(self, k: int) -> float:
        """A guess: crops of half a series for the positive and each negative, three quarters for the anchor."""
        time_steps = BATCH * self.mean_length * (0.5 * (k + 1) + 0.75)
        encoding = (self.n_train + self.n_test) * self.mean_length * PER_TIME_STEP / 3
        return steps(k) * (PER_TRAINING_STEP + PER_TIME_STEP * time_steps) + encoding


def steps(k: int) -> int:
    """Of training, in the thesis."""
    return 2000 if k >= 10 else 1500


def sequence_file(path: Path) -> tuple[tl.Sequences, NDArray[Any], NDArray[np.int64]]:
    """Series, labels and split of one file."""
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: --data DIR or TIMELIKE_DATA names the folder that holds it")
    with np.load(path) as held:
        values = held["values"].astype(np.float32)
        return tl.Sequences.from_packed(values, held["offsets"]), held["labels"], held["split"]


def problem(data: Path, known: Known) -> Problem:
    series, labels, split = sequence_file(data / known.archive.lower() / f"{known.name}.npz")
    train, test = (np.flatnonzero(split == part) for part in (0, 1))
    return Problem(known.name, known.archive, series[train], labels[train], series[test], labels[test])


def thinned(given: Problem, most: int = 40) -> Problem:
    """Every so many-th series only, to see that a program runs."""
    train, test = (np.arange(0, len(side), -(-len(side) // most)) for side in (given.train, given.test))
    sides = given.train[train], given.train_labels[train], given.test[test], given.test_labels[test]
    return Problem(given.name, given.archive, *sides)


def known_sets(data: Path) -> list[Known]:
    """All data sets, the cheapest first."""
    found = []
    for archive in KS:
        for path in sorted((data / archive.lower()).glob("*.npz")):
            with np.load(path) as held:
                lengths, split = np.diff(held["offsets"]), held["split"]
                n_train = int((split == 0).sum())
                mean = float(lengths[split == 0].mean())
                found.append(Known(path.stem, archive, int(lengths.max()), mean, n_train, len(split) - n_train))
    if not found:
        raise FileNotFoundError(f"no ucr/*.npz and uea/*.npz in {data}: --data DIR or TIMELIKE_DATA names the folder")
    return sorted(found, key=lambda one: sum(map(one.seconds, one.ks)))


def shortest(sets: list[Known]) -> list[Known]:
    """Those of three seeds."""
    return sorted(sets, key=lambda one: one.longest)[:SHORT]
