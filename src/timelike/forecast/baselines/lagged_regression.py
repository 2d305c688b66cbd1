"""Ridge regression on lagged windows: moments in blocks, solutions for all steps ahead, and the dual form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular

from .base import Ids, Matrix, gather_rows

_BLOCK_NUMBERS = 1 << 22  # numbers of a design matrix block
_BLOCK_COLUMNS = 256  # columns per matrix product: fewer make it memory-bound
_ALPHA_SHARES = np.logspace(-8, 2, 21)  # candidates of the penalty, per window
_EPS = np.finfo(np.float64).eps


class LaggedDesign(NamedTuple):
    """A regression of the future on the last `lags` rows and the known channels.

    `rows` (total_time, column): the first `n_cells` columns are forecast, the others are known in advance. Future known
    values are the last features, ordered by time, so that step h uses the first `feature_counts()[h]` features.
    """

    rows: Matrix
    n_cells: int
    lags: int
    horizon: int

    @property
    def n_features(self) -> int:
        """The number of inputs of a window."""
        return int(self.feature_counts()[-1])

    @property
    def n_targets(self) -> int:
        """The number of targets of a window."""
        return self.horizon * self.n_cells

    def feature_counts(self) -> Ids:
        """The number of features of each step ahead, (horizon,)."""
        n_columns = self.rows.shape[1]
        ahead = np.arange(1, self.horizon + 1) * (n_columns - self.n_cells)
        return np.asarray(self.lags * n_columns + ahead, np.int64)

    def inputs(self, origin: Ids) -> Matrix:
        """The inputs of each window, (window, feature)."""
        past = gather_rows(self.rows, origin, -self.lags, 0)
        if self.n_cells == self.rows.shape[1]:
            return past.reshape(len(origin), self.n_features)
        return self.join_inputs(past, gather_rows(self.rows[:, self.n_cells :], origin, 0, self.horizon))

    def join_inputs(self, past: Matrix, known_future: Matrix | None) -> Matrix:
        """The last rows (window, lag, column) and the known future (window, horizon, channel) as features."""
        flat = past.reshape(len(past), self.lags * self.rows.shape[1])
        return (
            flat
            if known_future is None
            else np.hstack([flat, known_future.reshape(len(known_future), self.n_features - flat.shape[1])])
        )

    def targets(self, origin: Ids) -> Matrix:
        """The targets of each window, (window, horizon × cell)."""
        return gather_rows(self.rows[:, : self.n_cells], origin, 0, self.horizon).reshape(len(origin), self.n_targets)

    def iter_blocks(self, origin: Ids) -> Iterator[Ids]:
        """Origins in blocks that bound memory."""
        height = max(1, _BLOCK_NUMBERS // (self.n_features + self.n_targets))
        return (origin[begin : begin + height] for begin in range(0, len(origin), height))


class NormalEquations(NamedTuple):
    """Centered normal equations: `xx` (feature, feature), `xy` (feature, target), `yy` (target,)."""

    xx: Matrix
    xy: Matrix
    yy: Matrix
    x: Matrix
    y: Matrix
    n_windows: int


class LinearSolution(NamedTuple):
    """A primal solution: `weights` (feature, target), the means of features and targets, and the penalty."""

    weights: Matrix
    x: Matrix
    y: Matrix
    alpha: float

    def predict(self, queries: Matrix) -> Matrix:
        """The forecasts (window, target) of queries (window, feature)."""
        return np.stack([self.y + (one - self.x) @ self.weights for one in queries])


class RegressionMoments:
    """Sums over windows, to which more windows can be added."""

    def __init__(self, design: LaggedDesign) -> None:
        p, q = design.n_features, design.n_targets
        self.design, self.count = design, 0
        self.x, self.y, self.yy = np.zeros(p), np.zeros(q), np.zeros(q)
        self.xx, self.xy = np.zeros((p, p)), np.zeros((p, q))
        self.buffers = np.empty((p, p)), np.empty((p, q))  # allocating them for every block would cost time

    def add(self, origin: Ids) -> None:
        """Add the windows with these origins."""
        for block in self.design.iter_blocks(origin):
            inputs, targets = self.design.inputs(block), self.design.targets(block)
            self.count += len(block)
            self.x += inputs.sum(axis=0)
            self.y += targets.sum(axis=0)
            self.yy += np.square(targets).sum(axis=0)
            self.xx += np.matmul(inputs.T, inputs, out=self.buffers[0])
            self.xy += np.matmul(inputs.T, targets, out=self.buffers[1])

    def to_normal_equations(self) -> NormalEquations:
        """Centered equations, which is equivalent to an intercept without a penalty."""
        x, y = self.x / self.count, self.y / self.count
        xx = self.xx - np.outer(self.x, x)
        return NormalEquations(
            (xx + xx.T) / 2, self.xy - np.outer(self.x, y), self.yy - self.count * np.square(y), x, y, self.count
        )


def gcv_alpha(values: Matrix, energy: Matrix, total: float, count: int) -> float:
    """The penalty with the smallest generalised cross-validation error (Golub, Heath and Wahba, 1979).

    GCV(α) = RSS(α)/(1 − df(α)/n)², from the eigenvalues λ of XᵀX: `energy` are the sums of squares of Y along the left
    singular vectors, so that RSS = total − Σ energy·(1 − (α/(λ + α))²) and df = 1 + Σ λ/(λ + α).
    """
    alphas = _ALPHA_SHARES * count
    shrinkage = alphas / (
        values[:, None] + alphas
    )  # (eigenvalue, alpha): the fraction of a direction that stays unexplained
    rss = np.maximum(total - energy @ (1 - np.square(shrinkage)), _EPS * count * np.maximum(total, _EPS))
    free = 1 - (1 + (1 - shrinkage).sum(axis=0)) / count
    with np.errstate(divide="ignore"):
        error = np.where(free > _EPS, rss / np.square(np.maximum(free, _EPS)), np.inf)
    return float(alphas[len(alphas) - 1 - int(np.argmin(error[::-1]))])  # ties go to the largest


def gcv_alpha_from_equations(normal: NormalEquations) -> float:
    """The penalty of `gcv_alpha`, from normal equations."""
    values, vectors = eigh(normal.xx)
    values = np.maximum(values, 0.0)
    along = np.square(vectors.T @ normal.xy).sum(axis=1)
    energy = np.where(values > _EPS * np.maximum(values[-1], _EPS), along / np.maximum(values, _EPS), 0.0)
    return gcv_alpha(values, energy, float(normal.yy.sum()), normal.n_windows)


def cholesky_factor(gram: Matrix, alpha: float) -> Matrix:
    """The lower triangle L with L Lᵀ = gram + α; a small shift is added if rounding made the matrix indefinite."""
    shifted = gram.copy()
    shifted.flat[:: len(gram) + 1] += alpha
    try:
        return np.asarray(cholesky(shifted, lower=True, check_finite=False))
    except np.linalg.LinAlgError:
        shifted.flat[:: len(gram) + 1] += 8 * _EPS * len(gram) * shifted.diagonal().max()
        return np.asarray(cholesky(shifted, lower=True, check_finite=False))


def solve_upper(lower: Matrix, half: Matrix) -> Matrix:
    """Lᵀ⁻¹ half."""
    return np.asarray(solve_triangular(lower, half, trans="T", lower=True, check_finite=False))


def solve_lower(lower: Matrix, right_side: Matrix) -> Matrix:
    """L⁻¹ right_side."""
    return np.asarray(solve_triangular(lower, right_side, lower=True, check_finite=False))


def solve_weights(normal: NormalEquations, alpha: float, sizes: Ids) -> Matrix:
    """The weights (feature, target) for all steps ahead, from one factorisation.

    Step h uses the first p_h features, and the factor of the upper left corner of a matrix is the corner of its factor.
    """
    lower = cholesky_factor(normal.xx, alpha)
    half = solve_lower(lower, normal.xy)
    if sizes[0] == sizes[-1]:
        return solve_upper(lower, half)
    weights, n_cells = np.zeros_like(half), half.shape[1] // len(sizes)
    for step, size in enumerate(sizes.tolist()):
        own = slice(step * n_cells, (step + 1) * n_cells)
        weights[:size, own] = solve_upper(lower[:size, :size], half[:size, own])
    return weights


class DualRidge:
    """The dual form: a forecast is a weighted mean of the futures of the training windows.

    With K the inner products of centered windows, c(x) = (K + α)⁻¹ k(x), and the forecast is ȳ + Σ c_i(x) (y_i − ȳ),
    the ridge solution for all steps. The design matrix is never built: lags are gathered one at a time, so memory holds
    only (window, window) and (window, cell).
    """

    def __init__(self, design: LaggedDesign, origin: Ids, alpha: float | None) -> None:
        self.design, self.origin = design, origin
        products = self._gram_products(range(-design.lags, 0), slice(None))
        if design.n_cells < design.rows.shape[1]:
            products += self._gram_products(range(design.horizon), slice(design.n_cells, None))
        self.product_means, self.product_mean = products.mean(axis=0), products.mean()
        gram = _center_gram(products)
        self.alpha = self._choose_alpha(gram) if alpha is None else alpha
        self.lower = cholesky_factor(gram, self.alpha)

    def predict(self, queries: Matrix) -> Matrix:
        """The forecasts (window, horizon × cell) of queries (window, feature)."""
        weights = [self._future_weights(products) for products in self._inner_products(queries)]
        forecasts = np.empty((len(queries), self.design.n_targets))
        n_cells = self.design.n_cells
        for step in range(self.design.horizon):
            targets = self.design.rows[self.origin + step, :n_cells]
            for row, own in enumerate(weights):
                forecasts[row, step * n_cells : (step + 1) * n_cells] = own @ targets
        return forecasts

    def to_linear(self) -> LinearSolution:
        """The primal solution with weights X̃ᵀ(K + α)⁻¹Ỹ, which is faster for many queries."""
        design = self.design
        y = design.targets(self.origin).mean(axis=0)
        coefficients = cho_solve((self.lower, True), design.targets(self.origin) - y, check_finite=False)
        x = sum(design.inputs(block).sum(axis=0) for block in design.iter_blocks(self.origin)) / len(self.origin)
        weights, begin = np.zeros((design.n_features, design.n_targets)), 0
        for block in design.iter_blocks(self.origin):
            weights += (design.inputs(block) - x).T @ coefficients[begin : begin + len(block)]
            begin += len(block)
        return LinearSolution(weights, np.asarray(x), y, self.alpha)

    def _future_weights(self, products: Matrix) -> Matrix:
        """The weights of the training futures, from the inner products with their windows; they sum to 1."""
        around = products - self.product_means - products.mean() + self.product_mean
        weights = cho_solve((self.lower, True), around, check_finite=False)
        return np.asarray(weights + (1 - weights.sum()) / len(weights))

    def _inner_products(self, queries: Matrix) -> Matrix:
        """Inner products of queries with training windows, (query, window)."""
        n_columns, n_cells = self.design.rows.shape[1], self.design.n_cells
        products, begin = np.zeros((len(queries), len(self.origin))), 0
        ahead = range(self.design.horizon) if n_cells < n_columns else ()
        for shift in (*range(-self.design.lags, 0), *ahead):
            rows = self.design.rows[self.origin + shift, 0 if shift < 0 else n_cells :]
            for row, own in enumerate(queries[:, begin : begin + rows.shape[1]]):
                products[row] += rows @ own
            begin += rows.shape[1]
        return products

    def _gram_products(self, shifts: range, columns: slice) -> Matrix:
        products, rows = np.zeros((len(self.origin), len(self.origin))), self.design.rows[:, columns]
        steps = max(1, _BLOCK_COLUMNS // rows.shape[1])
        for begin in range(shifts.start, shifts.stop, steps):
            some = gather_rows(rows, self.origin, begin, min(begin + steps, shifts.stop)).reshape(len(products), -1)
            products += some @ some.T
        return products

    def _choose_alpha(self, gram: Matrix) -> float:
        values, vectors = eigh(gram)
        if self.design.n_targets <= len(gram):
            targets = self.design.targets(self.origin)
            targets -= targets.mean(axis=0)
            energy, total = np.square(vectors.T @ targets).sum(axis=1), np.square(targets).sum()
        else:  # too many targets: only their inner products are stored
            answers = _center_gram(self._gram_products(range(self.design.horizon), slice(self.design.n_cells)))
            energy, total = np.einsum("ij,ij->j", vectors, answers @ vectors), np.trace(answers)
        return gcv_alpha(np.maximum(values, 0.0), energy, float(total), len(gram))


def _center_gram(products: Matrix) -> Matrix:
    """The inner products of centered vectors."""
    means = products.mean(axis=0)
    return np.asarray(products - means - means[:, None] + means.mean())
