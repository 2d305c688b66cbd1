"""Ridge regression where windows are fewer than features: weights of the training futures, never of features."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, eigh

from .base import Ids, Matrix, gather_rows
from .lagged_design import LaggedDesign, LinearSolution, cholesky_factor, gcv_alpha

_BLOCK_COLUMNS = 256  # columns that are multiplied at a time: fewer leave a product of matrices waiting for memory


class DualRidge:
    """The dual form: a forecast is a weighted mean of what followed the windows.

    With K the inner products of windows around their mean, c(x) = (K + α)⁻¹ k(x), and the forecast is ȳ + Σ c_i(x)
    (y_i − ȳ), which is the ridge solution of all steps. Features are never put beside each other: lag after lag is
    gathered, so that memory is that of (window, window) and (window, cell).
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

    def predict(self, asked: Matrix) -> Matrix:
        """What follows windows of which so much is seen (window, feature): (window, horizon × cell)."""
        weights = [self._future_weights(products) for products in self._inner_products(asked)]
        found = np.empty((len(asked), self.design.n_targets))
        n_cells = self.design.n_cells
        for step in range(self.design.horizon):
            followed = self.design.rows[self.origin + step, :n_cells]
            for row, own in enumerate(weights):
                found[row, step * n_cells : (step + 1) * n_cells] = own @ followed
        return found

    def to_linear(self) -> LinearSolution:
        """The same as weights of features, X̃ᵀ(K + α)⁻¹Ỹ: many questions are then answered by one small product each."""
        design = self.design
        y = design.targets(self.origin).mean(axis=0)
        counted = cho_solve((self.lower, True), design.targets(self.origin) - y, check_finite=False)
        x = sum(design.inputs(block).sum(axis=0) for block in design.iter_blocks(self.origin)) / len(self.origin)
        found, begin = np.zeros((design.n_features, design.n_targets)), 0
        for block in design.iter_blocks(self.origin):
            found += (design.inputs(block) - x).T @ counted[begin : begin + len(block)]
            begin += len(block)
        return LinearSolution(found, np.asarray(x), y, self.alpha)

    def _future_weights(self, products: Matrix) -> Matrix:
        """How much every training future counts, from the inner products with its window; they sum to 1."""
        around = products - self.product_means - products.mean() + self.product_mean
        found = cho_solve((self.lower, True), around, check_finite=False)
        return np.asarray(found + (1 - found.sum()) / len(found))

    def _inner_products(self, asked: Matrix) -> Matrix:
        """Inner products of windows with those that were learned from, (asked, window)."""
        n_columns, n_cells = self.design.rows.shape[1], self.design.n_cells
        found, begin = np.zeros((len(asked), len(self.origin))), 0
        ahead = range(self.design.horizon) if n_cells < n_columns else ()
        for shift in (*range(-self.design.lags, 0), *ahead):
            rows = self.design.rows[self.origin + shift, 0 if shift < 0 else n_cells :]
            for row, own in enumerate(asked[:, begin : begin + rows.shape[1]]):
                found[row] += rows @ own
            begin += rows.shape[1]
        return found

    def _gram_products(self, shifts: range, columns: slice) -> Matrix:
        found, rows = np.zeros((len(self.origin), len(self.origin))), self.design.rows[:, columns]
        steps = max(1, _BLOCK_COLUMNS // rows.shape[1])
        for begin in range(shifts.start, shifts.stop, steps):
            some = gather_rows(rows, self.origin, begin, min(begin + steps, shifts.stop)).reshape(len(found), -1)
            found += some @ some.T
        return found

    def _choose_alpha(self, gram: Matrix) -> float:
        values, vectors = eigh(gram)
        if self.design.n_targets <= len(gram):
            followed = self.design.targets(self.origin)
            followed -= followed.mean(axis=0)
            energy, total = np.square(vectors.T @ followed).sum(axis=1), np.square(followed).sum()
        else:  # so many that only their products are held
            answers = _center_gram(self._gram_products(range(self.design.horizon), slice(self.design.n_cells)))
            energy, total = np.einsum("ij,ij->j", vectors, answers @ vectors), np.trace(answers)
        return gcv_alpha(np.maximum(values, 0.0), energy, float(total), len(gram))


def _center_gram(products: Matrix) -> Matrix:
    """Inner products around the mean of what is multiplied."""
    means = products.mean(axis=0)
    return np.asarray(products - means - means[:, None] + means.mean())
