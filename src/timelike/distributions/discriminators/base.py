"""`Discriminator`: a way to train a function that separates two samples; `Critic`: such a function, trained."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import cache, cached_property
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ...core.parameters import check_float
from ..kernels.base import Kernel, as_kernel, iterate_row_blocks
from ..validation import (
    Sample,
    as_dense_array,
    drop_metadata,
    is_tensor,
    pool_samples,
    refuse_missing,
    refuse_other_frame,
    refuse_unreadable_tensor,
    sample_frame,
    validate_pair,
    validate_sample,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GeneratorCost:
    """c and its derivative c′, as functions of an array of values."""

    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]


def _minus_one(f: Floats) -> Floats:
    return -np.ones_like(f)


def _double(f: Floats) -> Floats:
    return 2 * f


def _softplus_of_negative(f: Floats) -> Floats:
    return np.logaddexp(0.0, -f)  # −log σ(f), finite for any f


def _softplus_of_negative_slope(f: Floats) -> Floats:
    return -np.asarray(expit(-f))


def _saturating_value(f: Floats) -> Floats:
    return -np.logaddexp(0.0, f)  # log(1 − σ(f))


def _saturating_slope(f: Floats) -> Floats:
    return -np.asarray(expit(f))


IDENTITY = GeneratorCost(np.positive, np.ones_like)
"""c(f) = f: IPM."""
NEGATIVE = GeneratorCost(np.negative, _minus_one)
"""c(f) = −f: hinge."""
SQUARE = GeneratorCost(np.square, _double)
"""c(f) = f²: LSGAN."""
NON_SATURATING = GeneratorCost(_softplus_of_negative, _softplus_of_negative_slope)
"""c(f) = −log σ(f): vanilla, as in §6.3.1."""
SATURATING = GeneratorCost(_saturating_value, _saturating_slope)
"""c(f) = log(1 − σ(f)): vanilla, the first term of the game itself."""


# --- critics ----------------------------------------------------------------------------------------------------------


class Critic(abc.ABC):
    """f, trained to tell two samples apart: `critic(z)` is f(z), `critic.cost(z)` c_f(z) = c(f(z)), both (item,).

    `critic.gradient(z)` is ∇c_f(z), shaped like z: a generator moves by x ← x − step · ∇c_f(x). NumPy gives NumPy in
    double precision, tensors give tensors of their dtype; values and costs carry gradients where z requires them, so
    that `critic.cost(generator(noise)).mean().backward()` trains a network.

    A subclass implements `_validate_items`, `_evaluate` and `_evaluate_with_gradient`.
    """

    _cost: GeneratorCost

    def __call__(self, z: Any) -> Any:
        """f of every item of z, (item,)."""
        return self._apply(z, self._validate_items(_detach(z)), IDENTITY)

    def cost(self, z: Any) -> Any:
        """c_f of every item of z, (item,)."""
        return self._validated_cost(z, self._validate_items(_detach(z)))

    def gradient(self, z: Any) -> Any:
        """∇c_f of every item of z, shaped like z."""
        array = _detach(z)
        gradients = self._composed_gradients(self._validate_items(array), self._cost).reshape(np.shape(array))
        return _to_tensor_like(gradients, z) if is_tensor(z) else gradients

    def _validated_cost(self, z: Any, items: Sample) -> Any:
        """`cost` of an array or tensor z whose items were validated."""
        return self._apply(z, items, self._cost)

    def _validated_gradient(self, items: Sample) -> Floats:
        """`gradient` of validated items, in the shape of their array."""
        return self._composed_gradients(items, self._cost)

    def _apply(self, z: Any, items: Sample, cost: GeneratorCost) -> Any:
        """A cost of f, as an array, or as a tensor like z, with a gradient if z requires one."""
        values = cost.value(self._evaluate(items))
        if not is_tensor(z):
            return values
        if not z.requires_grad:
            return _to_tensor_like(values, z)
        return _known_gradient_function().apply(
            z,
            _to_tensor_like(values, z),
            lambda: _to_tensor_like(self._composed_gradients(items, cost).reshape(z.shape), z),
        )

    def _composed_gradients(self, items: Sample, cost: GeneratorCost) -> Floats:
        values, gradients = self._evaluate_with_gradient(items)
        return gradients * cost.slope(values).reshape(-1, *[1] * (gradients.ndim - 1))

    @abc.abstractmethod
    def _validate_items(self, z: Any) -> Sample:
        """Validate the items at which f is evaluated."""

    @abc.abstractmethod
    def _evaluate(self, items: Sample) -> Floats:
        """f, (item,)."""

    @abc.abstractmethod
    def _evaluate_with_gradient(self, items: Sample) -> tuple[Floats, Floats]:
        """f and ∇f, the latter (item, feature) or (item, time, channel)."""


@dataclass(frozen=True, eq=False)
class WeightedSample:
    """One sample of a critic and the weights that its items have in f."""

    sample: Sample
    weights: Floats
    name: str


@dataclass(frozen=True, eq=False)
class WeightSolution:
    """The weights of items, how they were computed, and their accuracy."""

    weights: Floats
    """The weights of items in f, the generated ones first."""
    solver: str
    n_products: int
    """Products with the kernel matrix; for a decomposition its size."""
    error: float | None
    """A bound of ‖f − exact‖ in the kernel's space, without rounding: the error of f(z) is at most √k(z, z) times it.
    None if only the tolerance of an integration is known."""


@dataclass(frozen=True, eq=False, repr=False)
class KernelCritic(Critic):
    """f(z) = f₀(z) + Σ_j w_j k(p_j, z) over the items p_j of two samples: of any loss, by theorem 1 (eq. 6.17)."""

    kernel: Kernel
    sides: tuple[WeightedSample, WeightedSample]
    _cost: GeneratorCost
    initial: Critic | None
    solution: WeightSolution

    def __repr__(self) -> str:
        fake, real = (len(side.sample) for side in self.sides)
        return f"Critic({self.kernel!r}, of {fake} fake and {real} real items)"

    def _validate_items(self, z: Any) -> Sample:
        items = validate_sample(z, "z", self.kernel.domain)
        fake = self.sides[0].sample
        refuse_other_frame(items, sample_frame(fake), "z", "fake of")
        self.kernel._validate_sides((items, "z"), (fake, "fake"))
        refuse_missing(items, "a discriminator", "z")
        return items

    def _evaluate(self, items: Sample) -> Floats:
        values = (
            np.zeros(len(items))
            if self.initial is None
            else self.initial._evaluate(self.initial._validate_items(items))
        )
        z_items = self.kernel._precompute_items(items, "z")
        for side in self.sides:
            side_items = self.kernel._precompute_items(side.sample, side.name)
            for rows, block in iterate_row_blocks(self.kernel, z_items, side_items):
                # a sum per row, not a product of matrices: independent of the other items in the batch
                values[rows] += (block * side.weights).sum(axis=1)
        return values

    def _evaluate_with_gradient(self, items: Sample) -> tuple[Floats, Floats]:
        z, domain = as_dense_array(items, "z", self.kernel.domain), self.kernel.domain
        parts = [
            self.kernel._weighted_sums(z, as_dense_array(side.sample, side.name, domain), side.weights)
            for side in self.sides
        ]
        if self.initial is not None:
            values, gradients = self.initial._evaluate_with_gradient(self.initial._validate_items(items))
            parts.append((values, gradients.reshape(z.shape)))
        return np.asarray(sum(values for values, _ in parts)), np.asarray(sum(gradients for _, gradients in parts))


def _detach(z: Any) -> Any:
    """A tensor without gradients, which validation reads in double precision; anything else as it is."""
    refuse_unreadable_tensor(z, "z")
    return z.detach().double().cpu().numpy() if is_tensor(z) else z


def _to_tensor_like(values: Floats, z: Any) -> Any:
    import torch

    return torch.from_numpy(values).to(z.device, z.dtype if z.is_floating_point() else torch.float64)


@cache
def _known_gradient_function() -> Any:
    """The autograd function of values (item,) whose gradient by each item is computed when it is needed."""
    import torch

    class KnownGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, z: Any, values: Any, gradients: Callable[[], Any]) -> Any:
            ctx.gradients = gradients
            return values

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *weights: Any) -> tuple[Any, None, None]:
            """Each item's value depends on that item only."""
            gradients = ctx.gradients()
            return gradients * weights[0].reshape(-1, *[1] * (gradients.ndim - 1)), None, None

    return KnownGradient


