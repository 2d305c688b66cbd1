"""`Spring`: search for a query in a live stream, with a given or calibrated threshold."""

from __future__ import annotations

import copy
import math
import warnings
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_bool, check_choice, check_float, check_int, format_count
from ...core.validation.arrays import validate_array
from ...core.warnings import find_stack_level
from ...native import COSTS, Cost, stream as recurrence
from ...sequences import Sequences, as_sequences
from .bounded_search import BoundedMatch, BoundedSearch, PendingMatches
from .spring_thresholds import SpringCalibration, threshold_between, threshold_from_examples
from .subsequence import SubsequenceMatch, as_channel_matrix, subsequence, validate_frames

MISSING_HINT = "fill missing samples first, for example with the one before"
_BLOCK_SAMPLES = 1 << 12  # samples whose segments are compared at a time


class RecordingMatch(NamedTuple):
    """Samples `start` to `stop` (exclusive) of a recording, by its id or position, are at `distance` from the query."""

    recording: Any
    start: int
    stop: int
    distance: float


class Spring:
    """Search for a query in a live stream, sample by sample, after SPRING (Sakurai, Faloutsos and Yamamuro, ICDE 2007).

    A segment of the stream matches if its DTW distance to the whole query is at most `threshold` and its length is
    within `lengths`. Among overlapping segments, the nearest of all is a match, then the nearest that overlaps no
    match, and so on; among equal distances, the one that ends earlier, then the shortest. A match is reported as soon
    as no later sample can change it, at the latest after `longest` − 1 more samples, once all segments that it overlaps
    are decided.

    With `normalize`, the query and every segment are standardized first, separately and channel by channel (a constant
    becomes 0), so shapes are found at any level and scale, also on a drifting baseline. The result is exact: each
    segment is compared in full unless its first and last samples, or for raw values the paper's recurrence, already
    cost more than the threshold. Comparing the segments that end at a sample takes at most O(query · longest) time, or
    O(query · longest²) with `normalize`. Deciding between overlapping segments takes O(longest) per sample and per
    segment that matches or waits for a nearer one. Memory holds the waiting segments, which contain no nearer one, as
    long as a chain of overlapping, ever nearer segments continues.

    `lengths=None` is the algorithm of the paper: segments of any length, in O(query) time and memory. It skips a
    segment that ends while a nearer one is still uncertain, even if the two do not overlap.

    Parameters
    ----------
    query : array (time,) or (time, channel)
    threshold : float, optional
        The largest distance of a match; without it, call `calibrate` with examples.
    cost : {"sqeuclidean", "euclidean", "manhattan"}
        As in `DTW`.
    normalize : bool
        Compare shapes, each segment scaled by itself.
    lengths : (shortest, longest) or None
        Length bounds of a match: fractions of the query's length (floats) or samples (integers). Without bounds, DTW
        could map the whole query onto a single sample that is close to all of it.
    calibration : SpringCalibration, optional
        The stored result of `calibrate`, used when a model is loaded; it sets the threshold if you pass none.

    Examples
    --------
    >>> import timelike as tl
    >>> spring = tl.align.Spring([1, 2, 1], threshold=0.5)
    >>> [match for sample in [0, 1, 2, 2, 1, 0] for match in spring.push(sample)]
    []
    >>> spring.extend([0, 0, 0, 0])  # nothing that overlaps it can come any more
    [SubsequenceMatch(start=1, stop=5, distance=0.0)]
    >>> spring.extend([0, 0, 1, 2, 1])
    []
    >>> spring.flush()
    [SubsequenceMatch(start=12, stop=15, distance=0.0)]
    """

    _saved_by_parameters = True  # for `save_model`: the constructor makes it again from `get_params`

    calibration_: SpringCalibration
    """What `calibrate` learned from."""

    def __init__(
        self,
        query: Any,
        *,
        threshold: float | None = None,
        cost: Cost = "sqeuclidean",
        normalize: bool = False,
        lengths: Any = (0.5, 2.0),
        calibration: Any = None,
    ) -> None:
        frames = validate_frames(query, "query")
        self.frame: tuple[int, ...] = frames.shape[1:]
        self.threshold = None if threshold is None else check_float(threshold, "threshold", 0)
        check_choice(cost, "cost", COSTS)
        self.cost: Cost = cost
        self.normalize, self.lengths = check_bool(normalize, "normalize"), lengths
        self._query = as_channel_matrix(
            frames, np.float64
        ).copy()  # the caller's array may change while the stream runs
        if self.normalize and (self._query == self._query[:1]).all():
            raise ValueError(
                f"normalize=True with a query of {format_count(len(self._query), 'sample')} that is constant, which "
                "has no shape: every constant stretch would match it; use normalize=False, or a query that changes"
            )
        self._bounded_search = self._make_bounded_search(lengths)
        self._reset(0)
        if calibration is not None:
            self._set_calibration(calibration)

    def _make_bounded_search(self, lengths: Any) -> BoundedSearch | None:
        if lengths is None:
            if self.normalize:
                raise ValueError("normalize=True with lengths=None: expected bounds, such as lengths=(0.5, 2.0)")
            return None
        shortest, longest = check_lengths(lengths, len(self._query))
        return BoundedSearch(self._query, self.cost, self.normalize, shortest, longest)

    def _set_calibration(self, calibration: Any) -> None:
        threshold, examples, background = calibration
        sides = (np.asarray(side, np.float64).reshape(-1) for side in (examples, background))
        self.calibration_ = SpringCalibration(check_float(threshold, "calibration", 0), *sides)
        if self.threshold is None:  # else it was adjusted after it was learned
            self.threshold = self.calibration_.threshold

    def _reset(self, n_seen: int) -> None:
        """No sample yet that a match may begin with, `seen` samples gone by."""
        self._state = recurrence.StreamState.from_length(len(self._query), n_seen)
        self._tail = np.empty((0, self._query.shape[1]))
        self._n_seen = n_seen
        self._pending = None if self._bounded_search is None else PendingMatches(self._bounded_search.longest)

    @property
    def query(self) -> NDArray[np.float64]:
        """What is watched for, (time, channel)."""
        return self._query.reshape(-1, *self.frame).copy()

    @property
    def n_seen(self) -> int:
        """Samples taken so far; positions of matches count from the first of them."""
        return self._n_seen

    # --- the threshold ----------------------------------------------------------------------------------------------

    def calibrate(self, examples: Any, background: Any = None, *, misses: float | None = None) -> Self:
        """Set the threshold from recordings that contain the pattern, and optionally from streams without it.

        The distance of an example is that of its nearest segment, so it may include margins. With examples alone, the
        threshold is the largest of their distances; with `misses`, a new example is missed with at most that
        probability. With a `background`, the threshold has the fewest errors, missed examples plus false alarms, in the
        middle of its gap; a warning appears if it misses examples. `calibration_` has the distances.

        Parameters
        ----------
        examples, background : collections of sequences
        misses : float, optional
            Between 0 and 1; 19 examples are needed for 0.05. With a background, its false alarms are then only counted.

        Examples
        --------
        >>> import timelike as tl
        >>> spring = tl.align.Spring([1, 2, 1]).calibrate([[0, 1, 2, 1.5], [1, 2.5, 1, 0]], [[0, 0, 1, 0, 3, 0, 0]])
        >>> spring.threshold
        1.125
        >>> spring.calibration_.n_missed, spring.calibration_.n_false_alarms
        (0, 0)
        """
        if self.n_seen:
            raise ValueError(f"calibrate before the first sample: {self.n_seen} have been seen, make a new Spring")
        if misses is not None and not 0 < check_float(misses, "misses", 0, 1) < 1:
            raise ValueError(f"misses={misses}: expected a share between 0 and 1, such as 0.05")
        near = np.sort([self._nearest_distance(one) for one in self._validate_streams(examples, "examples", long=True)])
        far = (
            np.empty(0)
            if background is None
            else self._alarm_distances(self._validate_streams(background, "background"), near[-1])
        )
        chosen = threshold_between(near, far) if len(far) and misses is None else threshold_from_examples(near, misses)
        self.threshold, self.calibration_ = chosen, SpringCalibration(chosen, near, far)
        if self.calibration_.n_missed and misses is None:
            warnings.warn(
                f"the threshold {chosen:g} misses {self.calibration_.n_missed} of its {len(near)} examples, whose "
                f"distances reach {near[-1]:g}, and has {self.calibration_.n_false_alarms} false alarms in the "
                "background: the query does not tell them apart; try normalize=True or another query, or give the "
                "threshold",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _validate_streams(self, value: Any, name: str, *, long: bool = False) -> Sequences:
        sequences = as_sequences(value, name)
        if len(sequences) == 0:
            raise ValueError(f"{name} holds no sequences: expected at least one")
        sequences.refuse_missing("matching", name)
        if sequences.frame != self.frame:
            raise ValueError(f"{name} has frames of shape {sequences.frame}: expected {self.frame}, as in the query")
        shortest = 1 if self._bounded_search is None else self._bounded_search.shortest
        if long and sequences.lengths.min() < shortest:
            item = int(sequences.lengths.argmin())
            raise ValueError(
                f"{name}: sequence {item} has {sequences.lengths[item]} samples, and a match has at least {shortest}: "
                "cut it wider, or give lengths=(shortest, longest)"
            )
        return sequences

    def _nearest_distance(self, stream: NDArray[Any]) -> float:
        """The distance of the nearest segment of a stream."""
        if self._bounded_search is None:
            return subsequence(self.query, stream, cost=self.cost)[0].distance
        every = self._bounded_search.find_within(as_channel_matrix(stream, np.float64), 0, math.inf)
        return min((one.distance for one in every), default=math.inf)

    def _alarm_distances(self, streams: Sequences, limit: float) -> NDArray[np.float64]:
        """Sorted distances of the matches in streams within `limit`; if there are none, that of the nearest segment."""
        if self._bounded_search is None:
            distances = [
                match.distance
                for one in streams
                for match in subsequence(self.query, one, len(one), cost=self.cost, max_distance=limit)
            ]
        else:
            distances = [match.distance for one in streams for match in self._all_matches(one, limit)]
        nearest = min(map(self._nearest_distance, streams)) if not distances else math.inf
        return np.sort([one for one in (*distances, nearest) if math.isfinite(one)])

    # --- the stream -------------------------------------------------------------------------------------------------

    def push(self, sample: Any) -> list[SubsequenceMatch]:
        """Process one sample, a number or (channel,), and return the matches that are now final."""
        try:
            row = validate_array(sample, "sample").astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"sample={sample!r:.60}: expected a number or an array of shape {self.frame}, real numbers"
            ) from None
        if row.shape != self.frame and not (row.ndim == 0 and self.frame == (1,)):
            raise ValueError(f"sample has shape {row.shape}: expected {self.frame}, as in the query")
        if not np.isfinite(row).all():
            raise ValueError(
                f"sample={sample!r:.60} at position {self.n_seen}: expected finite numbers; {MISSING_HINT}"
            )
        return self._advance(row.reshape(1, -1))

    def extend(self, samples: Any) -> list[SubsequenceMatch]:
        """Process many samples, (time,) or (time, channel), with the same matches as one by one."""
        if isinstance(samples, list | tuple) and len(samples) == 0:
            return []
        if isinstance(samples, np.ndarray) and samples.shape[:1] == (0,):
            return []
        frames = validate_frames(samples, "samples")
        if frames.shape[1:] != self.frame:
            raise ValueError(f"samples has frames of shape {frames.shape[1:]}: expected {self.frame}, as in the query")
        return self._advance(as_channel_matrix(frames))

    def flush(self) -> list[SubsequenceMatch]:
        """End the stream and return the remaining matches. Later matches do not reach back beyond this point."""
        if self._pending is not None:
            matches = [SubsequenceMatch(*one) for one in self._pending.take_decided(self._n_seen, ended=True)]
        else:
            start, last, _ = self._state.place.tolist()
            distance = float(self._state.pending[0])
            matches = [SubsequenceMatch(start, last + 1, distance)] if math.isfinite(distance) else []
        self._reset(self._n_seen)
        return matches

    def search(self, X: Any) -> list[RecordingMatch]:
        """The matches in several recordings, each searched from its first sample to its last.

        Each match has the id of its recording, or its position if recordings have no ids. Matches of a recording are
        in the order of time. The state of the current stream does not change.

        >>> import timelike as tl
        >>> X = tl.Sequences([[0, 1, 2, 1, 0], [0, 0, 0], [1, 2, 2, 1]], ids=["mon", "tue", "wed"])
        >>> [(match.recording, match.start) for match in tl.align.Spring([1, 2, 1], threshold=0.5).search(X)]
        [('mon', 1), ('wed', 0)]
        """
        recordings = self._validate_streams(X, "X")
        names = range(len(recordings)) if recordings.ids is None else recordings.ids.tolist()
        recording_matches = []
        for name, one in zip(names, recordings, strict=True):
            watch = copy.copy(self)
            watch._reset(0)
            matches = watch._advance(as_channel_matrix(one)) + watch.flush()
            recording_matches += [RecordingMatch(name, *match) for match in sorted(matches)]
        return recording_matches

    def _all_matches(self, stream: NDArray[Any], limit: float) -> list[BoundedMatch]:
        """Of a whole stream, within a limit of its own."""
        assert self._bounded_search is not None
        undecided = PendingMatches(self._bounded_search.longest)
        samples = as_channel_matrix(stream, np.float64)
        for begin in range(0, len(samples), _BLOCK_SAMPLES):
            first = max(0, begin - self._bounded_search.longest + 1)
            some = self._bounded_search.find_within(samples[first : begin + _BLOCK_SAMPLES], begin - first, limit)
            undecided.add([one._replace(start=one.start + first, stop=one.stop + first) for one in some])
        return undecided.take_decided(len(samples), ended=True)

    def _advance(self, rows: NDArray[Any]) -> list[SubsequenceMatch]:
        if self.threshold is None:
            raise ValueError("threshold is not known: give Spring(query, threshold=...), or calibrate(examples) first")
        if self._bounded_search is None or self._pending is None:
            reported = recurrence.advance(self._query, rows, self.cost, self.threshold, self._state)
            self._n_seen = int(self._state.place[2])
            return [SubsequenceMatch(*match) for match in reported]
        certain: list[SubsequenceMatch] = []
        for begin in range(0, len(rows), _BLOCK_SAMPLES):
            certain += self._advance_bounded(rows[begin : begin + _BLOCK_SAMPLES], self._bounded_search, self._pending)
        return certain

    def _advance_bounded(
        self, rows: NDArray[Any], stretches: BoundedSearch, undecided: PendingMatches
    ) -> list[SubsequenceMatch]:
        """Compare the segments that end with these samples, and return the final matches."""
        assert self.threshold is not None
        samples = np.concatenate([self._tail, rows.astype(np.float64)])
        first = self._n_seen - len(self._tail)
        some = stretches.find_within(samples, len(self._tail), self.threshold)
        undecided.add([one._replace(start=one.start + first, stop=one.stop + first) for one in some])
        self._n_seen += len(rows)
        self._tail = samples[max(0, len(samples) - stretches.longest + 1) :].copy()
        return [SubsequenceMatch(*one) for one in undecided.take_decided(self._n_seen)]

    # --- saving -----------------------------------------------------------------------------------------------------

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """The constructor arguments; samples that were pushed are not included."""
        calibration = getattr(self, "calibration_", None)
        return {
            "query": self.query,
            "threshold": self.threshold,
            "cost": self.cost,
            "normalize": self.normalize,
            "lengths": None if self.lengths is None else list(self.lengths),
            "calibration": None if calibration is None else list(calibration),
        }

    def save(self, folder: str | Path) -> None:
        """Write the query, the options and the threshold to a folder for `tl.load_model`."""
        from ...models import save_model

        save_model(self, folder)

    def __repr__(self) -> str:
        length = len(self._query)
        threshold = "None" if self.threshold is None else f"{self.threshold:g}"
        more = ", normalize=True" if self.normalize else ""
        return f"Spring({length} steps, threshold={threshold}, cost={self.cost!r}{more}, {self.n_seen} samples seen)"


