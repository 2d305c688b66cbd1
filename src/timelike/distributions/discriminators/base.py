"""`Discriminator`: a way to train a function that separates two samples; `InfiniteDiscriminator`: those of infinite
width.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...core.parameters import check_float
from ..kernels.base import as_kernel
from .costs import GeneratorCost
from .critic import Critic, KernelCritic, WeightedSample, WeightSolution
from .validation import CriticProblem, validate_problem

Floats = NDArray[np.float64]


class Discriminator(abc.ABC):
    """How a discriminator is trained: `train_critic(fake, real)` trains one and gives it back as a `Critic`."""

    def __repr__(self) -> str:
        """The options that differ from the defaults, as one would write them."""
        said = [
            f"{o.name}={value!r}" if o.kw_only else repr(value)
            for o in fields(self)  # type: ignore[arg-type]
            if o.repr and ((value := getattr(self, o.name)) is not o.default and value != o.default)
        ]
        return f"{type(self).__name__}({', '.join(said)})"

    @abc.abstractmethod
    def train_critic(self, fake: Any, real: Any) -> Critic:
        """The discriminator trained to separate generated items from real ones, at least two of each."""


@dataclass(frozen=True, repr=False)
class InfiniteDiscriminator(Discriminator):
    """A discriminator of infinite width whose tangent kernel is k, trained by gradient flow for a time τ.

        ∂_t f = E_fake[a′(f(x)) k(x, ·)] − E_real[b′(f(y)) k(y, ·)],   f at time 0 = f₀                       (eq. 6.9)

    A subclass says a and b, which are ascended, and c, which the generator descends.

    Parameters
    ----------
    kernel : Kernel or callable
        The tangent kernel, such as `NTK()`, or any other. What it leaves open is decided by the pooled sample.
    time : float
        τ, more than 0.
    initial : Critic or callable, optional
        f₀: a critic to go on from, or a function of tensors (item, feature) to values (item,). None for 0.
    """

    kernel: Any
    _: KW_ONLY
    time: float = 1.0
    initial: Any = None

    _cost: ClassVar[GeneratorCost]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        object.__setattr__(self, "time", check_float(self.time, "time", above=0.0))
        if self.initial is not None:
            object.__setattr__(self, "initial", _as_initial(self.initial))

    def train_critic(self, fake: Any, real: Any) -> KernelCritic:
        """The discriminator trained to separate generated items from real ones, at least two of each."""
        return self._train_validated(validate_problem(fake, real, self.kernel))

    def _train_validated(self, game: CriticProblem) -> KernelCritic:
        """`train_critic` of samples that are validated already, as a flow has them at every step."""
        trained = self._solve_weights(game)
        if not np.isfinite(trained.weights).all():
            why = (
                f"; it is no kernel of a network: {game.kernel.indefinite_reason}"
                if game.kernel.indefinite_reason
                else ""
            )
            raise ValueError(f"time={self.time} makes the weights of {game.kernel!r} infinite: lower it{why}")
        n = len(game.fake)
        sides = (
            WeightedSample(game.fake, trained.weights[:n], "fake"),
            WeightedSample(game.real, trained.weights[n:], "real"),
        )
        return KernelCritic(game.kernel, sides, self._generator_cost(), self.initial, trained)

    def _generator_cost(self) -> GeneratorCost:
        return self._cost

    @abc.abstractmethod
    def _solve_weights(self, game: CriticProblem) -> WeightSolution:
        """∫ of a′(f(x_i)) / n, then of −b′(f(y_j)) / m, over the time: what items weigh in f − f₀."""


def as_discriminator(given: Any, name: str = "discriminator") -> Any:
    """A discriminator; a bare kernel, or a function k(x, y), is taken for `IPM(kernel)`.

    >>> from timelike.distributions import RBF
    >>> as_discriminator(RBF(width=1.0))
    IPM(RBF(width=1.0))
    """
    from .ipm import IPM

    if isinstance(given, type) and issubclass(given, Discriminator):
        raise TypeError(f"{name}={given.__name__}: expected a discriminator, not its class; write {given.__name__}(…)")
    if hasattr(given, "train_critic"):
        return given
    try:
        return IPM(as_kernel(given, name))
    except TypeError as error:
        raise TypeError(f"{error}, or a discriminator such as distributions.LSGAN(kernel)") from None


def _as_initial(given: Critic | Callable[[Any], Any]) -> Critic:
    from .function_discriminator import FunctionCritic

    if isinstance(given, Critic):
        return given
    if not callable(given):
        raise TypeError(f"initial={given!r:.60}: expected a critic, or a function of tensors to values (item,)")
    return FunctionCritic(given)
