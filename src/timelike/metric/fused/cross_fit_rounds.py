"""Rounds of cross-fitting: what each learns from, and which pairs are held out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..targets import balanced_subset

Ids = NDArray[np.int64]

N_CLASS_ROUNDS = 6  # in which two classes are held out
N_MEMBER_ROUNDS = 3  # in which a third of every class is
_MAX_HELD_OUT = 200  # sequences of a round between which all pairs are compared


class CrossFitRound(NamedTuple):
    """Positions of the training and the held-out part, and the weight of the round."""

    train_positions: Ids
    held_out_positions: Ids
    repeats: int


def label_rounds(codes: Ids, rng: np.random.Generator) -> list[CrossFitRound]:
    """Half of the say is with classes that are held out, half with members of known ones.

    A metric that learned from fewer classes than in the end does worse on others than it will; one that knows the
    classes does better.
    """
    held_out = list(_class_splits(codes, rng))
    members = [CrossFitRound(*sides, max(1, len(held_out) // N_MEMBER_ROUNDS)) for sides in _member_splits(codes, rng)]
    return [*(CrossFitRound(*sides, 1) for sides in held_out), *members]


def _class_splits(codes: Ids, rng: np.random.Generator) -> Iterator[tuple[Ids, Ids]]:
    several = np.flatnonzero(np.bincount(codes) > 1)
    if len(several) < 4:
        return
    pairs = [
        two for _ in range(N_CLASS_ROUNDS) for two in rng.permutation(several)[: len(several) // 2 * 2].reshape(-1, 2)
    ]
    for two in pairs[:N_CLASS_ROUNDS]:
        is_held_out = np.isin(codes, two)
        yield np.flatnonzero(~is_held_out), limit_held_out(np.flatnonzero(is_held_out), codes)


def _member_splits(codes: Ids, rng: np.random.Generator) -> Iterator[tuple[Ids, Ids]]:
    fold = np.empty(len(codes), np.int64)
    for kind in np.unique(codes):
        own = rng.permutation(np.flatnonzero(codes == kind))
        fold[own] = (
            np.arange(len(own)) // 2 + rng.integers(N_MEMBER_ROUNDS)
        ) % N_MEMBER_ROUNDS  # two by two: a pair of each
    for number in range(N_MEMBER_ROUNDS):
        train_positions, held_out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        left = np.bincount(codes[train_positions]) if len(train_positions) else np.zeros(1, np.int64)
        counts = np.bincount(codes[held_out]) if len(held_out) else np.zeros(1, np.int64)
        if (left > 0).sum() > 1 and left.max() > 1 and (counts > 0).sum() > 1 and counts.max() > 1:
            yield train_positions, limit_held_out(held_out, codes)


def limit_held_out(positions: Ids, codes: Ids) -> Ids:
    """At most as many of them, in order, as all pairs can be compared between."""
    return positions[balanced_subset(codes[positions], _MAX_HELD_OUT)]


def pair_rounds(pairs: Ids, same: NDArray[np.bool_], rng: np.random.Generator) -> list[tuple[Ids, Ids]]:
    """Positions among the pairs to learn from and to be judged by.

    Where alike pairs fall into groups, whole groups are held out; otherwise a third of the pairs.
    """
    group = _connected_groups(pairs, same)
    fold = rng.permutation(group.max() + 1)[group] % N_MEMBER_ROUNDS
    first, second = fold[pairs[:, 0]], fold[pairs[:, 1]]
    whole = [((first != k) & (second != k), (first == k) & (second == k)) for k in range(N_MEMBER_ROUNDS)]
    random_fold = rng.permutation(len(pairs)) % N_MEMBER_ROUNDS
    for rounds in (whole, [(random_fold != k, random_fold == k) for k in range(N_MEMBER_ROUNDS)]):
        splits = [
            (np.flatnonzero(is_training), np.flatnonzero(is_held_out))
            for is_training, is_held_out in rounds
            if all(some.any() and not some.all() for some in (same[is_training], same[is_held_out]))
        ]
        if splits:
            return splits
    return []


def count_groups(pairs: Ids, same: NDArray[np.bool_]) -> int:
    """How many groups of sequences that are alike there are among the pairs, at least two: what stands for classes.

    >>> count_groups(np.array([[0, 1], [1, 2], [3, 4], [0, 3]]), np.array([True, True, True, False]))
    2
    """
    return max(2, len(np.unique(_connected_groups(pairs, same)[pairs])))


def _connected_groups(pairs: Ids, same: NDArray[np.bool_]) -> Ids:
    """The group of every position up to the last that is in a pair: those that alike pairs connect."""
    n = int(pairs.max()) + 1
    links = coo_array((np.ones(int(same.sum())), tuple(pairs[same].T)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)
