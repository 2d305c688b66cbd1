"""One query against a stream: the compiled recurrence, or the same in plain Python, over one state."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import compiled

try:
    from . import _kernels
except ImportError:  # a pure wheel: built without a compiler
    _kernels = None  # type: ignore[assignment]

COSTS = ("sqeuclidean", "euclidean", "manhattan")  # in the order of the enum in table.hpp
_CELLS = 1 << 27  # of one compiled call: a fraction of a second, after which Ctrl-C is heard


class State(NamedTuple):
    """What one sample leaves for the next, changed in place: O(query) numbers however long the stream.

    For every prefix of the query, `distances` of the best subsequence that ends here and their `starts` (as doubles,
    exact to 2^53); `pending` the distance of the match that is not yet certain, or inf; `place` its first and last
    sample, and the number of samples seen.
    """

    distances: NDArray[np.float64]
    starts: NDArray[np.float64]
    pending: NDArray[np.float64]
    place: NDArray[np.int64]

    @classmethod
    def fresh(cls, length: int, seen: int = 0) -> State:
        """No path yet, `seen` samples gone by."""
        return cls(np.full(length, np.inf), np.full(length, -1.0), np.array([np.inf]), np.array([-1, -1, seen]))


class Ends(NamedTuple):
    """For every sample the best match that ends there: `distances`, `starts`, and the earliest start of any path."""

    distances: NDArray[np.float64]
    starts: NDArray[np.float64]
    floors: NDArray[np.float64]

    @classmethod
    def unknown(cls, length: int) -> Ends:
        """Nothing has been looked at."""
        return cls(np.full(length, np.inf), np.full(length, -1.0), np.full(length, -1.0))


def advance(
    query: NDArray[np.float64], samples: NDArray[Any], cost: str, threshold: float, state: State
) -> list[tuple[int, int, float]]:
    """The matches (start, stop, distance) that became certain with these samples (time, channel)."""
    if not compiled():
        return _advance(query, samples, cost, threshold, state)
    rows, kind = _rows(query), COSTS.index(cost)
    found = []
    for begin in range(0, len(samples), rows):
        found += _kernels.advance(query, samples[begin : begin + rows], kind, threshold, *state)
    return found


def scan(query: NDArray[np.float64], samples: NDArray[Any], begin: int, end: int, cost: str, ends: Ends) -> None:
    """Fill `ends` from `begin` to `end` with matches that start at `begin` or later.

    It stops where no path of an earlier scan started before `begin`: from there on the values are the same.
    """
    state = State.fresh(len(query))
    if not compiled():
        _scan(query, samples, begin, end, cost, state, ends)
        return
    rows, now = _rows(query), begin
    while now < end:
        until = min(end, now + rows)
        reached = _kernels.scan(
            query, samples, now, until, begin, COSTS.index(cost), state.distances, state.starts, *ends
        )
        if reached < until:
            return
        now = until


def _rows(query: NDArray[Any]) -> int:
    return max(16, _CELLS // query.size // 16 * 16)  # whole blocks of the compiled loop


def _costs(query: NDArray[np.float64], sample: NDArray[Any], cost: str) -> NDArray[np.float64]:
    total = np.zeros(len(query))
    for channel in range(query.shape[1]):  # one after the other, as the compiled loop adds them
        difference = np.float64(sample[channel]) - query[:, channel]
        total += np.abs(difference) if cost == "manhattan" else difference * difference
    return np.sqrt(total) if cost == "euclidean" else total


def _step(query: NDArray[np.float64], sample: NDArray[Any], now: int, cost: str, state: State) -> None:
    """The column of the next sample; equal distances go to the later start, which is the shorter match."""
    above = list(zip(state.distances.tolist(), (-state.starts).tolist(), strict=True))
    corner, left = (0.0, 1.0 - now), (0.0, -float(now))
    for i, price in enumerate(_costs(query, sample, cost).tolist()):
        best, start = min(left, above[i], corner)
        corner, left = above[i], (price + best, start)
        state.distances[i], state.starts[i] = left[0], -left[1]


def _advance(
    query: NDArray[np.float64], samples: NDArray[Any], cost: str, threshold: float, state: State
) -> list[tuple[int, int, float]]:
    found = []
    for sample in samples:
        _step(query, sample, int(state.place[2]), cost, state)
        if math.isfinite(state.pending[0]):
            overlapping = state.starts <= state.place[1]
            if not (overlapping & (state.distances < state.pending[0])).any():
                found.append((int(state.place[0]), int(state.place[1]) + 1, float(state.pending[0])))
                state.pending[0] = np.inf
                state.distances[overlapping] = np.inf
        if state.distances[-1] <= threshold and state.distances[-1] < state.pending[0]:
            state.pending[0] = state.distances[-1]
            state.place[:2] = state.starts[-1], state.place[2]
        state.place[2] += 1
    return found


def _scan(
    query: NDArray[np.float64], samples: NDArray[Any], begin: int, end: int, cost: str, state: State, ends: Ends
) -> None:
    for now in range(begin, end):
        if ends.floors[now] >= begin:
            return
        _step(query, samples[now], now, cost, state)
        ends.distances[now], ends.starts[now] = state.distances[-1], state.starts[-1]
        ends.floors[now] = state.starts.min()
