"""`Members`, the vectors of all examples in a canonical order, and `cluster_centers`, which makes prototypes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..models import schema

Floats = NDArray[np.float32]
_MAX_ITER = 100  # of k-means, which converges long before


class Members(NamedTuple):
    """The vectors of all examples, the positions of their classes, and the number of prototypes of each class.

    They are in a canonical order, by class and then by value, so that nothing depends on the order in which they
    came, nor on how many came at once.
    """

    vectors: Floats
    owners: NDArray[np.int64]
    counts: NDArray[np.int64]

    def class_vectors(self, owner: int) -> Floats:
        """The vectors of one class."""
        begin, end = np.searchsorted(self.owners, [owner, owner + 1])
        return self.vectors[begin:end]


MEMBERS_SCHEMA = schema.record(
    Members,
    vectors=schema.array("member", "feature", dtype="float32"),
    owners=schema.indices("member", below="class"),
    counts=schema.array("class", dtype="int64", least=1, most=1 << 31),
)
"""The schema of a model's `members_`."""


def canonical_order(vectors: Floats, owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions that sort vectors by class and then by value.

    >>> canonical_order(np.float32([[2], [1], [0]]), np.array([0, 0, 1]))
    array([1, 0, 2])
    """
    return np.asarray(np.lexsort((*vectors.T[::-1], owners)), np.int64)


def cluster_centers(vectors: Floats, count: int) -> Floats:
    """The mean of vectors, or the means of up to `count` clusters of them by k-means.

    Sums are in double precision and in the order given. The initial centers are the vector nearest to the mean, then
    the one farthest from those before: nothing is random. Fewer distinct vectors make fewer clusters.

    >>> cluster_centers(np.float32([[0, 0], [0, 1], [4, 4], [4, 5]]), 2)
    array([[0. , 0.5],
           [4. , 4.5]], dtype=float32)
    """
    given = vectors.astype(np.float64)
    if count == 1:
        return np.asarray(given.mean(axis=0, keepdims=True), np.float32)
    found = given[_farthest_first(given, count)]
    nearest = np.full(len(given), -1)
    for _ in range(_MAX_ITER):
        now = _squared_distances(given, found).argmin(axis=1)
        if (now == nearest).all():
            break
        nearest = now
        taken = [given[nearest == k].mean(axis=0) for k in range(len(found)) if (nearest == k).any()]
        found = np.array(taken)
    return found.astype(np.float32)


def _farthest_first(given: NDArray[np.float64], count: int) -> list[int]:
    """Positions of the initial centers: nearest to the mean, then farthest from all before; none twice."""
    apart = np.full(len(given), np.inf)
    chosen = [int(_squared_distances(given, given.mean(axis=0, keepdims=True))[:, 0].argmin())]
    while len(chosen) < count:
        apart = np.minimum(apart, _squared_distances(given, given[chosen[-1:]])[:, 0])
        if apart.max() == 0:
            break
        chosen.append(int(apart.argmax()))
    return chosen


def _squared_distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[Any]:
    """Squared distances, exactly 0 for equal rows, computed for one row of `other` at a time."""
    return np.stack([np.square(one - row).sum(axis=1) for row in other], axis=1)
