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
_SELECTION_BLOCK = 1 << 18  # of these at a time when the nearest are picked out: they stay in the CPU's cache


class _MatchesFields(NamedTuple):
    ids: Ids
    distances: NDArray[Any]


class Matches(_MatchesFields):
    """The k nearest neighbours of every query: `ids` (positions) and `distances`, both (query, k), nearest first.

    It unpacks as a pair, `ids, distances = found`, and keeps references to the collection and queries until pickled.
    """

    _sources: tuple[Sequences, Sequences] | None = None  # the collection and the queries

    def __getstate__(self) -> None:
        """Nothing but the pair goes to another process: the sequences are there, or too many to be sent."""

    def plot(
        self, X: Any = None, queries: Any = None, *, query: int = 0, channel: int | str = 0, dark: bool = False
    ) -> Figure:
        """Draw a query over each of its neighbours, at most nine, nearest first, from the first sample of both.

        `query` is a position among the queries. By default, X and the queries are those of the search; pass them after
        unpickling. The title of a panel has the neighbour's rank, id (or position), label if any, and distance.
        `channel` is a position or a name, `dark` draws for a dark page.

        >>> import timelike as tl
        >>> X = tl.Sequences([[0.0, 1.0], [5.0, 5.0], [0.0, 2.0]], labels=["low", "high", "low"], ids=["a", "b", "c"])
        >>> figure = tl.DTW().neighbors(X, [[0.0, 1.5]], k=2).plot()
        >>> print(figure.axes[0].get_title())
        1: a, low
        distance 0.25
        """
        from .plots import plot_neighbors

        collection, query_sequences = self._resolve_sources(X, queries)
        place = check_int(query, "query")
        if not -len(self.ids) <= place < len(self.ids):
            raise ValueError(f"query={place}: expected 0 to {len(self.ids) - 1}, one of the queries")
        place %= len(self.ids)
        return plot_neighbors(collection, query_sequences, place, self.ids[place], self.distances[place], channel, dark)

    def _resolve_sources(self, X: Any, queries: Any) -> tuple[Sequences, Sequences]:
        """The searched sequences and the queries, given now or remembered."""
        if self._sources is None and (X is None or queries is None):
            raise ValueError("these matches do not know the sequences that they are of: give them, as plot(X, queries)")
        sources = self._sources
        collection = as_sequences(X, "X") if X is not None or sources is None else sources[0]
        query_sequences = as_sequences(queries, "queries") if queries is not None or sources is None else sources[1]
        if len(query_sequences) != len(self.ids) or (self.ids.size and len(collection) <= self.ids.max()):
            raise ValueError(
                f"X has {len(collection)} sequences and queries {len(query_sequences)}: expected those that were "
                f"searched, of which there were {len(self.ids)} queries and at least "
                f"{int(self.ids.max(initial=-1)) + 1} sequences"
            )
        return collection, query_sequences

    def _repr_html_(self) -> str:
        """A row for each of the first queries: the position and distance of its nearest."""
        k = min(self.ids.shape[1], _MAX_LISTED)
        header = ["query", *(f"{which}{rank}" for rank in range(1, k + 1) for which in ("id ", "distance "))]
        pairs = zip(self.ids[:_MAX_LISTED, :k].tolist(), self.distances[:_MAX_LISTED, :k].tolist(), strict=True)
        rows = [[query, *(cell for pair in zip(*row, strict=True) for cell in pair)] for query, row in enumerate(pairs)]
        return html.table(header, rows)


