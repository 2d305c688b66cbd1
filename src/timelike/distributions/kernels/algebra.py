"""Kernels made of kernels: sums, products, multiples."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ...core.parameters import check_float
from ..validation import Sample
from .base import Kernel, Matrix, ResolvedKernel, as_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


class PrecomputedParts:
    """The precomputed items of every part of a kernel, sliced and indexed together."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, items: Any) -> PrecomputedParts:
        return PrecomputedParts([one[items] for one in self.parts])


@dataclass(frozen=True, kw_only=True, repr=False)
class CombinedKernel(Kernel):
    """Kernels combined entry by entry; a subclass defines how."""

    parts: tuple[Kernel, ...]

    _combine: ClassVar[Callable[[Any, Any], Any]]
    _sign: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple | list) or not self.parts:
            raise TypeError(f"parts={self.parts!r:.80}: expected a tuple of kernels, one at least")
        kernels = tuple(as_kernel(part, f"parts[{i}]") for i, part in enumerate(self.parts))
        object.__setattr__(self, "parts", kernels)
        kinds = {part.domain for part in kernels}
        if len(kinds) > 1:
            raise ValueError(
                f"parts={kernels!r:.120} compare vectors and sequences: expected kernels of one kind; "
                "EncoderKernel(encoder, kernel) makes one of sequences from one of vectors"
            )

    def __repr__(self) -> str:
        """As an expression, with brackets where precedence requires them."""
        if len(self.parts) == 1:
            return f"{type(self).__name__}(parts={self.parts!r})"
        first, *rest = self.parts
        kinds: tuple[type[Kernel], ...] = (Sum,) if isinstance(self, Sum) else (CombinedKernel, ScaledKernel)
        terms = [_parenthesize(first, *kinds[:1]), *(_parenthesize(part, *kinds) for part in rest)]
        return f" {self._sign} ".join(terms)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """What the parts compare."""
        return self.parts[0].domain

    @property
    def indefinite_reason(self) -> str:
        """Why a part need not be positive semidefinite, if any; sums and products of definite kernels are definite."""
        return "; ".join(dict.fromkeys(filter(None, (part.indefinite_reason for part in self.parts))))

    @property
    def has_fitted_part(self) -> bool:
        """Whether a part has one."""
        return any(part.has_fitted_part for part in self.parts)

    @property
    def has_open_options(self) -> bool:
        """Whether a part has any."""
        return any(part.has_open_options for part in self.parts)

    def resolve(self, sample: Sample, rng: np.random.Generator | None = None) -> Self:
        """With resolved parts."""
        return replace(self, parts=tuple(part.resolve(sample, rng) for part in self.parts))

    def resolve_with_matrix(self, sample: Sample, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """With every part resolved, and the matrix."""
        resolved_parts = [part.resolve_with_matrix(sample, rng) for part in self.parts]
        with np.errstate(over="ignore"):  # infinity is refused where similarities are used
            matrix = functools.reduce(type(self)._combine, [part.matrix for part in resolved_parts])
        return ResolvedKernel(replace(self, parts=tuple(part.kernel for part in resolved_parts)), matrix)

    def scale_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """All parts with the same multiples."""
        each = [part.scale_widths(factors) for part in self.parts]
        return [replace(self, parts=some) for some in zip(*each, strict=True)]

    def _precompute_items(self, sample: Sample, name: str) -> PrecomputedParts:
        return PrecomputedParts([part._precompute_items(sample, name) for part in self.parts])

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        sides = [None] * len(self.parts) if y is None else y.parts
        each = [part._kernel_matrix(one, other) for part, one, other in zip(self.parts, x.parts, sides, strict=True)]
        with np.errstate(over="ignore"):
            return np.asarray(functools.reduce(type(self)._combine, each))

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        matrix: Tensor = functools.reduce(type(self)._combine, [part._kernel_tensor(x, y) for part in self.parts])
        return matrix

    def _takes_missing(self) -> bool:
        return all(part._takes_missing() for part in self.parts)

    def _validate_sides(self, *named_samples: tuple[Sample, str]) -> None:
        for part in self.parts:
            part._validate_sides(*named_samples)


class Sum(CombinedKernel):
    """Σ k_i(x, y): items are similar if they are for one of the kernels. `RBF() + Linear()` writes it.

    Parameters
    ----------
    parts : tuple of kernels
        k_1, k_2, …

    Examples
    --------
    >>> import timelike as tl
    >>> k = tl.distributions.Linear() + tl.distributions.RBF(width=1.0)
    >>> k([[0.0]], [[1.0]]).round(4)
    array([[0.6065]])
    """

    _combine = operator.add
    _sign = "+"

    def _weighted_sums(self, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        values, gradients = zip(*(part._weighted_sums(x, y, weights) for part in self.parts), strict=True)
        return np.asarray(sum(values)), np.asarray(sum(gradients))

    def center_on(self, sample: Sample) -> Sum:
        """With centred parts: MMD² is the sum of theirs."""
        return replace(self, parts=tuple(part.center_on(sample) for part in self.parts))


class Product(CombinedKernel):
    """Π k_i(x, y): items are similar if they are for all of the kernels. `RBF() * Linear()` writes it.

    Parameters
    ----------
    parts : tuple of kernels
        k_1, k_2, …

    Examples
    --------
    >>> import timelike as tl
    >>> k = tl.distributions.Linear() * tl.distributions.RBF(width=1.0)
    >>> k([[2.0]], [[1.0]]).round(4)
    array([[1.2131]])
    """

    _combine = operator.mul
    _sign = "*"


@dataclass(frozen=True, kw_only=True, repr=False)
class ScaledKernel(Kernel):
    """A multiple of a kernel, which gives it more weight in a sum: c k(x, y). `0.5 * RBF()` writes it.

    Parameters
    ----------
    kernel : kernel
        The kernel that is multiplied.
    factor : float
        c, above 0.

    Examples
    --------
    >>> import timelike as tl
    >>> (3.0 * tl.distributions.Linear())([[2.0]], [[1.0]])
    array([[6.]])
    """

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        self._set_options(factor=check_float(self.factor, "factor", above=0.0))

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_parenthesize(self.kernel, CombinedKernel, ScaledKernel)}"

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """What the kernel compares."""
        return self.kernel.domain

    @property
    def indefinite_reason(self) -> str:
        """The reason of the kernel."""
        return self.kernel.indefinite_reason

    @property
    def has_fitted_part(self) -> bool:
        """Whether the kernel has one."""
        return self.kernel.has_fitted_part

    @property
    def has_open_options(self) -> bool:
        """Whether the kernel has any."""
        return self.kernel.has_open_options

    def resolve(self, sample: Sample, rng: np.random.Generator | None = None) -> Self:
        """With its kernel resolved."""
        return replace(self, kernel=self.kernel.resolve(sample, rng))

    def resolve_with_matrix(self, sample: Sample, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """With its kernel resolved, and the matrix."""
        resolved = self.kernel.resolve_with_matrix(sample, rng)
        with np.errstate(over="ignore"):
            return ResolvedKernel(replace(self, kernel=resolved.kernel), self.factor * resolved.matrix)

    def center_on(self, sample: Sample) -> Self:
        """With its kernel centred."""
        return replace(self, kernel=self.kernel.center_on(sample))

    def scale_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """The kernel with several widths."""
        return [replace(self, kernel=kernel) for kernel in self.kernel.scale_widths(factors)]

    def _precompute_items(self, sample: Sample, name: str) -> Any:
        return self.kernel._precompute_items(sample, name)

    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        with np.errstate(over="ignore"):
            return self.factor * self.kernel._kernel_matrix(x, y)

    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        return self.factor * self.kernel._kernel_tensor(x, y)

    def _weighted_sums(self, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        values, gradients = self.kernel._weighted_sums(x, y, weights)
        return self.factor * values, self.factor * gradients

    def _takes_missing(self) -> bool:
        return self.kernel._takes_missing()

    def _validate_sides(self, *named_samples: tuple[Sample, str]) -> None:
        self.kernel._validate_sides(*named_samples)


def _parenthesize(kernel: Kernel, *kinds: type[Kernel]) -> str:
    return f"({kernel!r})" if isinstance(kernel, kinds) else repr(kernel)
