"""`FunctionKernel`: a kernel that the caller wrote as a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...sequences.container import Sequences
from ..validation import as_vectors
from .base import Kernel, Matrix

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, repr=False)
class FunctionKernel(Kernel):
    """Somebody's own function `k(x, y) -> matrix`, of vectors (item, feature) or of `Sequences`, as the samples are."""

    function: Callable[[Any, Any], Any]

    @property
    def indefinite_reason(self) -> str:
        """Always given: whether a user's function is positive semidefinite is not known."""
        return "a function of one's own: whether it is positive semidefinite is not known"

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    @property
    def has_fitted_part(self) -> bool:
        """What it takes, the function knows."""
        return True

    def _precompute_items(self, sample: Sequences, name: str) -> Any:
        return as_vectors(sample, name) if sample.shape[1] == 1 else sample

    def _validate_sides(self, *given: tuple[Sequences, str]) -> None:
        """What it takes, the function knows; the samples are vectors, or sequences of any lengths."""

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        other = x if y is None else y
        matrix = np.array(self.function(x, other))  # a copy: it is rounded in place where it is used
        if np.iscomplexobj(matrix):
            raise TypeError(
                f"kernel gave {matrix.dtype} numbers: expected real similarities, such as their absolute value"
            )
        matrix = matrix.astype(np.float64, copy=False)
        if matrix.shape != (len(x), len(other)):
            raise ValueError(f"kernel gave shape {matrix.shape}: expected ({len(x)}, {len(other)})")
        if not np.isfinite(matrix).all():
            raise ValueError("kernel gave nan or infinity: expected finite similarities")
        if y is None and not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * max(1e-300, np.abs(matrix).max())):
            raise ValueError("kernel is not symmetric: k(x, y) must be k(y, x); use (k(x, y) + k(y, x).T) / 2")
        return (matrix + matrix.T) / 2 if y is None else matrix

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        import torch

        try:
            found = self.function(x, y)
        except (RuntimeError, TypeError) as error:  # what NumPy and torch say where the one is given the other's
            if "numpy" not in str(error).lower():
                raise
            found = None
        if not isinstance(found, torch.Tensor):
            raise TypeError(
                f"kernel={self!r} computes with NumPy, through which there are no gradients: write it with torch "
                "operations, such as (-torch.cdist(x, y) ** 2).exp(), or use a kernel of the library"
            )
        return found
