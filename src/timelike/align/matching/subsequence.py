"""`subsequence`: search for a query in a whole recording, at any length or among windows of the query's length."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_bool, check_choice, check_float, check_int, format_count
from ...native import COSTS, Cost, stream as recurrence
from ...sequences import as_single_sequence
from ..band import Window
from ..base import Metric
from .sliding_windows import SlidingWindows, nearest_windows, resolve_window_metric


class SubsequenceMatch(NamedTuple):
    """Samples `start` to `stop` (exclusive) of a stream are at `distance` from the query."""

    start: int
    stop: int
    distance: float


def subsequence(
    query: Any,
    stream: Any,
    k: int = 1,
    *,
    normalize: bool = False,
    metric: Metric | str | None = None,
    window: Window = None,
    cost: Cost = "sqeuclidean",
    max_distance: float | None = None,
    exclusion: int = 0,
) -> list[SubsequenceMatch]:
    """The k segments of a stream most similar to the query, without overlaps, nearest first.

    The distance of a segment is its DTW distance to the whole query; start and end are free:
    D(t, i) = c(x_t, q_i) + min(D(t, i−1), D(t−1, i), D(t−1, i−1)) with D(t, −1) = 0 (Müller, 2007, ch. 4.4). The best
    segment divides the stream into two parts; the best segment entirely inside a remaining part is next. Among equal
    distances, the segment that ends earlier comes first, then the shortest. The result has fewer than k matches if no
    segment is left within `max_distance`.

    With `normalize`, a `metric` or a `window`, segments are windows of the query's length. With `normalize`, the query
    and every window are standardized separately, channel by channel (a constant becomes 0), so a pattern is found at
    any level and scale. Under DTW and `Euclidean`, lower bounds exclude most windows: from their ends (Kim), from
    envelopes of the query and the stream (Keogh), and from partial sums during the comparison (the UCR suite;
    Rakthanmanon et al., 2012). The result is exact. Other metrics compute all distances.

    Without `normalize`, raw values are compared: scale the stream and the query in the same way first, for example with
    `standardize`. Everything is computed in float64.

    Parameters
    ----------
    query, stream : array (time,) or (time, channel)
    k : int
        Maximum number of segments.
    normalize : bool
        Compare shapes: windows of the query's length, each standardized separately.
    metric : Metric or str, optional
        The metric for windows, `DTW()` by default.
    window : int or float, optional
        The warping window, as in `DTW`. A small one, such as 0.05, is fast and often more accurate.
    cost : {"sqeuclidean", "euclidean", "manhattan"}
        c, as in `DTW`.
    max_distance : float, optional
        The largest distance of a match.
    exclusion : int
        Number of samples kept free on both sides of every match.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.subsequence([1, 3, 1], [0, 0, 1, 3, 3, 1, 0, 0, 1, 4, 1], k=2)
    [SubsequenceMatch(start=2, stop=6, distance=0.0), SubsequenceMatch(start=8, stop=11, distance=1.0)]
    >>> [match.start for match in tl.subsequence([1, 3, 1], [0, 5, 9, 5, 0, 0, 100, 100.2, 100], k=2, normalize=True)]
    [1, 6]
    """
    pattern, samples = validate_frames(query, "query"), validate_frames(stream, "stream")
    _refuse_other_frames(pattern, samples, "stream")
    k, exclusion = check_int(k, "k", 1), check_int(exclusion, "exclusion", 0)
    limit = math.inf if max_distance is None else check_float(max_distance, "max_distance", 0)
    check_choice(cost, "cost", COSTS)
    if check_bool(normalize, "normalize") or metric is not None or window is not None:
        by = resolve_window_metric(metric, window, cost)
        return _match_windows(
            as_channel_matrix(pattern),
            as_channel_matrix(samples),
            k,
            by,
            normalize=normalize,
            limit=limit,
            exclusion=exclusion,
        )
    pattern, samples = as_channel_matrix(pattern, np.float64), as_channel_matrix(samples)
    ends = recurrence.MatchEnds.empty(len(samples))
    recurrence.scan(pattern, samples, 0, len(samples), cost, ends)
    if not np.isfinite(ends.distances).any():
        raise ValueError("stream: every distance from the query is too large for float64: scale both alike first")
    taken = np.zeros(len(samples), bool)
    matches: list[SubsequenceMatch] = []
    while len(matches) < k:
        last = int(ends.distances.argmin())
        if not (ends.distances[last] <= limit and math.isfinite(ends.distances[last])):
            break
        best = SubsequenceMatch(int(ends.starts[last]), last + 1, float(ends.distances[last]))
        matches.append(best)
        _exclude_match(best, exclusion, taken, ends, pattern, samples, cost)
    return matches


def _match_windows(
    query: NDArray[Any], samples: NDArray[Any], k: int, metric: Metric, *, normalize: bool, limit: float, exclusion: int
) -> list[SubsequenceMatch]:
    """The k nearest among the windows as long as the query."""
    size = len(query)
    if len(samples) < size:
        raise ValueError(
            f"stream has {format_count(len(samples), 'sample')} and query {size}: windows are as long as the query, so "
            "expected a longer stream; were they given the other way round?"
        )
    windows = SlidingWindows(samples, size, normalize=normalize)
    window_matches = nearest_windows(query, windows, k, metric=metric, limit=limit, exclusion=exclusion)
    return [SubsequenceMatch(one.start, one.start + size, one.distance) for one in window_matches]


def _exclude_match(
    match: SubsequenceMatch,
    margin: int,
    taken: NDArray[np.bool_],
    ends: recurrence.MatchEnds,
    query: NDArray[np.float64],
    samples: NDArray[Any],
    cost: Cost,
) -> None:
    """Remove a match from the stream: earlier ends stay valid, later segments must not begin inside it."""
    begin, end = max(0, match.start - margin), min(len(samples), match.stop + margin)
    taken[begin:end] = True
    ends.distances[begin:end] = np.inf
    rest = taken[end:]
    gap = int(rest.argmax()) if rest.any() else len(rest)
    recurrence.scan(query, samples, end, end + gap, cost, ends)


def validate_frames(value: Any, name: str) -> NDArray[Any]:
    one = as_single_sequence(value, name)
    one.refuse_missing("matching", name)
    return one[0]


def as_channel_matrix(frames: NDArray[Any], dtype: type | None = None) -> NDArray[Any]:
    """(time, channel) in C order, float64 unless it is float32 and no dtype is given."""
    kind = dtype or (np.float32 if frames.dtype == np.float32 else np.float64)
    return np.ascontiguousarray(frames.reshape(len(frames), -1), kind)


def _refuse_other_frames(query: NDArray[Any], stream: NDArray[Any], name: str) -> None:
    if query.shape[1:] != stream.shape[1:]:
        raise ValueError(
            f"query has frames of shape {query.shape[1:]} and {name} of {stream.shape[1:]}: expected the same channels"
        )
