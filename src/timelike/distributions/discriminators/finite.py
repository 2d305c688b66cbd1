"""Discriminators of finite width, trained by gradient ascent for the same time as the infinitely wide ones."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...core.parameters import check_bool, check_choice, check_float, check_int
from ...core.random import RandomState, check_random_state, check_seed
from ...sequences import Sequences
from ..tangent.activation_names import Activation, activation_branches, refuse_unknown_activation
from .base import Discriminator
from .costs import IDENTITY, NEGATIVE, NON_SATURATING, SATURATING, SQUARE, GeneratorCost
from .critic import as_dense_array
from .function_discriminator import FunctionCritic
from .validation import validate_fake_and_real

if TYPE_CHECKING:
    from torch import Tensor, nn

LossName = Literal["ipm", "lsgan", "vanilla", "hinge"]

_GENERATOR_COSTS: Mapping[str, GeneratorCost] = MappingProxyType(
    {"ipm": IDENTITY, "lsgan": SQUARE, "vanilla": NON_SATURATING, "hinge": NEGATIVE}
)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FiniteDiscriminator(Discriminator):
    """A network of finite width, trained by full-batch gradient ascent for a time τ, as its infinitely wide limit is.

        θ ← θ + (τ / steps) ∇_θ (E_fake[a(f(x))] − E_real[b(f(y))])

    a perceptron in the NTK parameterisation (Jacot et al., 2018), so that f tends to that of `IPM(NTK(…))`, `LSGAN`,
    `VanillaGAN` or `HingeGAN` with the same options as the width grows, like 1/√width, and as steps do. What is left
    between the two is what the theory leaves out; infinite width is faster below some thousand items.

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
        Of τ / steps each. With too few the training diverges, which is an error. The thesis trains by one per move of
        the generator.
    antisymmetric : bool, optional
        Two networks that begin alike, (g − g′)/√2, so that f = 0 at first as for infinite width (Zhang et al., "A type
        of generalization error induced by initialization in deep neural networks", 2020). None for True, but False
        for "lsgan" as in the thesis (D.3.2): its c = f² has no gradient at f = 0, so that a generator would stand
        still while the discriminator has hardly begun. With False f is also off by the random f₀, at any width.
    reset : bool
        True to begin anew with every `train_critic`, False to go on from where the last one ended.
    saturating : bool
        For "vanilla", as in `VanillaGAN`.
    random_state : None, int or Generator
        An integer gives the same network at every beginning, a Generator another one each time.

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
            raise ValueError(f'saturating=True means nothing to loss={self.loss!r}: use loss="vanilla"')
        check_bool(self.reset, "reset")
        check_seed(self.random_state, "random_state")

    def train_critic(self, fake: Any, real: Any) -> FunctionCritic:
        """The network trained to separate generated items from real ones, at least two of each."""
        samples = validate_fake_and_real(fake, real, None)
        first, second = (_to_array(sample, name) for sample, name in zip(samples, ("fake", "real"), strict=True))
        if first.shape[1:] != second.shape[1:]:
            raise ValueError(f"real has items of shape {second.shape[1:]} and fake of {first.shape[1:]}: expected one")
        network = self._init_network(int(np.prod(first.shape[1:])))
        self._train(network, first, second)
        cost = SATURATING if self.saturating else _GENERATOR_COSTS[self.loss]
        return FunctionCritic(copy.deepcopy(network).requires_grad_(False), cost, first.shape[1:])

    def _init_network(self, n_features: int) -> nn.Module:
        """A network as it begins, or the one of last time."""
        from .perceptron import AntisymmetricPair, Perceptron

        if self._networks and not self.reset:
            known = next(self._networks[0].parameters()).shape[1]
            if known != n_features:
                raise ValueError(f"fake has items of {n_features} numbers and those before {known}: expected as many")
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
        import torch

        both, parameters = torch.tensor(np.concatenate([fake, real])), list(network.parameters())
        won = [0.0, 0.0]
        with torch.enable_grad():
            for step in range(self.steps + 1):
                f = network(both)
                objective = _objective(self.loss, f[: len(fake)], f[len(fake) :])
                won[step > 0] = float(objective.detach())
                if step == self.steps or not np.isfinite(won).all():
                    break
                slopes = torch.autograd.grad(objective, parameters)
                with torch.no_grad():
                    for parameter, slope in zip(parameters, slopes, strict=True):
                        parameter.add_(slope, alpha=self.time / self.steps)
        if not won[1] >= won[0] - abs(won[0]) - 1e-9:  # nan too
            self._networks.clear()
            raise ValueError(
                f"steps={self.steps} of time {self.time / self.steps:g} each diverge (what the discriminator ascends "
                f"went from {won[0]:.3g} to {won[1]:.3g}): raise steps, or lower time"
            )


def _refuse_activation(activation: Activation) -> None:
    """An error for an unknown name, or for a function without a derivative to train by."""
    refuse_unknown_activation(activation)
    for one in activation_branches(activation):
        if not isinstance(one, str):
            from ..tangent.activation_checks import validate_activation

            validate_activation(one)


def _objective(loss: str, fake: Tensor, real: Tensor) -> Tensor:
    """E[a(f)] over generated items − E[b(f)] over real ones."""
    import torch
    from torch.nn.functional import softplus

    if loss == "ipm":
        return fake.mean() - real.mean()
    if loss == "lsgan":
        return -(fake + 1).square().mean() - (real - 1).square().mean()
    if loss == "vanilla":
        return -softplus(fake).mean() - softplus(-real).mean()
    return -torch.relu(1 + fake).mean() - torch.relu(1 - real).mean()


def _to_array(sample: Sequences, name: str) -> Any:
    return as_dense_array(sample, name, "vectors" if sample.shape[1] == 1 else "sequences")
