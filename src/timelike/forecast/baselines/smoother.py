"""Ridge regression where windows are fewer than features: weights of the training futures, never of features."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, eigh

from .base import Ids, Matrix, stretch
from .lagged import Lagged, Linear, chosen, factor

_TOGETHER = 256  # columns that are multiplied at a time: fewer leave a product of matrices waiting for memory


class Smoother:
    """The dual form: a forecast is a weighted mean of what followed the windows.

    With K the inner products of windows around their mean, c(x) = (K + α)⁻¹ k(x), and the forecast is ȳ + Σ c_i(x)
    (y_i − ȳ), which is the ridge solution of all steps. Features are never put beside each other: lag after lag is
    gathered, so that memory is that of (window, window) and (window, cell).
    """

    def __init__(self, design: Lagged, origin: Ids, alpha: float | None) -> None:
        self.design, self.origin = design, origin
        products = self._products(range(-design.lags, 0), slice(None))
        if design.n_cells < design.rows.shape[1]:
            products += self._products(range(design.horizon), slice(design.n_cells, None))
        self.means, self.mean = products.mean(axis=0), products.mean()
        gram = _centred(products)
        self.alpha = self._chosen(gram) if alpha is None else alpha
        self.lower = factor(gram, self.alpha)

    def forecasts(self, asked: Matrix) -> Matrix:
        """What follows windows of which so much is seen (window, feature): (window, horizon × cell)."""
        weights = [self._weights(products) for products in self._against(asked)]
        found = np.empty((len(asked), self.design.n_answers))
        n_cells = self.design.n_cells
        for step in range(self.design.horizon):
            followed = self.design.rows[self.origin + step, :n_cells]
            for row, own in enumerate(weights):
                found[row, step * n_cells : (step + 1) * n_cells] = own @ followed
        return found

    def linear(self) -> Linear:
        """The same as weights of features, X̃ᵀ(K + α)⁻¹Ỹ: many questions are then answered by one small product each."""
        design = self.design
        y = design.followed(self.origin).mean(axis=0)
        counted = cho_solve((self.lower, True), design.followed(self.origin) - y, check_finite=False)
        x = sum(design.seen(block).sum(axis=0) for block in design.blocks(self.origin)) / len(self.origin)
        found, begin = np.zeros((design.n_features, design.n_answers)), 0
        for block in design.blocks(self.origin):
            found += (design.seen(block) - x).T @ counted[begin : begin + len(block)]
            begin += len(block)
        return Linear(found, np.asarray(x), y, self.alpha)

    def _weights(self, products: Matrix) -> Matrix:
        """How much every training future counts, from the inner products with its window; they sum to 1."""
        around = products - self.means - products.mean() + self.mean
        found = cho_solve((self.lower, True), around, check_finite=False)
        return np.asarray(found + (1 - found.sum()) / len(found))

    def _against(self, asked: Matrix) -> Matrix:
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

    def _products(self, shifts: range, columns: slice) -> Matrix:
        found, rows = np.zeros((len(self.origin), len(self.origin))), self.design.rows[:, columns]
        steps = max(1, _TOGETHER // rows.shape[1])
        for begin in range(shifts.start, shifts.stop, steps):
            some = stretch(rows, self.origin, begin, min(begin + steps, shifts.stop)).reshape(len(found), -1)
            found += some @ some.T
        return found

    def _chosen(self, gram: Matrix) -> float:
        values, vectors = eigh(gram)
        if self.design.n_answers <= len(gram):
            followed = self.design.followed(self.origin)
            followed -= followed.mean(axis=0)
            energy, total = np.square(vectors.T @ followed).sum(axis=1), np.square(followed).sum()
        else:  # so many that only their products are held
            answers = _centred(self._products(range(self.design.horizon), slice(self.design.n_cells)))
            energy, total = np.einsum("ij,ij->j", vectors, answers @ vectors), np.trace(answers)
        return chosen(np.maximum(values, 0.0), energy, float(total), len(gram))


def _centred(products: Matrix) -> Matrix:
    """Inner products around the mean of what is multiplied."""
    means = products.mean(axis=0)
    return np.asarray(products - means - means[:, None] + means.mean())
