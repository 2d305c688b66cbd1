"""Nearest neighbours: `Matches`, a `Gallery` to search in, candidates, and the search itself, a block at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import check_bool, check_int
from ..core.threads import check_n_jobs
from ..core.validation.arrays import refuse_column_vector
from ..plotting import html
from ..sequences import Sequences, as_sequences
from .distance_matrix import ProgressCallback, pair_dtype, refuse_nonfinite, report_progress
from .distributed import fill_distributed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .base import Metric

Ids = NDArray[np.int64]

_MAX_LISTED = 10  # queries, and neighbours of each, in a table
_BLOCK_DISTANCES = 1 << 24  # distances at a time in a search
_MAX_REPORTS = 100  # parts of a search, where progress is shown
_QUERY_BLOCK = 1 << 10  # queries of which everything is known at once
_SELECTION_BLOCK = 1 << 18  # of these at a time when the nearest are picked out: they stay in the processor's cache


class _MatchesFields(NamedTuple):
    ids: Ids
    distances: NDArray[Any]


class Matches(_MatchesFields):
    """The k nearest of every query: `ids` are positions in the collection, both arrays (query, k), nearest first.

    It is a pair, `ids, distances = found`, that remembers what was searched as long as it is not sent elsewhere.
    """

    _sources: tuple[Sequences, Sequences] | None = None  # the collection and the queries

    def __getstate__(self) -> None:
        """Nothing but the pair goes to another process: the sequences are there, or too many to be sent."""

    def plot(
        self, X: Any = None, queries: Any = None, *, query: int = 0, channel: int | str = 0, dark: bool = False
    ) -> Figure:
        """A query over each of its neighbours, at most nine, the nearest first, from the first sample of both.

        `query` is a position among the queries. X and the queries are those of the search unless given; it forgets
        them when it is pickled. Above a panel are the neighbour's rank, its id (or position), its label if it has one,
        and the distance. `channel` is a position or a name, `dark` is for a dark page.

        >>> import timelike as tl
        >>> X = tl.Sequences([[0.0, 1.0], [5.0, 5.0], [0.0, 2.0]], labels=["low", "high", "low"], ids=["a", "b", "c"])
        >>> figure = tl.DTW().neighbors(X, [[0.0, 1.5]], k=2).plot()
        >>> print(figure.axes[0].get_title())
        1: a, low
        distance 0.25
        """
        from .plots import plot_neighbors

        collection, asked = self._resolve_sources(X, queries)
        place = check_int(query, "query")
        if not -len(self.ids) <= place < len(self.ids):
            raise ValueError(f"query={place}: expected 0 to {len(self.ids) - 1}, one of the queries")
        place %= len(self.ids)
        return plot_neighbors(collection, asked, place, self.ids[place], self.distances[place], channel, dark)

    def _resolve_sources(self, X: Any, queries: Any) -> tuple[Sequences, Sequences]:
        """The searched sequences and the queries, given now or remembered."""
        if self._sources is None and (X is None or queries is None):
            raise ValueError("these matches do not know the sequences that they are of: give them, as plot(X, queries)")
        known = self._sources
        collection = as_sequences(X, "X") if X is not None or known is None else known[0]
        asked = as_sequences(queries, "queries") if queries is not None or known is None else known[1]
        if len(asked) != len(self.ids) or (self.ids.size and len(collection) <= self.ids.max()):
            raise ValueError(
                f"X has {len(collection)} sequences and queries {len(asked)}: expected those that were searched, of "
                f"which there were {len(self.ids)} queries and at least {int(self.ids.max(initial=-1)) + 1} sequences"
            )
        return collection, asked

    def _repr_html_(self) -> str:
        """A row for each of the first queries: the position and distance of its nearest."""
        k = min(self.ids.shape[1], _MAX_LISTED)
        header = ["query", *(f"{which}{rank}" for rank in range(1, k + 1) for which in ("id ", "distance "))]
        pairs = zip(self.ids[:_MAX_LISTED, :k].tolist(), self.distances[:_MAX_LISTED, :k].tolist(), strict=True)
        rows = [[query, *(cell for pair in zip(*row, strict=True) for cell in pair)] for query, row in enumerate(pairs)]
        return html.table(header, rows)


class Gallery:
    """A collection to search in under a metric; `Metric.prepare_gallery` makes one that is ready for many searches.

    `precomputed` is what the metric computed of the collection beforehand. Without it, every search computes what it
    needs.
    """

    def __init__(self, metric: Metric, collection: Sequences, precomputed: Any = None) -> None:
        self.metric, self.collection, self._precomputed = metric, collection, precomputed

    def neighbors(
        self,
        queries: Any,
        k: int = 1,
        *,
        among: Any = None,
        exclude_self: bool = False,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> Matches:
        """The k nearest to every query, or the k nearest among candidates, as `Metric.neighbors` gives them.

        `progress` draws a bar; None does so on a terminal, where it takes over two seconds.
        """
        if self.collection.lengths.max(initial=0) > 1:
            refuse_column_vector(queries, "queries")
        asked, threads = as_sequences(queries, "queries"), check_n_jobs(n_jobs)
        self.metric._validate_search(self.collection, asked, k)
        alone = check_bool(exclude_self, "exclude_self")
        if alone:
            refuse_exclude_self(len(asked), len(self.collection), k)
        chosen = None if among is None else validate_candidates(among, len(asked), len(self.collection), k)
        if chosen is not None and alone:
            alone = bool((chosen == np.arange(len(chosen))[:, None]).any())
        k += alone  # its own place, which is taken out again
        with report_progress(progress, type(self.metric).__name__) as report:
            if chosen is None:
                found = self._search(asked, k, threads, report)
            else:
                refuse_few_candidates(chosen, k)
                found = self._search_candidates(asked, chosen, k, threads, report)
        found = drop_self_matches(found) if alone else found
        found._sources = self.collection, asked
        return found

    def _search(self, asked: Sequences, k: int, threads: int, report: ProgressCallback) -> Matches:
        metric, known = self.metric, self._precomputed
        if known is None:
            known = metric._precompute_items(self.collection, threads)
        found = metric._search_nearest(asked, known, k, threads, report)
        if found is not None:  # by bounds, so that only the distances that are answered are known to be finite
            refuse_nonfinite(found.distances, ("queries", "X"), columns=found.ids, sides=(asked, self.collection))
            return found
        # what is known of a query may be as long as the query, so of some of them at a time
        pieces = (slice(begin, begin + _QUERY_BLOCK) for begin in range(0, len(asked), _QUERY_BLOCK))
        told = None if report is None else (report, len(asked))
        all_found = [self._search_by_distances(asked[piece], known, k, threads, piece.start, told) for piece in pieces]
        return Matches(*map(np.concatenate, zip(*all_found, strict=True)))

    def _search_by_distances(
        self, asked: Sequences, known: Any, k: int, threads: int, first: int, progress: tuple[Any, int] | None
    ) -> Matches:
        """By all distances, those of some queries at a time, so that memory stays bounded; the first is the `first`."""
        dtype, height = pair_dtype(asked, self.collection), max(1, _BLOCK_DISTANCES // len(self.collection))
        if progress is not None:  # a bar is shown and has to move
            height = min(height, -(-progress[1] // _MAX_REPORTS))
        queries, ids, distances = None, [], []
        for begin in range(0, len(asked), height):
            rows = slice(begin, min(begin + height, len(asked)))
            out = np.empty((rows.stop - begin, len(self.collection)), dtype)
            if not fill_distributed(self.metric, asked[rows], self.collection, out):
                queries = self.metric._precompute_items(asked, threads) if queries is None else queries
                self.metric._compare_precomputed(self.metric._select_items(queries, rows), known, out, threads)
            refuse_nonfinite(out, ("queries", "X"), first=first + begin)
            ids.append(smallest_positions(out, k))
            distances.append(np.take_along_axis(out, ids[-1], axis=1))
            if progress is not None:
                progress[0](first + rows.stop, progress[1])
        return Matches(np.concatenate(ids), np.concatenate(distances))

    def _search_candidates(
        self, asked: Sequences, chosen: Ids, k: int, threads: int, report: ProgressCallback
    ) -> Matches:
        metric, known, places = self.metric, self._precomputed, chosen
        if known is None:  # a candidate of several queries is made known once
            wanted = np.zeros(len(self.collection), bool)
            wanted[chosen] = True
            known, places = metric._precompute_items(self.collection[wanted], threads), (wanted.cumsum() - 1)[chosen]
        out = np.empty(chosen.shape, pair_dtype(asked, self.collection))
        for begin in range(0, len(asked), _QUERY_BLOCK):
            queries = metric._precompute_items(asked[begin : begin + _QUERY_BLOCK], threads)
            for query, own in enumerate(places[begin : begin + _QUERY_BLOCK]):
                row = slice(begin + query, begin + query + 1)
                metric._compare_precomputed(
                    metric._select_items(queries, np.array([query])),
                    metric._select_items(known, own),
                    out[row],
                    threads,
                )
                if report is not None:
                    report(row.stop, len(asked))
        refuse_nonfinite(out, ("queries", "X"), columns=chosen, sides=(asked, self.collection))
        order = smallest_positions(out, k)
        return Matches(np.take_along_axis(chosen, order, axis=1), np.take_along_axis(out, order, axis=1))


def refuse_exclude_self(n_asked: int, n_known: int, k: int) -> None:
    """An error where queries cannot be the collection itself, or it has too few others."""
    if n_asked != n_known:
        raise ValueError(
            f"exclude_self=True with {n_asked} queries and {n_known} sequences in X: expected queries to be X, each in "
            "its own place"
        )
    if k >= n_known:
        raise ValueError(f"k={k}: expected 1 to {n_known - 1}, the number of other sequences in X")


def drop_self_matches(found: Matches) -> Matches:
    """Of the k + 1 nearest of every query the k that are not in its own place.

    Where copies that come first have filled all k + 1, it is not among them, and the last is one too many.

    >>> drop_self_matches(Matches(np.array([[0, 1], [0, 2]]), np.array([[0.0, 3.0], [0.0, 0.0]])))
    Matches(ids=array([[1],
           [0]]), distances=array([[3.],
           [0.]]))
    """
    own = found.ids == np.arange(len(found.ids))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(own), own.shape[1] - 1)
    return Matches(found.ids[~own].reshape(shape), found.distances[~own].reshape(shape))


def smallest_positions(rows: NDArray[Any], k: int) -> Ids:
    """Where the k least numbers of each row are, the least first and equal ones in their order, (row, k).

    That is `np.argsort(rows, axis=1, kind="stable")[:, :k]` without sorting what is farther.

    >>> smallest_positions(np.array([[2.0, 1.0, 3.0, 1.0, 2.0, 9.0, 8.0, 7.0, 9.0]]), 2)
    array([[1, 3]])
    """
    if k == 1:
        nearest: Ids = rows.argmin(axis=1)[:, None]
        return nearest
    if 4 * k >= rows.shape[1]:  # there is little to leave out
        return np.argsort(rows, axis=1, kind="stable")[:, :k]
    height = max(1, _SELECTION_BLOCK // rows.shape[1])
    return np.concatenate(
        [_smallest_of_block(rows[begin : begin + height], k) for begin in range(0, len(rows), height)]
    )


def _smallest_of_block(rows: NDArray[Any], k: int) -> Ids:
    last = np.partition(rows, k - 1, axis=1)[:, k - 1 : k]
    near = rows <= last
    if np.count_nonzero(near) > k * len(rows):  # several are as far as the k-th: the first of them count
        nearer, level = rows < last, rows == last
        near = nearer | (level & (level.cumsum(axis=1) <= k - nearer.sum(axis=1, keepdims=True)))
    ids = near.nonzero()[1].reshape(-1, k)
    order = np.take_along_axis(rows, ids, axis=1).argsort(axis=1, kind="stable")
    return np.take_along_axis(ids, order, axis=1)


def leave_one_out_accuracy(distances: NDArray[Any], labels: NDArray[Any]) -> float:
    """The share of sequences whose nearest other has their label; the diagonal of `distances` is lost.

    >>> leave_one_out_accuracy(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]), np.array(["a", "a", "b"]))
    0.6666666666666666
    """
    np.fill_diagonal(distances, np.inf)
    return float(np.mean(labels[distances.argmin(axis=1)] == labels))


def validate_candidates(among: Any, n_asked: int, n_known: int, k: int) -> Ids:
    """Positions (query, candidate) in the collection, each row in order, from these or from another search's result."""
    given = np.asarray(getattr(among, "ids", among))
    if given.ndim != 2 or given.shape[0] != n_asked or given.shape[1] < 1 or given.dtype.kind not in "iu":
        raise ValueError(
            f"among has shape {given.shape} of {given.dtype}: expected (query, candidate), whole numbers that are "
            f"positions in X, for each of the {n_asked} queries"
        )
    wrong = np.argwhere((given < 0) | (given >= n_known))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(f"among[{row}, {column}] is {given[row, column]}: expected positions 0 to {n_known - 1} in X")
    chosen = np.sort(given.astype(np.int64), axis=1)  # equal distances come in the order of X
    twice = np.flatnonzero((np.diff(chosen, axis=1) == 0).any(axis=1))
    if len(twice):
        raise ValueError(f"among[{twice[0]}] names a position twice: expected each candidate of a query once")
    refuse_few_candidates(chosen, k)
    return chosen


def refuse_few_candidates(chosen: Ids, k: int) -> None:
    """An error where a query has too few candidates."""
    if k > chosen.shape[1]:
        raise ValueError(f"k={k}: among has only {chosen.shape[1]} candidates for a query")
