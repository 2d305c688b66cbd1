"""Validation of the targets of learned metrics: classes of sequences, or labelled pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import format_value
from ..core.validation.conversion import from_torch


def encode_classes(labels: NDArray[Any], alternative: str = "") -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes and the index of each label; an error without two classes, or without a class of two members.

    Error messages end with `alternative`, the method's alternative to classes.

    >>> encode_classes(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) < 2:
        raise ValueError(
            f"y holds one class, {format_value(classes.tolist()[0])}: expected two or more to learn from{alternative}"
        )
    if counts.max() < 2:
        raise ValueError(
            f"every class has one member only ({len(counts)} classes), so there are no positive pairs: give some class "
            f"two members or more{alternative}"
        )
    return classes, codes.astype(np.int64)


def validate_pair_labels(pairs: Any, same: Any, count: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Validate pairs: positions (pair, 2) in a collection of `count` sequences, and whether each pair is alike."""
    try:
        positions, alike = (
            from_torch(side, name) if hasattr(side, "detach") else np.asarray(side)
            for side, name in ((pairs, "pairs"), (same, "same"))
        )
    except ValueError as error:
        raise ValueError(f"pairs must be (pair, 2) positions in X, and same True or False for each: {error}") from None
    if positions.size == 0:
        raise ValueError("pairs is empty: expected (pair, 2), two positions in X for each of some pairs")
    if positions.ndim != 2 or positions.shape[1] != 2:
        raise ValueError(f"pairs has shape {positions.shape}: expected (pair, 2), two positions in X each")
    if positions.dtype.kind not in "iu":
        raise TypeError(f"pairs has dtype {positions.dtype}: expected whole numbers, two positions in X each")
    if positions.min() < 0 or positions.max() >= count:
        at = int(np.flatnonzero((positions < 0).any(1) | (positions >= count).any(1))[0])
        raise ValueError(f"pairs[{at}] is {positions[at].tolist()}: expected positions 0 to {count - 1} in X")
    if alike.shape != (len(positions),):
        raise ValueError(f"same has shape {alike.shape}: expected True or False for each of the {len(positions)} pairs")
    odd = np.flatnonzero(~np.isin(alike, (0, 1)))
    if len(odd):
        raise ValueError(
            f"same[{odd[0]}] is {format_value(alike.tolist()[odd[0]])}: expected True (or 1) or False (or 0)"
        )
    if alike.all() or not alike.any():
        raise ValueError("same is the same for all pairs: expected some that are alike and some that are not")
    return positions.astype(np.int64), alike.astype(bool)


def balanced_subset(codes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Positions of at most `most` items, two of each class before a third of any, so that alike pairs exist."""
    rank = np.empty(len(codes), np.int64)
    for kind in np.unique(codes):
        members = np.flatnonzero(codes == kind)
        rank[members] = np.arange(len(members)) // 2
    return np.sort(np.lexsort((codes, rank))[:most])
