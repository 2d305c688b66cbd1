"""Retrieval scores from distances: average precision, nearest-neighbour accuracy, recall and precision at k."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_int
from ..core.random import RandomState
from ..core.validation.arrays import validate_array
from ..core.validation.labels import validate_labels
from ..plotting import html
from .intervals import Interval, bootstrap, resampling_units


def average_precision(distances: Any, query_labels: Any, gallery_labels: Any = None) -> NDArray[np.float64]:
    """The average precision of each query: how early the items of its class rank in the gallery sorted by distance.

    1/|R| Σ_{r∈R} (items of R no farther than r) / (all items no farther than r), where R are the gallery's items of the
    query's class (Manning, Raghavan and Schütze, "Introduction to Information Retrieval", 2008, §8.4). Ties are counted
    together, as in scikit-learn's `average_precision_score`, so the order of the gallery does not matter. The score of
    a query without items of its class is nan.

    Parameters
    ----------
    distances : array (query, gallery)
    query_labels : array (query,)
    gallery_labels : array (gallery,), optional
        Default: the queries are the gallery, and each is excluded from its own results.

    Returns
    -------
    array (query,)

    Examples
    --------
    >>> average_precision([[0.1, 0.2, 0.3], [0.1, 0.2, 0.2]], ["a", "a"], ["a", "b", "a"])
    array([0.83333333, 0.83333333])
    """
    return _score_queries(distances, query_labels, gallery_labels, _average_precision)


def mean_average_precision(distances: Any, query_labels: Any, gallery_labels: Any = None) -> float:
    """The mean average precision (MAP) over the queries with an item of their class in the gallery.

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


def is_nearest_correct(distances: Any, query_labels: Any, gallery_labels: Any = None, k: int = 1) -> NDArray[np.bool_]:
    """Whether the k nearest items of the gallery vote for the class of each query.

    The class with most votes wins; among ties, the class with the smallest sum of distances, as in `tl.Neighbors`.
    Items at the same distance are taken in the gallery's order (Cover and Hart, "Nearest Neighbor Pattern
    Classification", 1967).

    Parameters
    ----------
    distances, query_labels, gallery_labels
        As for `average_precision`.
    k : int
        Number of voting items.

    Returns
    -------
    bool array (query,)

    Examples
    --------
    >>> is_nearest_correct([[0.1, 0.2, 0.3]] * 2, ["a", "b"], ["a", "b", "b"], k=3)
    array([False,  True])
    """
    distances, queries, gallery = _validate_retrieval(distances, query_labels, gallery_labels)
    own = gallery_labels is None
    _refuse_large_k(k, len(gallery) - own)
    correct = np.empty(len(queries), np.bool_)
    for i, row, labels in _iterate_queries(distances, gallery, own):
        correct[i] = _vote(row, labels, k) == queries[i]
    return correct


def nearest_accuracy(distances: Any, query_labels: Any, gallery_labels: Any = None, k: int = 1) -> float:
    """The fraction of queries whose class wins the vote of the k nearest items (k-NN accuracy).

    Parameters are those of `is_nearest_correct`.

    Examples
    --------
    >>> nearest_accuracy([[0.1, 0.2, 0.3]] * 2, ["a", "b"], ["a", "b", "b"], k=1)
    0.5
    """
    return float(is_nearest_correct(distances, query_labels, gallery_labels, k).mean())


def recall_at_k(distances: Any, query_labels: Any, gallery_labels: Any = None, k: int = 1) -> NDArray[np.float64]:
    """Whether the k nearest items of each query include one of its class (recall@k); take the mean over queries.

    This is the recall of metric learning, where one hit is enough (Jégou, Douze and Schmid, "Product quantization for
    nearest neighbor search", 2011), not the fraction of the class that is retrieved. If only some of several tied items
    fit among the k, all choices are equally probable, so the order of the gallery does not matter and a query may score
    between 0 and 1. The score of a query without items of its class is nan.

    Parameters
    ----------
    distances, query_labels, gallery_labels
        As for `average_precision`.
    k : int
        Number of nearest items, at most the size of the gallery.

    Returns
    -------
    array (query,)
        Ready for `interval`, `bootstrap` and `permutation_test`.

    Examples
    --------
    >>> recall_at_k([[0.1, 0.2, 0.3], [0.1, 0.2, 0.2]], ["b", "b"], ["a", "b", "b"], k=2)
    array([1., 1.])
    >>> recall_at_k([[0.1, 0.2, 0.2]], ["b"], ["a", "b", "c"], k=2)
    array([0.5])
    """
    return _score_queries(
        distances, query_labels, gallery_labels, lambda row, relevant: _hit_probability(row, relevant, k), k
    )


