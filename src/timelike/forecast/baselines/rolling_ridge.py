"""Ridge refitted at every origin of a backtest: normal equations that grow by a few windows per cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dgemm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from sklearn.base import clone

from ...sequences import Sequences
from ..windows import ForecastWindows
from .base import MAX_MATRIX_ROWS, Ids, Matrix, gather_rows, window_origins
from .lagged_regression import LaggedDesign, RegressionMoments, cholesky_factor, gcv_alpha_from_equations

if TYPE_CHECKING:
    from .ridge import Ridge

_CACHE_NUMBERS = 1 << 18  # numbers in the matrices of several cuts, which stay in the cache
_MAX_SHARED_WINDOWS = 128  # most windows added to one factorisation
_FEATURES_PER_QUERY = 16  # with fewer features per query a new factorisation is cheaper than updates
_CORRECTION_TOLERANCE = 1e-11  # largest change of a forecast, in spreads, after which corrections end
_ROUNDING_TOLERANCE = 1e-9  # change, in spreads, that is rounding error if corrections stop shrinking
_MAX_CORRECTIONS = 12


def forecast_rolling(
    model: Ridge, sequences: Sequences, windows: ForecastWindows, horizon: int, known_futures: NDArray[Any] | None
) -> Matrix:
    """See `Ridge._forecast_rolling`.

    With S the spreads of a copy fitted at a cut, S⁻¹(S⁻¹XᵀXS⁻¹ + α)⁻¹S⁻¹ = (XᵀX + αS²)⁻¹, so data need not be rescaled.
    The equations are solved for the queries instead of the weights, of which there are many more.
    """
    columns = model._input_columns(sequences)
    centre, spread = model._column_scales(columns)  # for numbers of order 1 only: every cut has its own scales
    design = LaggedDesign((columns - centre) / spread, model.cells_.n_cells, model.lags_, horizon)
    if design.n_features > MAX_MATRIX_ROWS:  # these use the dual form, to which windows cannot be added
        return _refit_each_origin(model, sequences, windows, horizon, known_futures)
    order = np.argsort(windows.origin, kind="stable")
    moments = RegressionMoments(design)
    cut, first = np.unique(windows.origin[order], return_index=True)
    origin, counts = _order_windows(design, sequences.offsets, cut)
    moments.add(origin[: counts[0]])
    scale = _spreads_at_cuts(model, columns, sequences.offsets, cut) / spread
    alpha = _scaled_gcv_alpha(moments, scale[0]) if model.alpha is None else model.alpha
    penalty = np.hstack([np.zeros((len(cut), 1)), alpha * np.square(_feature_scales(design, scale))])
    ahead = (
        None if known_futures is None else (known_futures[order] - centre[design.n_cells :]) / spread[design.n_cells :]
    )
    last = gather_rows(design.rows, sequences.offsets[windows.item[order]] + windows.origin[order], -design.lags, 0)
    queries = prepend_ones(design.join_inputs(last, ahead))
    flat_answers = np.empty((len(order), design.n_targets))
    flat_answers[order] = solve_rolling(
        RollingCuts(design, origin, counts, penalty, queries, np.append(first, len(order))), moments
    )
    answers = flat_answers.reshape(len(flat_answers), horizon, design.n_cells)
    return np.asarray(answers * spread[: design.n_cells] + centre[: design.n_cells])


def _order_windows(design: LaggedDesign, offsets: Ids, cut: Ids) -> tuple[Ids, Ids]:
    """All windows in the order in which they become known, and the number known at each cut."""
    every = window_origins(offsets, design.lags, design.horizon)
    # the step at which a window's future is complete, counted from the start of its sequence
    passed = every - offsets[np.searchsorted(offsets, every, side="right") - 1] + design.horizon
    order = np.argsort(passed, kind="stable")
    counts = np.searchsorted(passed[order], cut, side="right")
    if counts[0] == 0:
        raise ValueError(
            f"at origin {cut[0]} there is nothing to fit on: expected at least {design.lags + design.horizon} steps "
            "before the first origin, lags and horizon together"
        )
    return every[order], counts


def _spreads_at_cuts(model: Ridge, columns: Matrix, offsets: Ids, cut: Ids) -> Matrix:
    """The spread of each column before each cut, (cut, column).

    Sums are of differences from the mean before the first cut, which avoids cancellation (Chan, Golub and LeVeque,
    1983).
    """
    time = np.arange(len(columns)) - np.repeat(offsets[:-1], np.diff(offsets))
    order = np.argsort(time, kind="stable")
    counts = np.searchsorted(time[order], cut)
    rows = columns[order[: counts[-1]]]
    usual = rows[: counts[0]].mean(axis=0)
    rows -= usual
    begins = np.concatenate([[0], counts[:-1]])
    apart = np.cumsum(np.add.reduceat(rows, begins), axis=0) / counts[:, None]
    squares = np.cumsum(np.add.reduceat(np.square(rows, out=rows), begins), axis=0) / counts[:, None]
    return model._column_spread(usual + apart, np.maximum(squares - np.square(apart), 0.0))


def _feature_scales(design: LaggedDesign, scale: Matrix) -> Matrix:
    """The scale of every column as that of every feature."""
    return np.concatenate([np.tile(scale, design.lags), np.tile(scale[..., design.n_cells :], design.horizon)], axis=-1)


def _scaled_gcv_alpha(moments: RegressionMoments, scale: Matrix) -> float:
    """The penalty that a copy fitted at this cut would choose, with inputs and targets of spread 1."""
    design, normal = moments.design, moments.to_normal_equations()
    feature_scale, target_scale = _feature_scales(design, scale), np.tile(scale[: design.n_cells], design.horizon)
    xx, xy = normal.xx / np.outer(feature_scale, feature_scale), normal.xy / np.outer(feature_scale, target_scale)
    return gcv_alpha_from_equations(normal._replace(xx=xx, xy=xy, yy=normal.yy / np.square(target_scale)))


def _refit_each_origin(
    model: Ridge, sequences: Sequences, windows: ForecastWindows, horizon: int, known_futures: NDArray[Any] | None
) -> Matrix:
    """The same forecasts by complete refits, for more features than `MAX_MATRIX_ROWS`."""
    forecasts = np.empty((len(windows.item), horizon, model.cells_.n_cells))
    alpha = model.alpha
    for cut in np.unique(windows.origin).tolist():
        before = sequences._with_spans(sequences.buffers()[1], np.minimum(sequences.lengths, cut))
        copy = clone(model).set_params(lags=model.lags_, alpha=alpha).fit(before)
        alpha = copy.solution(horizon).alpha
        rows = np.flatnonzero(windows.origin == cut)
        ahead = None if known_futures is None else known_futures[rows]
        answers = copy.predict(windows.pasts[rows], horizon, known_covariates=ahead).mean
        forecasts[rows] = answers.reshape(len(rows), horizon, -1)[..., model.cells_.valid_mask.ravel()]
    return forecasts


class RollingCuts(NamedTuple):
    """Cuts in time, with the queries and the known windows at each.

    The first feature is 1, whose weight is the intercept and has no penalty, so that sums need no centering.
    """

    design: LaggedDesign
    origin: Ids
    """Origins of all windows, in the order in which they become known."""
    counts: Ids
    """The number of known windows, (cut,)."""
    penalty: Matrix
    """The penalty of each feature, (cut, feature)."""
    queries: Matrix
    """Queries in the order of cuts, (query, feature)."""
    bounds: Ids
    """The queries of cut c are those from bounds[c] up to bounds[c + 1]."""


def solve_rolling(cuts: RollingCuts, moments: RegressionMoments) -> Matrix:
    """ȳ + (x − x̄)ᵀ (XᵀX + P)⁻¹ XᵀY for every query, (query, target), from the moments at the first cut.

    With many new windows or queries per cut, each cut has its own factorisation; with few, several cuts share one.
    """
    sums = _GrowingGram(cuts, moments)
    n_cuts, n_features = cuts.penalty.shape
    forecasts = np.empty((len(cuts.queries), cuts.design.n_targets))
    sizes = cuts.design.feature_counts()
    busy = max(len(cuts.queries), int(cuts.counts[-1] - cuts.counts[0])) / n_cuts
    apart = sizes[0] < sizes[-1] or busy * _FEATURES_PER_QUERY > n_features
    most = max(1, _CACHE_NUMBERS // n_features**2) if apart else max(1, int(_MAX_SHARED_WINDOWS / max(busy, 1)))
    begin, length = 0, most
    while begin < n_cuts:
        end = min(begin + length, n_cuts)
        rows = slice(cuts.bounds[begin], cuts.bounds[end])
        answers = sums.solve_each(begin, end) if apart else sums.solve_together(begin, end)
        if answers is None:  # the scales differ too much from those of the factorisation
            length = max(1, (end - begin) // 2)
            continue
        forecasts[rows] = answers
        begin, length = end, min(2 * length, most)
    return forecasts


class _GrowingGram:
    """XᵀX and XᵀY at a cut, which only moves forward."""

    def __init__(self, cuts: RollingCuts, moments: RegressionMoments) -> None:
        self.cuts, self.count = cuts, moments.count
        n_features = cuts.penalty.shape[1]
        self.both = np.empty(
            (n_features, n_features + cuts.design.n_targets)
        )  # one array, so that one product updates both
        self.xx, self.xy = self.both[:, :n_features], self.both[:, n_features:]
        self.xx[0, 0], self.xx[0, 1:], self.xx[1:, 0], self.xx[1:, 1:] = self.count, moments.x, moments.x, moments.xx
        self.xy[0], self.xy[1:] = moments.y, moments.xy

    def _new_windows(self, count: int) -> Matrix:
        """A column of ones, the inputs and the targets of the next windows."""
        origin, design = self.cuts.origin[self.count : count], self.cuts.design
        return prepend_ones(np.hstack([design.inputs(origin), design.targets(origin)]))

    def _add_windows(self, new: Matrix) -> None:
        if len(new):
            inputs = new[:, : len(self.both)]
            dgemm(
                1.0, new.T, inputs.T, 1.0, self.both.T, trans_b=1, overwrite_c=1
            )  # transposed for the column-major order of BLAS
            self.count += len(new)

    # --- one factorisation per cut -----------------------------------------------------------------------------------

    def solve_each(self, begin: int, end: int) -> Matrix:
        """Forecasts at some cuts, with one factorisation per cut."""
        cuts, sizes = self.cuts, self.cuts.design.feature_counts() + 1
        new, start_count = self._new_windows(int(cuts.counts[end - 1])), self.count
        solve = _solve_by_step if sizes[0] < sizes[-1] else _solve_shared
        answer_blocks = []
        for cut, penalty, count in zip(
            range(begin, end), cuts.penalty[begin:end], cuts.counts[begin:end].tolist(), strict=True
        ):
            self._add_windows(new[self.count - start_count : count - start_count])
            queries = cuts.queries[cuts.bounds[cut] : cuts.bounds[cut + 1]].T
            answer_blocks.append(solve(_cholesky_lower(self.xx, penalty), queries, self.xy, sizes))
        return np.concatenate(answer_blocks)

    # --- one factorisation for several cuts --------------------------------------------------------------------------

    def solve_together(self, begin: int, end: int) -> Matrix | None:
        """Forecasts at some cuts, from one factorisation at the first of them.

        With U = L⁻¹Xᵀ of the windows added since, (LLᵀ + XᵀX)⁻¹ = L⁻ᵀ(I − U(I + UᵀU)⁻¹Uᵀ)L⁻¹ (Woodbury, 1950). The
        factor of I + UᵀU for the first few windows is the corner of the factor for all, so one serves every cut.
        Iterative corrections account for the change of the penalties; each multiplies the error by at most that
        relative change, because XᵀX + P ≥ P. Returns None if they do not converge.
        """
        cuts = self.cuts
        self._add_windows(self._new_windows(int(cuts.counts[begin])))
        new = self._new_windows(int(cuts.counts[end - 1]))
        inputs, targets = new[:, : len(self.both)], new[:, len(self.both) :]
        rows = np.repeat(np.arange(begin, end), np.diff(cuts.bounds[begin : end + 1]))
        system = _GrownSystem(self.xx, inputs, cuts.counts[rows] - self.count, cuts.penalty[rows].T)
        middle = cuts.penalty[begin if end - begin < 3 else (begin + end) // 2]
        solution = system.solve(
            cuts.queries[cuts.bounds[begin] : cuts.bounds[end]].T, middle, self.count, end - begin == 1
        )
        if solution is None:
            return None
        return np.asarray(solution.T @ self.xy + (system.known_mask * (inputs @ solution)).T @ targets)


class _GrownSystem(NamedTuple):
    """The matrices xx + inputsᵀ known inputs + penalty, one per query; solves (feature, query) arrays."""

    xx: Matrix
    inputs: Matrix
    known_count: Ids
    penalty: Matrix

    @property
    def known_mask(self) -> NDArray[np.bool_]:
        """Whether a window is known at the cut of a query, (window, query)."""
        return np.asarray(np.arange(len(self.inputs))[:, None] < self.known_count)

    def solve(self, right_sides: Matrix, usual: Matrix, count: int, anyhow: bool) -> Matrix | None:
        """Solve with the usual penalty, then correct; None if the corrections do not converge."""
        known_mask = self.known_mask
        lower = _cholesky_lower(self.xx, usual)
        half = solve_lower(lower, self.inputs.T)
        inner = _cholesky_lower(half.T @ half, np.ones(len(self.inputs)))

        def solve_approximately(right: Matrix) -> Matrix:
            first = solve_lower(lower, right)
            along = solve_lower(inner, half.T @ first)
            along *= known_mask
            return solve_upper(lower, first - half @ solve_upper(inner, along))

        solution, penalty_change = solve_approximately(right_sides), self.penalty - usual[:, None]
        residual = (
            right_sides
            - self.xx @ solution
            - self.penalty * solution
            - self.inputs.T @ (known_mask * (self.inputs @ solution))
        )
        last = _max_norm(right_sides, solution) * np.sqrt(count)
        for _ in range(_MAX_CORRECTIONS):
            correction = solve_approximately(residual)
            solution += correction
            # in the norm of the matrix: a bound on the error of a forecast, in spreads of the targets
            change = _max_norm(residual, correction) * np.sqrt(count)
            if change * min(change / last, 1.0) <= _CORRECTION_TOLERANCE or (
                change > last / 2 and change <= _ROUNDING_TOLERANCE
            ):
                return solution
            if change > last / 2:
                break
            last, residual = change, -penalty_change * correction
        return solution if anyhow else None


def _max_norm(image: Matrix, vectors: Matrix) -> float:
    """The largest norm √(vᵀAv) of the vectors v, from v and Av."""
    return float(np.sqrt(np.maximum(np.einsum("fq,fq->q", image, vectors), 0.0).max()))


def prepend_ones(columns: Matrix) -> Matrix:
    """The columns with a column of ones before them."""
    with_ones = np.empty((len(columns), columns.shape[1] + 1))
    with_ones[:, 0], with_ones[:, 1:] = 1.0, columns
    return with_ones


def _cholesky_lower(xx: Matrix, penalty: Matrix) -> Matrix:
    """The lower triangle L with L Lᵀ = xx + penalty, in column-major order; the upper triangle is arbitrary."""
    gram = np.array(xx.T, order="F")
    gram.reshape(-1, order="A")[:: len(gram) + 1] += penalty
    lower, failed = dpotrf(gram, lower=1, clean=0)
    return np.asfortranarray(cholesky_factor(gram, 0.0)) if failed else np.asarray(lower)


def _solve_shared(lower: Matrix, queries: Matrix, product: Matrix, sizes: Ids) -> Matrix:
    """The forecasts from one factor, if all steps ahead use the same features."""
    return np.asarray(dpotrs(lower, queries, lower=1)[0].T @ product)


def _solve_by_step(lower: Matrix, queries: Matrix, product: Matrix, sizes: Ids) -> Matrix:
    """The forecasts if step h uses the first sizes[h] features: zeros after them restrict one factor to these."""
    n_features, n_queries = queries.shape
    visible = np.arange(n_features) < sizes[:, None]  # (step, feature)
    half = solve_lower(lower, queries).T[:, None] * visible  # (query, step, feature)
    solutions = solve_upper(lower, half.reshape(-1, n_features).T).T.reshape(half.shape)
    steps = product.reshape(n_features, len(sizes), -1).transpose(1, 0, 2)
    return np.asarray((solutions[:, :, None] @ steps).reshape(n_queries, -1))


def solve_lower(lower: Matrix, right_side: Matrix) -> Matrix:
    """L⁻¹ right_side."""
    return np.asarray(dtrtrs(lower, right_side, lower=1)[0])


def solve_upper(lower: Matrix, half: Matrix) -> Matrix:
    """Lᵀ⁻¹ half."""
    return np.asarray(dtrtrs(lower, half, lower=1, trans=1)[0])
