"""Kernels of the inner product of two vectors: linear and polynomial."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.parameters import check_float, check_int
from ..validation import Sample, as_vectors
from .base import Kernel, Matrix

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, kw_only=True, repr=False)
class Linear(Kernel):
    """The inner product: k(x, y) = ⟨x, y⟩ + c. Its MMD² is the squared distance of the means, and nothing else.

    From another `origin` o it is ⟨x − o, y − o⟩ + c, with the same MMD²: tests take the mean of the pooled sample, so
    that no digits are lost where it is far from 0.

    Parameters
    ----------
    offset : float
        c, 0 or more.
    origin : tuple of float, optional
        o; None for 0.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.distributions.Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    offset: float = 0.0
    origin: tuple[float, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._set_options(offset=check_float(self.offset, "offset", 0.0))

    def center_on(self, sample: Sample) -> Linear:
        """With the mean of a sample as origin, which does not change MMD."""
        return replace(self, origin=tuple(as_vectors(sample, "x").mean(axis=0).tolist()))

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        if self.origin is not None:
            x, y = x - np.array(self.origin), None if y is None else y - np.array(self.origin)
        return inner_products(x, y) + self.offset

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        if self.origin is not None:
            x, y = (side.flatten(1) - side.new_tensor(self.origin) for side in (x, y))
        return x.flatten(1) @ y.flatten(1).T + self.offset


@dataclass(frozen=True, kw_only=True, repr=False)
class Polynomial(Kernel):
    """A power of the inner product: k(x, y) = (s ⟨x, y⟩ + c)^degree. Its MMD² compares moments up to that degree.

    Values grow fast with the size of vectors: standardize first.

    Parameters
    ----------
    degree : int
    scale : float, optional
        s; None for 1 / the number of features.
    offset : float
        c, 0 or more; without it moments below the degree do not count.

    Examples
    --------
    >>> import timelike as tl
    >>> tl.distributions.Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[42.25]])
    """

    degree: int = 3
    scale: float | None = None
    offset: float = 1.0

    def __post_init__(self) -> None:
        self._set_options(degree=check_int(self.degree, "degree", 1), offset=check_float(self.offset, "offset", 0.0))
        if self.scale is not None:
            self._set_options(scale=check_float(self.scale, "scale", above=0.0))

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        with np.errstate(over="ignore"):
            powers = (self._resolve_scale(x.shape[1]) * inner_products(x, y) + self.offset) ** self.degree
        if not np.isfinite(powers).all():
            raise ValueError(f"degree={self.degree} makes values infinite: standardize the vectors, or lower it")
        return np.asarray(powers)

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        first, second = x.flatten(1), y.flatten(1)
        powers: Tensor = (self._resolve_scale(first.shape[1]) * (first @ second.T) + self.offset) ** self.degree
        return powers

    def _resolve_scale(self, n_features: int) -> float:
        return 1 / n_features if self.scale is None else self.scale


def inner_products(x: Matrix, y: Matrix | None) -> Matrix:
    """⟨x_i, y_j⟩; for x with itself exactly symmetric, which a matrix product need not be."""
    products = x @ (x if y is None else y).T
    if not np.isfinite(products).all():
        raise ValueError("x has products that are too large for float64: standardize the vectors")
    return (products + products.T) / 2 if y is None else products
