"""Two problems of verification: speakers of JapaneseVowels, and people of UCI HAR who do the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import timelike as tl

PROBLEMS = ("JapaneseVowels", "UCI HAR")
SPEAKERS = 6  # that are known
WINDOWS = (8, 6)  # of every person and activity, to learn from and to be judged by


class Problem(NamedTuple):
    """Sequences to learn from, whose labels are people, and others; what a pair of these has in common, and who."""

    train: tl.Sequences
    test: tl.Sequences
    within: NDArray[Any]
    subjects: NDArray[Any]


def file(name: str, folder: Path) -> Path:
    """Where the data of a problem are."""
    return folder / ("uci_har.npz" if name == "UCI HAR" else f"uea/{name}.npz")


def problem(name: str, folder: Path, *, quick: bool = False) -> Problem:
    """By its name."""
    found = _people(file(name, folder)) if name == "UCI HAR" else _speakers(file(name, folder))
    if not quick:
        return found
    train, test = np.arange(0, len(found.train), 3), np.arange(0, len(found.test), 3)
    return Problem(found.train[train], found.test[test], found.within[test], found.subjects[test])


def _speakers(path: Path) -> Problem:
    """The first six by their labels are known; intervals are over sequences, for there are only three others."""
    train, test = tl.load(path)
    known = np.unique(train.labels)[:SPEAKERS]
    train, test = train[np.isin(train.labels, known)], test[~np.isin(test.labels, known)]
    return Problem(train, test, np.zeros(len(test)), np.arange(len(test)))


def _people(path: Path) -> Problem:
    """Windows of every person and activity, evenly spaced, so that no two overlap."""
    with np.load(path, allow_pickle=False) as held:
        values = held["values"].astype(np.float32)  # kept in half precision
        every = tl.Sequences.from_packed(values, held["offsets"], labels=held["groups"])
        activity, people, split = held["labels"], held["groups"], held["split"]
    chosen = [_spaced(activity, people, split == side, WINDOWS[side]) for side in (0, 1)]
    train, test = (every[some] for some in chosen)
    return Problem(train, test, activity[chosen[1]], people[chosen[1]])


def _spaced(activity: NDArray[Any], people: NDArray[Any], side: NDArray[np.bool_], count: int) -> NDArray[np.int64]:
    found = []
    for who in np.unique(people[side]):
        for what in np.unique(activity):
            own = np.flatnonzero(side & (people == who) & (activity == what))
            found.append(own[np.linspace(0, len(own) - 1, min(count, len(own) // 2)).astype(np.int64)])
    return np.sort(np.concatenate(found))


def pairs(matrix: NDArray[Any], given: Problem) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[Any]]:
    """The distances of the pairs that count, whether both are of one person, and what is drawn anew, (pair, 2)."""
    first, second = np.triu_indices(len(given.test), 1)
    counted = given.within[first] == given.within[second]
    first, second = first[counted], second[counted]
    labels = np.asarray(given.test.labels)
    subjects = np.stack([given.subjects[first], given.subjects[second]], axis=1)
    return matrix[first, second].astype(np.float64), labels[first] == labels[second], subjects
