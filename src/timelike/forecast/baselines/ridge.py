"""Ridge: a linear map from the last frames to all steps of the horizon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import store_parameters
from ...models import options, schema
from ...sequences import Sequences
from ..base import ForecastRequest, Futures, SequenceSource
from ..cells import n_columns
from ..windows import ForecastWindows, thin_evenly
from . import rolling_ridge
from .base import MAX_MATRIX_ROWS, Baseline, Ids, Matrix, default_window, refuse_long_window, window_origins
from .lagged_regression import (
    DualRidge,
    LaggedDesign,
    LinearSolution,
    RegressionMoments,
    gcv_alpha_from_equations,
    solve_weights,
)

_MAX_SOLUTION_NUMBERS = 1 << 27  # most numbers of a solution
_MAX_WEIGHTS = 1 << 22  # most weights of a dual solution that is converted to a primal one
_MAX_KEPT_HORIZONS = 4  # most horizons whose solutions are stored


class Ridge(Baseline):
    """Ridge regression of each step ahead on the last frames, with separate weights per step ("direct").

    W, b = argmin Σ ‖y_i − b − W x_i‖² + α ‖W‖² over all training windows (Hoerl and Kennard, 1970), where x are the
    last `lags` frames and y all frames up to the horizon, both standardized to mean 0 and spread 1 in every channel:
    one factorisation serves all steps. `fit` has no horizon, so `predict` solves the equations for a new horizon, on
    the windows followed by that many steps, and stores the solution.

    A strong baseline on sensor series, hard to beat if the dynamics are linear. It needs more windows than lags; for
    few and short series `AR` is better. For long horizons of seasonal series set `lags` to a whole period.

    Parameters
    ----------
    lags : int, optional
        Number of past frames. Default: a quarter of the median training length, at most 48.
    alpha : float, optional
        The penalty, relative to the sum over windows as in scikit-learn. Default: chosen by generalised
        cross-validation, one value for all steps (`solution(horizon).alpha`).
    known_channels : list of channels, optional
        Names or positions of channels known in advance: step h uses them over the lags and up to step h.

    Notes
    -----
    If there are more features (lags × cells) than windows, the dual equations are solved, and every step uses the known
    channels over the whole horizon. If both exceed 2048, that many evenly spaced windows are used.

    Examples
    --------
    >>> import numpy as np
    >>> import timelike as tl
    >>> wave = np.sin(0.3 * np.arange(200))
    >>> model = tl.forecast.Ridge(lags=4).fit([wave[:150]])
    >>> bool(np.abs(model.predict([wave[:150]], horizon=50).mean.ravel() - wave[150:]).max() < 1e-3)
    True
    """

    lags = options.nullable(options.integer(1))
    alpha = options.nullable(options.real(above=0.0))

    rows_: Matrix = schema.array("row", n_columns)
    """All training steps, concatenated and standardized: (total_time, cell + known channel)."""
    offsets_: Ids = schema.offsets("item", total="row")
    mean_: Matrix = schema.array(n_columns)
    scale_: Matrix = schema.array(n_columns, above=0)
    lags_: int = schema.integer(1)
    solutions_: dict[int, LinearSolution | DualRidge] = schema.derived_value()
    _auto_options = ("lags", "alpha")
    _depends_on_horizon = True  # only windows followed by the whole horizon are used

    def __init__(
        self, *, lags: int | None = None, alpha: float | None = None, known_channels: Sequence[int | str] | None = None
    ) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"lags": 1}

    def _min_past_steps(self) -> int:
        return self.lags_

    def _get_chosen_options(self, horizon: int) -> dict[str, Any]:
        return {"lags": self.lags_, "alpha": self.solution(horizon).alpha}

    def _max_horizon(self) -> int:
        return int(np.diff(self.offsets_).max()) - self.lags_

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        columns = self._input_columns(sequences)
        self.mean_, self.scale_ = self._column_scales(columns)
        self.rows_, self.offsets_ = (columns - self.mean_) / self.scale_, np.array(sequences.offsets)
        self.lags_ = default_window(sequences.lengths) if self.lags is None else self.lags
        self._refuse_short(self.lags_, 1)
        self._derive_attributes()

    def _check_attributes(self, found: Mapping[str, Any]) -> None:
        super()._check_attributes(found)
        refuse_long_window(self.lags_, "lags_", self.offsets_)

    def _derive_attributes(self) -> None:
        self.solutions_ = {}

    def _refuse_short(self, lags: int, horizon: int) -> None:
        longest = int(np.diff(self.offsets_).max())
        if lags + horizon > longest:
            limit = f"horizon={horizon}: at most {longest - lags}" if lags < longest else f"lags={lags}: fewer"
            raise ValueError(
                f"{limit} can be learned from sequences of at most {longest} steps with {lags} lags: expected one of "
                f"at least {lags + horizon} steps in training, or fewer lags"
            )

    def solution(self, horizon: int) -> LinearSolution | DualRidge:
        """The solution for a horizon; those of the last few horizons are stored."""
        self._require_fitted()
        solution = self.solutions_.get(horizon)
        if solution is None:
            solution = self._solve(horizon)
            while len(self.solutions_) >= _MAX_KEPT_HORIZONS:
                del self.solutions_[next(iter(self.solutions_))]
            self.solutions_[horizon] = solution
        return solution

    def _solve(self, horizon: int) -> LinearSolution | DualRidge:
        self._refuse_short(self.lags_, horizon)
        design = LaggedDesign(self.rows_, self.cells_.n_cells, self.lags_, horizon)
        origin, n_features = window_origins(self.offsets_, self.lags_, horizon), design.n_features
        many = n_features > MAX_MATRIX_ROWS or n_features * design.n_targets > _MAX_SOLUTION_NUMBERS
        if many:
            origin = thin_evenly(origin, MAX_MATRIX_ROWS)
        if many or n_features > len(origin):
            smoother = DualRidge(design, origin, self.alpha)
            return smoother.to_linear() if n_features * design.n_targets <= _MAX_WEIGHTS else smoother
        moments = RegressionMoments(design)
        moments.add(origin)
        normal = moments.to_normal_equations()
        alpha = gcv_alpha_from_equations(normal) if self.alpha is None else self.alpha
        return LinearSolution(solve_weights(normal, alpha, design.feature_counts()), normal.x, normal.y, alpha)

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        rows = (self._input_columns(past.crop(-self.lags_)) - self.mean_) / self.scale_
        last = rows.reshape(len(past), self.lags_, -1)
        n_cells = self.cells_.n_cells
        covariates = request.known_covariates
        if covariates is not None:
            covariates = (covariates - self.mean_[n_cells:]) / self.scale_[n_cells:]
        queries = LaggedDesign(self.rows_, n_cells, self.lags_, request.horizon).join_inputs(last, covariates)
        futures = self.solution(request.horizon).predict(queries).reshape(len(past), request.horizon, n_cells)
        return Futures(futures * self.scale_[:n_cells] + self.mean_[:n_cells])

    def _forecast_rolling(
        self, sequences: Sequences, windows: ForecastWindows, horizon: int, known_futures: NDArray[Any] | None = None
    ) -> Matrix:
        """Forecasts (window, horizon, cell) of all windows by a model that is refitted at each origin.

        The forecast of a window (item, origin) equals that of a copy of this model fitted on the first `origin` steps
        of all `sequences` (all steps of shorter ones). `known_futures` (window, horizon, channel) are the known
        channels. This model must be fitted, because its cells and lags are used. The penalty is `alpha`; if that is
        None, it is chosen at the earliest origin and kept. The cost is that of one to two fits: windows are added to
        sums, and one factorisation serves many origins.
        """
        return rolling_ridge.forecast_rolling(self, sequences, windows, horizon, known_futures)
