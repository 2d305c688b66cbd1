"""Discriminators of finite width, trained by gradient ascent for the same time as the infinitely wide ones."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ...core.parameters import check_bool, check_choice, check_float, check_int
from ...core.random import RandomState, check_random_state, check_seed
from ...native.tangent.fallback_layers import SIGMOID_SCALE
from ..tangent.expectations import validate_activation
from ..tangent.ntk import Activation, activation_branches, refuse_unknown_activation
from ..validation import as_dense_array
from .base import IDENTITY, NEGATIVE, NON_SATURATING, SATURATING, SQUARE, CriticProblem, Discriminator, GeneratorCost
from .functions import FunctionCritic

LossName = Literal["ipm", "lsgan", "vanilla", "hinge"]

_GENERATOR_COSTS: Mapping[str, GeneratorCost] = MappingProxyType(
    {"ipm": IDENTITY, "lsgan": SQUARE, "vanilla": NON_SATURATING, "hinge": NEGATIVE}
)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FiniteDiscriminator(Discriminator[FunctionCritic]):
    """A network of finite width, trained by full-batch gradient ascent for a time τ, as its infinitely wide limit is.

        θ ← θ + (τ / steps) ∇_θ (E_fake[a(f(x))] − E_real[b(f(y))])

    a perceptron in the NTK parameterisation (Jacot et al., 2018), so that f tends to that of `IPM(NTK(…))`, `LSGAN`,
    `VanillaGAN` or `HingeGAN` with the same options as the width grows, like 1/√width, and as steps do. The remaining
    difference is the effect of finite width. Infinite width is faster below some thousand items.

    Parameters
    ----------
    loss : "ipm", "lsgan", "vanilla" or "hinge"
    activation, depth, bias, weight
        As those of `NTK`; several activations are branches in every layer.
    width : int
        Units of every hidden layer (and of each branch). The thesis has 128.
    time : float
        τ, more than 0.
    steps : int
        Number of steps, of τ / steps each; too few make training diverge, which is an error. The thesis uses one step
        per move of the generator.
    antisymmetric : bool, optional
        Two networks that begin alike, (g − g′)/√2, so that f = 0 at first as for infinite width (Zhang et al., "A type
        of generalization error induced by initialization in deep neural networks", 2020). None for True, but False for
        "lsgan" as in the thesis (D.3.2): its c = f² has no gradient at f = 0, so that a generator would not move while
        the discriminator has hardly begun. With False f also contains the random f₀, at any width.
    reset : bool
        Whether every `train_critic` starts from new weights; False continues from the last call.
    saturating : bool
        For "vanilla", as in `VanillaGAN`.
    random_state : None, int or Generator
        An integer gives the same initial network every time, a Generator a new one each time.

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import FiniteDiscriminator, IPM, NTK
    >>> fake, real = np.zeros((5, 1)), np.ones((5, 1))
    >>> finite = FiniteDiscriminator(loss="ipm", width=4096, depth=1, random_state=0).train_critic(fake, real)
    >>> infinite = IPM(NTK(depth=1)).train_critic(fake, real)
    >>> bool(np.abs(finite(fake) - infinite(fake)).max() < 0.1 * np.abs(infinite(fake)).max())
    True
    """

    loss: LossName = "ipm"
    activation: Activation = "relu"
    depth: int = 3
    width: int = 512
    bias: float = 1.0
    weight: float = 1.0
    time: float = 1.0
    steps: int = 10
    antisymmetric: bool | None = None
    reset: bool = True
    saturating: bool = False
    random_state: RandomState = None
    _networks: list[nn.Module] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        check_choice(self.loss, "loss", tuple(_GENERATOR_COSTS))
        _refuse_activation(self.activation)
        for name, least in (("depth", 1), ("width", 1), ("steps", 1)):
            object.__setattr__(self, name, check_int(getattr(self, name), name, least))
        object.__setattr__(self, "bias", check_float(self.bias, "bias", 0.0))
        for name in ("weight", "time"):
            object.__setattr__(self, name, check_float(getattr(self, name), name, above=0.0))
        if self.antisymmetric is not None:
            check_bool(self.antisymmetric, "antisymmetric")
        if check_bool(self.saturating, "saturating") and self.loss != "vanilla":
            raise ValueError(f'saturating=True does not apply to loss={self.loss!r}: use loss="vanilla"')
        check_bool(self.reset, "reset")
        check_seed(self.random_state, "random_state")

    def _train_validated(self, problem: CriticProblem) -> FunctionCritic:
        fake, real = as_dense_array(problem.fake, "fake"), as_dense_array(problem.real, "real")
        if fake.shape[1:] != real.shape[1:]:
            raise ValueError(f"real has items of shape {real.shape[1:]} and fake of {fake.shape[1:]}: expected one")
        network = self._init_network(int(np.prod(fake.shape[1:])))
        self._train(network, fake, real)
        cost = SATURATING if self.saturating else _GENERATOR_COSTS[self.loss]
        return FunctionCritic(copy.deepcopy(network).requires_grad_(False), cost, fake.shape[1:])

    def _init_network(self, n_features: int) -> nn.Module:
        """A new network, or that of the last call unless `reset`."""
        if self._networks and not self.reset:
            n_before = next(self._networks[0].parameters()).shape[1]
            if n_before != n_features:
                raise ValueError(
                    f"fake has items of {n_features} numbers and those of the last call {n_before}: expected the same "
                    "number"
                )
            return self._networks[0]
        network: nn.Module = Perceptron(
            n_features,
            activation_branches(self.activation),
            self.depth,
            self.width,
            self.weight,
            self.bias,
            check_random_state(self.random_state),
        )
        if self.loss != "lsgan" if self.antisymmetric is None else self.antisymmetric:
            network = AntisymmetricPair(network, copy.deepcopy(network))
        self._networks[:] = [] if self.reset else [network]
        return network

    def _train(self, network: nn.Module, fake: Any, real: Any) -> None:
        both, parameters = torch.tensor(np.concatenate([fake, real])), list(network.parameters())
        objectives = [0.0, 0.0]
        with torch.enable_grad():
            for step in range(self.steps + 1):
                f = network(both)
                objective = _objective(self.loss, f[: len(fake)], f[len(fake) :])
                objectives[step > 0] = float(objective.detach())
                if step == self.steps or not np.isfinite(objectives).all():
                    break
                slopes = torch.autograd.grad(objective, parameters)
                with torch.no_grad():
                    for parameter, slope in zip(parameters, slopes, strict=True):
                        parameter.add_(slope, alpha=self.time / self.steps)
        if not objectives[1] >= objectives[0] - abs(objectives[0]) - 1e-9:  # nan too
            self._networks.clear()
            raise ValueError(
                f"steps={self.steps} of time {self.time / self.steps:g} each diverge (the objective of the "
                f"discriminator went from {objectives[0]:.3g} to {objectives[1]:.3g}): raise steps, or lower time"
            )


def _refuse_activation(activation: Activation) -> None:
    """Raise an error for an unknown name, or for a function without a derivative."""
    refuse_unknown_activation(activation)
    for branch in activation_branches(activation):
        if not isinstance(branch, str):
            validate_activation(branch)


def _objective(loss: str, fake: Tensor, real: Tensor) -> Tensor:
    """E[a(f)] over generated items − E[b(f)] over real ones."""
    if loss == "ipm":
        return fake.mean() - real.mean()
    if loss == "lsgan":
        return -(fake + 1).square().mean() - (real - 1).square().mean()
    if loss == "vanilla":
        return -nn.functional.softplus(fake).mean() - nn.functional.softplus(-real).mean()
    return -torch.relu(1 + fake).mean() - torch.relu(1 - real).mean()


# --- the network ------------------------------------------------------------------------------------------------------


def _sigmoid(z: Tensor) -> Tensor:
    return 0.5 * (1 + torch.erf(z / SIGMOID_SCALE))


ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = MappingProxyType(
    {
        "relu": torch.relu,
        "leaky_relu": nn.functional.leaky_relu,  # its slope below 0 is 0.01
        "abs": torch.abs,
        "sigmoid": _sigmoid,
        "sine": torch.sin,
        "gelu": nn.functional.gelu,
    }
)


class Dense(nn.Module):
    """z ↦ w W z / √n + b β with standard normal W and β: gradients do not vanish as n grows, nor outputs explode."""

    def __init__(self, n: int, units: int, weight: float, bias: float, rng: np.random.Generator) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.from_numpy(rng.standard_normal((units, n))))
        self.shift = nn.Parameter(torch.from_numpy(rng.standard_normal(units))) if bias else None
        self.scale, self.bias = weight / math.sqrt(n), bias

    def forward(self, z: Tensor) -> Tensor:
        """(item, n) to (item, unit)."""
        outputs = z @ self.matrix.T * self.scale
        return outputs if self.shift is None else outputs + self.bias * self.shift


class Perceptron(nn.Module):
    """Hidden layers of one or several activations side by side, and one output without bias: (item, …) to (item,)."""

    def __init__(
        self,
        n_features: int,
        activations: tuple[str | Callable[..., Any], ...],
        depth: int,
        width: int,
        weight: float,
        bias: float,
        rng: np.random.Generator,
    ) -> None:
        super().__init__()
        self.activations = [ACTIVATIONS[one] if isinstance(one, str) else one for one in activations]
        self.first = Dense(n_features, width, weight, bias, rng)
        hidden = [(width, bias)] * (depth - 1) + [(1, 0.0)]
        self.rest = nn.ModuleList(
            nn.ModuleList(Dense(width, units, weight, b, rng) for _ in self.activations) for units, b in hidden
        )

    def forward(self, z: Tensor) -> Tensor:
        """(item, …) to (item,)."""
        hidden = self.first(z.flatten(1))
        for layer in self.rest:
            branches = zip(layer, self.activations, strict=True)  # type: ignore[call-overload]
            hidden = torch.stack([dense(activation(hidden)) for dense, activation in branches]).sum(0)
        values: Tensor = hidden[:, 0]
        return values


class AntisymmetricPair(nn.Module):
    """(g − g′) / √2 of two networks that begin alike: 0 everywhere at first, with the same tangent kernel as one."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, z: Tensor) -> Tensor:
        """(item, …) to (item,)."""
        values: Tensor = (self.first(z) - self.second(z)) / math.sqrt(2)
        return values
