"""A part of a collection in which every class has its share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..sequences import Sequences


def stratified_sample(X: Sequences, most: int) -> Sequences:
    """At most so many sequences: every class in proportion, at least one of each while there is room for all.

    The sequences of a class are taken evenly from its first to its last, in the order of X, so that the same data give
    the same sample.

    >>> X = Sequences([[float(i)] for i in range(10)], labels=list("aaaaaaaabb"))
    >>> stratified_sample(X, 5).labels.tolist()
    ['a', 'a', 'a', 'a', 'b']
    """
    if len(X) <= most:
        return X
    is_number = X.labels is not None and X.labels.dtype.kind == "f"
    codes = np.zeros(len(X), np.int64) if X.labels is None or is_number else np.unique(X.labels, return_inverse=True)[1]
    counts = _share_out(np.bincount(codes), most)
    rows = [_pick_evenly(np.flatnonzero(codes == code), count) for code, count in enumerate(counts.tolist())]
    return X[np.sort(np.concatenate(rows))]


def _share_out(sizes: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """How many of every class, by largest remainders; of more classes than there is room for, the largest."""
    if len(sizes) > most:
        largest = np.argsort(-sizes, kind="stable")[:most]
        return np.isin(np.arange(len(sizes)), largest).astype(np.int64)
    share = sizes * most / sizes.sum()
    taken: NDArray[np.int64] = np.maximum(1, np.floor(share)).astype(np.int64)
    while taken.sum() > most:  # the classes of one item have more than their share
        taken[np.argmax(np.where(taken > 1, taken - share, -np.inf))] -= 1
    while taken.sum() < most:
        taken[np.argmax(np.where(taken < sizes, share - taken, -np.inf))] += 1
    return taken


def _pick_evenly(members: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    places = np.linspace(0, len(members) - 1, n).round().astype(np.int64)
    chosen: NDArray[np.int64] = members[places]
    return chosen
