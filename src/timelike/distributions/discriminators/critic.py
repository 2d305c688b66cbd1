"""`Critic`: a trained discriminator, its values, what the generator pays and the gradient of that, anywhere."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sequences import Sequences
from ..kernels.base import Kernel
from ..kernels.matrix_blocks import iterate_row_blocks
from ..validation import (
    Domain,
    as_vectors,
    is_tensor,
    refuse_other_frame,
    refuse_unreadable_tensor,
    validate_sample,
)
from .costs import GeneratorCost

Floats = NDArray[np.float64]


class Critic(abc.ABC):
    """f, trained to tell two samples apart: `critic(z)` is f(z), `critic.cost(z)` c_f(z) = c(f(z)), both (item,).

    `critic.gradient(z)` is ∇c_f(z), shaped like z: the way a generator leaves, x ← x − step · ∇c_f(x). NumPy gives
    NumPy in double precision, tensors give tensors of their dtype; values and costs of tensors that ask for it carry
    gradients, so that `critic.cost(generator(noise)).mean().backward()` trains a network.

    A subclass implements `_validate_items`, `_evaluate` and `_evaluate_with_gradient`.
    """

    _cost: GeneratorCost

    def __call__(self, z: Any) -> Any:
        """f of every item of z, (item,)."""
        return self._apply(z, lambda f: f, np.ones_like)

    def cost(self, z: Any) -> Any:
        """c_f of every item of z, (item,)."""
        return self._apply(z, self._cost.value, self._cost.slope)

    def gradient(self, z: Any) -> Any:
        """∇c_f of every item of z, shaped like z."""
        given = _detach(z)
        found = self._cost_gradients(self._validate_items(given)).reshape(np.shape(given))
        return _to_tensor_like(found, z) if is_tensor(z) else found

    def _cost_gradients(self, items: Any) -> Floats:
        """∇c_f of validated items."""
        return self._composed_gradients(items, self._cost.slope)

    def _apply(self, z: Any, value: Callable[[Floats], Floats], slope: Callable[[Floats], Floats]) -> Any:
        items = self._validate_items(_detach(z))
        found = value(self._evaluate(items))
        if not is_tensor(z):
            return found
        if not z.requires_grad:
            return _to_tensor_like(found, z)
        from .autograd import attach_gradient

        return attach_gradient(
            z,
            _to_tensor_like(found, z),
            lambda: _to_tensor_like(self._composed_gradients(items, slope).reshape(z.shape), z),
        )

    def _composed_gradients(self, items: Any, slope: Callable[[Floats], Floats]) -> Floats:
        values, gradients = self._evaluate_with_gradient(items)
        return gradients * slope(values).reshape(-1, *[1] * (gradients.ndim - 1))

    @abc.abstractmethod
    def _validate_items(self, z: Any) -> Any:
        """Items as the other two take them, checked."""

    @abc.abstractmethod
    def _evaluate(self, items: Any) -> Floats:
        """f, (item,)."""

    @abc.abstractmethod
    def _evaluate_with_gradient(self, items: Any) -> tuple[Floats, Floats]:
        """f and ∇f, the latter (item, feature) or (item, time, channel)."""


@dataclass(frozen=True, eq=False)
class WeightedSample:
    """One sample of a critic and the weights that its items have in f."""

    sample: Sequences
    weights: Floats
    name: str


@dataclass(frozen=True, eq=False)
class WeightSolution:
    """How the weights of items were found, and how well."""

    weights: Floats
    """What items weigh in f, the generated ones first."""
    solver: str
    n_products: int
    """Products with the kernel matrix; for a decomposition its size."""
    error: float | None
    """A bound of ‖f − exact‖ in the kernel's space, of all but rounding: f(z) is off by at most √k(z, z) times it. None
    where there is only the tolerance of an integration."""


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

    def _validate_items(self, z: Any) -> Sequences:
        items = validate_sample(z, "z", self.kernel.domain)
        refuse_other_frame(items, self.sides[0].sample.frame, "z", "fake of")
        self.kernel._validate_sides((items, "z"), (self.sides[0].sample, "fake"))
        items.refuse_missing("a discriminator", "z")
        return items

    def _evaluate(self, items: Sequences) -> Floats:
        found = (
            np.zeros(len(items))
            if self.initial is None
            else self.initial._evaluate(self.initial._validate_items(items))
        )
        known = self.kernel._precompute_items(items, "z")
        for side in self.sides:
            for rows, block in iterate_row_blocks(
                self.kernel, known, self.kernel._precompute_items(side.sample, side.name)
            ):
                # a sum per row, not a product of matrices: independent of the other items in the batch
                found[rows] += (block * side.weights).sum(axis=1)
        return found

    def _evaluate_with_gradient(self, items: Sequences) -> tuple[Floats, Floats]:
        here = as_dense_array(items, "z", self.kernel.domain)
        pulled = [
            self.kernel._weighted_sums(here, as_dense_array(side.sample, side.name, self.kernel.domain), side.weights)
            for side in self.sides
        ]
        if self.initial is not None:
            values, gradients = self.initial._evaluate_with_gradient(self.initial._validate_items(items))
            pulled.append((values, gradients.reshape(here.shape)))
        return np.asarray(sum(one for one, _ in pulled)), np.asarray(sum(one for _, one in pulled))


def as_dense_array(sample: Sequences, name: str, domain: Domain) -> Floats:
    """A sample as one array in double precision: vectors (item, feature), or sequences (item, time, channel)."""
    if domain == "vectors":
        return as_vectors(sample, name)
    if not sample.has_equal_lengths:
        raise ValueError(
            f"{name} has sequences of {sample.lengths.min()} to {sample.lengths.max()} steps: expected one length, as "
            "gradients are; use resample(length=...) first"
        )
    return np.ascontiguousarray(sample.values.reshape(sample.shape), np.float64)


def _detach(z: Any) -> Any:
    """A tensor without gradients, which validation reads in double precision; anything else as it is."""
    refuse_unreadable_tensor(z, "z")
    return z.detach().double().cpu().numpy() if is_tensor(z) else z


def _to_tensor_like(found: Floats, z: Any) -> Any:
    import torch

    return torch.from_numpy(found).to(z.device, z.dtype if z.is_floating_point() else torch.float64)
