"""Any function as a discriminator, with its gradient by autograd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..samples import as_vectors, read_sample
from .base import Discriminator, read_sides
from .costs import IDENTITY, Cost
from .critic import Critic, Floats, dense


@dataclass(frozen=True, eq=False, repr=False)
class FunctionCritic(Critic):
    """f as a function of tensors: (item, feature), or (item, time, channel), to (item,)."""

    function: Callable[[Any], Any]
    _cost: Cost = IDENTITY
    frame: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"Critic({getattr(self.function, '__name__', type(self.function).__name__)})"

    def _read(self, z: Any) -> Floats:
        asked = read_sample(z, "z")
        asked.refuse_missing("a discriminator", "z")
        found = as_vectors(asked, "z") if asked.shape[1] == 1 else dense(asked, "z", "sequences")
        if self.frame is not None and found.shape[1:] != self.frame:
            raise ValueError(f"z has items of shape {found.shape[1:]} and fake of {self.frame}: expected the same")
        return found

    def _values(self, asked: Floats) -> Floats:
        import torch

        with torch.no_grad():
            return np.concatenate([self._checked(some, len(some)).numpy() for some in self._blocks(asked)])

    def _sloped(self, asked: Floats) -> tuple[Floats, Floats]:
        import torch

        values, gradients = [], []
        for some in self._blocks(asked):
            some.requires_grad_(True)
            with torch.enable_grad():
                found = self._checked(some, len(some))
                if not found.requires_grad:
                    raise TypeError(f"{self!r} has no gradient: compute with torch from z to the values")
                (slope,) = torch.autograd.grad(found.sum(), some, materialize_grads=True)
            values.append(found.detach().numpy())
            gradients.append(slope.numpy())
        return np.concatenate(values), np.concatenate(gradients)

    def _blocks(self, asked: Floats) -> Any:
        import torch

        return [torch.tensor(asked[begin : begin + 1024]) for begin in range(0, len(asked), 1024)]

    def _checked(self, some: Any, n: int) -> Any:
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
class External(Discriminator):
    """A function of one's own as a discriminator that is never trained: c = id, its gradient by autograd.

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
    >>> from timelike.distributions import External
    >>> critic = External(lambda z: z.square().sum(1) / 2).against(np.zeros((2, 1)), np.ones((2, 1)))
    >>> critic.gradient(np.array([[3.0]]))
    array([[3.]])
    """

    function: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r:.60}: expected a function of tensors, or a torch.nn.Module")

    def against(self, fake: Any, real: Any) -> FunctionCritic:
        """The function itself, for items like these."""
        first, _ = read_sides(fake, real, None)
        return FunctionCritic(self.function, IDENTITY, first.frame if first.shape[1] == 1 else first.shape[1:])
