"""`Kernel`: a callable from two samples to the matrix of their similarities, written once for NumPy and torch."""

from __future__ import annotations

import abc
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...align import metric_names
from ...core.parameters import check_float
from ...sequences import Sequences
from ..validation import (
    Domain,
    as_vectors,
    is_tensor,
    pool_samples,
    refuse_non_vectors,
    refuse_unreadable_tensor,
    validate_pair,
    validate_sample,
)
from .weighted_sums import weighted_sums_by_autograd

if TYPE_CHECKING:
    from torch import Tensor


Matrix = NDArray[np.float64]


class ResolvedKernel(NamedTuple):
    """A kernel without open options, and its matrix (item, item) of the sample that decided them."""

    kernel: Kernel
    matrix: Matrix


class Kernel(abc.ABC):
    """How alike items are: `k(x, y)` is a matrix (len x, len y), `k(x)` that of x with itself.

    NumPy arrays and `Sequences` give NumPy in double precision; torch tensors give tensors of their dtype, with
    gradients. What an option leaves open (`width=None`) is decided by the pooled sample: by x and y together. Kernels
    are added, multiplied and scaled: `RBF() + 0.5 * Linear()`.

    A subclass implements `_precompute_items` (what is kept of a sample), `_kernel_matrix` (the matrix of two such) and
    `_kernel_tensor` (the same of tensors); one with open options also `resolve` and `resolve_with_matrix`.
    """

    domain: ClassVar[Domain] = "vectors"

    def __repr__(self) -> str:
        """The options that differ from the defaults, as one would write them."""
        if not is_dataclass(self):
            return f"{type(self).__name__}()"
        options = [(field, getattr(self, field.name)) for field in fields(self)]
        said = [f"{o.name}={value!r}" for o, value in options if o.repr and value is not o.default]
        return f"{type(self).__name__}({', '.join(said)})"

    def _set_options(self, **checked: Any) -> None:
        """Options as they were read: plain numbers, and the default itself where they equal it."""
        defaults = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        for name, value in checked.items():
            object.__setattr__(self, name, defaults[name] if value == defaults[name] else value)

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def indefinite_reason(self) -> str:
        """Why it need not be positive semidefinite; empty where it is, for any sample."""
        return ""

    @property
    def is_definite(self) -> bool:
        """Whether the matrix of any sample is positive semidefinite: MMD² is then at least 0."""
        return not self.indefinite_reason

    @property
    def has_open_options(self) -> bool:
        """Whether anything is left for a sample to decide."""
        return False

    @property
    def has_fitted_part(self) -> bool:
        """Whether it holds a fitted part, and so compares only items like those it was fitted on."""
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

    def _validate_pair(self, x: Any, y: Any, least: int = 1) -> tuple[Sequences, Sequences]:
        """Validate two samples; errors name the argument that cannot be compared."""
        first, second = validate_pair(x, y, self.domain, ("x", "y"), least)
        self._validate_sides((first, "x"), (second, "y"))
        return first, second

    def _validate_tensors(self, *given: tuple[Any, str]) -> Sequences:
        """The same for tensors: all their items, without gradients."""
        refuse_mismatched_tensors(self.domain, *given)
        samples = [(validate_sample(side.detach(), name, self.domain), name) for side, name in given]
        for sample, name in samples:  # torch computes with nan, also where NumPy knows what to do with it
            sample.refuse_missing(repr(self), name)
        self._validate_sides(*samples)
        return pool_samples([sample for sample, _ in samples])

    # --- resolving it -------------------------------------------------------------------------------------------------

    def resolve_with_matrix(self, sample: Sequences, rng: np.random.Generator | None = None) -> ResolvedKernel:
        """The kernel with its open options decided by a sample, and the matrix of that sample."""
        return ResolvedKernel(self, self._kernel_matrix(self._precompute_items(sample, "x"), None))

    def resolve(self, sample: Sequences, rng: np.random.Generator | None = None) -> Kernel:
        """The kernel with its open options decided by a sample, of which at most some items are compared."""
        return self

    def center_on(self, sample: Sequences) -> Kernel:
        """A kernel with the same MMD that loses no digits where a sample is far from the origin; here itself."""
        return self

    def resolve_widths(
        self, sample: Sequences, factors: Sequence[float], rng: np.random.Generator | None = None
    ) -> Iterator[ResolvedKernel]:
        """The same kernel resolved by a sample, with several multiples of its width, one after the other."""
        ready = self.resolve(sample, rng)
        known = ready._precompute_items(sample, "x")
        for one in ready.scale_widths(factors):
            yield ResolvedKernel(one, one._kernel_matrix(known, None))

    def scale_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """The same kernel with several widths, as multiples of its own."""
        raise ValueError(
            f"scales: {type(self).__name__} has no width that could be scaled; give a list of kernels instead"
        )

    # --- what a subclass implements ----------------------------------------------------------------------------------

    def _precompute_items(self, sample: Sequences, name: str) -> Any:
        """What is compared: something with a length that can be sliced and indexed; here vectors (item, feature)."""
        return as_vectors(sample, name)

    @abc.abstractmethod
    def _kernel_matrix(self, x: Any, y: Any | None) -> Matrix:
        """The matrix of what `_precompute_items` gave; of x with itself, exactly symmetric, where y is None."""

    def _paired_similarities(self, x: Any, y: Any) -> Matrix:
        """Similarities row by row, (item,), of as many items: from small matrices of which the diagonal counts."""
        found = np.empty(len(x))
        for begin in range(0, len(x), 16):
            some = slice(begin, begin + 16)
            found[some] = np.diagonal(self._kernel_matrix(x[some], y[some]))
        return found

    @abc.abstractmethod
    def _kernel_tensor(self, x: Tensor, y: Tensor) -> Tensor:
        """The same of tensors (item, feature), or (item, time, channel), in double precision, with gradients."""

    def _weighted_sums(self, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        """Σ_j w_j k(x_i, y_j), (item,), and its gradient by x_i, like x, once nothing is open.

        Of arrays (item, feature), or (item, time, channel), and weights (item of y,) or (item of x, item of y). Where
        the gradient has no limit, as at x_i = y_j of a kernel with a cusp, that part of it is 0.
        """
        return weighted_sums_by_autograd(self._kernel_tensor, x, y, weights, repr(self))

    def _takes_missing(self) -> bool:
        """Whether values may be missing (NaN)."""
        return False

    def _validate_sides(self, *given: tuple[Sequences, str]) -> None:
        """An error for samples, each with the name of its argument, that it cannot compare with each other."""
        if self.domain == "vectors":
            refuse_non_vectors(*given)
        elif not self._takes_missing():
            for sample, name in given:
                sample.refuse_missing(repr(self), name)

    # --- algebra ----------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        from .algebra import Sum

        so_far = self.parts if isinstance(self, Sum) else (self,)
        return Sum(parts=(*so_far, other)) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        from .algebra import Product, ScaledKernel

        if isinstance(other, Kernel):
            so_far = self.parts if isinstance(self, Product) else (self,)
            return Product(parts=(*so_far, other))
        return ScaledKernel(kernel=self, factor=check_float(other, "factor", above=0.0))

    __rmul__ = __mul__


def format_kernel(kernel: Kernel) -> str:
    """A kernel as it is shown: its numbers in six digits."""
    return re.sub(r"\d+\.\d{6,}(e[+-]?\d+)?", lambda found: f"{float(found[0]):.6g}", repr(kernel))


def as_kernel(kernel: Any, name: str = "kernel") -> Kernel:
    """A kernel of the library, or a user's function wrapped as one."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"{name}={kernel.__name__}: expected a kernel, not its class; write {kernel.__name__}()")
    if callable(kernel) and not hasattr(kernel, "get_params"):
        from .function_kernel import FunctionKernel  # which is a Kernel itself

        return FunctionKernel(kernel)
    way = ""
    if hasattr(kernel, "get_params"):
        way = f"; for one over an encoder use EncoderKernel({type(kernel).__name__}(), RBF())"
    raise TypeError(f"{name}={kernel!r:.80}: expected a kernel such as distributions.RBF(), or a function k(x, y){way}")


def refuse_mismatched_tensors(domain: Domain, *given: tuple[Any, str]) -> None:
    """An error where one of the sides, each with its name, is no tensor of floats, or where they are unlike."""
    import torch

    for side, name in given:
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
    (x, first), (y, second) = given[0], given[-1]
    axis = 2 if domain == "sequences" or x.ndim > 2 else 1  # sequences may be of different lengths
    if x.shape[axis:] != y.shape[axis:] or x.ndim != y.ndim or x.dtype != y.dtype:
        raise ValueError(
            f"{first} is {tuple(x.shape)} {x.dtype} and {second} {tuple(y.shape)} {y.dtype}: expected the same "
            "features and dtype"
        )


def fit_if_needed(part: Any, sample: Sequences, rng: np.random.Generator | None) -> Any:
    """A fitted metric or encoder: itself if it is fitted, otherwise a copy fitted to the sample in random order.

    What an encoder learns may depend on the order of its input. In the order of two samples it could tell which is
    which, and a permutation test would no longer be exact.
    """
    found = metric_names.resolve_metric(part) if isinstance(part, str) else part
    order = (np.random.default_rng(0) if rng is None else rng).permutation(len(sample))
    from ...models import components

    return components.fitted_copy(components.unfreeze(found), sample[order])


def needs_fit(part: Any) -> bool:
    """Whether a metric or an encoder is not fitted yet."""
    from ...models import components

    return metric_names.is_estimator(part) and not components.is_fitted(components.unfreeze(part))
