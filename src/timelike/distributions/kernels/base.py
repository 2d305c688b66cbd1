"""`Kernel`: a callable from two samples to the matrix of their similarities, written once for NumPy and torch."""

from __future__ import annotations

import abc
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...align import metric_names
from ...core.extras import import_extra
from ...core.parameters import check_float
from ..validation import (
    Domain,
    Sample,
    as_vectors,
    is_tensor,
    is_vector_sample,
    pool_samples,
    refuse_missing,
    refuse_non_vectors,
    refuse_unreadable_tensor,
    sample_frame,
    validate_pair,
    validate_sample,
)

if TYPE_CHECKING:
    from torch import Tensor

Matrix = NDArray[np.float64]
RowBlocks = Iterator[tuple[slice, Matrix]]

MAX_MATRIX_ENTRIES = 1 << 24
"""Entries of a matrix that is held in memory, in double precision 128 MiB: 4096 items. A larger one is recomputed in
blocks for every use."""
BLOCK_ENTRIES = 1 << 21
"""Similarities of a block: 16 MiB. Above 32 MiB memory comes fresh from the system, page by page, for every block."""
_MAX_STATISTICS_FRAME = 256  # numbers of a frame: each has some thirty statistics, too many for images
_AUTOGRAD_BLOCK = 1 << 18  # similarities of a block for autograd, which keeps about ten numbers of each


class ResolvedKernel(NamedTuple):
    """A kernel without open options, and its matrix (item, item) of the sample that decided them."""

    kernel: Kernel
    matrix: Matrix


