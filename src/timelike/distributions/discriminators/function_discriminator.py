"""Any function as a discriminator, with its gradient by autograd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..validation import as_vectors, validate_sample
from .base import Discriminator
from .costs import IDENTITY, GeneratorCost
from .critic import Critic, Floats, as_dense_array
from .validation import validate_fake_and_real


@dataclass(frozen=True, eq=False, repr=False)
class FunctionCritic(Critic):
    """f as a function of tensors: (item, feature), or (item, time, channel), to (item,)."""

    function: Callable[[Any], Any]
    _cost: GeneratorCost = IDENTITY
    frame: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"Critic({getattr(self.function, '__name__', type(self.function).__name__)})"

    def _validate_items(self, z: Any) -> Floats:
        items = validate_sample(z, "z")
        items.refuse_missing("a discriminator", "z")
        found = as_vectors(items, "z") if items.shape[1] == 1 else as_dense_array(items, "z", "sequences")
        if self.frame is not None and found.shape[1:] != self.frame:
            raise ValueError(f"z has items of shape {found.shape[1:]} and fake of {self.frame}: expected the same")
        return found

    def _evaluate(self, items: Floats) -> Floats:
        import torch

        with torch.no_grad():
            return np.concatenate([self._call_function(some, len(some)).numpy() for some in self._tensor_blocks(items)])

    def _evaluate_with_gradient(self, items: Floats) -> tuple[Floats, Floats]:
        import torch

        values, gradients = [], []
        for some in self._tensor_blocks(items):
            some.requires_grad_(True)
            with torch.enable_grad():
                found = self._call_function(some, len(some))
                if not found.requires_grad:
                    raise TypeError(f"{self!r} has no gradient: compute with torch from z to the values")
                (slope,) = torch.autograd.grad(found.sum(), some, materialize_grads=True)
            values.append(found.detach().numpy())
            gradients.append(slope.numpy())
        return np.concatenate(values), np.concatenate(gradients)

    def _tensor_blocks(self, items: Floats) -> Any:
        import torch

        return [torch.tensor(items[begin : begin + 1024]) for begin in range(0, len(items), 1024)]

    def _call_function(self, some: Any, n: int) -> Any:
        """What the function gives, in its own precision, as double (item,); anything else is refused."""
        parameter = next(iter(getattr(self.function, "parameters", list)()), None)
        found = self.function(some if parameter is None else some.to(parameter.device, parameter.dtype))
        if not hasattr(found, "detach"):
            raise TypeError(f"{self!r} gave a {type(found).__name__}: expected a tensor (item,)")
        if found.shape == (n, 1):
            found = found[:, 0]
        if found.shape != (n,):
            raise ValueError(f"{self!r} gave shape {tuple(found.shape)} of {n} items: expected ({n},)")
        if not found.detach().isfinite().all():
            raise ValueError(f"{self!r} gave nan or infinity: expected finite values")
        return found.double().cpu()


@dataclass(frozen=True, repr=False)
class FunctionDiscriminator(Discriminator):
    """A user's function as a discriminator that is never trained: c = id, its gradient by autograd.

        f(z) = function(z)

    For a potential that is known, a network that was trained elsewhere, or to see what the flow of a given f does. A
    network is taken as it is: put it into `eval()` mode first where it has a mode.

    Parameters
    ----------
    function : callable or torch.nn.Module
        Of tensors (item, feature), or (item, time, channel), in double precision (in that of its parameters where it
        is a module), to (item,) or (item, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from timelike.distributions import FunctionDiscriminator
    >>> critic = FunctionDiscriminator(lambda z: z.square().sum(1) / 2).train_critic(np.zeros((2, 1)), np.ones((2, 1)))
    >>> critic.gradient(np.array([[3.0]]))
    array([[3.]])
    """

    function: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r:.60}: expected a function of tensors, or a torch.nn.Module")

    def train_critic(self, fake: Any, real: Any) -> FunctionCritic:
        """The function itself, for items like these."""
        first, _ = validate_fake_and_real(fake, real, None)
        return FunctionCritic(self.function, IDENTITY, first.frame if first.shape[1] == 1 else first.shape[1:])
