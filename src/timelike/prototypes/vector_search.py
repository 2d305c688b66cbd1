"""The most similar vectors, and the largest similarity in every group, block by block; in NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ids = NDArray[np.int64]

MAX_SIMILARITIES = 1 << 20  # similarities in memory at a time, a few times in double precision


class BlockwiseSearch:
    """`top_k` and `group_maxima` by `scores(u, v)`; memory does not grow with the number of pairs."""

    def scores(self, u: Array, v: Array) -> Array:
        """Similarities of every row of u and every row of v, (n, m)."""
        raise NotImplementedError

    def top_k(self, u: Array, v: Array, k: int = 1) -> tuple[Array, Ids]:
        """For every row of v the k rows of u that are most similar: the similarities and the row numbers, each (m, k).

        The most similar comes first, and of equals the earlier row.
        """
        return merge_top_k(((rows, *_top_k(self.scores(u[rows], v).T, k)) for rows in _row_blocks(len(u), len(v))), k)

    def group_maxima(self, u: Array, v: Array, starts: Ids) -> Array:
        """For every row of v the largest in every group of rows of u, (m, group); group g begins at starts[g]."""
        blocks = ((rows, self.scores(u[rows], v).T) for rows in _row_blocks(len(u), len(v)))
        return merge_group_maxima(
            ((rows, np.maximum.reduceat(some, group_starts_in_rows(starts, rows), axis=1)) for rows, some in blocks),
            starts,
        )


def merge_top_k(blocks: Iterable[tuple[slice, Array, Ids]], k: int) -> tuple[Array, Ids]:
    """The k largest of several blocks of rows; of equals those of the earlier block, as in stable sorting.

    >>> one = slice(0, 2), np.array([[3.0, 1.0]]), np.array([[1, 0]])
    >>> two = slice(2, 3), np.array([[3.0]]), np.array([[0]])
    >>> merge_top_k([one, two], 2)
    (array([[3., 3.]]), array([[1, 2]]))
    """
    values, ids = None, None
    for rows, some, theirs in blocks:
        places = theirs + rows.start
        values = some if values is None else np.concatenate([values, some], axis=1)
        ids = places if ids is None else np.concatenate([ids, places], axis=1)
        order = np.argsort(-values, axis=1, kind="stable")[:, :k]
        values, ids = np.take_along_axis(values, order, 1), np.take_along_axis(ids, order, 1)
    assert values is not None
    assert ids is not None
    return values, ids


def merge_group_maxima(blocks: Iterable[tuple[slice, Array]], starts: Ids) -> Array:
    """The largest of every group, (item, group), from those of blocks of rows, which may cut a group."""
    out = None
    for rows, some in blocks:
        if out is None:
            out = np.full((len(some), len(starts)), -np.inf, some.dtype)
        groups = groups_in_rows(starts, rows)
        out[:, groups] = np.maximum(out[:, groups], some)
    assert out is not None
    return out


def groups_in_rows(starts: Ids, rows: slice) -> slice:
    """The groups that have members in a block of rows.

    >>> groups_in_rows(np.array([0, 2, 7]), slice(3, 7))
    slice(1, 2, None)
    """
    return slice(int(np.searchsorted(starts, rows.start, "right")) - 1, int(np.searchsorted(starts, rows.stop)))


def group_starts_in_rows(starts: Ids, rows: slice) -> Ids:
    """Where these groups begin within the block."""
    local_starts: Ids = np.maximum(starts[groups_in_rows(starts, rows)] - rows.start, 0)
    return local_starts


def _row_blocks(n_rows: int, n_others: int) -> Iterator[slice]:
    size = max(1, MAX_SIMILARITIES // max(1, n_others))
    return (slice(begin, min(begin + size, n_rows)) for begin in range(0, n_rows, size))


def _top_k(scores: Array, k: int) -> tuple[Array, Ids]:
    """The k largest of every row, and their columns."""
    ids = scores.argmax(axis=1)[:, None] if k == 1 else np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, ids, 1), ids