# --- discriminators ---------------------------------------------------------------------------------------------------

TrainedCritic = TypeVar("TrainedCritic", bound=Critic)


@dataclass(frozen=True, eq=False)
class CriticProblem:
    """The two validated samples a discriminator is trained on, and its kernel, if it has one, without open options."""

    fake: Sample
    real: Sample
    kernel: Any = None

    @cached_property
    def pooled_sample(self) -> Sample:
        """All items, the generated ones first."""
        return pool_samples([self.fake, self.real])

    @property
    def signs(self) -> Floats:
        """−1 for generated items, 1 for real ones, (item,)."""
        return np.repeat([-1.0, 1.0], [len(self.fake), len(self.real)])

    @property
    def mean_weights(self) -> Floats:
        """1/n for generated items, 1/m for real ones: the weight of an item in the mean of its sample."""
        sizes = np.array([len(self.fake), len(self.real)])
        return np.repeat(1 / sizes, sizes)

    def initial_values(self, initial: Critic | None) -> Floats:
        """f₀ at the items, the generated ones first."""
        if initial is None:
            return np.zeros(len(self.fake) + len(self.real))
        return initial._evaluate(initial._validate_items(self.pooled_sample))


def validate_problem(fake: Any, real: Any, kernel: Kernel | None) -> CriticProblem:
    """Validate the samples of a discriminator: comparable, nothing missing, two items each; copies of them."""
    for side, name in ((fake, "fake"), (real, "real")):
        refuse_unreadable_tensor(side, name)
    sides = [side.detach().double().cpu() if is_tensor(side) else side for side in (fake, real)]
    samples = validate_pair(
        sides[0], sides[1], None if kernel is None else kernel.domain, ("fake", "real"), min_items=2
    )
    for sample, name in zip(samples, ("fake", "real"), strict=True):
        refuse_missing(sample, "a discriminator", name)
    first, second = ((sample if isinstance(sample, np.ndarray) else drop_metadata(sample)).copy() for sample in samples)
    if kernel is None:
        return CriticProblem(first, second)
    kernel._validate_sides((first, "fake"), (second, "real"))
    resolved = kernel.resolve(pool_samples([first, second])) if kernel.has_open_options else kernel
    return CriticProblem(first, second, resolved)


