"""Least squares with a penalty that is chosen by leaving one out, in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh

Floats = NDArray[np.float64]

_PENALTIES = np.logspace(-4, 4, 17)
_MOST = 4000  # vectors or features, whichever are fewer, that are decomposed


class Fit(NamedTuple):
    """Weights (feature, output), and which vectors were left out and what was said of each: (item,), (item, output)."""

    weights: Floats
    items: NDArray[np.int64]
    left_out: Floats


def least_squares(x: Floats, y: Floats) -> Fit:
    """min ‖y − ȳ − Xw‖² + α‖w‖² for X whose columns have mean 0, with the α whose errors by leaving one out are least.

    The error at what is left out is (y_i − ŷ_i) / (1 − h_i), h the diagonal of X(XᵀX + α)⁻¹Xᵀ + 1/n: no model is fitted
    twice. Vectors or features are decomposed, whichever are fewer; where these are thousands, the penalty is chosen
    with some of the vectors.

    >>> least_squares(np.array([[-1.0], [0.0], [1.0]]), np.array([[1.0], [2.0], [3.0]])).weights.round(3)
    array([[1.]])
    """
    items = np.arange(len(x))
    if min(x.shape) > _MOST:
        items = np.sort(np.random.default_rng(0).permutation(len(x))[:_MOST])
    few, mean = x[items], y[items].mean(axis=0)
    side = (_Dual if len(few) <= x.shape[1] else _Primal)(few - few.mean(axis=0), y[items] - mean)
    errors = [side.errors(penalty) for penalty in _PENALTIES.tolist()]
    best = int(np.argmin([np.square(each).mean() for each in errors]))
    penalty = float(_PENALTIES[best])
    if len(items) == len(x):
        weights = side.weights(penalty)
    else:
        weights = _solved(x, y - y.mean(axis=0), penalty * len(x) / len(few))
    return Fit(weights, items, y[items] - errors[best])


def _solved(x: Floats, y: Floats, penalty: float) -> Floats:
    """The weights for one penalty, by whichever are fewer, vectors or features."""
    dual = len(x) <= x.shape[1]
    products = x @ x.T if dual else x.T @ x
    products[np.diag_indices(len(products))] += penalty
    found = cho_solve(cho_factor(products, overwrite_a=True, check_finite=False), y if dual else x.T @ y)
    return np.asarray(x.T @ found if dual else found)


class _Dual:
    """By the products of vectors with each other, of which there are fewer than features."""

    def __init__(self, x: Floats, y: Floats) -> None:
        self.x = x
        values, self.vectors = eigh(x @ x.T, overwrite_a=True, check_finite=False, driver="evd")
        self.values = np.maximum(values, 0)
        self.seen = self.vectors.T @ y

    def errors(self, penalty: float) -> Floats:
        rest = penalty / (self.values + penalty)
        left = np.square(self.vectors) @ rest - 1 / len(self.x)
        return np.asarray((self.vectors @ (rest[:, None] * self.seen)) / np.maximum(left, 1e-12)[:, None])

    def weights(self, penalty: float) -> Floats:
        return np.asarray(self.x.T @ (self.vectors @ (self.seen / (self.values + penalty)[:, None])))


class _Primal:
    """By the products of features with each other, of which there are fewer than vectors."""

    def __init__(self, x: Floats, y: Floats) -> None:
        values, self.vectors = eigh(x.T @ x, overwrite_a=True, check_finite=False, driver="evd")
        self.values = np.maximum(values, 1e-12 * max(float(values[-1]), 1.0))
        self.turned = (x @ self.vectors) / np.sqrt(self.values)
        self.seen = self.turned.T @ y
        self.never, self.alone = y - self.turned @ self.seen, 1 - np.square(self.turned).sum(axis=1) - 1 / len(x)

    def errors(self, penalty: float) -> Floats:
        rest = penalty / (self.values + penalty)
        left = self.alone + np.square(self.turned) @ rest
        errors = self.never + self.turned @ (rest[:, None] * self.seen)
        return np.asarray(errors / np.maximum(left, 1e-12)[:, None])

    def weights(self, penalty: float) -> Floats:
        shrunk = np.sqrt(self.values) / (self.values + penalty)
        return np.asarray(self.vectors @ (shrunk[:, None] * self.seen))
