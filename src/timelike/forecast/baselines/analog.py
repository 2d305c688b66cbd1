"""Analog: the mean future of the nearest training windows, under any metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...align import Euclidean, Gallery, Matches, Metric, metric_names
from ...align.gallery import smallest_positions
from ...core.parameters import store_parameters
from ...models import options, schema
from ...sequences import Sequences
from ..base import ForecastRequest, Futures, SequenceSource
from ..cells import n_columns
from .base import Baseline, Ids, Matrix, default_window, gather_rows, refuse_long_window, window_origins

WeightRule = Literal["uniform", "distance"]
LevelAlignment = Literal["none", "level", "last"]

_BOUND_STRIDE = 4  # every fourth step of a window enters the lower bound
_BLOCK_NUMBERS = 1 << 15  # numbers per block, which stay in the processor's cache
_MAX_BLOCK_NUMBERS = 1 << 24  # numbers in the windows of one gallery
_BOUND_TOLERANCE = 1e-9  # relative to a sum: rounding must not lose a neighbor


class Analog(Baseline):
    """The mean future of the k nearest windows of the training sequences (Lorenz, 1969).

    x̂_{t+h} = Σ_i w_i x_{s_i+h}, where s_i are the ends of the k windows nearest to the last `window` steps of the past;
    with `align="level"` each future is shifted by the difference of the two windows' means. Windows are views of the
    training data, standardized to mean 0 and spread 1 in every channel, and searched with the pruning of the metric;
    ties go to the first window.

    It makes no assumptions about the dynamics: hard to beat on long records and simulated data in which patterns
    repeat. It cannot forecast anything that has not happened before; for few and noisy windows use `Ridge`.

    Parameters
    ----------
    metric : Metric or str
        Any metric of the library, including encoders, or the name of its class in lower case. An unfitted metric is
        fitted to the windows, without labels; one that needs labels must be fitted before.
    k : int
        Number of nearest windows, which are also the candidates for samples (`n_samples` above 1).
    window : int, optional
        Number of steps to compare. Default: a quarter of the median training length, at most 48.
    known_channels : list of channels, optional
        Names or positions of channels known in advance, which are compared over the window and the horizon.
    weights : {"uniform", "distance"}
        Equal weights, or weights inversely proportional to the distance.
    align : {"level", "last", "none"}
        Shift each future by the difference of the windows' means, or of their last frames, or not at all.

    Notes
    -----
    `align="level"` is for series that repeat patterns at different levels. `"last"` suits random walks, whose future
    continues from their last frame; elsewhere it adds the noise of that frame to every step. The default metric is
    Euclidean and not elastic, because the future depends on timing, which warping ignores.

    Examples
    --------
    >>> import timelike as tl
    >>> model = tl.forecast.Analog(k=1, window=2).fit([[0.0, 0.0, 1.0, 5.0, 0.0, 2.0, 9.0]])
    >>> model.predict([[0.0, 1.1]], horizon=1).mean.ravel().round(6)
    array([5.05])
    """

    metric = metric_names.metric_option()
    k = options.integer(1, "free")
    window = options.nullable(options.integer(1))
    weights = options.choice(*get_args(WeightRule), role="free")
    align = options.choice(*get_args(LevelAlignment), role="free")

    metric_: Metric = schema.estimator(Metric, frame=False)
    window_: int = schema.integer(1)
    rows_: Matrix = schema.array("row", n_columns)
    """All training steps, concatenated: (total_time, cell + known channel)."""
    offsets_: Ids = schema.offsets("item", total="row")
    mean_: Matrix = schema.array(n_columns)
    scale_: Matrix = schema.array(n_columns, above=0)
    galleries_: dict[int, tuple[EuclideanWindowSearch | BlockedWindowSearch, Ids]] = schema.derived_value()
    _is_probabilistic = True
    _auto_options = ("window",)
    _depends_on_horizon = True  # only windows followed by the whole horizon are used

    def __init__(
        self,
        metric: Metric | str = "euclidean",
        k: int = 5,
        *,
        window: int | None = None,
        known_channels: Sequence[int | str] | None = None,
        weights: WeightRule = "uniform",
        align: LevelAlignment = "level",
    ) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"window": 1}

    def _min_past_steps(self) -> int:
        return self.window_

    def _max_horizon(self) -> int:
        """The number of steps after at least k windows."""
        ends = window_origins(self.offsets_, self.window_, 1)
        after = self.offsets_[np.searchsorted(self.offsets_, ends, side="right")] - ends
        return int(np.sort(after)[-min(self.k, len(after))])

    # --- learning ----------------------------------------------------------------------------------------------------

    def _refuse_options(self) -> None:
        super()._refuse_options()
        if self.known_channels is not None and len(self.known_channels) and metric_names.is_estimator(self.metric):
            raise ValueError(
                f"known_channels={list(self.known_channels)!r}: they are compared over the horizon too, and "
                f"metric={self.metric!r:.60} "
                "learns from the window alone; use a metric that needs no fit, such as 'dtw'"
            )

    def _check_attributes(self, found: Mapping[str, Any]) -> None:
        super()._check_attributes(found)
        refuse_long_window(self.window_, "window_", self.offsets_)

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        self.rows_ = np.array(self._input_columns(sequences))  # a copy: the caller may change the data
        self.offsets_ = np.array(sequences.offsets)
        self.mean_, self.scale_ = self._column_scales(self.rows_)
        self.window_ = default_window(sequences.lengths) if self.window is None else self.window
        self._refuse_short(1)
        self.metric_ = self._fit_metric()
        self._derive_attributes()

    def _fit_metric(self) -> Metric:
        if not metric_names.is_estimator(self.metric):
            return metric_names.fit_metric_copy(self.metric)
        windows = self._cut_windows(self._standardize(self.rows_), window_origins(self.offsets_, self.window_, 0))
        try:
            return metric_names.fit_metric_copy(self.metric, windows)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"metric={self.metric!r:.60} could not be fitted to windows, which have no labels ({error}): fit "
                "it before, or use a metric that needs no labels"
            ) from error

    def _derive_attributes(self) -> None:
        self.galleries_ = {}

    def _refuse_short(self, horizon: int) -> None:
        longest = int(np.diff(self.offsets_).max())
        if self.window_ + horizon > longest:
            most = longest - self.window_
            limit = f"horizon={horizon}: at most {most} steps" if most > 0 else f"window={self.window_}: nothing"
            raise ValueError(
                f"{limit} followed a window of {self.window_} in training sequences of at most {longest} steps; use a "
                "shorter horizon or window, or longer sequences"
            )

    # --- windows -----------------------------------------------------------------------------------------------------

    def _standardize(self, columns: Matrix) -> Matrix:
        return np.asarray((columns - self.mean_) / self.scale_)

    def _cut_windows(self, columns: Matrix, ends: Ids) -> Sequences:
        """Views of the windows that end before these rows; in the shape of frames if nothing is masked or known."""
        whole = columns.shape[1] == self.cells_.n_cells and not self.cells_.is_masked
        shaped = columns.reshape(len(columns), *self.cells_.frame) if whole else columns
        every = Sequences.from_packed(shaped, [0, len(shaped)])
        return every._with_spans(np.ascontiguousarray(ends - self.window_), np.full(len(ends), self.window_, np.int64))

    def _append_known_future(self, columns: Matrix, horizon: int) -> Matrix:
        """Append shifted copies of the known columns, so that a window also holds their values over the horizon.

        The shifts are multiples of the window length, and finally the horizon.
        """
        n_cells = self.cells_.n_cells
        if columns.shape[1] == n_cells:
            return columns
        shifts = [*range(self.window_, horizon, self.window_), horizon]
        later = [np.minimum(np.arange(len(columns)) + shift, len(columns) - 1) for shift in shifts]
        return np.hstack([columns, *(columns[rows, n_cells:] for rows in later)])

    def _get_gallery(self, horizon: int) -> tuple[EuclideanWindowSearch | BlockedWindowSearch, Ids]:
        """The search over the windows followed by `horizon` steps, and the row after each window."""
        if horizon not in self.galleries_:
            self._refuse_short(horizon)
            ends = window_origins(self.offsets_, self.window_, horizon)
            columns = self._append_known_future(self._standardize(self.rows_), horizon)
            search = make_window_search(self.metric_, columns, ends, self.window_, partial(self._cut_windows, columns))
            self.galleries_.clear()  # keep one horizon: the embeddings of all windows may be large
            self.galleries_[horizon] = search, ends
        return self.galleries_[horizon]

    def _make_queries(self, past: Sequences, request: ForecastRequest) -> Sequences:
        last = past.crop(-self.window_)
        columns, ends = self._input_columns(last), last.offsets[1:]
        if request.known_covariates is None:
            return self._cut_windows(self._standardize(columns), ends)
        n_cells, horizon = self.cells_.n_cells, request.horizon
        query_windows = []
        for end, covariates in zip(ends.tolist(), request.known_covariates, strict=True):
            # the zeros of the cells are never compared: only the past is cut out
            future = np.hstack([np.zeros((horizon, n_cells)), covariates])
            both = np.vstack([columns[end - self.window_ : end], future])
            query_windows.append(self._append_known_future(self._standardize(both), horizon)[: self.window_])
        return self._cut_windows(np.vstack(query_windows), self.window_ * np.arange(1, len(query_windows) + 1))

    # --- forecasting -------------------------------------------------------------------------------------------------

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        gallery, ends = self._get_gallery(request.horizon)
        if self.k > len(ends):
            raise ValueError(
                f"k={self.k}: {len(ends)} windows of the training sequences have {request.horizon} steps after them; "
                f"use k of at most {len(ends)}, a shorter horizon or window, or longer sequences"
            )
        nearest = gallery.neighbors(self._make_queries(past, request), self.k)
        last = self._last_rows(past, self.window_)
        center = np.empty((len(past), request.horizon, self.cells_.n_cells))
        samples = np.empty((request.n_samples, *center.shape)) if request.n_samples > 1 else None
        rngs = [] if samples is None else self._past_generators(past, request)
        for item, (ids, distances) in enumerate(zip(nearest.ids, nearest.distances, strict=True)):
            futures = self._gather_futures(ends[ids], last[item], request.horizon)
            weights = self._neighbor_weights(distances)
            center[item] = (weights[:, None, None] * futures).sum(axis=0)
            if samples is not None:
                samples[:, item] = futures[rngs[item].choice(len(ids), request.n_samples, p=weights)]
        return Futures(center, samples)

    def _gather_futures(self, ends: Ids, last: Matrix, horizon: int) -> Matrix:
        """The aligned futures of windows that end before these rows, (window, horizon, cell); `last` is the query."""
        rows = self.rows_[:, : self.cells_.n_cells]
        futures = gather_rows(rows, ends, 0, horizon)
        if self.align == "none":
            return futures
        if self.align == "last":
            return np.asarray(futures + (last[-1] - rows[ends - 1])[:, None])
        levels = np.stack([rows[end - self.window_ : end].mean(axis=0) for end in ends.tolist()])
        return np.asarray(futures + (last.mean(axis=0) - levels)[:, None])

    def _neighbor_weights(self, distances: Any) -> Matrix:
        """The weights of the windows, which sum to 1; windows at distance 0 take all the weight."""
        if self.weights == "uniform":
            return np.full(len(distances), 1 / len(distances))
        far = np.asarray(distances, np.float64)
        if far.min() < 0:
            raise ValueError(
                f"weights='distance': {self.metric_!r:.60} gave the distance {far.min():g}, and negative distances "
                "have no weight: use weights='uniform'"
            )
        close = far.min() / far if far.min() > 0 else np.asarray(far == 0, np.float64)
        return np.asarray(close / close.sum())


class EuclideanWindowSearch:
    """An exact search over windows of concatenated rows under the Euclidean distance, without copies of the windows.

    Sums of squares over every fourth step are lower bounds. The windows with the smallest bounds give a limit, and only
    windows whose bound is within it are compared at all steps.
    """

    def __init__(self, rows: Matrix, starts: Ids, window: int) -> None:
        self.rows, self.starts, self.window = rows, starts, window

    def neighbors(self, queries: Sequences, k: int) -> Matches:
        """The k nearest windows of each query, as in `Metric.neighbors`."""
        nearest = [self._find_nearest(one.reshape(self.window, -1), k) for one in queries]
        return Matches(np.stack([ids for ids, _ in nearest]), np.stack([distances for _, distances in nearest]))

    def _find_nearest(self, query: Matrix, k: int) -> tuple[Ids, Matrix]:
        bounds = self._lower_bounds(query)
        limit = self._squared_distances(query, smallest_positions(bounds[None], k)[0]).max()
        ids = np.flatnonzero(bounds <= limit * (1 + _BOUND_TOLERANCE))
        sums = self._squared_distances(query, ids)
        order = smallest_positions(sums[None], k)[0]
        return ids[order], np.sqrt(sums[order])

    def _lower_bounds(self, query: Matrix) -> Matrix:
        """Sums of squared differences over some steps of each window."""
        count = len(self.rows) - self.window + 1
        bounds, height = np.zeros(count), max(1, _BLOCK_NUMBERS // self.rows.shape[1])
        for begin in range(0, count, height):
            part = bounds[begin : begin + height]
            for step in range(self.window - 1, -1, -_BOUND_STRIDE):
                apart = self.rows[begin + step : begin + step + len(part)] - query[step]
                part += np.einsum("ij,ij->i", apart, apart)
        return np.asarray(bounds[self.starts])

    def _squared_distances(self, query: Matrix, ids: Ids) -> Matrix:
        """Sums of squared differences over all steps of these windows."""
        sums, height = np.empty(len(ids)), max(1, _BLOCK_NUMBERS // query.size)
        for begin in range(0, len(ids), height):
            starts = self.starts[ids[begin : begin + height]]
            apart = (self.rows[starts[:, None] + np.arange(self.window)] - query).reshape(len(starts), -1)
            sums[begin : begin + height] = np.einsum("ij,ij->i", apart, apart)
        return sums


class BlockedWindowSearch:
    """A search over windows under any metric, in blocks that bound memory."""

    def __init__(self, galleries: list[Gallery]) -> None:
        self.galleries = galleries

    def neighbors(self, queries: Sequences, k: int) -> Matches:
        """The k nearest windows of each query, as in `Metric.neighbors`."""
        ids, distances, before = [], [], 0
        for gallery in self.galleries:
            matches = gallery.neighbors(queries, min(k, len(gallery.collection)))
            ids.append(matches.ids + before)
            distances.append(matches.distances)
            before += len(gallery.collection)
        if len(ids) == 1:
            return Matches(ids[0], distances[0])
        all_ids, all_distances = np.hstack(ids), np.hstack(distances)
        order = smallest_positions(all_distances, k)  # blocks are in order, and so are equal distances
        return Matches(np.take_along_axis(all_ids, order, axis=1), np.take_along_axis(all_distances, order, axis=1))


def make_window_search(
    metric: Metric, rows: NDArray[Any], ends: Ids, window: int, cut: Callable[[Ids], Sequences]
) -> EuclideanWindowSearch | BlockedWindowSearch:
    """Build the search over windows of `rows` that end before `ends`; `cut` returns windows as sequences."""
    if type(metric) is Euclidean:
        return EuclideanWindowSearch(rows, ends - window, window)
    height = max(1, _MAX_BLOCK_NUMBERS // (window * rows.shape[1]))
    parts = (ends[begin : begin + height] for begin in range(0, len(ends), height))
    return BlockedWindowSearch([metric.prepare_gallery(cut(part)) for part in parts])