class Kernel(abc.ABC):
    """The similarity of items: `k(x, y)` is a matrix (len x, len y), `k(x)` that of x with itself.

    NumPy arrays and `Sequences` give NumPy in double precision; torch tensors give tensors of their dtype, with
    gradients. Open options (`width=None`) are resolved by the pooled sample: by x and y together. Kernels can be added,
    multiplied and scaled: `RBF() + 0.5 * Linear()`.

    A subclass implements `_precompute_items` (items in the form in which they are compared), `_kernel_matrix` (the
    matrix of two of these) and `_kernel_tensor` (the same for tensors); one with open options also `resolve` and
    `resolve_with_matrix`.
    """

    domain: ClassVar[Domain] = "vectors"

    def __repr__(self) -> str:
        """The options that differ from the defaults, as one would write them."""
        if not is_dataclass(self):
            return f"{type(self).__name__}()"
        options = [(field, getattr(self, field.name)) for field in fields(self)]
        arguments = [f"{o.name}={value!r}" for o, value in options if o.repr and value is not o.default]
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _set_options(self, **options: Any) -> None:
        """Set checked options: plain numbers, and the default itself if they equal it."""
        defaults = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        for name, value in options.items():
            object.__setattr__(self, name, defaults[name] if value == defaults[name] else value)

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def indefinite_reason(self) -> str:
        """Why it need not be positive semidefinite; empty if it always is."""
        return ""

    @property
    def is_definite(self) -> bool:
        """Whether the matrix of any sample is positive semidefinite: MMD² is then at least 0."""
        return not self.indefinite_reason

    @property
    def has_open_options(self) -> bool:
        """Whether an option is left for a sample to resolve."""
        return False

    @property
    def has_fitted_part(self) -> bool:
        """Whether it has a fitted part, and so compares only items like those it was fitted on."""
        return False

    # --- calling it ---------------------------------------------------------------------------------------------------

    def __call__(self, x: Any, y: Any = None) -> Any:
        """The matrix (len x, len y)."""
        if is_tensor(x) or is_tensor(y):
            return self._call_tensors(x, y)
        if y is None:
            sample = validate_sample(x, "x", self.domain)
            self._validate_sides((sample, "x"))
            return self.resolve_with_matrix(sample).matrix
        first, second = self._validate_pair(x, y)
        ready = self.resolve(pool_samples([first, second]))
        return ready._kernel_matrix(ready._precompute_items(first, "x"), ready._precompute_items(second, "y"))

    def _call_tensors(self, x: Any, y: Any) -> Tensor:
        ready = self.resolve(
            self._validate_tensors((x, "x")) if y is None else self._validate_tensors((x, "x"), (y, "y"))
        )
        return ready._kernel_tensor(x.double(), (x if y is None else y).double()).to(x.dtype)

    def _validate_pair(self, x: Any, y: Any, least: int = 1) -> tuple[Sample, Sample]:
        """Validate two samples; errors name the argument."""
        first, second = validate_pair(x, y, self.domain, ("x", "y"), least)
        self._validate_sides((first, "x"), (second, "y"))
        return first, second

    def _validate_tensors(self, *named_tensors: tuple[Any, str]) -> Sample:
        """The same for tensors: all their items, without gradients."""
        refuse_mismatched_tensors(self.domain, *named_tensors)
        samples = [(validate_sample(side.detach(), name, self.domain), name) for side, name in named_tensors]
        for sample, name in samples:  # torch propagates nan, even where the NumPy path handles it
            refuse_missing(sample, repr(self), name)
        self._validate_sides(*samples)
        return pool_samples([sample for sample, _ in samples])

    # --- resolving it -------------------------------------------------------------------------------------------------

    def resolve_with_matrix(self, sample: Sample, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """The kernel with its open options decided by a sample, and the matrix of that sample."""
        return ResolvedKernel(self, self._kernel_matrix(self._precompute_items(sample, "x"), None))

    def resolve(self, sample: Sample, rng: np.random.Generator | None = None) -> Kernel:
        """The kernel with its open options decided by a sample, some of whose items may suffice."""
        return self

    def center_on(self, sample: Sample) -> Kernel:
        """A kernel with the same MMD that loses no digits if a sample is far from the origin; by default itself."""
        return self

    def resolve_widths(
        self, sample: Sample, factors: Sequence[float], rng: np.random.Generator | None = None
    ) -> Iterator[ResolvedKernel]:
        """The same kernel resolved by a sample, with several multiples of its width, one after the other."""
        ready = self.resolve(sample, rng)
        items = ready._precompute_items(sample, "x")
        for scaled in ready.scale_widths(factors):
            yield ResolvedKernel(scaled, scaled._kernel_matrix(items, None))

    def scale_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """The same kernel with several widths, as multiples of its own."""
        raise ValueError(f"scales: {type(self).__name__} has no width to scale; give a list of kernels instead")

    # --- what a subclass implements ----------------------------------------------------------------------------------

    def _precompute_items(self, sample: Sample, name: str) -> Any:
        """Items as they are compared, which can be sliced and indexed; here vectors (item, feature)."""
        return as_vectors(sample, name)

    @abc.abstractmethod
    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        """The matrix of precomputed items; if y is None, that of x with itself, exactly symmetric."""

    def _paired_similarities(self, x: Any, y: Any) -> Matrix:
        """Similarities row by row, (item,), of equally many items: the diagonals of small matrices."""
        similarities = np.empty(len(x))
        for begin in range(0, len(x), 16):
            rows = slice(begin, begin + 16)
            similarities[rows] = np.diagonal(self._kernel_matrix(x[rows], y[rows]))
        return similarities

    @abc.abstractmethod
    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        """The same of tensors (item, feature), or (item, time, channel), in double precision, with gradients."""

    def _weighted_sums(self, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        """Σ_j w_j k(x_i, y_j), (item,), and its gradient by x_i, like x, once nothing is open.

        Of arrays (item, feature), or (item, time, channel), and weights (item of y,) or (item of x, item of y). Where
        the gradient has no limit, as at x_i = y_j of a kernel with a cusp, that part of it is 0.
        """
        return weighted_sums_by_autograd(self, x, y, weights)

    def _takes_missing(self) -> bool:
        """Whether values may be missing (NaN)."""
        return False

    def _validate_sides(self, *named_samples: tuple[Sample, str]) -> None:
        """Raise an error for samples, each with the name of its argument, that cannot be compared with each other."""
        if self.domain == "vectors":
            refuse_non_vectors(*named_samples)
        elif not self._takes_missing():
            for sample, name in named_samples:
                refuse_missing(sample, repr(self), name)

    # --- algebra ----------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        from .algebra import Sum

        parts = self.parts if isinstance(self, Sum) else (self,)
        return Sum(parts=(*parts, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        from .algebra import Product, ScaledKernel

        if isinstance(other, Kernel):
            parts = self.parts if isinstance(self, Product) else (self,)
            return Product(parts=(*parts, other))
        return ScaledKernel(kernel=self, factor=check_float(other, "factor", above=0.0))

    __rmul__ = __mul__


def format_kernel(kernel: Kernel) -> str:
    """A kernel as text, its numbers in six digits."""
    return re.sub(r"\d+\.\d{6,}(e[+-]?\d+)?", lambda number: f"{float(number[0]):.6g}", repr(kernel))


def as_kernel(kernel: Any, name: str = "kernel") -> Kernel:
    """A kernel of the library, or a user's function wrapped as one."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"{name}={kernel.__name__}: expected a kernel, not its class; write {kernel.__name__}()")
    if callable(kernel) and not hasattr(kernel, "get_params"):
        return FunctionKernel(kernel)
    remedy = ""
    if hasattr(kernel, "get_params"):
        remedy = f"; for one over an encoder use EncoderKernel({type(kernel).__name__}(), RBF())"
    raise TypeError(
        f"{name}={kernel!r:.80}: expected a kernel such as distributions.RBF(), or a function k(x, y){remedy}"
    )


def default_kernels(samples: Sequence[Sample]) -> tuple[Kernel, ...]:
    """The default kernels: `RBF` for vectors; for sequences, one of `Rocket` and one of statistics.

    Convolutions are sensitive to shapes but not to levels; statistics to levels, spreads and paces. A test uses the
    larger of the two (`two_sample.statistic`, decision 0059).
    """
    from .radial import RBF

    if len(samples) > 0 and all(map(is_vector_sample, samples)):
        return (RBF(),)
    from ...encode import Rocket, StatisticsEncoder
    from .encoders import EncoderKernel

    shapes = EncoderKernel(Rocket(n_features=2000, random_state=0), RBF())
    wide = any(math.prod(sample_frame(sample)) > _MAX_STATISTICS_FRAME for sample in samples)
    return (shapes,) if wide else (shapes, EncoderKernel(StatisticsEncoder(), RBF()))


def default_kernel(samples: Sequence[Sample]) -> Kernel:
    """The mean of `default_kernels`, for uses of a single kernel: an effect, a witness, typicality."""
    from .algebra import Sum

    parts = default_kernels(samples)
    return parts[0] if len(parts) == 1 else Sum(parts=tuple(1 / len(parts) * part for part in parts))


def refuse_mismatched_tensors(domain: Domain, *named_tensors: tuple[Any, str]) -> None:
    """Raise an error unless all sides, each with its name, are floating-point tensors of like shape and dtype."""
    import torch

    for side, name in named_tensors:
        if not isinstance(side, torch.Tensor):
            raise TypeError(
                f"{name} is a {type(side).__name__} and the other a tensor: expected both of one kind, such as "
                f"torch.as_tensor({name})"
            )
        refuse_unreadable_tensor(side, name)
        if side.ndim < 2:
            raise ValueError(f"{name} has shape {tuple(side.shape)}: expected (item, feature); use {name}[:, None]")
        if not side.is_floating_point():
            raise TypeError(f"{name} has dtype {side.dtype}: expected floating point numbers; use {name}.double()")
    (x, first), (y, second) = named_tensors[0], named_tensors[-1]
    axis = 2 if domain == "sequences" or x.ndim > 2 else 1  # sequences may be of different lengths
    if x.shape[axis:] != y.shape[axis:] or x.ndim != y.ndim or x.dtype != y.dtype:
        raise ValueError(
            f"{first} is {tuple(x.shape)} {x.dtype} and {second} {tuple(y.shape)} {y.dtype}: expected the same "
            "features and dtype"
        )


def fit_if_needed(part: Any, sample: Sample, rng: np.random.Generator | None) -> Any:
    """A fitted metric or encoder: itself if it is fitted, otherwise a copy fitted to the sample in random order.

    An encoder may depend on the order of its input. With the samples in order it could distinguish them, and a
    permutation test would no longer be exact.
    """
    estimator = metric_names.resolve_metric(part) if isinstance(part, str) else part
    order = (np.random.default_rng(0) if rng is None else rng).permutation(len(sample))
    from ...models import components

    return components.fitted_copy(components.unfreeze(estimator), sample[order])


def needs_fit(part: Any) -> bool:
    """Whether a metric or an encoder is not fitted yet."""
    from ...models import components

    return metric_names.is_estimator(part) and not components.is_fitted(components.unfreeze(part))


@dataclass(frozen=True, repr=False)
class FunctionKernel(Kernel):
    """A user's function `k(x, y) -> matrix`, of vectors (item, feature) or of `Sequences`."""

    function: Callable[[Any, Any], Any]

    @property
    def indefinite_reason(self) -> str:
        """Never empty: whether a user's function is positive semidefinite is unknown."""
        return "a custom function: whether it is positive semidefinite is unknown"

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))

    @property
    def has_fitted_part(self) -> bool:
        """True, because the function may accept only certain items."""
        return True

    def _precompute_items(self, sample: Sample, name: str) -> Any:
        return as_vectors(sample, name) if is_vector_sample(sample) else sample

    def _validate_sides(self, *named_samples: tuple[Sample, str]) -> None:
        """Accept any vectors, or sequences of any lengths: the function checks its own input."""

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
            matrix = self.function(x, y)
        except (RuntimeError, TypeError) as error:  # the errors of NumPy functions for tensors, and of torch for arrays
            if "numpy" not in str(error).lower():
                raise
            matrix = None
        if not isinstance(matrix, torch.Tensor):
            raise TypeError(
                f"kernel={self!r} computes with NumPy, which has no gradients: write it with torch "
                "operations, such as (-torch.cdist(x, y) ** 2).exp(), or use a kernel of the library"
            )
        return matrix


def iterate_row_blocks(kernel: Kernel, x: Any, y: Any) -> RowBlocks:
    """Rows of x, and their similarities to all of y; both are precomputed items."""
    for rows in iterate_row_slices(len(x), len(y), BLOCK_ENTRIES):
        yield rows, kernel._kernel_matrix(x[rows], y)


def iterate_lower_blocks(kernel: Kernel, x: Any) -> RowBlocks:
    """Rows of x, and their similarities to x up to the last of them: a little more than half of the matrix."""
    begin = 0
    while begin < len(x):
        # r rows that begin there have r · (begin + r) similarities
        at_once = max(1, int((np.sqrt(begin**2 + 4.0 * BLOCK_ENTRIES) - begin) / 2))
        rows = slice(begin, min(begin + at_once, len(x)))
        yield rows, kernel._kernel_matrix(x[rows], x[: rows.stop])
        begin = rows.stop


def weighted_sums_by_autograd(kernel: Kernel, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
    """Σ_j w_j k(x_i, y_j) (item,) and its gradient like x, by the kernel's function of tensors."""
    torch = import_extra("torch", f"the gradient of {kernel!r}")

    values, gradients = np.empty(len(x)), np.empty_like(x)
    y_tensor, weight_tensor = torch.tensor(y), torch.tensor(weights)  # copies: those of samples are read-only
    for rows in iterate_row_slices(len(x), len(y), _AUTOGRAD_BLOCK):
        x_block = torch.tensor(x[rows], requires_grad=True)
        with torch.enable_grad():
            matrix = kernel._kernel_tensor(x_block, y_tensor)
            if not matrix.requires_grad:
                raise TypeError(f"{kernel!r} has no gradient: use one that torch can differentiate, such as RBF()")
            sums = (matrix * (weight_tensor if weight_tensor.ndim == 1 else weight_tensor[rows])).sum(1)
            (slope,) = torch.autograd.grad(sums.sum(), x_block)  # inside, as this may run in a backward pass
        values[rows], gradients[rows] = sums.detach().numpy(), slope.numpy()
    return values, gradients


def iterate_row_slices(n_rows: int, n_columns: int, max_entries: int) -> Iterator[slice]:
    """Rows of a matrix, as many at a time as have at most `max_entries` entries, and at least one."""
    at_once = max(1, max_entries // max(1, n_columns))
    for begin in range(0, n_rows, at_once):
        yield slice(begin, min(begin + at_once, n_rows))
