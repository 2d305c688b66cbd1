"""Finding a query in a long stream: `subsequence` in a whole recording, `Spring` one sample at a time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..native import COSTS, Cost, stream as recurrence
from ..sequences import as_one
from ..sequences.arguments import counted, flag, one_of, real, whole
from .band import Window
from .base import Metric
from .sliding import Windows, metric_of, nearest_windows


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
    """The k stretches of a stream most like the query, none overlapping another, nearest first.

    The distance of a stretch is its DTW distance from the whole query; start and end are free:
    D(t, i) = c(x_t, q_i) + min(D(t, i−1), D(t−1, i), D(t−1, i−1)) with D(t, −1) = 0 (Müller, 2007, ch. 4.4). The best
    stretch is taken; it cuts the stream into what lies before and after it, and the best stretch wholly inside a
    remaining part is next. Of equal distances the one that ends earlier is taken, and of those the shortest. Fewer
    than k are given when nothing is left, or nothing within `max_distance`.

    With `normalize`, a `metric` or a `window`, stretches are windows as long as the query. With `normalize` the query
    and every window are first brought to mean 0 and standard deviation 1, each by itself, channel by channel (a
    constant is 0): a pattern is then found at any level and size. Under DTW, and under `Euclidean`, most windows are
    ruled out by bounds from below, by their ends (Kim), by boxes around the query and around the stream (Keogh), and
    while they are being compared (the UCR suite; Rakthanmanon et al., 2012): the answer is the same as from all
    distances, which other metrics compute.

    Without `normalize` values are compared as they are: scale the stream and the query alike first, for example with
    `standardize`. All is computed in float64.

    Parameters
    ----------
    query, stream : array (time,) or (time, channel)
    k : int
        How many stretches at most.
    normalize : bool
        Compare shapes: windows of the query's length, each scaled by itself.
    metric : Metric or str, optional
        What windows are compared by: `DTW()` unless given.
    window : int or float, optional
        How far a path may stray, as in `DTW`. A small one, such as 0.05, is fast, and often better.
    cost : {"sqeuclidean", "euclidean", "manhattan"}
        c, as in `DTW`.
    max_distance : float, optional
        The largest distance that counts.
    exclusion : int
        Samples left free on both sides of every match.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.subsequence([1, 3, 1], [0, 0, 1, 3, 3, 1, 0, 0, 1, 4, 1], k=2)
    [SubsequenceMatch(start=2, stop=6, distance=0.0), SubsequenceMatch(start=8, stop=11, distance=1.0)]
    >>> [match.start for match in tl.subsequence([1, 3, 1], [0, 5, 9, 5, 0, 0, 100, 100.2, 100], k=2, normalize=True)]
    [1, 6]
    """
    pattern, samples = _frames(query, "query"), _frames(stream, "stream")
    _refuse_other_frames(pattern, samples, "stream")
    k, exclusion = whole(k, "k", 1), whole(exclusion, "exclusion", 0)
    limit = math.inf if max_distance is None else real(max_distance, "max_distance", 0)
    one_of(cost, "cost", COSTS)
    if flag(normalize, "normalize") or metric is not None or window is not None:
        by = metric_of(metric, window, cost)
        return _windows(_flat(pattern), _flat(samples), k, by, normalize=normalize, limit=limit, exclusion=exclusion)
    pattern, samples = _flat(pattern, np.float64), _flat(samples)
    ends = recurrence.Ends.unknown(len(samples))
    recurrence.scan(pattern, samples, 0, len(samples), cost, ends)
    taken = np.zeros(len(samples), bool)
    found: list[SubsequenceMatch] = []
    while len(found) < k:
        last = int(ends.distances.argmin())
        if not (ends.distances[last] <= limit and math.isfinite(ends.distances[last])):
            break
        best = SubsequenceMatch(int(ends.starts[last]), last + 1, float(ends.distances[last]))
        found.append(best)
        _exclude(best, exclusion, taken, ends, pattern, samples, cost)
    return found


def _windows(
    query: NDArray[Any],
    samples: NDArray[Any],
    k: int,
    metric: Metric,
    *,
    normalize: bool,
    limit: float,
    exclusion: int,
) -> list[SubsequenceMatch]:
    """The k nearest among the windows as long as the query."""
    size = len(query)
    if len(samples) < size:
        raise ValueError(
            f"stream has {counted(len(samples), 'sample')} and query {size}: windows are as long as the query, so "
            "expected a longer stream; were they given the other way round?"
        )
    windows = Windows(samples, size, normalize=normalize)
    found = nearest_windows(query, windows, k, metric=metric, limit=limit, exclusion=exclusion)
    return [SubsequenceMatch(one.start, one.start + size, one.distance) for one in found]


def _exclude(
    match: SubsequenceMatch,
    margin: int,
    taken: NDArray[np.bool_],
    ends: recurrence.Ends,
    query: NDArray[np.float64],
    samples: NDArray[Any],
    cost: Cost,
) -> None:
    """Take a match out of the stream. What ended before it stands; what comes after must not begin inside it."""
    begin, end = max(0, match.start - margin), min(len(samples), match.stop + margin)
    taken[begin:end] = True
    ends.distances[begin:end] = np.inf
    rest = taken[end:]
    gap = int(rest.argmax()) if rest.any() else len(rest)
    recurrence.scan(query, samples, end, end + gap, cost, ends)


class Spring:
    """A query watched for in a stream, one sample at a time: SPRING (Sakurai, Faloutsos and Yamamuro, ICDE 2007).

    A stretch of the stream matches when its DTW distance from the whole query is at most `threshold`. Of matches that
    overlap only the nearest is reported, as soon as it is certain: when no stretch that overlaps it can still turn out
    nearer. A sample costs O(query) time, and memory is O(query) however long the stream.

    Every match reported has the exact distance, and no two overlap. The nearest match of the whole stream is always
    among them. As in the paper, a stretch that ends while a nearer one is still uncertain is passed over even if the
    two do not overlap; `subsequence` on a recording makes no such exception. Of equal distances the one that ends
    earlier is taken, and of those the shortest.

    Parameters
    ----------
    query : array (time,) or (time, channel)
    threshold : float
        The largest distance that counts as a match.
    cost : {"sqeuclidean", "euclidean", "manhattan"}
        As in `DTW`.

    Examples
    --------
    >>> import timelike as tl
    >>> spring = tl.Spring([1, 2, 1], threshold=0.5)
    >>> [match for sample in [0, 1, 2, 2, 1, 0] for match in spring.push(sample)]
    [SubsequenceMatch(start=1, stop=5, distance=0.0)]
    >>> spring.extend([0, 0, 1, 2, 1])
    []
    >>> spring.flush()
    [SubsequenceMatch(start=8, stop=11, distance=0.0)]
    """

    def __init__(self, query: Any, *, threshold: float, cost: Cost = "sqeuclidean") -> None:
        frames = _frames(query, "query")
        self.frame: tuple[int, ...] = frames.shape[1:]
        self.threshold = real(threshold, "threshold", 0)
        one_of(cost, "cost", COSTS)
        self.cost: Cost = cost
        self._query = _flat(frames, np.float64).copy()  # the caller's array may change while the stream runs
        self._state = recurrence.State.fresh(len(self._query))

    @property
    def seen(self) -> int:
        """Samples taken so far; positions of matches count from the first of them."""
        return int(self._state.place[2])

    def push(self, sample: Any) -> list[SubsequenceMatch]:
        """Take one sample, a number or (channel,), and give the matches that have become certain (at most one)."""
        try:
            row = np.asarray(sample, np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"sample={sample!r:.60}: expected a number or an array of shape {self.frame}") from None
        if row.shape != self.frame and not (row.ndim == 0 and self.frame == (1,)):
            raise ValueError(f"sample has shape {row.shape}: expected {self.frame}, as in the query")
        if not np.isfinite(row).all():
            raise ValueError(f"sample={sample!r:.60} at position {self.seen}: expected finite numbers; {_WAY_OUT}")
        return self._advance(row.reshape(1, -1))

    def extend(self, samples: Any) -> list[SubsequenceMatch]:
        """Take many samples, (time,) or (time, channel): the same matches as from pushing them one by one."""
        if not isinstance(samples, np.ndarray) and hasattr(samples, "__len__") and len(samples) == 0:
            return []
        if isinstance(samples, np.ndarray) and samples.shape[:1] == (0,):
            return []
        frames = _frames(samples, "samples")
        if frames.shape[1:] != self.frame:
            raise ValueError(f"samples has frames of shape {frames.shape[1:]}: expected {self.frame}, as in the query")
        return self._advance(_flat(frames))

    def flush(self) -> list[SubsequenceMatch]:
        """The stream has ended: the match still uncertain, if any. No later match reaches back beyond this point."""
        start, last, seen = self._state.place.tolist()
        distance = float(self._state.pending[0])
        self._state = recurrence.State.fresh(len(self._query), seen)
        return [SubsequenceMatch(start, last + 1, distance)] if math.isfinite(distance) else []

    def _advance(self, rows: NDArray[Any]) -> list[SubsequenceMatch]:
        found = recurrence.advance(self._query, rows, self.cost, self.threshold, self._state)
        return [SubsequenceMatch(*match) for match in found]

    def __repr__(self) -> str:
        length = len(self._query)
        return f"Spring({length} steps, threshold={self.threshold:g}, cost={self.cost!r}, {self.seen} samples seen)"


_WAY_OUT = "fill missing samples first, for example with the one before"


def _frames(value: Any, name: str) -> NDArray[Any]:
    one = as_one(value, name)
    one.refuse_missing("matching", name)
    return one[0]


def _flat(frames: NDArray[Any], dtype: type | None = None) -> NDArray[Any]:
    """(time, channel) in C order, float64 unless it is float32 and no dtype is asked for."""
    kind = dtype or (np.float32 if frames.dtype == np.float32 else np.float64)
    return np.ascontiguousarray(frames.reshape(len(frames), -1), kind)


def _refuse_other_frames(query: NDArray[Any], stream: NDArray[Any], name: str) -> None:
    if query.shape[1:] != stream.shape[1:]:
        raise ValueError(
            f"query has frames of shape {query.shape[1:]} and {name} of {stream.shape[1:]}: expected the same channels"
        )
