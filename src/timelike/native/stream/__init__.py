"""Search for one query in a stream: the state between samples, and the matches that are final."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine import COSTS, Cost, is_native_enabled, kernels

# of one compiled call: a tenth of a second where samples are taken one by one, then Ctrl-C is handled
_MAX_CELLS = 1 << 25


class StreamState(NamedTuple):
    """The state between samples, changed in place: O(query) numbers, regardless of the length of the stream.

    For every prefix of the query, `distances` of the best subsequence that ends here and their `starts` (as doubles,
    exact to 2^53); `pending` the distance of the match that is not yet certain, or inf; `place` its first and last
    sample, and the number of samples seen.
    """

    distances: NDArray[np.float64]
    starts: NDArray[np.float64]
    pending: NDArray[np.float64]
    place: NDArray[np.int64]

    @classmethod
    def from_length(cls, length: int, seen: int = 0) -> StreamState:
        """No path yet, `seen` samples gone by."""
        return cls(np.full(length, np.inf), np.full(length, -1.0), np.array([np.inf]), np.array([-1, -1, seen]))


class MatchEnds(NamedTuple):
    """For every sample the best match that ends there: `distances`, `starts`, and the earliest start of any path."""

    distances: NDArray[np.float64]
    starts: NDArray[np.float64]
    floors: NDArray[np.float64]

    @classmethod
    def empty(cls, length: int) -> MatchEnds:
        """Nothing has been looked at."""
        return cls(np.full(length, np.inf), np.full(length, -1.0), np.full(length, -1.0))


def advance(
    query: NDArray[np.float64], samples: NDArray[Any], cost: Cost, threshold: float, state: StreamState
) -> list[tuple[int, int, float]]:
    """The matches (start, stop, distance) that became certain with these samples (time, channel)."""
    if not is_native_enabled():
        from . import fallback

        return fallback.advance(query, samples, cost, threshold, state)
    rows, kind = _rows_per_call(query), COSTS.index(cost)
    matches = []
    for begin in range(0, len(samples), rows):
        matches += kernels.advance(query, samples[begin : begin + rows], kind, threshold, *state)
    return matches


def scan(query: NDArray[np.float64], samples: NDArray[Any], begin: int, end: int, cost: Cost, ends: MatchEnds) -> None:
    """Fill `ends` from `begin` to `end` with matches that start at `begin` or later.

    It stops where no path of an earlier scan started before `begin`, because later values do not change.
    """
    state = StreamState.from_length(len(query))
    if not is_native_enabled():
        from . import fallback

        fallback.scan(query, samples, begin, end, cost, state, ends)
        return
    rows, now = _rows_per_call(query), begin
    while now < end:
        until = min(end, now + rows)
        reached = kernels.scan(
            query, samples, now, until, begin, COSTS.index(cost), state.distances, state.starts, *ends
        )
        if reached < until:
            return
        now = until


def _rows_per_call(query: NDArray[Any]) -> int:
    # whole blocks: the compiled loop takes up to 16 samples together
    return max(16, _MAX_CELLS // query.size // 16 * 16)