def check_lengths(lengths: Any, n_steps: int) -> tuple[int, int]:
    """The smallest and largest length of a match in samples, from fractions of the query's length or numbers.

    >>> check_lengths((0.5, 2.0), 5), check_lengths((1, 7), 5)
    ((3, 10), (1, 7))
    """
    if not isinstance(lengths, list | tuple) or len(lengths) != 2:
        raise TypeError(f"lengths={lengths!r:.60}: expected (shortest, longest), such as (0.5, 2.0), or None for any")
    kinds = [type(one) for one in lengths if isinstance(one, float | int | np.integer)]
    if len({issubclass(kind, float) for kind in kinds}) > 1:
        raise ValueError(
            f"lengths={lengths!r:.60} holds a share of the query's length (a float) and a number of samples (an "
            "integer): expected two of one kind, such as (0.5, 2.0) or (10, 40)"
        )
    shortest, longest = (
        round_to(check_float(one, "lengths", above=0) * n_steps)
        if isinstance(one, float)
        else check_int(one, "lengths", 1)
        for one, round_to in zip(lengths, (math.ceil, math.floor), strict=True)
    )
    if longest < max(shortest, 1):
        raise ValueError(
            f"lengths={lengths!r}: of a query of {n_steps} samples that is {shortest} to {longest}: expected the "
            "shortest first, and at least one sample"
        )
    if not isinstance(lengths[1], float) and 2 * longest < n_steps:
        warnings.warn(
            f"lengths={lengths!r} are samples, and the query has {n_steps}: no match is as long as half of it; shares "
            f"of its length are floats, such as ({float(lengths[0])}, {float(lengths[1])})",
            UserWarning,
            stacklevel=find_stack_level(),
        )
    return shortest, longest