class Discriminator(abc.ABC, Generic[TrainedCritic]):
    """How a discriminator is trained: `train_critic(fake, real)` trains one and returns it as a `Critic`.

    A subclass implements `_train_validated`, or `train_critic` as a whole.
    """

    def __repr__(self) -> str:
        """The options that differ from the defaults, as one would write them."""
        arguments = [
            f"{o.name}={value!r}" if o.kw_only else repr(value)
            for o in fields(self)  # type: ignore[arg-type]
            if o.repr and ((value := getattr(self, o.name)) is not o.default and value != o.default)
        ]
        return f"{type(self).__name__}({', '.join(arguments)})"

    def train_critic(self, fake: Any, real: Any) -> TrainedCritic:
        """The discriminator trained to separate generated items from real ones, at least two of each."""
        return self._train_validated(validate_problem(fake, real, getattr(self, "kernel", None)))

    def _train_validated(self, problem: CriticProblem) -> TrainedCritic:
        """`train_critic` of samples that are already validated, as those of a flow are at every step."""
        raise NotImplementedError(f"{type(self).__name__} has neither train_critic nor _train_validated")


@dataclass(frozen=True, repr=False)
class InfiniteDiscriminator(Discriminator[KernelCritic]):
    """A discriminator of infinite width whose tangent kernel is k, trained by gradient flow for a time τ.

        ∂_t f = E_fake[a′(f(x)) k(x, ·)] − E_real[b′(f(y)) k(y, ·)],   f at time 0 = f₀                       (eq. 6.9)

    A subclass defines a and b, which are ascended, and c, which the generator descends.

    Parameters
    ----------
    kernel : Kernel or callable
        The tangent kernel, such as `NTK()`, or any other. Open options are resolved by the pooled sample.
    time : float
        τ, more than 0.
    initial : Critic or callable, optional
        f₀: a critic to continue from, or a function of tensors (item, feature) to values (item,). None for 0.
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

    def _train_validated(self, problem: CriticProblem) -> KernelCritic:
        kernel, solution = problem.kernel, self._solve_weights(problem)
        if not np.isfinite(solution.weights).all():
            reason = kernel.indefinite_reason
            why = f"; it is no kernel of a network: {reason}" if reason else ""
            raise ValueError(f"time={self.time} makes the weights of {kernel!r} infinite: lower it{why}")
        n = len(problem.fake)
        sides = (
            WeightedSample(problem.fake, solution.weights[:n], "fake"),
            WeightedSample(problem.real, solution.weights[n:], "real"),
        )
        return KernelCritic(kernel, sides, self._generator_cost(), self.initial, solution)

    def _generator_cost(self) -> GeneratorCost:
        return self._cost

    @abc.abstractmethod
    def _solve_weights(self, problem: CriticProblem) -> WeightSolution:
        """∫ of a′(f(x_i)) / n, then of −b′(f(y_j)) / m, over the time: the weights of items in f − f₀."""


def as_discriminator(value: Any, name: str = "discriminator") -> Any:
    """A discriminator; a bare kernel, or a function k(x, y), becomes `IPM(kernel)`.

    >>> from timelike.distributions import RBF
    >>> as_discriminator(RBF(width=1.0))
    IPM(RBF(width=1.0))
    """
    from .ipm import IPM

    if isinstance(value, type) and issubclass(value, Discriminator):
        raise TypeError(f"{name}={value.__name__}: expected a discriminator, not its class; write {value.__name__}(…)")
    if hasattr(value, "train_critic"):
        return value
    try:
        return IPM(as_kernel(value, name))
    except TypeError as error:
        raise TypeError(f"{error}, or a discriminator such as distributions.LSGAN(kernel)") from None


def _as_initial(value: Critic | Callable[[Any], Any]) -> Critic:
    from .functions import FunctionCritic

    if isinstance(value, Critic):
        return value
    if not callable(value):
        raise TypeError(f"initial={value!r:.60}: expected a critic, or a function of tensors to values (item,)")
    return FunctionCritic(value)
