"""Analog: what followed the nearest pasts, under any metric."""

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

_BOUND_STRIDE = 4  # steps of a window are looked at first
_BLOCK_NUMBERS = 1 << 15  # numbers at a time, that stay in the processor's cache
_MAX_BLOCK_NUMBERS = 1 << 24  # numbers of windows that a search may lay out at a time
_BOUND_TOLERANCE = 1e-9  # of a sum: rounding must not lose a neighbour


class Analog(Baseline):
    """The mean of what followed the k nearest windows of the training sequences (Lorenz, 1969).

    x̂_{t+h} = Σ_i w_i x_{s_i+h}, s_i the ends of the k windows nearest to the last `window` steps of the past; with
    `align="level"` each future is moved by the difference of both windows' means. Windows are views of the training
    data, compared with mean 0 and spread 1 in every channel, and found by the pruned search of the metric; of equally
    near ones the first count.

    It learns nothing and supposes nothing: hard to beat where the same things happen again, in long records and in
    simulated data. It cannot forecast what has not happened; where there are few and noisy windows use `Ridge`.

    Parameters
    ----------
    metric : Metric or str
        Any metric of the library, encoders among them, or the name of its class in lower case. One that has yet to
        learn does so from the windows, without labels; one that needs labels has to be fitted before.
    k : int
        How many windows count, and among how many samples (`n_samples` above 1) are drawn.
    window : int, optional
        How many steps are compared. A quarter of a usual training sequence, at most 48, unless given.
    known_channels : list of channels, optional
        Names or positions of channels that are known in advance: they are compared over the window and the horizon.
    weights : {"uniform", "distance"}
        Every window counts the same, or as much as the inverse of its distance.
    align : {"level", "last", "none"}
        What followed is moved by the difference of the windows' means, or of their last frames, or taken as it was.

    Notes
    -----
    `align="level"` is for series that do the same at different levels. `"last"` suits random walks, whose future
    continues from their last frame; elsewhere the noise of that frame is added to every step. The default metric is
    Euclidean and not elastic, because what comes next depends on when, which warping forgets.

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
    """All training steps end to end, (total_time, cell + known channel)."""
    offsets_: Ids = schema.offsets("item", total="row")
    mean_: Matrix = schema.array(n_columns)
    scale_: Matrix = schema.array(n_columns, above=0)
    galleries_: dict[int, tuple[EuclideanWindowSearch | BlockedWindowSearch, Ids]] = schema.derived_value()
    _is_probabilistic = True
    _auto_options = ("window",)
    _depends_on_horizon = True  # windows are those that have so many steps after them

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
        """As many steps as followed k windows."""
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
                "learns from the window alone; use a metric that learns nothing, such as 'dtw'"
            )

    def _check_attributes(self, found: Mapping[str, Any]) -> None:
        super()._check_attributes(found)
        refuse_long_window(self.window_, "window_", self.offsets_)

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        self.rows_ = np.array(self._input_columns(sequences))  # our own: the caller may change theirs
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
                f"metric={self.metric!r:.60} did not learn from windows, which have no labels ({error}): fit it "
                "before, or use one that learns without"
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

    # --- what is compared --------------------------------------------------------------------------------------------

    def _standardize(self, columns: Matrix) -> Matrix:
        return np.asarray((columns - self.mean_) / self.scale_)

    def _cut_windows(self, columns: Matrix, ends: Ids) -> Sequences:
        """The windows that end before these rows, views; as frames where these are pictures without a mask."""
        whole = columns.shape[1] == self.cells_.n_cells and not self.cells_.is_masked
        shaped = columns.reshape(len(columns), *self.cells_.frame) if whole else columns
        every = Sequences.from_packed(shaped, [0, len(shaped)])
        return every._with_spans(np.ascontiguousarray(ends - self.window_), np.full(len(ends), self.window_, np.int64))

    def _append_known_future(self, columns: Matrix, horizon: int) -> Matrix:
        """The columns, and those known in advance again as they will be: a window then holds the whole horizon of them.

        They are shifted by as many steps as a window has, again and again, and at last by the horizon.
        """
        n_cells = self.cells_.n_cells
        if columns.shape[1] == n_cells:
            return columns
        shifts = [*range(self.window_, horizon, self.window_), horizon]
        later = [np.minimum(np.arange(len(columns)) + shift, len(columns) - 1) for shift in shifts]
        return np.hstack([columns, *(columns[rows, n_cells:] for rows in later)])

    def _get_gallery(self, horizon: int) -> tuple[EuclideanWindowSearch | BlockedWindowSearch, Ids]:
        """The windows after which there are so many steps, ready for a search, and the row after each."""
        if horizon not in self.galleries_:
            self._refuse_short(horizon)
            ends = window_origins(self.offsets_, self.window_, horizon)
            columns = self._append_known_future(self._standardize(self.rows_), horizon)
            search = make_window_search(self.metric_, columns, ends, self.window_, partial(self._cut_windows, columns))
            self.galleries_.clear()  # one horizon is kept: what an encoder made of all windows may be large
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
        """What followed windows that end before these rows, (window, horizon, cell); `last` are the last steps."""
        rows = self.rows_[:, : self.cells_.n_cells]
        futures = gather_rows(rows, ends, 0, horizon)
        if self.align == "none":
            return futures
        if self.align == "last":
            return np.asarray(futures + (last[-1] - rows[ends - 1])[:, None])
        levels = np.stack([rows[end - self.window_ : end].mean(axis=0) for end in ends.tolist()])
        return np.asarray(futures + (last.mean(axis=0) - levels)[:, None])

    def _neighbor_weights(self, distances: Any) -> Matrix:
        """How much each window counts, in sum 1; those at no distance alone, if there are any."""
        if self.weights == "uniform":
            return np.full(len(distances), 1 / len(distances))
        far = np.asarray(distances, np.float64)
        if far.min() < 0:
            raise ValueError(
                f"weights='distance': {self.metric_!r:.60} gave the distance {far.min():g}, and a negative one is no "
                "closeness: use weights='uniform'"
            )
        close = far.min() / far if far.min() > 0 else np.asarray(far == 0, np.float64)
        return np.asarray(close / close.sum())


class EuclideanWindowSearch:
    """Windows of rows end to end, searched under the Euclidean distance.

    Sums of squares over every fourth step are bounds from below. What is nearest by them gives a limit, and only
    windows whose bound is within it are compared at all steps: exact, without a copy of any window.
    """

    def __init__(self, rows: Matrix, starts: Ids, window: int) -> None:
        self.rows, self.starts, self.window = rows, starts, window

    def neighbors(self, queries: Sequences, k: int) -> Matches:
        """The k nearest windows of every query, as `Metric.neighbors` gives them."""
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
        """Sums of squared differences over some steps of every window."""
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
    """Windows searched under any metric, so many of them at a time that memory stays bounded."""

    def __init__(self, galleries: list[Gallery]) -> None:
        self.galleries = galleries

    def neighbors(self, queries: Sequences, k: int) -> Matches:
        """The k nearest windows of every query, as `Metric.neighbors` gives them."""
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
    """Windows of `rows` that end before `ends`, ready for a search; `cut` makes sequences of some of them."""
    if type(metric) is Euclidean:
        return EuclideanWindowSearch(rows, ends - window, window)
    height = max(1, _MAX_BLOCK_NUMBERS // (window * rows.shape[1]))
    parts = (ends[begin : begin + height] for begin in range(0, len(ends), height))
    return BlockedWindowSearch([metric.prepare_gallery(cut(part)) for part in parts])
