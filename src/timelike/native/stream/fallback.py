"""The fallback of the stream kernels in plain Python, one sample after the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..machine import Cost

if TYPE_CHECKING:
    from . import MatchEnds, StreamState


def _sample_costs(query: NDArray[np.float64], sample: NDArray[Any], cost: Cost) -> NDArray[np.float64]:
    total = np.zeros(len(query))
    for channel in range(query.shape[1]):  # one after the other, as the compiled loop adds them
        difference = np.float64(sample[channel]) - query[:, channel]
        total += np.abs(difference) if cost == "manhattan" else difference * difference
    return np.sqrt(total) if cost == "euclidean" else total


def _advance_column(query: NDArray[np.float64], sample: NDArray[Any], now: int, cost: Cost, state: StreamState) -> None:
    """The column of the next sample; equal distances go to the later start, which is the shorter match."""
    above = list(zip(state.distances.tolist(), (-state.starts).tolist(), strict=True))
    corner, left = (0.0, 1.0 - now), (0.0, -float(now))
    for i, price in enumerate(_sample_costs(query, sample, cost).tolist()):
        best, start = min(left, above[i], corner)
        corner, left = above[i], (price + best, start)
        state.distances[i], state.starts[i] = left[0], -left[1]


def advance(
    query: NDArray[np.float64], samples: NDArray[Any], cost: Cost, threshold: float, state: StreamState
) -> list[tuple[int, int, float]]:
    """The matches (start, stop, distance) that became certain with these samples (time, channel)."""
    matches = []
    for sample in samples:
        _advance_column(query, sample, int(state.place[2]), cost, state)
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
    for now in range(begin, end):
        if ends.floors[now] >= begin:
            return
        _advance_column(query, samples[now], now, cost, state)
        ends.distances[now], ends.starts[now] = state.distances[-1], state.starts[-1]
        ends.floors[now] = state.starts.min()
