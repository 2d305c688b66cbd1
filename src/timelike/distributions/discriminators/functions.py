"""Any function as a discriminator, with its gradient by autograd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.extras import import_extra
from ..validation import (
    Sample,
    as_dense_array,
    is_vector_sample,
    refuse_missing,
    sample_frame,
    to_sequences,
    validate_sample,
)
from .base import IDENTITY, Critic, CriticProblem, Discriminator, Floats, GeneratorCost


@dataclass(frozen=True, eq=False, repr=False)
class FunctionCritic(Critic):
    """f as a function of tensors: (item, feature), or (item, time, channel), to (item,)."""

    function: Callable[[Any], Any]
    _cost: GeneratorCost = IDENTITY
    frame: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        return f"Critic({getattr(self.function, '__name__', type(self.function).__name__)})"

    def _validate_items(self, z: Any) -> Sample:
        items = validate_sample(z, "z")
        refuse_missing(items, "a discriminator", "z")
        shape = as_dense_array(items, "z").shape[1:]
        if self.frame is not None and shape != self.frame:
            raise ValueError(f"z has items of shape {shape} and fake of {self.frame}: expected the same")
        return items

    def _evaluate(self, items: Sample) -> Floats:
        torch = import_extra("torch", f"{self!r}, a function of tensors,")

        with torch.no_grad():
            return np.concatenate([self._call_function(block).numpy() for block in self._tensor_blocks(items)])

    def _evaluate_with_gradient(self, items: Sample) -> tuple[Floats, Floats]:
        torch = import_extra("torch", f"{self!r}, a function of tensors,")

        values, gradients = [], []
        for block in self._tensor_blocks(items):
            block.requires_grad_(True)
            with torch.enable_grad():
                block_values = self._call_function(block)
                if not block_values.requires_grad:
                    raise TypeError(f"{self!r} has no gradient: compute with torch from z to the values")
                (slope,) = torch.autograd.grad(block_values.sum(), block, materialize_grads=True)
            values.append(block_values.detach().numpy())
            gradients.append(slope.numpy())
        return np.concatenate(values), np.concatenate(gradients)

    def _tensor_blocks(self, items: Sample) -> Any:
        import torch

        array = as_dense_array(items, "z")
        return [torch.tensor(array[begin : begin + 1024]) for begin in range(0, len(array), 1024)]

    def _call_function(self, items: Any) -> Any:
        """The values of the function, in its own precision, as double (item,); an error for any other output."""
        n, parameter = len(items), next(iter(getattr(self.function, "parameters", list)()), None)
        values = self.function(items if parameter is None else items.to(parameter.device, parameter.dtype))
        if not hasattr(values, "detach"):
            raise TypeError(f"{self!r} gave a {type(values).__name__}: expected a tensor (item,)")
        if values.shape == (n, 1):
            values = values[:, 0]
        if values.shape != (n,):
            raise ValueError(f"{self!r} gave shape {tuple(values.shape)} of {n} items: expected ({n},)")
        if not values.detach().isfinite().all():
            raise ValueError(f"{self!r} gave nan or infinity: expected finite values")
        return values.double().cpu()


@dataclass(frozen=True, repr=False)
class FunctionDiscriminator(Discriminator[FunctionCritic]):
    """A user's function as a discriminator that is never trained: c = id, its gradient by autograd.

        f(z) = function(z)

    For a known potential, a network that was trained elsewhere, or to study the flow of a given f. A network is used as
    it is: call its `eval()` first if it has modes.

    Parameters
    ----------
    function : callable or torch.nn.Module
        Of tensors (item, feature), or (item, time, channel), in double precision (in that of its parameters where it
        is a module), to (item,) or (item, 1).

    Examples
    --------
    >>> import numpy as np  # needs: timelike[learn]
    >>> from timelike.distributions import FunctionDiscriminator
    >>> critic = FunctionDiscriminator(lambda z: z.square().sum(1) / 2).train_critic(np.zeros((2, 1)), np.ones((2, 1)))
    >>> critic.gradient(np.array([[3.0]]))
    array([[3.]])
    """

    function: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r:.60}: expected a function of tensors, or a torch.nn.Module")

    def _train_validated(self, problem: CriticProblem) -> FunctionCritic:
        """The function itself, for items like these."""
        fake = problem.fake
        return FunctionCritic(
            self.function, IDENTITY, sample_frame(fake) if is_vector_sample(fake) else to_sequences(fake).shape[1:]
        )
