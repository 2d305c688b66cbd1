"""Rounds of cross-fitting: the training part and the held-out pairs of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..targets import balanced_subset

Ids = NDArray[np.int64]

N_CLASS_ROUNDS = 6  # rounds that hold out two classes
N_MEMBER_ROUNDS = 3  # rounds that hold out a third of each class
_MAX_HELD_OUT = 200  # held-out sequences per round, all pairs of which are compared


class CrossFitRound(NamedTuple):
    """Positions of the training and the held-out part, and the weight of the round."""

    train_positions: Ids
    held_out_positions: Ids
    repeats: int


def label_rounds(codes: Ids, rng: np.random.Generator) -> list[CrossFitRound]:
    """Rounds with held-out classes, and rounds with held-out members of known classes, with equal total weight.

    A metric trained on fewer classes than the final one does worse on new classes than the final one will; a metric
    trained on the same classes does better. The two kinds of rounds balance each other.
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
    """At most `_MAX_HELD_OUT` of the positions, balanced over classes and in order."""
    return positions[balanced_subset(codes[positions], _MAX_HELD_OUT)]


def pair_rounds(pairs: Ids, same: NDArray[np.bool_], rng: np.random.Generator) -> list[tuple[Ids, Ids]]:
    """Positions of the training pairs and of the held-out pairs of each round.

    If alike pairs form separate groups, whole groups are held out; otherwise a third of the pairs.
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
    """The number of groups of alike sequences among the pairs, at least two: a substitute for classes.

    >>> count_groups(np.array([[0, 1], [1, 2], [3, 4], [0, 3]]), np.array([True, True, True, False]))
    2
    """
    return max(2, len(np.unique(_connected_groups(pairs, same)[pairs])))


def _connected_groups(pairs: Ids, same: NDArray[np.bool_]) -> Ids:
    """The group of each position up to the last one in a pair; alike pairs connect positions to groups."""
    n = int(pairs.max()) + 1
    links = coo_array((np.ones(int(same.sum())), tuple(pairs[same].T)), shape=(n, n))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)
