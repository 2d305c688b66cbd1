"""Splits, folds and few-shot episodes. Each is a method of `Sequences`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_int, format_value
from ..core.random import RandomState, check_random_state
from . import metadata

if TYPE_CHECKING:
    from .container import Sequences

__all__ = ["Episode", "RandomState", "check_random_state", "episodes", "folds", "split"]
_GROUP_ORDERS = 24  # random orders in which whole groups are tried; more hardly come closer to the wanted size


class Episode(NamedTuple):
    """One few-shot task: `support` for training, `query` for evaluation; no sequence is in both."""

    support: Sequences
    query: Sequences


def split(
    self: Sequences, test: float = 0.25, *, groups: Any = None, stratify: Any = False, random_state: RandomState = None
) -> tuple[Sequences, Sequences]:
    """Two parts, `(train, test)`, drawn at random, each in the original order.

    Parameters
    ----------
    test : float or int
        A fraction strictly between 0 and 1, or a number of sequences.
    groups : bool, array of n entries or None
        Keep every group on one side; None does so if the sequences have groups, False never. The size of the test set
        is then approximately `test`, by a greedy choice over a few random orders of the groups.
    stratify : bool or array of n entries
        Keep the proportions of the classes: exactly up to rounding, with every class on both sides; together with
        `groups` approximately, by the same greedy choice.

    >>> import timelike as tl
    >>> s = tl.Sequences([[float(i)] for i in range(8)], labels=list("aaaabbbb"))
    >>> train, test = s.split(0.25, stratify=True, random_state=0)
    >>> train.labels, test.labels
    (array(['a', 'a', 'a', 'b', 'b', 'b'], dtype='<U1'), array(['a', 'b'], dtype='<U1'))
    """
    n_test = _test_size(test, len(self))
    group, classes = _group_numbers(self, groups), _stratification_classes(self, stratify)
    rng = check_random_state(random_state)
    chosen = np.zeros(len(self), bool)
    if group is not None:
        chosen[:] = _choose_groups(_group_shares(group, classes, len(self)), n_test / len(self), rng)[group]
    elif classes is not None:
        chosen[_stratified_rows(classes, n_test, rng)] = True
    else:
        chosen[rng.permutation(len(self))[:n_test]] = True
    return self[~chosen], self[chosen]


def folds(
    self: Sequences, k: int = 5, *, groups: Any = None, stratify: Any = False, random_state: RandomState = None
) -> Iterator[tuple[Sequences, Sequences]]:
    """Cross-validation: `k` pairs `(train, test)` in which every sequence is tested exactly once.

    `groups` and `stratify` are as in `split`. Without groups, the folds differ by at most one sequence, and with
    `stratify` by at most one of every class. With groups, the largest are placed first, each in the fold that keeps
    sizes (or the proportions of classes) most even.

    >>> import timelike as tl
    >>> s = tl.Sequences([[float(i)] for i in range(6)], groups=[0, 0, 1, 1, 2, 2])
    >>> [test.groups.tolist() for train, test in s.folds(3, random_state=0)]
    [[1, 1], [0, 0], [2, 2]]
    """
    k = check_int(k, "k", 2)
    if len(self) < k:
        have = f"{len(self)} sequences" if len(self) else "nothing: there are no sequences"
        raise ValueError(f"k={k} folds of {have}: expected at least one sequence for every fold")
    group, classes = _group_numbers(self, groups), _stratification_classes(self, stratify)
    rng = check_random_state(random_state)
    if group is not None:
        if group.max() + 1 < k:
            most = int(group.max()) + 1
            raise ValueError(f"k={k} folds of {most} groups: expected at least one group for every fold; use k={most}")
        fold = _assign_group_folds(_group_shares(group, classes, len(self)), k, rng)[group]
    else:
        fold = _assign_folds(np.zeros(len(self), np.int64) if classes is None else classes, k, rng)
    return ((self[fold != i], self[fold == i]) for i in range(k))


def episodes(
    self: Sequences,
    n_way: int,
    k_shot: int,
    n_query: int = 5,
    *,
    n_episodes: int | None = 100,
    random_state: RandomState = None,
) -> Iterator[Episode]:
    """Few-shot tasks of `n_way` random classes, with `k_shot` support and `n_query` query sequences of each.

    Both parts are sorted by class, in the same order of classes. `n_episodes=None` yields tasks without end.

    >>> import timelike as tl
    >>> s = tl.Sequences([[float(i)] for i in range(6)], labels=list("aabbcc"))
    >>> task = next(s.episodes(2, 1, 1, random_state=0))
    >>> task.support.labels, task.query.labels
    (array(['c', 'a'], dtype='<U1'), array(['c', 'a'], dtype='<U1'))
    """
    if self.labels is None:
        raise ValueError("these sequences have no labels to draw classes from: give them with replace(labels=...)")
    rows = sample_episode_rows(self.labels, n_way, k_shot, n_query, n_episodes=n_episodes, random_state=random_state)
    return (Episode(self[support.ravel()], self[query.ravel()]) for support, query in rows)


def sample_episode_rows(
    labels: NDArray[Any],
    n_way: int,
    k_shot: int,
    n_query: int,
    *,
    n_episodes: int | None = 100,
    random_state: RandomState = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The positions of the sequences of few-shot tasks: (class, shot) to learn from and (class, query) to judge.

    >>> support, query = next(sample_episode_rows(np.array(list("aabbcc")), 2, 1, 1, random_state=0))
    >>> support.tolist(), query.tolist()
    ([[5], [0]], [[4], [1]])
    """
    n_way, k_shot, n_query = (
        check_int(n_way, "n_way", 1),
        check_int(k_shot, "k_shot", 1),
        check_int(n_query, "n_query", 1),
    )
    rounds = count() if n_episodes is None else range(check_int(n_episodes, "n_episodes", 1))
    if len(labels) == 0:
        raise ValueError("there are no sequences to draw episodes from: expected at least one")
    classes, members = np.unique(labels, return_inverse=True)
    if len(classes) < n_way:
        raise ValueError(f"n_way={n_way} but these sequences have {len(classes)} classes")
    sizes = np.bincount(members)
    _refuse_small_classes(
        classes,
        sizes,
        k_shot + n_query,
        f"k_shot + n_query = {k_shot + n_query} needed: leave the class out or ask less",
    )
    rows = np.split(np.argsort(members, kind="stable"), np.cumsum(sizes)[:-1])
    return _sample_rows(rows, (n_way, k_shot, n_query), rounds, check_random_state(random_state))


