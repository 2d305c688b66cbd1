"""Retrieval by distances, scored: average precision, its mean, and the accuracy of nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sequences.arguments import whole
from ..sequences.doors import plain_array, read_labels


def average_precision(distances: Any, query_labels: Any, gallery_labels: Any = None) -> NDArray[np.float64]:
    """Average precision of each query: how early the items of its class come when the gallery is sorted by distance.

    1/|R| Σ_{r∈R} (items of R no farther than r) / (all items no farther than r), where R are the gallery's items of the
    query's class (Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008, §8.4). Items at the
    same distance come together, as in scikit-learn's `average_precision_score`, so the order of the gallery does not
    matter. A query without any item of its class gets nan.

    Parameters
    ----------
    distances : array (query, gallery)
    query_labels : array (query,)
    gallery_labels : array (gallery,), optional
        Without it the queries are the gallery, and none is found by itself.

    Returns
    -------
    array (query,)

    Examples
    --------
    >>> average_precision([[0.1, 0.2, 0.3], [0.1, 0.2, 0.2]], ["a", "a"], ["a", "b", "a"])
    array([0.83333333, 0.83333333])
    """
    distances, queries, gallery = _opened(distances, query_labels, gallery_labels)
    scores = np.empty(len(queries))
    for i, row, labels in _rows(distances, gallery, gallery_labels is None):
        scores[i] = _precision(row, labels == queries[i])
    return scores


def mean_average_precision(distances: Any, query_labels: Any, gallery_labels: Any = None) -> float:
    """Mean of the average precision over the queries that have an item of their class in the gallery (MAP).

    Parameters are those of `average_precision`.

    Examples
    --------
    >>> mean_average_precision([[0.1, 0.2], [0.1, 0.2], [0.1, 0.2]], ["a", "b", "c"], ["a", "b"])
    0.75
    """
    scores = average_precision(distances, query_labels, gallery_labels)
    if np.isnan(scores).all():
        raise ValueError("no query has an item of its class in the gallery: there is no mean average precision")
    return float(np.nanmean(scores))


def nearest_correct(distances: Any, query_labels: Any, gallery_labels: Any = None, k: int = 1) -> NDArray[np.bool_]:
    """Whether the k nearest items of the gallery vote for the class of each query.

    The class with most votes wins, and among equals the one whose voters are nearer in all, as for `tl.Neighbors`;
    items at the same distance come in the gallery's order (Cover and Hart, "Nearest Neighbor Pattern
    Classification", 1967).

    Parameters
    ----------
    distances, query_labels, gallery_labels
        As for `average_precision`.
    k : int
        How many vote.

    Returns
    -------
    bool array (query,)

    Examples
    --------
    >>> nearest_correct([[0.1, 0.2, 0.3]] * 2, ["a", "b"], ["a", "b", "b"], k=3)
    array([False,  True])
    """
    distances, queries, gallery = _opened(distances, query_labels, gallery_labels)
    own = gallery_labels is None
    if whole(k, "k", 1) > len(gallery) - own:
        raise ValueError(f"k={k}: the gallery has only {len(gallery) - own} items for a query")
    correct = np.empty(len(queries), np.bool_)
    for i, row, labels in _rows(distances, gallery, own):
        correct[i] = _elected(row, labels, k) == queries[i]
    return correct


def nearest_accuracy(distances: Any, query_labels: Any, gallery_labels: Any = None, k: int = 1) -> float:
    """The share of queries whose class wins the vote of their k nearest items (k-NN accuracy).

    Parameters are those of `nearest_correct`.

    Examples
    --------
    >>> nearest_accuracy([[0.1, 0.2, 0.3]] * 2, ["a", "b"], ["a", "b", "b"], k=1)
    0.5
    """
    return float(nearest_correct(distances, query_labels, gallery_labels, k).mean())


def _precision(row: NDArray[Any], relevant: NDArray[np.bool_]) -> float:
    if not relevant.any():
        return np.nan
    found = np.sort(row[relevant])
    hits = np.searchsorted(found, found, side="right")
    ranks = np.searchsorted(np.sort(row), found, side="right")
    return float((hits / ranks).mean())


def _elected(row: NDArray[Any], labels: NDArray[np.intp], k: int) -> int:
    if k == 1:
        return int(labels[row.argmin()])
    near = np.flatnonzero(row <= np.partition(row, k - 1)[k - 1])  # more than k if several are equally far
    voters = near[row[near].argsort(kind="stable")[:k]]
    elected = labels[voters]
    votes, apart = np.bincount(elected)[elected], np.bincount(elected, row[voters])[elected]
    best = votes == votes.max()
    return int(elected[(best & (apart == apart[best].min())).argmax()])


def _rows(
    distances: NDArray[Any], gallery: NDArray[np.intp], own: bool
) -> Iterator[tuple[int, NDArray[Any], NDArray[np.intp]]]:
    """Query, its distances and the labels they belong to; without the query itself if it is of the gallery.

    One row at a time, so that nothing of the matrix's size is made.
    """
    for i, row in enumerate(distances):
        if np.isnan(row).any():
            raise ValueError(f"distances holds nan in row {i}: expected numbers; inf is allowed")
        yield (i, np.delete(row, i), np.delete(gallery, i)) if own else (i, row, gallery)


def _opened(
    distances: Any, query_labels: Any, gallery_labels: Any
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """Plain arrays, with labels as numbers from 0."""
    distances = plain_array(np.asarray(distances) if hasattr(distances, "columns") else distances, "distances")
    queries = read_labels(query_labels, "query_labels", "class")
    gallery = queries if gallery_labels is None else read_labels(gallery_labels, "gallery_labels", "class")
    if queries.ndim != 1 or gallery.ndim != 1 or distances.shape != (len(queries), len(gallery)) or not distances.size:
        raise ValueError(
            f"distances has shape {distances.shape} with labels of shapes {queries.shape} and {gallery.shape}: "
            "expected (query, gallery), (query,) and (gallery,), none of them empty"
        )
    if (queries.dtype.kind == "U") != (gallery.dtype.kind == "U"):  # as text, 0 would be found among "0"
        one, other = (labels.tolist()[0] for labels in (queries, gallery))
        raise TypeError(
            f"query_labels and gallery_labels mix numbers and text, {one!r} and {other!r}: expected the same kind in "
            "both"
        )
    _, codes = np.unique(np.concatenate([queries, gallery]), return_inverse=True)
    return distances, codes[: len(queries)], codes[len(queries) :]
