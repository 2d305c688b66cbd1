"""AR: autoregression, in which each frame is a linear function of the previous ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.parameters import store_parameters
from ...models import options, schema
from ...sequences import Sequences
from ..base import ForecastRequest, Futures, SequenceSource
from ..cells import n_cells
from ..windows import thin_evenly
from .base import Baseline, Ids, Matrix, window_origins
from .stability import MODULUS_TOLERANCE, companion_matrices, spectral_radius, warn_of_growth

_MAX_ORDER_ROWS = 4096  # most rows for choosing the order
_VARIANCE_FLOOR = 1e-12  # unexplained fraction of variance below which orders are equally good


class AR(Baseline):
    """Autoregression by least squares: x_t = c + Σ_l Φ_l x_{t−l} + ε, iterated over the horizon.

    By default Φ_l are diagonal; with `vector=True` every channel depends on all channels (VAR; Lütkepohl, 2005).
    Samples (`n_samples` above 1) are simulated: ε is drawn with the covariance of the residuals over channels, so that
    the spread grows with the horizon.

    Good for short series and short horizons, with one channel or a few that drive each other. The error of each step
    enters the next, so over long horizons, and for seasonal series, `Ridge` is usually better.

    A fit that would grow without bound is damped: if the largest root has modulus ρ > 1, Φ_l becomes Φ_l/ρˡ, which
    divides all roots by ρ. A warning is issued if ρ > 1.1.

    Parameters
    ----------
    order : int, optional
        Number of past frames. Default: chosen by the Bayesian information criterion, at most 10 log₁₀(steps).
    vector : bool
        Whether a channel depends on all channels or only on itself.

    Examples
    --------
    >>> import timelike as tl
    >>> model = tl.forecast.AR(order=1).fit([[16.0, 8.0, 4.0, 2.0, 1.0]])
    >>> model.predict([[12.0]], horizon=3).mean.ravel().round(6)
    array([6. , 3. , 1.5])
    """

    order = options.nullable(options.integer(1))
    vector = options.boolean()

    order_: int = schema.integer(1)
    coefficients_: Matrix = schema.array("order_", lambda model: (n_cells(model),) * (2 if model.vector else 1))
    """Coefficients of each lag, the latest first: (lag, cell), or (lag, output cell, input cell)."""
    intercept_: Matrix = schema.array(n_cells)
    """The intercept in standardized units, like the coefficients: (cell,)."""
    noise_root_: Matrix = schema.array("direction", n_cells)
    """A root R of the residuals' covariance RᵀR, (direction, cell)."""
    spectral_radius_: float = schema.real(0)
    """The largest modulus of a root of the fit, before any damping."""
    mean_: Matrix = schema.array(n_cells)
    scale_: Matrix = schema.array(n_cells, above=0)
    _is_probabilistic = True
    _auto_options = ("order",)

    def __init__(self, *, order: int | None = None, vector: bool = False) -> None:
        store_parameters(self, locals())

    @classmethod
    def _test_parameters(cls) -> dict[str, Any]:
        return {"order": 1}

    def _min_past_steps(self) -> int:
        return self.order_

    # --- learning ----------------------------------------------------------------------------------------------------

    def _fit_sequences(self, sequences: Sequences, source: SequenceSource | None = None) -> None:
        rows = self._target_rows(sequences)
        self.mean_, self.scale_ = self._column_scales(rows)
        rows = (rows - self.mean_) / self.scale_
        self._refuse_order(sequences.lengths, 1 if self.order is None else self.order)
        offsets = np.asarray(sequences.offsets)
        self.order_ = self._choose_order(rows, offsets) if self.order is None else self.order
        origin = window_origins(offsets, self.order_, 1)
        self._regress(rows, origin)
        self._damp()
        residuals = self._residuals(rows, origin)
        self.intercept_ = self.intercept_ + residuals.mean(axis=0)  # the added mean is zero unless the fit was damped
        residuals -= residuals.mean(axis=0)
        free = max(1, len(origin) - 1 - self.order_ * self._n_inputs())
        self.noise_root_ = np.linalg.qr(residuals, mode="r") / np.sqrt(free)

    def _n_inputs(self) -> int:
        """The number of cells of each lag that a cell depends on."""
        return self.cells_.n_cells if self.vector else 1

    def _refuse_order(self, lengths: Ids, order: int) -> None:
        have, need = int(np.maximum(0, lengths - order).sum()), order * self._n_inputs() + 1
        if have < need:
            which = f"order={order}" if self.order is not None else "X is too short for an order of 1"
            raise ValueError(
                f"{which}: {need} numbers are fitted for each cell, to the {have} steps of X that follow {order} "
                f"others: expected at least {need}, such as one sequence of {order + need} steps; use a smaller order"
                + (", or vector=False" if self.vector else "")
            )

    def _choose_order(self, rows: Matrix, offsets: Ids) -> int:
        """The order with the smallest BIC, all computed on the same steps."""
        lengths, reach = np.diff(offsets), self._n_inputs()
        most = int(10 * np.log10(len(rows))) if len(rows) > 1 else 1
        while most > 1 and np.maximum(0, lengths - most).sum() < 2 * (most * reach + 1) + reach:
            most -= 1
        origin = thin_evenly(window_origins(offsets, most, 1), max(_MAX_ORDER_ROWS, 4 * most * reach))
        parts = [rows] if self.vector else [rows[:, [cell]] for cell in range(rows.shape[1])]
        return 1 + int(np.argmin(sum(_bic_values(part, origin, most) for part in parts)))

    def _regress(self, rows: Matrix, origin: Ids) -> None:
        """Coefficients and intercept by least squares; the solution of minimum norm if there are several."""
        if self.vector:
            solution = np.linalg.lstsq(_lag_design(rows, origin, self.order_), rows[origin], rcond=None)[0]
            blocks = solution[1:].reshape(self.order_, rows.shape[1], -1)
            self.intercept_, self.coefficients_ = solution[0], np.ascontiguousarray(blocks.transpose(0, 2, 1))
            return
        cells = [rows[:, [cell]] for cell in range(rows.shape[1])]
        cell_solutions = [
            np.linalg.lstsq(_lag_design(one, origin, self.order_), one[origin, 0], rcond=None)[0] for one in cells
        ]
        solution = np.stack(cell_solutions, axis=1)
        self.intercept_, self.coefficients_ = solution[0], np.ascontiguousarray(solution[1:])

    def _damp(self) -> None:
        shape = self.coefficients_.shape
        each = self.coefficients_[None] if self.vector else self.coefficients_.T.reshape(shape[1], shape[0], 1, 1)
        largest = spectral_radius(companion_matrices(each))
        self.spectral_radius_ = float(largest.max())
        if self.spectral_radius_ <= 1 + MODULUS_TOLERANCE:
            return
        warn_of_growth(self.spectral_radius_, "AR", "Take differences or logarithms first, or use Ridge.")
        divisors = np.where(largest > 1 + MODULUS_TOLERANCE, largest, 1.0)
        powers = divisors ** -np.arange(1, shape[0] + 1)[:, None]  # (lag, cell)
        self.coefficients_ = self.coefficients_ * (powers[:, :, None] if self.vector else powers)

    def _residuals(self, rows: Matrix, origin: Ids) -> Matrix:
        """The residuals of the fit, (origin, cell)."""
        residuals = rows[origin] - self.intercept_
        for lag, own in enumerate(self.coefficients_, start=1):
            residuals -= rows[origin - lag] @ own.T if self.vector else rows[origin - lag] * own
        return np.asarray(residuals)

    # --- forecasting -------------------------------------------------------------------------------------------------

    def _predict_rows(self, past: Sequences, request: ForecastRequest) -> Futures:
        last = (self._last_rows(past, self.order_) - self.mean_) / self.scale_
        centre = self._iterate_steps(last, request.horizon)
        if request.n_samples == 1:
            return Futures(self._to_data_units(centre))
        return Futures(
            self._to_data_units(centre),
            self._to_data_units(self._simulate(last, self._past_generators(past, request), request)),
        )

    def _to_data_units(self, rows: Matrix) -> Matrix:
        return np.asarray(rows * self.scale_ + self.mean_)

    def _simulate(self, last: Matrix, rngs: list[np.random.Generator], request: ForecastRequest) -> Matrix:
        shape = (request.n_samples, len(last), request.horizon)
        each = (request.n_samples, request.horizon, len(self.noise_root_))
        noise = np.stack([rng.standard_normal(each) @ self.noise_root_ for rng in rngs], axis=1)
        every = np.repeat(last[None], request.n_samples, axis=0).reshape(-1, *last.shape[1:])
        return self._iterate_steps(every, request.horizon, noise.reshape(len(every), request.horizon, -1)).reshape(
            *shape, -1
        )

    def _iterate_steps(self, last: Matrix, horizon: int, noise: Matrix | None = None) -> Matrix:
        """The steps (item, horizon, cell) after the last ones (item, order, cell)."""
        order = self.order_
        steps = np.concatenate([last, np.empty((len(last), horizon, last.shape[2]))], axis=1)
        for step in range(order, order + horizon):
            next_rows = np.tile(self.intercept_, (len(last), 1))
            for lag, own in enumerate(self.coefficients_, start=1):
                before = steps[:, step - lag]
                # one item at a time: the rounding of a matrix product depends on its number of rows
                next_rows += np.stack([own @ one for one in before]) if self.vector else own * before
            steps[:, step] = next_rows if noise is None else next_rows + noise[:, step - order]
        return np.asarray(steps[:, order:])


def _lag_design(rows: Matrix, origin: Ids, order: int) -> Matrix:
    """Ones and the last frames before each origin, the latest first: (origin, 1 + order × cell)."""
    past = rows[origin[:, None] - np.arange(1, order + 1)].reshape(len(origin), -1)
    return np.hstack([np.ones((len(origin), 1)), past])


def _bic_values(rows: Matrix, origin: Ids, most: int) -> Matrix:
    """BIC of the orders 1 to `most`, from one factorisation, whose upper left corners are those of lower orders."""
    n_cells, count = rows.shape[1], len(origin)
    triangle = np.asarray(np.linalg.qr(np.hstack([_lag_design(rows, origin, most), rows[origin]]), mode="r"))
    criteria = np.empty(most)
    for order in range(1, most + 1):
        residual_factor = triangle[1 + order * n_cells :, -n_cells:]
        covariance = residual_factor.T @ residual_factor / count + _VARIANCE_FLOOR * np.eye(n_cells)
        criteria[order - 1] = count * np.linalg.slogdet(covariance)[1] + np.log(count) * n_cells * (order * n_cells + 1)
    return criteria