def precision_at_k(distances: Any, query_labels: Any, gallery_labels: Any = None, k: int = 1) -> NDArray[np.float64]:
    """The fraction of the k nearest items of each query that have its class (precision@k).

    Parameters, ties, and queries without items of their class are as in `recall_at_k`.

    Examples
    --------
    >>> precision_at_k([[0.1, 0.2, 0.3]], ["b"], ["a", "b", "b"], k=2)
    array([0.5])
    """
    return _score_queries(
        distances, query_labels, gallery_labels, lambda row, relevant: _precision_among_k(row, relevant, k), k
    )


def r_precision(distances: Any, query_labels: Any, gallery_labels: Any = None) -> NDArray[np.float64]:
    """The precision among the R nearest items of each query, where R is the number of items of its class.

    At rank R, precision and recall are equal (Manning, Raghavan and Schütze, 2008, §8.4).
    Parameters are as in `recall_at_k`.

    Examples
    --------
    >>> r_precision([[0.1, 0.2, 0.3]], ["b"], ["a", "b", "b"])
    array([0.5])
    """
    return _score_queries(
        distances,
        query_labels,
        gallery_labels,
        lambda row, relevant: _precision_among_k(row, relevant, int(relevant.sum())),
    )


@dataclass(frozen=True, repr=False)
class RetrievalScores:
    """Scores of a metric on labelled items, with confidence intervals: see `retrieval_scores`."""

    nearest_accuracy: Interval
    mean_average_precision: Interval
    classes: tuple[tuple[Any, int, Interval, Interval], ...]
    """For every class its label, its number of items, the nearest-neighbour accuracy and the mean average precision."""

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        """A table of the classes, and of all."""
        lines = [self._table_header(), ["---", *["---:"] * 3], *self._table_rows()]
        return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines)

    def _table_header(self) -> list[str]:
        return ["class", "items", "nearest accuracy", "average precision"]

    def _table_rows(self) -> list[list[str]]:
        rows = [[str(one[0]), str(one[1]), *(f"{interval:.3f}" for interval in one[2:])] for one in self.classes]
        overall = (self.nearest_accuracy, self.mean_average_precision)
        return [*rows, ["all", str(sum(one[1] for one in self.classes)), *(f"{interval:.3f}" for interval in overall)]]

    def _repr_html_(self) -> str:
        return html.table(self._table_header(), self._table_rows())


def retrieval_scores(
    distances: Any,
    labels: Any,
    *,
    groups: Any = None,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    random_state: RandomState = None,
) -> RetrievalScores:
    """Nearest-neighbour accuracy and average precision of a metric, of all items and by class, with intervals.

    Every item is a query among all others. The intervals are bootstraps over items, or whole groups, and are nowhere
    narrower than `wilson_interval`.

    Parameters
    ----------
    distances : array (item, item)
        Such as `metric.pairwise(X)`.
    labels : array (item,)
    groups : array (item,), optional
        The group of each item; the items of a group, such as all sequences of a person, are drawn together.

    Examples
    --------
    >>> points = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    >>> found = retrieval_scores(abs(points[:, None] - points), ["a", "a", "a", "b", "b", "b"], random_state=0)
    >>> found.nearest_accuracy.mean, found.mean_average_precision.mean
    (1.0, 1.0)
    """
    distances = _validate_retrieval(distances, labels, None)[0]
    names = validate_labels(labels, "labels", "class")
    nearest = is_nearest_correct(distances, names).astype(np.float64)
    precision = average_precision(distances, names)
    if np.isnan(precision).all():
        raise ValueError(
            "labels: every item is alone in its class, so nothing can be retrieved; expected classes of two"
        )
    units = resampling_units(groups, len(names))
    options: dict[str, Any] = {"confidence": confidence, "n_resamples": n_resamples, "random_state": random_state}

    def summarize(values: NDArray[np.float64], chosen: NDArray[np.bool_]) -> Interval:
        if np.isnan(values[chosen]).all():
            return Interval(np.nan, np.nan, np.nan)
        return bootstrap(values[chosen], groups=units[chosen], shares=True, **options)

    everything = np.ones(len(names), bool)
    classes = tuple(
        (kind, int((names == kind).sum()), summarize(nearest, names == kind), summarize(precision, names == kind))
        for kind in np.unique(names).tolist()
    )
    return RetrievalScores(summarize(nearest, everything), summarize(precision, everything), classes)