def _sample_rows(
    rows: list[NDArray[np.int64]], sizes: tuple[int, int, int], rounds: Any, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    n_way, k_shot, n_query = sizes
    for _ in rounds:
        chosen = rng.permutation(len(rows))[:n_way]
        samples = np.stack([rng.permutation(rows[c])[: k_shot + n_query] for c in chosen])
        yield samples[:, :k_shot], samples[:, k_shot:]


# --- option values ---------------------------------------------------------------------------------------------------


def _test_size(test: Any, n_items: int) -> int:
    if isinstance(test, bool | np.bool_) or not isinstance(test, int | float | np.integer | np.floating):
        raise TypeError(f"test={format_value(test)}: expected a fraction between 0 and 1 or a number of sequences")
    if n_items < 2:
        raise ValueError(f"there {'is 1 sequence' if n_items else 'are no sequences'} to split: expected at least 2")
    if isinstance(test, int | np.integer):
        if not 0 < test < n_items:
            raise ValueError(f"test={test} of {n_items} sequences: expected 1 to {n_items - 1}, or a fraction")
        return int(test)
    if not 0 < test < 1:
        raise ValueError(f"test={test}: expected a fraction strictly between 0 and 1, or a whole number of sequences")
    return min(max(round(float(test) * n_items), 1), n_items - 1)


def _group_numbers(self: Sequences, groups: Any) -> NDArray[np.int64] | None:
    """The group number of each sequence, or None if groups do not matter."""
    group_names = self.groups if groups is None else _resolve_entries(groups, self.groups, "groups", len(self))
    if group_names is None:
        return None
    names, numbers = np.unique(group_names, return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f"all sequences are in one group ({format_value(names[0].item())}), which cannot be on both sides: give "
            "the groups that must stay whole, such as subjects or recordings, with replace(groups=...); if there is "
            "but one of them, what is measured by splitting it says nothing about others (groups=False)"
        )
    return numbers.astype(np.int64)


def _stratification_classes(self: Sequences, stratify: Any) -> NDArray[Any] | None:
    classes = _resolve_entries(stratify, self.labels, "stratify", len(self), "labels")
    if classes is not None and classes.dtype.kind == "f" and (classes != np.round(classes)).any():
        raise ValueError("stratify needs classes but these are real numbers: pass stratify=np.digitize(labels, bins)")
    return classes


def _resolve_entries(
    wish: Any, own: NDArray[Any] | None, name: str, n_items: int, attribute: str | None = None
) -> NDArray[Any] | None:
    attribute = attribute or name
    if wish is None or wish is False:
        return None
    if not isinstance(wish, bool | np.bool_):
        return metadata.validate_per_item(wish, name, n_items)
    if own is None:
        raise ValueError(
            f"{name}=True but these sequences have no {attribute}: pass an array, or replace({attribute}=...) first"
        )
    return own


def _refuse_small_classes(
    classes: NDArray[Any], sizes: NDArray[Any], least: int, why: str, unit: str = "sequence"
) -> None:
    small = np.flatnonzero(sizes < least)
    if small.size:
        many = int(sizes[small[0]])
        raise ValueError(f"class {format_value(classes[small[0]].item())} has {many} {unit}{'s' * (many != 1)}, {why}")


# --- single sequences ------------------------------------------------------------------------------------------------


def _stratified_rows(classes: NDArray[Any], n_test: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of the test part: every class in proportion, rounded by largest remainders, at least one on each side."""
    names, member, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    _refuse_small_classes(
        names, sizes, 2, "2 needed to be on both sides: leave the class out or split without stratify"
    )
    if not len(names) <= n_test <= len(classes) - len(names):
        raise ValueError(
            f"test={n_test} of {len(classes)} sequences leaves no room for {len(names)} classes on both sides: "
            f"expected {len(names)} to {len(classes) - len(names)}"
        )
    wanted = sizes * n_test / len(classes)
    taken = np.clip(np.floor(wanted), 1, sizes - 1)
    while taken.sum() < n_test:
        taken[np.argmax(np.where(taken < sizes - 1, wanted - taken, -np.inf))] += 1
    while taken.sum() > n_test:
        taken[np.argmin(np.where(taken > 1, wanted - taken, np.inf))] -= 1
    order = rng.permutation(len(classes))
    order = order[np.argsort(member[order], kind="stable")]
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(order[rank < np.repeat(taken, sizes)], np.int64)


def _assign_folds(classes: NDArray[Any], k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The fold of each sequence: shuffled inside its class, the classes end to end, dealt out like cards."""
    names, member, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    if len(names) > 1:
        _refuse_small_classes(
            names, sizes, k, f"k={k} needed for one in every fold: use fewer folds or leave the class out"
        )
    order = rng.permutation(len(classes))
    fold = np.empty(len(classes), np.int64)
    fold[order[np.argsort(member[order], kind="stable")]] = rng.permutation(k)[np.arange(len(classes)) % k]
    return fold


# --- whole groups ----------------------------------------------------------------------------------------------------


def _group_shares(group: NDArray[np.int64], classes: NDArray[Any] | None, n_items: int) -> NDArray[np.float64]:
    """(group, 1 + class): the fraction of all sequences, and of those of each class, that every group holds."""
    sizes = np.bincount(group)[:, None] / n_items
    if classes is None:
        return sizes
    names, member = np.unique(classes, return_inverse=True)
    table = np.zeros((len(sizes), len(names)))
    np.add.at(table, (group, member), 1)
    _refuse_small_classes(
        names, (table > 0).sum(0), 2, "so it cannot be on both sides: drop stratify, groups or the class", "group"
    )
    return np.hstack([sizes, table / table.sum(0)])


def _choose_groups(shares: NDArray[np.float64], wanted: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which groups are tested: the best of several greedy choices."""
    tried = [_choose_greedily(shares, wanted, rng.permutation(len(shares))) for _ in range(_GROUP_ORDERS)]
    return min(tried, key=lambda chosen: _imbalance(shares, chosen, wanted))


def _choose_greedily(shares: NDArray[np.float64], wanted: float, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Groups in the given order, each taken if that brings the test part nearer to the wanted share of everything."""
    chosen, lack = np.zeros(len(shares), bool), np.full(shares.shape[1], wanted)
    for group in order:
        rest = lack - shares[group]
        if rest @ rest < lack @ lack and chosen.sum() < len(shares) - 1:
            chosen[group], lack = True, rest
    if not chosen.any():  # every group is more than twice the wanted size
        chosen[np.argmin(((wanted - shares) ** 2).sum(1))] = True
    return chosen


def _imbalance(shares: NDArray[np.float64], chosen: NDArray[np.bool_], wanted: float) -> tuple[int, float]:
    """Classes absent from one side come first, then the distance from the requested fractions."""
    sums = shares[chosen].sum(0)
    absent = (sums == 0).sum() + (shares[~chosen].sum(0) == 0).sum()
    return int(absent), round(float(((sums - wanted) ** 2).sum()), 12)


def _assign_group_folds(shares: NDArray[np.float64], k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The fold of every group: largest first, each in the fold that keeps sizes most even."""
    order = rng.permutation(len(shares))
    order = order[np.argsort(-shares[order, 0], kind="stable")]
    fold_shares, fold = np.zeros((k, shares.shape[1])), np.empty(len(shares), np.int64)
    for left, group in zip(range(len(order), 0, -1), order, strict=True):
        # adding a to one of several parts raises the sum of their squares by 2·part·a + a², so the least part·a is best
        growth = fold_shares @ shares[group]
        empty = fold_shares[:, 0] == 0
        if left == empty.sum():
            growth[~empty] = np.inf
        fold[group] = best = np.lexsort((fold_shares[:, 0], growth))[0]
        fold_shares[best] += shares[group]
    return np.asarray(rng.permutation(k)[fold], np.int64)
