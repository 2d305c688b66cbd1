"""`Discriminator`: a way to train a function that separates two samples; `Infinite`: those of infinite width."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ...sequences.arguments import real as number
from ..kernels.base import Kernel, as_kernel
from ..samples import Over, is_tensor, plain, pooled, read_pair, refuse_unreadable_tensor
from .costs import Cost
from .critic import Critic, KernelCritic, Side, Trained

Floats = NDArray[np.float64]


class Discriminator(abc.ABC):
    """How a discriminator is trained: `against(fake, real)` trains one and gives it back as a `Critic`."""

    def __repr__(self) -> str:
        """The options that differ from the defaults, as one would write them."""
        said = [
            f"{o.name}={value!r}" if o.kw_only else repr(value)
            for o in fields(self)  # type: ignore[arg-type]
            if o.repr and ((value := getattr(self, o.name)) is not o.default and value != o.default)
        ]
        return f"{type(self).__name__}({', '.join(said)})"

    @abc.abstractmethod
    def against(self, fake: Any, real: Any) -> Critic:
        """The discriminator trained to separate generated items from real ones, at least two of each."""


@dataclass(frozen=True, repr=False)
class Infinite(Discriminator):
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

    _cost: ClassVar[Cost]

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        object.__setattr__(self, "time", number(self.time, "time", above=0.0))
        if self.initial is not None:
            object.__setattr__(self, "initial", _as_initial(self.initial))

    def against(self, fake: Any, real: Any) -> KernelCritic:
        """The discriminator trained to separate generated items from real ones, at least two of each."""
        game = read_game(fake, real, self.kernel)
        trained = self._trained(game)
        if not np.isfinite(trained.weights).all():
            why = f"; it is no kernel of a network: {game.kernel.indefinite}" if game.kernel.indefinite else ""
            raise ValueError(f"time={self.time} makes the weights of {game.kernel!r} infinite: lower it{why}")
        n = len(game.fake)
        sides = Side(game.fake, trained.weights[:n], "fake"), Side(game.real, trained.weights[n:], "real")
        return KernelCritic(game.kernel, sides, self._pays(), self.initial, trained)

    def _pays(self) -> Cost:
        return self._cost

    @abc.abstractmethod
    def _trained(self, game: Game) -> Trained:
        """∫ of a′(f(x_i)) / n, then of −b′(f(y_j)) / m, over the time: what items weigh in f − f₀."""


@dataclass(frozen=True, eq=False)
class Game:
    """The two samples a discriminator is trained on, and a kernel in which nothing is open."""

    fake: Sequences
    real: Sequences
    both: Sequences
    kernel: Kernel

    @property
    def signs(self) -> Floats:
        """−1 for generated items, 1 for real ones, (item,)."""
        return np.repeat([-1.0, 1.0], [len(self.fake), len(self.real)])

    @property
    def shares(self) -> Floats:
        """1/n for generated items, 1/m for real ones: what an item has in the mean of its sample."""
        sizes = np.array([len(self.fake), len(self.real)])
        return np.repeat(1 / sizes, sizes)

    def at_items(self, initial: Critic | None) -> Floats:
        """f₀ at the items, the generated ones first."""
        if initial is None:
            return np.zeros(len(self.both))
        return initial._values(initial._read(self.both))


def read_game(fake: Any, real: Any, kernel: Kernel) -> Game:
    """The door of a discriminator with a kernel: two samples that it can compare, nothing missing, two items each."""
    samples = read_sides(fake, real, kernel.over)
    kernel._refuse((samples[0], "fake"), (samples[1], "real"))
    both = pooled(samples)
    return Game(samples[0], samples[1], both, kernel.ready(both) if kernel.open else kernel)


def read_sides(fake: Any, real: Any, over: Over | None) -> tuple[Sequences, Sequences]:
    """Two samples, arrays or tensors, of one kind, at least two items each, nothing missing; copies of them."""
    for side, name in ((fake, "fake"), (real, "real")):
        refuse_unreadable_tensor(side, name)
    given = [side.detach().double().cpu() if is_tensor(side) else side for side in (fake, real)]
    samples = read_pair(given[0], given[1], over, ("fake", "real"), least=2)
    for sample, name in zip(samples, ("fake", "real"), strict=True):
        sample.refuse_missing("a discriminator", name)
    return plain(samples[0]).copy(), plain(samples[1]).copy()


def as_discriminator(given: Any, name: str = "discriminator") -> Any:
    """A discriminator; a bare kernel, or a function k(x, y), is taken for `IPM(kernel)`.

    >>> from timelike.distributions import RBF
    >>> as_discriminator(RBF(width=1.0))
    IPM(RBF(width=1.0))
    """
    from .ipm import IPM

    if isinstance(given, type) and issubclass(given, Discriminator):
        raise TypeError(f"{name}={given.__name__}: expected a discriminator, not its class; write {given.__name__}(…)")
    if hasattr(given, "against"):
        return given
    try:
        return IPM(as_kernel(given, name))
    except TypeError as error:
        raise TypeError(f"{error}, or a discriminator such as distributions.LSGAN(kernel)") from None


def _as_initial(given: Critic | Callable[[Any], Any]) -> Critic:
    from .external import FunctionCritic

    if isinstance(given, Critic):
        return given
    if not callable(given):
        raise TypeError(f"initial={given!r:.60}: expected a critic, or a function of tensors to values (item,)")
    return FunctionCritic(given)
