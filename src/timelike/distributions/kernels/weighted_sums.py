"""Weighted sums of a kernel and their gradients, in blocks of rows: by autograd, or by the distances of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float64]
ValuesAndGradients = tuple[Floats, Floats]

_AUTOGRAD_BLOCK = 1 << 18  # similarities of a block that autograd goes through: it keeps about ten numbers of each
_PAIR_BLOCK = 1 << 15  # pairs of a block of a closed form, so that what is made of them stays in the cache
_MIN_MATMUL_FEATURES = 16  # features from which a product of matrices beats a pass over the pairs for each of them
_NEAR_RATIO = 1e-2  # of ‖x‖² + ‖y‖²: nearer pairs would lose more than two digits in x Σc − Σ c y
_BLOCK_ROWS = 64  # of a product of matrices: a fixed number, so that no row depends on the others in the batch


def weighted_sums_by_autograd(
    kernel_tensor: Callable[[Tensor, Tensor], Tensor], x: Floats, y: Floats, weights: Floats, kernel_name: str
) -> ValuesAndGradients:
    """Σ_j w_j k(x_i, y_j) (item,) and its gradient like x, of a kernel's function of tensors."""
    import torch

    values, gradients = np.empty(len(x)), np.empty_like(x)
    other, given = torch.tensor(y), torch.tensor(weights)  # copies: those of samples are read-only
    for rows in _iterate_row_slices(len(x), len(y), _AUTOGRAD_BLOCK):
        some = torch.tensor(x[rows], requires_grad=True)
        with torch.enable_grad():
            matrix = kernel_tensor(some, other)
            if not matrix.requires_grad:
                raise TypeError(f"{kernel_name} has no gradient: use one that torch can differentiate, such as RBF()")
            sums = (matrix * (given if given.ndim == 1 else given[rows])).sum(1)
            (slope,) = torch.autograd.grad(sums.sum(), some)  # inside, as this may be a backward pass itself
        values[rows], gradients[rows] = sums.detach().numpy(), slope.numpy()
    return values, gradients


def weighted_sums_by_distance(
    radial_function: Callable[[Floats], ValuesAndGradients], x: Floats, y: Floats, weights: Floats
) -> ValuesAndGradients:
    """The same of a kernel of ‖x − y‖²: `radial_function` gives similarities, and the c with the gradient c (x − y), of
    squares.

    Differences are subtracted before anything is made of them: where c grows like 1/‖x − y‖, as at a cusp, nothing else
    keeps the gradient of points that nearly coincide.
    """
    first, second = x.reshape(len(x), -1), y.reshape(len(y), -1)
    values, gradients = np.empty(len(x)), np.empty_like(first)
    wide = first.shape[1] > _MIN_MATMUL_FEATURES
    step = _MatrixProducts(second) if wide else _sums_by_differences
    for rows in _iterate_row_slices(len(x), len(y), _BLOCK_ROWS * len(y) if wide else _PAIR_BLOCK):
        values[rows], gradients[rows] = step(
            radial_function, first[rows], second, weights if weights.ndim == 1 else weights[rows]
        )
    return values, gradients.reshape(x.shape)


def _sums_by_differences(
    radial_function: Callable[[Floats], ValuesAndGradients], x: Floats, y: Floats, weights: Floats
) -> ValuesAndGradients:
    """A pass over the pairs for each feature: for few of them."""
    differences = [x[:, k, None] - y[:, k] for k in range(x.shape[1])]
    squared = np.square(differences[0])
    for one in differences[1:]:
        squared += one * one
    similar, factors = radial_function(squared)
    factors *= weights
    gradients = np.stack([np.einsum("ij,ij->i", factors, one) for one in differences], axis=1)
    similar *= weights
    return similar.sum(axis=1), gradients


class _MatrixProducts:
    """‖x‖² + ‖y‖² − 2 x y and x Σ c − Σ c y by products of matrices, near pairs by differences: for many features."""

    def __init__(self, y: Floats) -> None:
        self.center = y.mean(axis=0)
        self.there = y - self.center
        with np.errstate(over="ignore"):
            self.lengths = np.square(self.there).sum(axis=1)

    def __call__(
        self, radial_function: Callable[[Floats], ValuesAndGradients], x: Floats, y: Floats, weights: Floats
    ) -> ValuesAndGradients:
        n, here = len(x), np.zeros((_BLOCK_ROWS, x.shape[1]))
        here[:n] = x - self.center
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.square(here).sum(axis=1)[:, None] + self.lengths
            squared = (lengths - 2 * (here @ self.there.T))[:n]
        if not np.isfinite(squared).all():
            raise ValueError("items are too far apart for float64: give them in another unit")
        near = np.nonzero(squared < _NEAR_RATIO * lengths[:n])
        for some in _iterate_pair_blocks(near, x.shape[1]):
            squared[some] = np.square(x[some[0]] - y[some[1]]).sum(axis=1)
        similar, factors = radial_function(squared)
        factors *= weights
        far = np.zeros(lengths.shape)
        far[:n] = factors
        far[near] = 0.0
        gradients = (here * far.sum(axis=1)[:, None] - far @ self.there)[:n]
        for some in _iterate_pair_blocks(near, x.shape[1]):
            np.add.at(gradients, some[0], factors[some][:, None] * (x[some[0]] - y[some[1]]))
        similar *= weights
        return similar.sum(axis=1), gradients


def _iterate_pair_blocks(
    pairs: tuple[NDArray[np.int64], ...], n_features: int
) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Pairs, some at a time: no more differences than a block has similarities."""
    for some in _iterate_row_slices(len(pairs[0]), n_features, _AUTOGRAD_BLOCK):
        yield tuple(side[some] for side in pairs)


def _iterate_row_slices(n_rows: int, n_columns: int, pairs: int) -> Iterator[slice]:
    at_once = max(1, pairs // max(1, n_columns))
    for begin in range(0, n_rows, at_once):
        yield slice(begin, min(begin + at_once, n_rows))