class Gallery:
    """A collection to search under a metric; `Metric.prepare_gallery` makes one for repeated searches.

    `precomputed` is the metric's precomputed data of the collection. Without it, every search computes what it needs.
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
        """The k nearest neighbours of every query, or the k nearest among candidates, as `Metric.neighbors` does.

        `progress` draws a bar; None does so on a terminal after two seconds.
        """
        if self.collection.lengths.max(initial=0) > 1:
            refuse_column_vector(queries, "queries")
        query_sequences, threads = as_sequences(queries, "queries"), check_n_jobs(n_jobs)
        self.metric._validate_search(self.collection, query_sequences, k)
        alone = check_bool(exclude_self, "exclude_self")
        if alone:
            refuse_exclude_self(len(query_sequences), len(self.collection), k)
        chosen = None if among is None else validate_candidates(among, len(query_sequences), len(self.collection), k)
        if chosen is not None and alone:
            alone = bool((chosen == np.arange(len(chosen))[:, None]).any())
        k += alone  # its own place, which is taken out again
        with report_progress(progress, type(self.metric).__name__) as report:
            if chosen is None:
                matches = self._search(query_sequences, k, threads, report)
            else:
                refuse_few_candidates(chosen, k)
                matches = self._search_candidates(query_sequences, chosen, k, threads, report)
        matches = drop_self_matches(matches) if alone else matches
        matches._sources = self.collection, query_sequences
        return matches

    def _search(self, query_sequences: Sequences, k: int, threads: int, report: ProgressCallback) -> Matches:
        metric, precomputed = self.metric, self._precomputed
        if precomputed is None:
            precomputed = metric._precompute_items(self.collection, threads)
        matches = metric._search_nearest(query_sequences, precomputed, k, threads, report)
        if matches is not None:  # by bounds, so that only the distances that are answered are known to be finite
            refuse_nonfinite(
                matches.distances, ("queries", "X"), columns=matches.ids, sides=(query_sequences, self.collection)
            )
            return matches
        # the precomputed data of a query may be as large as the query, so queries are processed in blocks
        pieces = (slice(begin, begin + _QUERY_BLOCK) for begin in range(0, len(query_sequences), _QUERY_BLOCK))
        report_chunk = None if report is None else (report, len(query_sequences))
        match_blocks = [
            self._search_by_distances(query_sequences[piece], precomputed, k, threads, piece.start, report_chunk)
            for piece in pieces
        ]
        return Matches(*map(np.concatenate, zip(*match_blocks, strict=True)))

    def _search_by_distances(
        self,
        query_sequences: Sequences,
        references: Any,
        k: int,
        threads: int,
        first: int,
        progress: tuple[Any, int] | None,
    ) -> Matches:
        """By all distances, those of some queries at a time, so that memory stays bounded; the first is the `first`."""
        dtype, height = pair_dtype(query_sequences, self.collection), max(1, _BLOCK_DISTANCES // len(self.collection))
        if progress is not None:  # a bar is shown and has to move
            height = min(height, -(-progress[1] // _MAX_REPORTS))
        queries, ids, distances = None, [], []
        for begin in range(0, len(query_sequences), height):
            rows = slice(begin, min(begin + height, len(query_sequences)))
            out = np.empty((rows.stop - begin, len(self.collection)), dtype)
            if not fill_distributed(self.metric, query_sequences[rows], self.collection, out):
                queries = self.metric._precompute_items(query_sequences, threads) if queries is None else queries
                self.metric._compare_precomputed(self.metric._select_items(queries, rows), references, out, threads)
            refuse_nonfinite(out, ("queries", "X"), first=first + begin)
            ids.append(smallest_positions(out, k))
            distances.append(np.take_along_axis(out, ids[-1], axis=1))
            if progress is not None:
                progress[0](first + rows.stop, progress[1])
        return Matches(np.concatenate(ids), np.concatenate(distances))

    def _search_candidates(
        self, query_sequences: Sequences, chosen: Ids, k: int, threads: int, report: ProgressCallback
    ) -> Matches:
        metric, precomputed, places = self.metric, self._precomputed, chosen
        if precomputed is None:  # a candidate of several queries is made known once
            wanted = np.zeros(len(self.collection), bool)
            wanted[chosen] = True
            precomputed, places = (
                metric._precompute_items(self.collection[wanted], threads),
                (wanted.cumsum() - 1)[chosen],
            )
        out = np.empty(chosen.shape, pair_dtype(query_sequences, self.collection))
        for begin in range(0, len(query_sequences), _QUERY_BLOCK):
            queries = metric._precompute_items(query_sequences[begin : begin + _QUERY_BLOCK], threads)
            for query, own in enumerate(places[begin : begin + _QUERY_BLOCK]):
                row = slice(begin + query, begin + query + 1)
                metric._compare_precomputed(
                    metric._select_items(queries, np.array([query])),
                    metric._select_items(precomputed, own),
                    out[row],
                    threads,
                )
                if report is not None:
                    report(row.stop, len(query_sequences))
        refuse_nonfinite(out, ("queries", "X"), columns=chosen, sides=(query_sequences, self.collection))
        order = smallest_positions(out, k)
        return Matches(np.take_along_axis(chosen, order, axis=1), np.take_along_axis(out, order, axis=1))


def refuse_exclude_self(n_queries: int, n_items: int, k: int) -> None:
    """Raise an error if queries cannot be the collection itself, or it has too few others."""
    if n_queries != n_items:
        raise ValueError(
            f"exclude_self=True with {n_queries} queries and {n_items} sequences in X: expected queries to be X, in "
            "the same order"
        )
    if k >= n_items:
        raise ValueError(f"k={k}: expected 1 to {n_items - 1}, the number of other sequences in X")


def drop_self_matches(matches: Matches) -> Matches:
    """Of the k + 1 nearest of every query the k that are not in its own place.

    Where copies that come first have filled all k + 1, it is not among them, and the last is one too many.

    >>> drop_self_matches(Matches(np.array([[0, 1], [0, 2]]), np.array([[0.0, 3.0], [0.0, 0.0]])))
    Matches(ids=array([[1],
           [0]]), distances=array([[3.],
           [0.]]))
    """
    own = matches.ids == np.arange(len(matches.ids))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(own), own.shape[1] - 1)
    return Matches(matches.ids[~own].reshape(shape), matches.distances[~own].reshape(shape))


def smallest_positions(rows: NDArray[Any], k: int) -> Ids:
    """Positions of the k smallest numbers of each row, (row, k), smallest first; equal numbers keep their order.

    The same as `np.argsort(rows, axis=1, kind="stable")[:, :k]`, without sorting the larger numbers.

    >>> smallest_positions(np.array([[2.0, 1.0, 3.0, 1.0, 2.0, 9.0, 8.0, 7.0, 9.0]]), 2)
    array([[1, 3]])
    """
    if k == 1:
        nearest: Ids = rows.argmin(axis=1)[:, None]
        return nearest
    if 4 * k >= rows.shape[1]:  # there is little to skip
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
    """The fraction of sequences whose nearest neighbour has the same label; overwrites the diagonal of `distances`.

    >>> leave_one_out_accuracy(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]), np.array(["a", "a", "b"]))
    0.6666666666666666
    """
    np.fill_diagonal(distances, np.inf)
    return float(np.mean(labels[distances.argmin(axis=1)] == labels))


def validate_candidates(among: Any, n_queries: int, n_items: int, k: int) -> Ids:
    """Positions (query, candidate) in the collection, each row in order, from these or from another search's result."""
    candidates = np.asarray(getattr(among, "ids", among))
    if (
        candidates.ndim != 2
        or candidates.shape[0] != n_queries
        or candidates.shape[1] < 1
        or candidates.dtype.kind not in "iu"
    ):
        raise ValueError(
            f"among has shape {candidates.shape} of {candidates.dtype}: expected (query, candidate), whole numbers "
            f"that are positions in X, for each of the {n_queries} queries"
        )
    wrong = np.argwhere((candidates < 0) | (candidates >= n_items))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise ValueError(
            f"among[{row}, {column}] is {candidates[row, column]}: expected positions 0 to {n_items - 1} in X"
        )
    chosen = np.sort(candidates.astype(np.int64), axis=1)  # equal distances come in the order of X
    twice = np.flatnonzero((np.diff(chosen, axis=1) == 0).any(axis=1))
    if len(twice):
        raise ValueError(f"among[{twice[0]}] names a position twice: expected each candidate of a query once")
    refuse_few_candidates(chosen, k)
    return chosen


def refuse_few_candidates(chosen: Ids, k: int) -> None:
    """Raise an error if a query has too few candidates."""
    if k > chosen.shape[1]:
        raise ValueError(f"k={k}: among has only {chosen.shape[1]} candidates for a query")
