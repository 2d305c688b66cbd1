"""UCI HAR as the CGRU paper uses it: its training and test part, users left out three at a time, and a sample."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

import timelike as tl

FILE = "uci_har.npz"
FOLDS = 7  # of three users each
PER_CLASS = 50  # of either side of a sample


class Problem(NamedTuple):
    """What is learned from and searched, and what is asked for."""

    gallery: tl.Sequences
    queries: tl.Sequences


def parts(folder: Path) -> Problem:
    """The training and the test part of the data's authors; groups are the users."""
    with np.load(folder / FILE, allow_pickle=False) as held:
        values = held["values"].astype(np.float32)  # kept in half precision
        every = tl.Sequences.from_packed(values, held["offsets"], labels=held["labels"], groups=held["groups"])
        train = held["split"] == 0
    return Problem(every[np.flatnonzero(train)], every[np.flatnonzero(~train)])


def fold(train: tl.Sequences, number: int) -> Problem:
    """The training part without three of its users, and these three (users in the order of their numbers)."""
    groups = np.asarray(train.groups)
    users = np.unique(groups)
    out = np.isin(groups, np.array_split(users, FOLDS)[number])
    return Problem(train[np.flatnonzero(~out)], train[np.flatnonzero(out)])


def positions(sequences: tl.Sequences, seed: int, per_class: int = PER_CLASS) -> list[int]:
    """Positions of as many of every class, or of all where there are fewer, drawn at random."""
    rng, labels = np.random.default_rng(seed), np.asarray(sequences.labels)
    drawn = [rng.permutation(np.flatnonzero(labels == c))[:per_class] for c in np.unique(labels)]
    return sorted(np.concatenate(drawn).tolist())


def sample(whole: Problem, seed: int, per_class: int = PER_CLASS) -> Problem:
    """As many of every class on both sides."""
    gallery, queries = (side[positions(side, seed, per_class)] for side in whole)
    return Problem(gallery, queries)
