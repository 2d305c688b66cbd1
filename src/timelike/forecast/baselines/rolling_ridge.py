"""Ridge fitted again at every origin of a backtest, from normal equations to which windows are only added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ...sequences import Sequences
from ..windows import ForecastWindows
from .base import MAX_MATRIX_ROWS, Ids, Matrix, gather_rows, window_origins
from .lagged_design import LaggedDesign, RegressionMoments, gcv_alpha_from_equations
from .rolling_equations import RollingCuts, prepend_ones, solve_rolling

if TYPE_CHECKING:
    from .ridge import Ridge


def forecast_rolling(
    model: Ridge, sequences: Sequences, windows: ForecastWindows, horizon: int, known: NDArray[Any] | None
) -> Matrix:
    """See `Ridge._forecast_rolling`.

    With S the spreads of a copy fitted at a cut, S⁻¹(S⁻¹XᵀXS⁻¹ + α)⁻¹S⁻¹ = (XᵀX + αS²)⁻¹: nothing need be scaled anew.
    Equations are solved for the queries instead of for weights, of which there are many more.
    """
    columns = model._input_columns(sequences)
    centre, spread = model._column_scales(columns)  # only that numbers are of order 1: every cut has scales of its own
    design = LaggedDesign((columns - centre) / spread, model.cells_.n_cells, model.lags_, horizon)
    if design.n_features > MAX_MATRIX_ROWS:  # they are solved by windows, which cannot be added to
        return _refit_each_origin(model, sequences, windows, horizon, known)
    order = np.argsort(windows.origin, kind="stable")
    moments = RegressionMoments(design)
    cut, first = np.unique(windows.origin[order], return_index=True)
    origin, counts = _order_windows(design, sequences.offsets, cut)
    moments.add(origin[: counts[0]])
    scale = _spreads_at_cuts(model, columns, sequences.offsets, cut) / spread
    alpha = _scaled_gcv_alpha(moments, scale[0]) if model.alpha is None else model.alpha
    penalty = np.hstack([np.zeros((len(cut), 1)), alpha * np.square(_feature_scales(design, scale))])
    ahead = None if known is None else (known[order] - centre[design.n_cells :]) / spread[design.n_cells :]
    last = gather_rows(design.rows, sequences.offsets[windows.item[order]] + windows.origin[order], -design.lags, 0)
    asked = prepend_ones(design.join_inputs(last, ahead))
    found = np.empty((len(order), design.n_targets))
    found[order] = solve_rolling(
        RollingCuts(design, origin, counts, penalty, asked, np.append(first, len(order))), moments
    )
    answers = found.reshape(len(found), horizon, design.n_cells)
    return np.asarray(answers * spread[: design.n_cells] + centre[: design.n_cells])


def _order_windows(design: LaggedDesign, offsets: Ids, cut: Ids) -> tuple[Ids, Ids]:
    """All windows in the order in which they become known, and how many are at each cut."""
    every = window_origins(offsets, design.lags, design.horizon)
    # the step at which the last row of a window's future has passed, counted from the start of its sequence
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
    """The spread of every column before every cut, (cut, column).

    Sums are of differences from the mean before the first cut, where they lose no digits (Chan, Golub and LeVeque,
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
    """The penalty that a copy fitted here would choose: what it sees and answers has the spread 1."""
    design, normal = moments.design, moments.to_normal_equations()
    seen, steps = _feature_scales(design, scale), np.tile(scale[: design.n_cells], design.horizon)
    xx, xy = normal.xx / np.outer(seen, seen), normal.xy / np.outer(seen, steps)
    return gcv_alpha_from_equations(normal._replace(xx=xx, xy=xy, yy=normal.yy / np.square(steps)))


def _refit_each_origin(
    model: Ridge, sequences: Sequences, windows: ForecastWindows, horizon: int, known: NDArray[Any] | None
) -> Matrix:
    """The same by fits from the beginning, for frames so large that features are more than windows."""
    found = np.empty((len(windows.item), horizon, model.cells_.n_cells))
    alpha = model.alpha
    for cut in np.unique(windows.origin).tolist():
        before = sequences._with_spans(sequences.buffers()[1], np.minimum(sequences.lengths, cut))
        copy = clone(model).set_params(lags=model.lags_, alpha=alpha).fit(before)
        alpha = copy.solution(horizon).alpha
        rows = np.flatnonzero(windows.origin == cut)
        ahead = None if known is None else known[rows]
        answers = copy.predict(windows.pasts[rows], horizon, known_covariates=ahead).mean
        found[rows] = answers.reshape(len(rows), horizon, -1)[..., model.cells_.valid_mask.ravel()]
    return found
