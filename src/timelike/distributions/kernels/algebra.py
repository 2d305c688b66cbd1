"""Kernels made of kernels: sums, products, multiples."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ...sequences import Sequences
from ...sequences.arguments import real
from .base import Kernel, Matrix, Settled, as_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


class Several:
    """What the parts of a kernel keep of one sample: sliced and indexed together."""

    def __init__(self, each: list[Any]) -> None:
        self.each = each

    def __len__(self) -> int:
        return len(self.each[0])

    def __getitem__(self, items: Any) -> Several:
        return Several([one[items] for one in self.each])


@dataclass(frozen=True, kw_only=True, repr=False)
class Combined(Kernel):
    """Kernels joined entry by entry; a subclass says how."""

    parts: tuple[Kernel, ...]

    _joined: ClassVar[Callable[[Any, Any], Any]]
    _sign: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple | list) or not self.parts:
            raise TypeError(f"parts={self.parts!r:.80}: expected a tuple of kernels, one at least")
        kernels = tuple(as_kernel(part, f"parts[{i}]") for i, part in enumerate(self.parts))
        object.__setattr__(self, "parts", kernels)
        kinds = {part.over for part in kernels}
        if len(kinds) > 1:
            raise ValueError(
                f"parts={kernels!r:.120} compare vectors and sequences: expected kernels of one kind; "
                "of(encoder, kernel) makes one of sequences from one of vectors"
            )

    def __repr__(self) -> str:
        """As it is written, with brackets where the order of operations would read it differently."""
        if len(self.parts) == 1:
            return f"{type(self).__name__}(parts={self.parts!r})"
        first, *rest = self.parts
        kinds: tuple[type[Kernel], ...] = (Sum,) if isinstance(self, Sum) else (Combined, Scaled)
        said = [_bracketed(first, *kinds[:1]), *(_bracketed(part, *kinds) for part in rest)]
        return f" {self._sign} ".join(said)

    @property
    def over(self) -> Any:  # type: ignore[override]
        """What the parts compare."""
        return self.parts[0].over

    @property
    def indefinite(self) -> str:
        """Why one of the parts need not be positive semidefinite: sums and products of such are."""
        return "; ".join(dict.fromkeys(filter(None, (part.indefinite for part in self.parts))))

    @property
    def taught(self) -> bool:
        """Whether a part is."""
        return any(part.taught for part in self.parts)

    @property
    def open(self) -> bool:
        """Whether a part is."""
        return any(part.open for part in self.parts)

    def ready(self, sample: Sequences, rng: np.random.Generator | None = None) -> Self:
        """With parts that are ready."""
        return replace(self, parts=tuple(part.ready(sample, rng) for part in self.parts))

    def settled(self, sample: Sequences, rng: np.random.Generator | None = None) -> Settled:
        """With parts that are settled."""
        each = [part.settled(sample, rng) for part in self.parts]
        with np.errstate(over="ignore"):  # infinity is told where similarities are used
            matrix = functools.reduce(type(self)._joined, [one.matrix for one in each])
        return Settled(replace(self, parts=tuple(one.kernel for one in each)), matrix)

    def scaled_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """All parts with the same multiples."""
        each = [part.scaled_widths(factors) for part in self.parts]
        return [replace(self, parts=some) for some in zip(*each, strict=True)]

    def _known(self, sample: Sequences, name: str) -> Several:
        return Several([part._known(sample, name) for part in self.parts])

    def _between(self, x: Any, y: Any | None) -> Matrix:
        sides = [None] * len(self.parts) if y is None else y.each
        each = [part._between(one, other) for part, one, other in zip(self.parts, x.each, sides, strict=True)]
        with np.errstate(over="ignore"):
            return np.asarray(functools.reduce(type(self)._joined, each))

    def _graded(self, x: Tensor, y: Tensor) -> Tensor:
        found: Tensor = functools.reduce(type(self)._joined, [part._graded(x, y) for part in self.parts])
        return found

    def _takes_missing(self) -> bool:
        return all(part._takes_missing() for part in self.parts)

    def _refuse(self, *given: tuple[Sequences, str]) -> None:
        for part in self.parts:
            part._refuse(*given)


class Sum(Combined):
    """Σ k_i(x, y): two items are alike if one of the kernels says so. `RBF() + Linear()` writes it.

    >>> import timelike as tl
    >>> k = tl.distributions.Linear() + tl.distributions.RBF(width=1.0)
    >>> k([[0.0]], [[1.0]]).round(4)
    array([[0.6065]])
    """

    _joined = operator.add
    _sign = "+"

    def _pulled(self, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        values, gradients = zip(*(part._pulled(x, y, weights) for part in self.parts), strict=True)
        return np.asarray(sum(values)), np.asarray(sum(gradients))

    def centred(self, sample: Sequences) -> Sum:
        """With parts that are: MMD² is the sum of theirs."""
        return replace(self, parts=tuple(part.centred(sample) for part in self.parts))


class Product(Combined):
    """Π k_i(x, y): two items are alike if all of the kernels say so. `RBF() * Linear()` writes it.

    >>> import timelike as tl
    >>> k = tl.distributions.Linear() * tl.distributions.RBF(width=1.0)
    >>> k([[2.0]], [[1.0]]).round(4)
    array([[1.2131]])
    """

    _joined = operator.mul
    _sign = "*"


@dataclass(frozen=True, kw_only=True, repr=False)
class Scaled(Kernel):
    """A multiple of a kernel, which gives it more weight in a sum: c k(x, y). `0.5 * RBF()` writes it.

    >>> import timelike as tl
    >>> (3.0 * tl.distributions.Linear())([[2.0]], [[1.0]])
    array([[6.]])
    """

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        self._keep(factor=real(self.factor, "factor", above=0.0))

    def __repr__(self) -> str:
        return f"{self.factor!r} * {_bracketed(self.kernel, Combined, Scaled)}"

    @property
    def over(self) -> Any:  # type: ignore[override]
        """What the kernel compares."""
        return self.kernel.over

    @property
    def indefinite(self) -> str:
        """As the kernel is."""
        return self.kernel.indefinite

    @property
    def taught(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.taught

    @property
    def open(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.open

    def ready(self, sample: Sequences, rng: np.random.Generator | None = None) -> Self:
        """With a kernel that is ready."""
        return replace(self, kernel=self.kernel.ready(sample, rng))

    def settled(self, sample: Sequences, rng: np.random.Generator | None = None) -> Settled:
        """With a kernel that is settled."""
        found = self.kernel.settled(sample, rng)
        with np.errstate(over="ignore"):
            return Settled(replace(self, kernel=found.kernel), self.factor * found.matrix)

    def centred(self, sample: Sequences) -> Self:
        """A multiple of one that is."""
        return replace(self, kernel=self.kernel.centred(sample))

    def scaled_widths(self, factors: Sequence[float]) -> list[Kernel]:
        """The kernel with several widths."""
        return [replace(self, kernel=kernel) for kernel in self.kernel.scaled_widths(factors)]

    def _known(self, sample: Sequences, name: str) -> Any:
        return self.kernel._known(sample, name)

    def _between(self, x: Any, y: Any | None) -> Matrix:
        with np.errstate(over="ignore"):
            return self.factor * self.kernel._between(x, y)

    def _graded(self, x: Tensor, y: Tensor) -> Tensor:
        return self.factor * self.kernel._graded(x, y)

    def _pulled(self, x: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        values, gradients = self.kernel._pulled(x, y, weights)
        return self.factor * values, self.factor * gradients

    def _takes_missing(self) -> bool:
        return self.kernel._takes_missing()

    def _refuse(self, *given: tuple[Sequences, str]) -> None:
        self.kernel._refuse(*given)


def _bracketed(kernel: Kernel, *kinds: type[Kernel]) -> str:
    return f"({kernel!r})" if isinstance(kernel, kinds) else repr(kernel)