def _score_queries(
    distances: Any,
    query_labels: Any,
    gallery_labels: Any,
    score: Callable[[NDArray[Any], NDArray[np.bool_]], float],
    k: int | None = None,
) -> NDArray[np.float64]:
    """The score of each query, from its distances and a mask of the items of its class; nan without such items."""
    distances, queries, gallery = _validate_retrieval(distances, query_labels, gallery_labels)
    own = gallery_labels is None
    if k is not None:
        _refuse_large_k(k, len(gallery) - own)
    scores = np.full(len(queries), np.nan)
    for i, row, labels in _iterate_queries(distances, gallery, own):
        relevant = labels == queries[i]
        if relevant.any():
            scores[i] = score(row, relevant)
    return scores


def _count_hits(row: NDArray[Any], relevant: NDArray[np.bool_], k: int) -> tuple[int, int, int, int]:
    """The hits nearer than the k-th item; and among the items tied with it: all, hits, and those that fit in the k."""
    last = np.partition(row, k - 1)[k - 1]
    nearer, tied = row < last, row == last
    return int((nearer & relevant).sum()), int(tied.sum()), int((tied & relevant).sum()), k - int(nearer.sum())


def _precision_among_k(row: NDArray[Any], relevant: NDArray[np.bool_], k: int) -> float:
    sure, tied, hits, left = _count_hits(row, relevant, k)
    return (sure + left * hits / tied) / k


def _hit_probability(row: NDArray[Any], relevant: NDArray[np.bool_], k: int) -> float:
    sure, tied, hits, left = _count_hits(row, relevant, k)
    if sure:
        return 1.0
    taken = np.arange(left)  # places left for tied items are filled one by one; all must miss
    return 1 - float(np.prod(np.maximum(tied - hits - taken, 0) / (tied - taken)))


def _average_precision(row: NDArray[Any], relevant: NDArray[np.bool_]) -> float:
    # not scikit-learn's average_precision_score: it rejects infinite distances
    relevant_distances = np.sort(row[relevant])
    hits = np.searchsorted(relevant_distances, relevant_distances, side="right")
    ranks = np.searchsorted(np.sort(row), relevant_distances, side="right")
    return float((hits / ranks).mean())


def _vote(row: NDArray[Any], labels: NDArray[np.intp], k: int) -> int:
    if k == 1:
        return int(labels[row.argmin()])
    near = np.flatnonzero(row <= np.partition(row, k - 1)[k - 1])  # more than k if there are ties
    voters = near[row[near].argsort(kind="stable")[:k]]
    elected = labels[voters]
    votes, distance_sums = np.bincount(elected)[elected], np.bincount(elected, row[voters])[elected]
    best = votes == votes.max()
    return int(elected[(best & (distance_sums == distance_sums[best].min())).argmax()])


def _refuse_large_k(k: int, n_items: int) -> None:
    if check_int(k, "k", 1) > n_items:
        raise ValueError(f"k={k}: the gallery has only {n_items} items for a query")


def _iterate_queries(
    distances: NDArray[Any], gallery: NDArray[np.intp], own: bool
) -> Iterator[tuple[int, NDArray[Any], NDArray[np.intp]]]:
    """Yield each query's position, distances and labels; `own` excludes the query itself from the gallery.

    Works on one row at a time, to avoid a copy of the matrix.
    """
    for i, row in enumerate(distances):
        if np.isnan(row).any():
            raise ValueError(f"distances holds nan in row {i}: expected numbers; inf is allowed")
        yield (i, np.delete(row, i), np.delete(gallery, i)) if own else (i, row, gallery)


def _validate_retrieval(
    distances: Any, query_labels: Any, gallery_labels: Any
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.intp]]:
    """Validate the arguments and encode the labels as integers from 0."""
    distances = validate_array(np.asarray(distances) if hasattr(distances, "columns") else distances, "distances")
    queries = validate_labels(query_labels, "query_labels", "class")
    gallery = queries if gallery_labels is None else validate_labels(gallery_labels, "gallery_labels", "class")
    if queries.ndim != 1 or gallery.ndim != 1 or distances.shape != (len(queries), len(gallery)) or not distances.size:
        raise ValueError(
            f"distances has shape {distances.shape} with labels of shapes {queries.shape} and {gallery.shape}: "
            "expected (query, gallery), (query,) and (gallery,), none of them empty"
        )
    if (queries.dtype.kind == "U") != (gallery.dtype.kind == "U"):  # converted to text, 0 would equal "0"
        one, other = (labels.tolist()[0] for labels in (queries, gallery))
        raise TypeError(
            f"query_labels and gallery_labels mix numbers and text, {one!r} and {other!r}: expected the same kind in "
            "both"
        )
    _, codes = np.unique(np.concatenate([queries, gallery]), return_inverse=True)
    return distances, codes[: len(queries)], codes[len(queries) :]
