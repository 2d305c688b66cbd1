"""Comparison of a query with all windows of its length in a stream, raw or standardized, under any metric."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...native import Cost
from ...native.stream import lower_bounds
from ...sequences import Sequences
from ..base import Metric
from ..dtw import DTW
from ..euclidean import Euclidean

Matrix = NDArray[np.float64]

_SEEDS = 64  # windows whose distances give a first limit
_MAX_VALUES = 1 << 22  # numbers of windows that are laid out at a time


class WindowMatch(NamedTuple):
    """The window that begins at `start` is at `distance` from the query."""

    start: int
    distance: float


class SlidingWindows:
    """All windows of `size` samples of a stream (time, channel); each is laid out when it is used.

    With `normalize` every channel of a window has mean 0 and standard deviation 1; a constant one is 0.
    """

    def __init__(self, samples: NDArray[Any], size: int, *, normalize: bool) -> None:
        self.size, self.normalize = size, normalize
        values = samples.astype(np.float64)
        self.samples = np.ascontiguousarray((scale_near_one(values) if normalize else values).T)
        count = len(samples) - size + 1
        plain = np.zeros((len(self.samples), count)), np.ones((len(self.samples), count))
        self.moments = (
            lower_bounds.window_moments(self.samples, size) if normalize else lower_bounds.WindowMoments(*plain)
        )

    def __len__(self) -> int:
        return int(self.moments.means.shape[1])

    def extract_windows(self, begin: int, end: int) -> Sequences:
        """Windows `begin` to `end`, as sequences."""
        stretch = self.samples[:, begin : end + self.size - 1]
        cut = np.lib.stride_tricks.sliding_window_view(stretch, self.size, axis=1)
        means, scales = (moment[:, begin:end, None] for moment in self.moments)
        return Sequences(np.ascontiguousarray(((cut - means) * scales).transpose(1, 2, 0)))

    def blocks(self) -> Iterator[tuple[slice, Sequences]]:
        """All windows, some at a time, with their places."""
        height = max(1, _MAX_VALUES // (self.size * len(self.samples)))
        for begin in range(0, len(self), height):
            end = min(begin + height, len(self))
            yield slice(begin, end), self.extract_windows(begin, end)


def resolve_window_metric(metric: Any, window: Any, cost: Cost) -> Metric:
    """The metric for windows: by default DTW, with the given window."""
    if metric is None:
        return DTW(window=window, cost=cost)
    resolved = _resolve_metric(metric)
    if cost != "sqeuclidean":
        raise ValueError(f"cost={cost!r} is an option of DTW, and metric={metric!r} is given: give DTW(cost={cost!r})")
    if window is None:
        return resolved
    if not (is_dataclass(resolved) and hasattr(resolved, "window")):
        raise ValueError(f"window={window!r}: {type(resolved).__name__} has no window; leave it out")
    if resolved.window is not None:
        raise ValueError(f"window={window!r} and metric={resolved!r}: give the window once")
    return replace(resolved, window=window)


def _resolve_metric(metric: Any) -> Metric:
    if isinstance(metric, Metric):
        return metric
    from .. import metric_names  # imports scikit-learn, which takes longer than most searches

    return metric_names.resolve_metric(metric)


def nearest_windows(
    query: NDArray[Any], windows: SlidingWindows, k: int, *, metric: Metric, limit: float, exclusion: int
) -> list[WindowMatch]:
    """The k windows nearest to a query (time, channel), none within `exclusion` samples of another, nearest first."""
    pattern = SlidingWindows(query, len(query), normalize=windows.normalize).extract_windows(0, 1)
    spread = windows.size + exclusion
    matches: list[WindowMatch] = []
    search = _make_search(pattern, windows, metric)
    while len(matches) < k and (one := search.find_nearest(limit)) is not None:
        matches.append(one)
        search.exclude(max(0, one.start - spread + 1), one.start + spread)
    return matches


def _make_search(pattern: Sequences, windows: SlidingWindows, metric: Metric) -> _ExhaustiveSearch | _CascadeSearch:
    plain = _as_plain_dtw(metric, len(windows.samples))
    return _ExhaustiveSearch(pattern, windows, metric) if plain is None else _CascadeSearch(pattern, windows, plain)


def _as_plain_dtw(metric: Metric, n_channels: int) -> DTW | None:
    """The DTW that a metric is, if the sieve knows its bounds and there are kernels for them."""
    if not lower_bounds.has_kernels():
        return None
    if type(metric) is Euclidean:
        return DTW(window=0, root=True)
    if type(metric) is not DTW or metric.band != "sakoe" or metric.step != "symmetric1" or metric.normalize:
        return None
    if metric.missing != "raise":
        return None
    return metric if metric.dependent or n_channels == 1 else None


class _ExhaustiveSearch:
    """By the distances of all windows."""

    def __init__(self, pattern: Sequences, windows: SlidingWindows, metric: Metric) -> None:
        self.distances = np.empty(len(windows))
        for places, some in windows.blocks():
            self.distances[places] = metric.pairwise(pattern, some)[0]

    def find_nearest(self, limit: float) -> WindowMatch | None:
        start = int(self.distances.argmin())
        distance = float(self.distances[start])
        return WindowMatch(start, distance) if distance <= limit and math.isfinite(distance) else None

    def exclude(self, begin: int, end: int) -> None:
        self.distances[begin:end] = np.inf


class _CascadeSearch:
    """The cascade of the UCR suite (Rakthanmanon et al., 2012): only windows that no bound rules out are compared.

    What is known of a window, a bound or its distance, is kept from one search to the next.
    """

    def __init__(self, pattern: Sequences, windows: SlidingWindows, metric: DTW) -> None:
        size = windows.size
        radius = min(size - 1, int(metric._warping_band.radius(size, size)))
        query = np.ascontiguousarray(pattern[0].T)
        self.cascade = lower_bounds.LowerBoundCascade.from_query(query, windows.samples, windows.moments, radius)
        self.cost, self.root = metric.cost, metric.root
        self.window_bounds = lower_bounds.WindowBounds.empty(len(windows))
        # so low a limit leaves it at the ends
        self.cascade.raise_bounds(self.cost, 0, len(windows), -1.0, self.window_bounds)

    def find_nearest(self, limit: float) -> WindowMatch | None:
        bounds, states = self.window_bounds
        most = limit * limit * (1 + 1e-12) if self.root else limit
        least = min(most, float(bounds[states == lower_bounds.EXACT].min(initial=np.inf)))
        if not math.isfinite(least):
            least = self._totals(np.argsort(bounds, kind="stable")[:_SEEDS], least)
        self.cascade.raise_bounds(self.cost, 0, len(bounds), least, self.window_bounds)
        waiting = np.flatnonzero((states != lower_bounds.EXACT) & (bounds <= least))
        self._totals(waiting[np.argsort(bounds[waiting], kind="stable")], least)
        start = int(np.where(states == lower_bounds.EXACT, bounds, np.inf).argmin())
        total = float(bounds[start])
        distance = math.sqrt(total) if self.root else total
        is_exact = states[start] == lower_bounds.EXACT and math.isfinite(distance) and distance <= limit
        return WindowMatch(start, distance) if is_exact else None

    def _totals(self, ids: NDArray[np.int64], limit: float) -> float:
        return self.cascade.total(self.cost, ids, limit, self.window_bounds)

    def exclude(self, begin: int, end: int) -> None:
        self.window_bounds.bounds[begin:end] = np.inf
        self.window_bounds.states[begin:end] = lower_bounds.EXACT


def scale_near_one(samples: Matrix) -> Matrix:
    """Very large and very small values brought near 1 by a power of two, which scaling each window undoes."""
    peak = float(np.abs(samples).max())
    if peak == 0 or 1e-100 < peak < 1e100:
        return samples
    return np.ldexp(samples, -int(np.frexp(peak)[1]))
