"""Folds of a cross-validation: grouped, stratified as far as classes allow, none of them empty."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_int, format_value
from ..sequences import Sequences

Rows = NDArray[np.int64]
Folds = tuple[tuple[Rows, Rows], ...]
Notes = tuple[str, ...]

_DEFAULT_N_FOLDS = 5


def make_folds(
    y: NDArray[Any], groups: NDArray[Any] | None, cv: int | None, scores: tuple[str, ...], rng: np.random.Generator
) -> tuple[Folds, str, Notes]:
    """`cv` folds of sequences or of whole groups; their description, and notes about them."""
    if "mse" not in scores:
        _refuse_single_members(y)
    if groups is not None:
        return _make_group_folds(y, groups, cv, scores, rng)
    classes = np.zeros(len(y), np.int64) if "mse" in scores else np.unique(y, return_inverse=True)[1]
    alone = np.bincount(classes)[classes] == 1
    n_dealt = int((~alone).sum())
    k = _resolve_n_folds(cv, n_dealt if alone.any() else len(y), "sequences", int(np.bincount(classes).max()))
    fold = np.full(len(y), -1)
    fold[~alone] = _assign_folds(classes[~alone], k, rng)
    parts = tuple((np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k))
    return parts, f"{k} folds" + ("" if "mse" in scores else ", stratified"), _singleton_notes(y, alone)


def _refuse_single_members(y: NDArray[Any]) -> None:
    """Raise an error if no class has two sequences, such as names of files that were taken for classes."""
    kinds = np.unique(y)
    if len(kinds) < len(y) or len(kinds) < 2:
        return
    raise ValueError(
        f"each of the {len(kinds)} classes has a single sequence, such as {format_value(kinds.tolist()[0])} and "
        f"{format_value(kinds.tolist()[1])}, so that none could be both trained on and tested: expected classes of "
        "several sequences. If a pattern takes the labels from file names, let it end before what differs within a "
        "class, such as '_([a-z]+)' for rest in anna_rest_01.csv; for numbers to predict use metric='mse'"
    )


def _singleton_notes(y: NDArray[Any], alone: NDArray[np.bool_]) -> Notes:
    few = np.unique(y[alone]).tolist()
    more = f" and {len(few) - 3} more" if len(few) > 3 else ""
    words = ", ".join(map(repr, few[:3])) + more
    return (f"classes with one member are trained on but never tested: {words}",) if few else ()


def _assign_folds(classes: NDArray[np.int64], k: int, rng: np.random.Generator) -> Rows:
    """Shuffle within classes and deal the classes out in turn: every class is in as many folds as possible."""
    order = rng.permutation(len(classes))
    fold = np.empty(len(classes), np.int64)
    fold[order[np.argsort(classes[order], kind="stable")]] = rng.permutation(k)[np.arange(len(classes)) % k]
    return fold


def _make_group_folds(
    y: NDArray[Any], groups: NDArray[Any], cv: int | None, scores: tuple[str, ...], rng: np.random.Generator
) -> tuple[Folds, str, Notes]:
    names, member = np.unique(groups, return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f"groups: all sequences are in one group, {format_value(names.tolist()[0])}, so no fold could be tested on "
            "another: give the groups that must stay whole, such as subjects; scores of folds within a single group "
            "(groups=False) do not generalize to others"
        )
    k = _resolve_n_folds(cv, len(names), "groups")
    if cv is None and set(scores) == {"eer"}:  # a fold of one class has no pair of two
        k = max(2, min(k, len(np.unique(y)) // 2))
    places = Sequences(np.zeros((len(y), 1)), groups=member, ids=np.arange(len(y)))
    stratify = False if "mse" in scores else _stratification_classes(y, member, scores)
    splits = places.folds(k, stratify=stratify, random_state=rng)
    parts = tuple((np.asarray(train.ids, np.int64), np.asarray(test.ids, np.int64)) for train, test in splits)
    how = ", stratified" if stratify is not False else ""
    return parts, f"{k} folds of {len(names)} whole groups{how}", ()


def _stratification_classes(y: NDArray[Any], member: NDArray[np.int64], scores: tuple[str, ...]) -> Any:
    """The classes to stratify by; False if classes lie within groups, which is allowed for "eer"."""
    for kind in np.unique(y):
        if len(np.unique(member[y == kind])) < 2:
            if set(scores) == {"eer"}:
                return False
            raise ValueError(
                f"groups: class {format_value(kind.item())} is in one group only, so it could never be both trained on "
                "and tested: leave the class out, give it examples of other groups, or use metric='eer', which "
                "compares classes not seen in training"
            )
    return y


def _resolve_n_folds(cv: int | None, n: int, what: str, most: int = _DEFAULT_N_FOLDS) -> int:
    if n < 2:
        raise ValueError(f"{n} {what} cannot be split into a training and a test part: expected at least two")
    if cv is None:
        return max(2, min(_DEFAULT_N_FOLDS, n, most))
    k = check_int(cv, "cv", 2)
    if k > n:
        raise ValueError(f"cv={k} folds of {n} {what}: expected at most {n}, or a fold would be empty")
    return k


def validate_folds(cv: Any, X: Sequences, y: NDArray[Any], groups: NDArray[Any] | None) -> tuple[Folds, str, Notes]:
    """Validate the folds of a scikit-learn splitter, or pairs of rows (train, test)."""
    if isinstance(cv, str | bytes) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise TypeError(f"cv={cv!r:.60}: expected a number of folds, a splitter, or pairs of rows (train, test)")
    if hasattr(cv, "split"):
        pairs = list(cv.split(np.zeros((len(X), 1)), y, groups))
        design = f"{len(pairs)} folds of {type(cv).__name__}"
    else:
        pairs = list(cv)
        design = f"{len(pairs)} given folds"
    folds = tuple(_validate_fold(pair, i, len(X)) for i, pair in enumerate(pairs))
    if not folds:
        raise ValueError("cv gives no folds: expected pairs of rows (train, test)")
    if groups is not None:
        _refuse_shared_groups(folds, groups)
    return folds, design, ()


def _refuse_shared_groups(folds: Folds, groups: NDArray[Any]) -> None:
    for i, (train, test) in enumerate(folds):
        shared_groups = np.intersect1d(groups[train], groups[test])
        if len(shared_groups):
            raise ValueError(
                f"cv: fold {i} learns from group {format_value(shared_groups.tolist()[0])} and is tested on it: use a "
                "splitter of groups, such as GroupKFold"
            )


def _validate_fold(pair: Any, i: int, n: int) -> tuple[Rows, Rows]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"cv: fold {i} is {pair!r:.60}: expected a pair of rows (train, test)")
    train, test = (np.flatnonzero(side) if np.asarray(side).dtype == bool else np.asarray(side) for side in pair)
    for side, name in ((train, "to learn from"), (test, "to test")):
        if side.ndim != 1 or not len(side) or side.dtype.kind not in "iu" or side.min() < 0 or side.max() >= n:
            raise ValueError(f"cv: fold {i}, rows {name}: expected some, all of them from 0 to {n - 1}")
    if len(np.intersect1d(train, test)):
        raise ValueError(f"cv: fold {i} is tested on row {np.intersect1d(train, test)[0]}, which it learned from")
    return train.astype(np.int64), test.astype(np.int64)
