"""The fallback of the stream kernels in plain Python, one sample after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..machine import Cost

if TYPE_CHECKING:
    from . import MatchEnds, StreamState


_MAX_COSTS = 1 << 16  # of samples with the query, made at once


def _sample_costs(query: NDArray[np.float64], samples: NDArray[Any], cost: Cost) -> Iterator[NDArray[np.float64]]:
    """The costs (query,) of one sample after the other, made for many samples at once."""
    size = max(1, _MAX_COSTS // len(query))
    for begin in range(0, len(samples), size):
        some = np.asarray(samples[begin : begin + size], np.float64)
        total = np.zeros((len(some), len(query)))
        for channel in range(query.shape[1]):  # one after the other, as the compiled loop adds them
            difference = some[:, channel, None] - query[:, channel]
            total += np.abs(difference) if cost == "manhattan" else difference * difference
        yield from np.sqrt(total) if cost == "euclidean" else total


def _advance_column(costs: NDArray[np.float64], now: int, state: StreamState) -> None:
    """The column of the next sample; equal distances go to the later start, which is the shorter match."""
    distances, starts = state.distances, state.starts
    # the better of the cells above and at the corner, for all rows at once; only the way along the query is a loop
    corners, corner_starts = np.append(0.0, distances[:-1]), np.append(now - 1.0, starts[:-1])
    is_corner = (corners < distances) | ((corners == distances) & (corner_starts > starts))
    others, other_starts = np.where(is_corner, corners, distances), np.where(is_corner, corner_starts, starts)
    left, left_start, column, column_starts = 0.0, float(now), [], []
    for price, other, start in zip(costs.tolist(), others.tolist(), other_starts.tolist(), strict=True):
        if other < left or (other == left and start > left_start):
            left, left_start = other, start
        left += price
        column.append(left)
        column_starts.append(left_start)
    distances[:], starts[:] = column, column_starts


def advance(
    query: NDArray[np.float64], samples: NDArray[Any], cost: Cost, threshold: float, state: StreamState
) -> list[tuple[int, int, float]]:
    """The matches (start, stop, distance) that became certain with these samples (time, channel)."""
    matches = []
    for costs in _sample_costs(query, samples, cost):
        _advance_column(costs, int(state.place[2]), state)
        if math.isfinite(state.pending[0]):
            overlapping = state.starts <= state.place[1]
            # the paper's rule: no path that began before the match's end may still become cheaper than it
            if not (overlapping & (state.distances < state.pending[0])).any():
                matches.append((int(state.place[0]), int(state.place[1]) + 1, float(state.pending[0])))
                state.pending[0] = np.inf
                state.distances[overlapping] = np.inf
        if state.distances[-1] <= threshold and state.distances[-1] < state.pending[0]:
            state.pending[0] = state.distances[-1]
            state.place[:2] = state.starts[-1], state.place[2]
        state.place[2] += 1
    return matches


def scan(
    query: NDArray[np.float64],
    samples: NDArray[Any],
    begin: int,
    end: int,
    cost: Cost,
    state: StreamState,
    ends: MatchEnds,
) -> None:
    """Fill `ends` from `begin` to `end`, or to where earlier values are the same."""
    for now, costs in enumerate(_sample_costs(query, samples[begin:end], cost), begin):
        if ends.floors[now] >= begin:
            return
        _advance_column(costs, now, state)
        ends.distances[now], ends.starts[now] = state.distances[-1], state.starts[-1]
        ends.floors[now] = state.starts.min()
