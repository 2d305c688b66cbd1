"""Nearest-neighbour search under a sum of metrics: expensive terms are computed only for remaining candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...align import Matches
from ...align.distance_matrix import refuse_nonfinite
from ...align.gallery import smallest_positions

if TYPE_CHECKING:
    from .estimator import Fused

_INITIAL_CANDIDATES = 32  # candidates compared in full in the first round; each round doubles them


class PrecomputedItems(NamedTuple):
    """The precomputed items of each metric for some sequences, their number, and the dtype of their distances."""

    parts: list[Any]
    size: int
    dtype: np.dtype[Any]


def nearest_by_bounds(
    metric: Fused, queries: PrecomputedItems, references: PrecomputedItems, k: int, cheap: list[int], threads: int
) -> Matches:
    """The exact k nearest items of each query; all terms are nonnegative, so partial sums are lower bounds."""
    shape, dtype = (queries.size, references.size), np.result_type(queries.dtype, references.dtype)
    terms = {number: metric._metric_term(number, queries, references, shape, dtype, threads) for number in cheap}
    rows = []
    for row in range(queries.size):
        own = metric._select_items(queries, np.array([row]))
        rows.append(
            _search_query(metric, own, references, k, {one: term[row] for one, term in terms.items()}, dtype, threads)
        )
    return Matches(np.stack([ids for ids, _ in rows]), np.stack([distances for _, distances in rows]))


def _search_query(
    metric: Fused,
    query: PrecomputedItems,
    references: PrecomputedItems,
    k: int,
    cheap: dict[int, NDArray[np.float64]],
    dtype: np.dtype[Any],
    threads: int,
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Compare candidates in order of their bounds, until the next bound exceeds the k-th full distance."""
    bounds = sum(cheap.values(), np.zeros(references.size)).astype(dtype)
    order = np.argsort(bounds, kind="stable")
    totals = np.full(references.size, np.inf, dtype)
    begin, step = 0, max(_INITIAL_CANDIDATES, 2 * k)
    while begin < references.size:
        if begin >= k and bounds[order[begin]] > np.partition(totals[order[:begin]], k - 1)[k - 1]:
            break
        some = np.sort(order[begin : begin + step])
        totals[some] = _total_distances(
            metric, query, metric._select_items(references, some), {n: t[some] for n, t in cheap.items()}, threads
        )
        begin, step = begin + step, 2 * step
    refuse_nonfinite(totals[None, order[:begin]], ("queries", "X"), columns=order[None, :begin])
    ids = smallest_positions(totals[None], k)[0]
    return ids, totals[ids]


def _total_distances(
    metric: Fused,
    query: PrecomputedItems,
    references: PrecomputedItems,
    cheap: dict[int, NDArray[np.float64]],
    threads: int,
) -> NDArray[np.float64]:
    """Add all terms in the order of the metrics, so that results are bit-equal to the full matrix."""
    dtype, total = np.result_type(query.dtype, references.dtype), np.zeros(references.size)
    for number in range(len(metric.metrics_)):
        own = cheap.get(number)
        total += (
            metric._metric_term(number, query, references, (1, references.size), dtype, threads)[0]
            if own is None
            else own
        )
    return total
