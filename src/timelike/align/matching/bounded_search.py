"""All segments of a stream within bounds of length, compared with a query; which of those that overlap are taken."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import native
from ...native import Cost, stream as recurrence
from ...sequences import Sequences
from ..dtw import DTW
from .sliding_windows import scale_near_one

Matrix = NDArray[np.float64]
Places = NDArray[np.int64]

_MAX_VALUES = 1 << 21  # numbers of segments that are laid out at a time
_ROUNDING = 1e-12  # by which two ways of adding up a distance may differ, of it
_MIN_RELATIVE_VARIANCE = 1e-6  # of the largest square: variances below are not known well enough to rule anything out


class BoundedMatch(NamedTuple):
    """Samples `start` to `stop` (exclusive) at `distance` from the query."""

    start: int
    stop: int
    distance: float


@dataclass(frozen=True, eq=False)
class BoundedSearch:
    """A query (time, channel), and segments of `shortest` to `longest` samples that are compared with it by DTW.

    With `normalize`, every channel of the query and of every segment is standardized,
    each by itself; a constant is 0.
    """

    query: Matrix
    cost: Cost
    normalize: bool
    shortest: int
    longest: int

    def find_within(self, samples: Matrix, begin: int, limit: float) -> list[BoundedMatch]:
        """All segments of samples (time, channel) that stop after `begin` and are within `limit`, up to rounding."""
        stops = np.arange(max(begin + 1, self.shortest), len(samples) + 1)
        if not len(stops):
            return []
        return (
            self._find_normalized(samples, stops, limit) if self.normalize else self._find_plain(samples, stops, limit)
        )

    @cached_property
    def _reversed_query(self) -> Matrix:
        return np.ascontiguousarray(self.query[::-1])

    @cached_property
    def _program(self) -> native.Program:
        both = Sequences([self.query])
        return DTW(cost=self.cost)._program(both, both)

    @cached_property
    def _scaled_query(self) -> Matrix:
        return _standardize_parts(scale_near_one(self.query), np.array([len(self.query)]))

    def _find_plain(self, samples: Matrix, stops: Places, limit: float) -> list[BoundedMatch]:
        """Read backwards from a stop, one table has the distances of all segments that end there.

        The segment of any length is no farther, and one pass finds it for every stop: most stops are ruled out by it.
        """
        if math.isfinite(limit):
            ends = recurrence.MatchEnds.empty(len(samples))
            recurrence.scan(self.query, samples, 0, len(samples), self.cost, ends)
            stops = stops[ends.distances[stops - 1] <= limit * (1 + _ROUNDING)]
        matches = []
        for stop in stops.tolist():
            window = np.ascontiguousarray(samples[max(0, stop - self.longest) : stop][::-1])
            distances = native.matrix(self._program, window, self._reversed_query)[self.shortest - 1 :, -1]
            near = np.flatnonzero(distances <= limit * (1 + _ROUNDING))
            matches += [BoundedMatch(stop - self.shortest - i, stop, float(distances[i])) for i in near.tolist()]
        return matches

    def _find_normalized(self, samples: Matrix, stops: Places, limit: float) -> list[BoundedMatch]:
        """Every segment has a scale of its own, and so a table of its own; its two ends rule most of them out."""
        samples = scale_near_one(samples)
        query = self._scaled_query
        height = max(1, _MAX_VALUES // ((self.longest - self.shortest + 1) * samples.shape[1]))
        matches = []
        for begin in range(0, len(stops), height):
            starts, ends = self._filter_by_ends(samples, query, stops[begin : begin + height], limit)
            width = max(1, _MAX_VALUES // (self.longest * samples.shape[1]))
            for some in range(0, len(starts), width):
                pair = starts[some : some + width], ends[some : some + width]
                rows = zip(*(side.tolist() for side in pair), self._distances(samples, query, *pair), strict=True)
                matches += [BoundedMatch(*row) for row in rows if row[2] <= limit * (1 + _ROUNDING)]
        return matches

    def _filter_by_ends(self, samples: Matrix, query: Matrix, stops: Places, limit: float) -> tuple[Places, Places]:
        """Starts and stops of segments whose first and last samples alone do not cost more than the limit."""
        lengths = np.arange(self.shortest, self.longest + 1)
        ends, starts = (part.ravel() for part in np.broadcast_arrays(stops[:, None], stops[:, None] - lengths))
        starts, ends = starts[starts >= 0], ends[starts >= 0]
        if not math.isfinite(limit):
            return starts, ends
        centred = samples - samples.mean(axis=0)
        sums, squares = (np.pad(part.cumsum(axis=0), ((1, 0), (0, 0))) for part in (centred, centred**2))
        size = (ends - starts)[:, None]
        means = (sums[ends] - sums[starts]) / size
        variances = (squares[ends] - squares[starts]) / size - means**2
        has_variance = (variances > _MIN_RELATIVE_VARIANCE * float(np.square(centred).max())).all(axis=1)
        scales = 1 / np.sqrt(np.where(has_variance[:, None], variances, 1.0))
        bound = _frame_costs((centred[starts] - means) * scales, query[0], self.cost)
        if len(query) > 1 or self.shortest > 1:  # else both may be one cell of the table
            bound = bound + _frame_costs((centred[ends - 1] - means) * scales, query[-1], self.cost)
        hopeful = ~has_variance | (bound <= limit + 1e-3 * (1 + limit))
        return starts[hopeful], ends[hopeful]

    def _distances(self, samples: Matrix, query: Matrix, starts: Places, ends: Places) -> list[float]:
        lengths = ends - starts
        offsets = np.pad(lengths.cumsum(), (1, 0))
        values = samples[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)]
        laid_out = Sequences.from_packed(_standardize_parts(values, lengths), offsets)
        distances: list[float] = DTW(cost=self.cost).pairwise(Sequences([query]), laid_out, progress=False)[0].tolist()
        return distances


def _standardize_parts(values: Matrix, lengths: Places) -> Matrix:
    """Segments end to end, each with mean 0 and standard deviation 1 in every channel; a constant is 0."""
    firsts, size = np.cumsum(lengths) - lengths, lengths[:, None]
    constant = np.maximum.reduceat(values, firsts) == np.minimum.reduceat(values, firsts)
    centred = values - np.repeat(np.add.reduceat(values, firsts) / size, lengths, axis=0)
    deviations = np.sqrt(np.add.reduceat(np.square(centred), firsts) / size)
    factors = np.where(constant | (deviations == 0), 0.0, 1 / np.where(deviations > 0, deviations, 1.0))
    return np.ascontiguousarray(centred * np.repeat(factors, lengths, axis=0))


def _frame_costs(frames: Matrix, step: Matrix, cost: Cost) -> Matrix:
    """The cost of frames (item, channel) beside one step of the query."""
    apart = frames - step
    if cost == "manhattan":
        return np.asarray(np.abs(apart).sum(axis=1))
    squares = np.square(apart).sum(axis=1)
    return np.asarray(np.sqrt(squares) if cost == "euclidean" else squares)


class PendingMatches:
    """Segments near enough that may yet be matches: the nearest is taken, then the nearest of those it does not touch.

    Of equal distances the one that ends earlier is nearer, and of those the shorter. A segment is decided when nothing
    that is still to come can change that: all that overlap it have been seen, and the nearer ones of these are decided.

    A segment that contains a nearer one is dropped when it comes, as it can never be taken: either the inner one is, or
    what beats the inner one overlaps the outer one too. Those left of one stop are thus the nearer the longer they are,
    so that whatever overlaps some of them overlaps the nearest, and a look at one segment per stop decides.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.n_comparisons = 0
        """How many times two stretches were compared, or a stop was looked at."""
        self._waiting: dict[int, list[_Candidate]] = {}  # by their stop, the nearest and longest last
        self._nearest: dict[int, _SortKey] = {}  # of all segments that begin at a sample
        self._blocked: dict[int, set[int]] = {}  # stops that wait for what happens at another stop
        self._complete = 0  # everything that overlaps a segment with a stop up to here was seen

    def __len__(self) -> int:
        """How many segments wait."""
        return sum(map(len, self._waiting.values()))

    def add(self, some: list[BoundedMatch]) -> None:
        """Segments that have been seen now, those that stop earlier first, and of these the shorter ones."""
        for stop, those in groupby(some, key=lambda one: one.stop):
            if remaining := self._drop_containing(stop, list(those)):
                self._waiting[stop] = remaining

    def _drop_containing(self, stop: int, some: list[BoundedMatch]) -> list[_Candidate]:
        """Those of one stop that contain no nearer one, which has been seen by now."""
        for start in [start for start in self._nearest if start < stop - self.longest]:
            del self._nearest[start]
        remaining, new = [], {one.start: one for one in some}
        inside = _LAST_SORT_KEY
        for start in range(stop - 1, some[-1].start - 1, -1):
            self.n_comparisons += 1
            inside = min(inside, self._nearest.get(start, _LAST_SORT_KEY))
            if start in new and (nearness := _sort_key(new[start])) < inside:
                inside = self._nearest[start] = nearness
                remaining.append((nearness, new[start]))
        return remaining

    def take_decided(self, n_samples: int, *, ended: bool = False) -> list[BoundedMatch]:
        """Those that are certain when this many samples were seen, in the order in which they became so; once each."""
        decided: list[BoundedMatch] = []
        while self._complete < n_samples - self.longest + 1:
            self._complete += 1
            decided += self._settle_stops({self._complete} & self._waiting.keys())
        if ended:
            self._complete = n_samples
            decided += self._settle_stops(set(self._waiting))
        return decided

    def _settle_stops(self, stops: set[int]) -> list[BoundedMatch]:
        """What is taken at stops of which everything that overlaps was seen, and at those that waited for them."""
        settled = []
        while stops:
            stop = stops.pop()
            if stop not in self._waiting:
                continue
            nearness, one = self._waiting[stop][-1]
            nearest = min((self._waiting[other][-1][0], other) for other in self._overlapping_stops(one))
            if nearest[0] == nearness:
                settled.append(one)
                stops |= self._accept_match(one)
            else:
                self._blocked.setdefault(nearest[1], set()).add(stop)
        return sorted(settled, key=lambda one: one.stop)

    def _overlapping_stops(self, one: BoundedMatch) -> list[int]:
        """Stops at which the nearest segment overlaps this one, its own among them."""
        stops = range(one.start + 1, one.stop + self.longest)
        self.n_comparisons += len(stops)
        return [
            stop
            for stop in stops
            if stop in self._waiting and (stop <= one.stop or self._waiting[stop][-1][1].start < one.stop)
        ]

    def _accept_match(self, one: BoundedMatch) -> set[int]:
        """Drop a match and all that overlap it; the stops at which another segment may now be the nearest."""
        again = set()
        for stop in self._overlapping_stops(one):
            left = self._waiting[stop]
            while left and left[-1][1].start < one.stop:
                left.pop()
            if not left:
                del self._waiting[stop]
            elif stop <= self._complete:
                again.add(stop)
            again |= self._blocked.pop(stop, set())
        return again


_SortKey = tuple[float, int, int]
_Candidate = tuple[_SortKey, BoundedMatch]
_LAST_SORT_KEY: _SortKey = (math.inf, 0, 0)


def _sort_key(one: BoundedMatch) -> _SortKey:
    """The order of matches: by distance to eleven digits, because equal shapes differ by rounding, then by stop."""
    return float(f"{one.distance:.10e}"), one.stop, -one.start
