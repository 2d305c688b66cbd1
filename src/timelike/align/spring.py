"""`Spring`: a query watched for in a stream, one sample at a time, within a threshold that is given or learned."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..native import COSTS, Cost, stream as recurrence
from ..sequences import Sequences, as_sequences
from ..sequences.arguments import one_of, real
from ..sequences.doors import plain_array
from .matching import SubsequenceMatch, flat, frames_of, subsequence
from .thresholds import SpringCalibration, between, by_examples

WAY_OUT = "fill missing samples first, for example with the one before"


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
    threshold : float, optional
        The largest distance that counts as a match; without one, `calibrate` learns it from examples.
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

    calibration_: SpringCalibration
    """What `calibrate` learned from."""

    def __init__(self, query: Any, *, threshold: float | None = None, cost: Cost = "sqeuclidean") -> None:
        frames = frames_of(query, "query")
        self.frame: tuple[int, ...] = frames.shape[1:]
        self.threshold = None if threshold is None else real(threshold, "threshold", 0)
        one_of(cost, "cost", COSTS)
        self.cost: Cost = cost
        self._query = flat(frames, np.float64).copy()  # the caller's array may change while the stream runs
        self._state = recurrence.State.fresh(len(self._query))

    @property
    def seen(self) -> int:
        """Samples taken so far; positions of matches count from the first of them."""
        return int(self._state.place[2])

    def calibrate(self, examples: Any, background: Any = None, *, misses: float | None = None) -> Self:
        """Learn the threshold from recordings in which the pattern is, and maybe streams in which it is not.

        An example counts by the nearest stretch in it, so it may be cut wide. From examples alone the threshold is the
        largest of their distances, or with `misses` the one by which a new example like them is missed with a chance of
        at most that. With a `background` it is the one with the fewest errors, missed examples and false alarms
        together, in the middle of its gap. `calibration_` has the distances.

        Parameters
        ----------
        examples, background : collections of sequences
        misses : float, optional
            Between 0 and 1; 19 examples are needed for 0.05. With a background, its false alarms are then only counted.

        Examples
        --------
        >>> import timelike as tl
        >>> spring = tl.Spring([1, 2, 1]).calibrate([[0, 1, 2, 1.5], [1, 2.5, 1, 0]], [[0, 0, 1, 0, 3, 0, 0]])
        >>> spring.threshold
        0.625
        >>> spring.calibration_.missed, spring.calibration_.false_alarms
        (0, 0)
        """
        if self.seen:
            raise ValueError(f"calibrate before the first sample: {self.seen} have been seen, make a new Spring")
        if misses is not None and not 0 < real(misses, "misses", 0, 1) < 1:
            raise ValueError(f"misses={misses}: expected a share between 0 and 1, such as 0.05")
        near = np.sort([self._nearest(one, 1, math.inf)[0].distance for one in self._given(examples, "examples")])
        far = np.empty(0) if background is None else self._matches(self._given(background, "background"), near[-1])
        chosen = between(near, far) if len(far) and misses is None else by_examples(near, misses)
        self.threshold, self.calibration_ = chosen, SpringCalibration(chosen, near, far)
        return self

    def _given(self, value: Any, name: str) -> Sequences:
        sequences = as_sequences(value, name)
        if len(sequences) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        sequences.refuse_missing("matching", name)
        if sequences.frame != self.frame:
            raise ValueError(f"{name} has frames of shape {sequences.frame}: expected {self.frame}, as in the query")
        return sequences

    def _nearest(self, stream: NDArray[Any], k: int, limit: float) -> list[SubsequenceMatch]:
        query = self._query.reshape(-1, *self.frame)
        return subsequence(query, stream, k, cost=self.cost, max_distance=limit if math.isfinite(limit) else None)

    def _matches(self, streams: Sequences, limit: float) -> NDArray[np.float64]:
        """Distances of what would be reported in streams, at least of the nearest: how far it is says how far to go."""
        found = [match.distance for one in streams for match in self._nearest(one, len(one), limit)]
        nearest = [self._nearest(one, 1, math.inf)[0].distance for one in streams]
        return np.sort(found if found else [min(nearest)])

    def push(self, sample: Any) -> list[SubsequenceMatch]:
        """Take one sample, a number or (channel,), and give the matches that have become certain (at most one)."""
        try:
            row = plain_array(sample, "sample").astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"sample={sample!r:.60}: expected a number or an array of shape {self.frame}, real numbers"
            ) from None
        if row.shape != self.frame and not (row.ndim == 0 and self.frame == (1,)):
            raise ValueError(f"sample has shape {row.shape}: expected {self.frame}, as in the query")
        if not np.isfinite(row).all():
            raise ValueError(f"sample={sample!r:.60} at position {self.seen}: expected finite numbers; {WAY_OUT}")
        return self._advance(row.reshape(1, -1))

    def extend(self, samples: Any) -> list[SubsequenceMatch]:
        """Take many samples, (time,) or (time, channel): the same matches as from pushing them one by one."""
        if not isinstance(samples, np.ndarray) and hasattr(samples, "__len__") and len(samples) == 0:
            return []
        if isinstance(samples, np.ndarray) and samples.shape[:1] == (0,):
            return []
        frames = frames_of(samples, "samples")
        if frames.shape[1:] != self.frame:
            raise ValueError(f"samples has frames of shape {frames.shape[1:]}: expected {self.frame}, as in the query")
        return self._advance(flat(frames))

    def flush(self) -> list[SubsequenceMatch]:
        """The stream has ended: the match still uncertain, if any. No later match reaches back beyond this point."""
        start, last, seen = self._state.place.tolist()
        distance = float(self._state.pending[0])
        self._state = recurrence.State.fresh(len(self._query), seen)
        return [SubsequenceMatch(start, last + 1, distance)] if math.isfinite(distance) else []

    def _advance(self, rows: NDArray[Any]) -> list[SubsequenceMatch]:
        if self.threshold is None:
            raise ValueError("threshold is not known: give Spring(query, threshold=...), or calibrate(examples) first")
        found = recurrence.advance(self._query, rows, self.cost, self.threshold, self._state)
        return [SubsequenceMatch(*match) for match in found]

    def __repr__(self) -> str:
        length = len(self._query)
        threshold = "None" if self.threshold is None else f"{self.threshold:g}"
        return f"Spring({length} steps, threshold={threshold}, cost={self.cost!r}, {self.seen} samples seen)"
