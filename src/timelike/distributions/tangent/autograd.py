"""Kernels of wide networks in torch: those with gradients in closed form, and any activation by recursion."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from ...native import tangent, thread_count
from ..kernels.radial import squared_distances_tensor
from .expectations import (
    ActivationExpectation,
    FoldExpectation,
    GELUExpectation,
    HermiteExpectation,
    SigmoidExpectation,
    SineExpectation,
    SlopeExpectation,
)
from .ntk import Activation, activation_branches

_NAMED_ACTIVATIONS = {
    "relu": lambda: SlopeExpectation(0.0),
    "leaky_relu": lambda: SlopeExpectation(0.01),
    "abs": lambda: SlopeExpectation(-1.0),
    "sigmoid": SigmoidExpectation,
    "sine": SineExpectation,
    "gelu": GELUExpectation,
}
_NEAR_RATIO = 1e-8  # of a + b: below, D of the next layer is computed from its expansion, not as a difference


def kernel_matrix(x: Tensor, y: Tensor, network: tangent.WideNetwork) -> Tensor:
    """The kernel of x and y, each (item, feature) in double precision, with gradients to both."""
    if torch.is_grad_enabled() and (x.requires_grad or y.requires_grad):
        matrix: Tensor = _KernelMatrixFunction.apply(x, y, network)  # type: ignore[no-untyped-call]
        return matrix
    same = x is y or (x.data_ptr() == y.data_ptr() and x.shape == y.shape and x.stride() == y.stride())
    values = tangent.matrix(_to_array(x), None if same else _to_array(y), network, threads=thread_count())
    return torch.from_numpy(values).to(x.device)


class _KernelMatrixFunction(torch.autograd.Function):
    """The kernel with gradients; it saves four derivatives and one bit per pair, and no table of differences."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, network: tangent.WideNetwork) -> Tensor:
        slopes = tangent.kernel_slopes(
            _to_array(x), _to_array(y), network, threads=thread_count(), both=ctx.needs_input_grad[1]
        )
        ctx.network, ctx.slopes = network, slopes
        ctx.save_for_backward(x, y)
        return torch.from_numpy(slopes.values).to(x.device)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, y = ctx.saved_tensors
        by_x, by_y = _KernelGradients.apply(x, y, gradient, ctx.slopes, ctx.network, ctx.needs_input_grad[:2])  # type: ignore[no-untyped-call]
        return by_x, by_y, None


class _KernelGradients(torch.autograd.Function):
    """The gradients of the matrix, which have no gradients of their own."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        gradient: Tensor,
        slopes: tangent.KernelSlopes,
        network: tangent.WideNetwork,
        needs_gradient: tuple[bool, bool],
    ) -> tuple[Tensor | None, Tensor | None]:
        by_x, by_y = tangent.weighted_gradients(
            _to_array(x),
            _to_array(y),
            slopes,
            _to_array(gradient),
            network,
            threads=thread_count(),
            wanted=needs_gradient,
        )
        return _to_device(x, by_x), _to_device(y, by_y)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple[None, ...]:
        raise RuntimeError(
            "a kernel of a wide network was differentiated twice: its closed-form gradients have no gradients of "
            "their own; use differences of gradients, or a kernel such as RBF"
        )


def _to_device(side: Tensor, gradient: Any) -> Tensor | None:
    return None if gradient is None else torch.from_numpy(gradient).to(side.device)


def _to_array(tensor: Tensor) -> Any:
    return np.ascontiguousarray(tensor.detach().numpy(force=True), np.float64)


class NetworkOptions(Protocol):
    """The options of a kernel of wide networks."""

    @property
    def activation(self) -> Activation: ...
    @property
    def depth(self) -> int: ...
    @property
    def bias(self) -> float: ...
    @property
    def weight(self) -> float: ...

    _is_tangent: ClassVar[bool]


def recursion_matrix(x: Tensor, y: Tensor, network: NetworkOptions) -> Tensor:
    """The kernel of x and y, each (item, feature) in double precision, with gradients to both."""
    kernel = KernelRecursion(network.activation, network.depth, network.bias, network.weight, network._is_tangent)
    return kernel.matrix(x, y)


def refuse_non_activations(activation: Activation) -> None:
    """Raise an error for functions that are no activations, when the kernel is created."""
    for one in activation_branches(activation):
        if not isinstance(one, str):
            HermiteExpectation(one)


class LayerCovariances(NamedTuple):
    """Of the inputs of a layer: variances (item,) of both sides, covariances (item, item), and D = a + b − 2c.

    D is None if no activation has a fold: smooth kernels need no distances.
    """

    a: Tensor
    b: Tensor
    c: Tensor
    distance: Tensor | None


class KernelRecursion:
    """The tangent, or the conjugate, kernel of a network, layer by layer, in torch."""

    def __init__(self, activation: Activation, depth: int, bias: float, weight: float, tangent: bool) -> None:
        self.sides: list[ActivationExpectation] = [
            _NAMED_ACTIVATIONS[one]() if isinstance(one, str) else HermiteExpectation(one)
            for one in activation_branches(activation)
        ]
        self.depth, self.bias, self.weight, self.tangent = depth, bias**2, weight**2, tangent

    def matrix(self, x: Tensor, y: Tensor) -> Tensor:
        """The matrix of tensors (item, feature) in double precision, with gradients."""
        layer = self._input_layer(x, y)
        theta = layer.c
        for last in [False] * (self.depth - 1) + [True]:
            layer, slopes = self._next_layer(layer, 0.0 if last else len(self.sides) * self.bias)
            theta = layer.c + self.weight * slopes * theta
        return theta if self.tangent else layer.c

    def _input_layer(self, x: Tensor, y: Tensor) -> LayerCovariances:
        scale = self.weight / x.shape[1]
        has_fold = any(side.fold for side in self.sides)
        return LayerCovariances(
            a=scale * x.square().sum(1) + self.bias,
            b=scale * y.square().sum(1) + self.bias,
            c=scale * (x @ y.T) + self.bias,
            distance=scale * squared_distances_tensor(x, y) if has_fold else None,
        )

    def _next_layer(self, layer: LayerCovariances, bias: float) -> tuple[LayerCovariances, Tensor]:
        """The inputs of the next layer, and E[φ′(u) φ′(v)] of this one: branches add up, each with its own weights."""
        parts = [self._apply_activation(side, layer) for side in self.sides]
        sums = [sum(one[1:], one[0]) for one in zip(*(part for part, _ in parts), strict=True)]
        a, b, c = (self.weight * one + bias for one in sums[:3])
        distances = [distance for _, distance in parts if distance is not None]
        distance = self.weight * sum(distances[1:], distances[0]) if distances else None
        return LayerCovariances(a, b, c, distance), sums[3]

    def _apply_activation(
        self, side: ActivationExpectation, layer: LayerCovariances
    ) -> tuple[tuple[Tensor, ...], Tensor | None]:
        """a, b, c and E[φ′ φ′] behind one activation, and its D."""
        a, b, c, distance = layer
        tables = side.precompute(a), side.precompute(b)
        (own, own_slopes), (other, other_slopes) = side.diagonal(a, tables[0]), side.diagonal(b, tables[1])
        values, slopes = side.cross_moments(a, b, c, tables)
        if distance is None:
            return (own, other, values, slopes), None
        near = distance.detach() < _NEAR_RATIO * (a[:, None] + b).detach()
        mean_slope = (own_slopes[:, None] + other_slopes) / 2
        curvature = (side.slope_derivative(a, tables[0])[:, None] + side.slope_derivative(b, tables[1])) / 4
        expansion = distance * mean_slope + (a[:, None] - b) ** 2 * curvature
        next_distance = torch.where(near, expansion, (own[:, None] + other - 2 * values).clamp(min=0))
        if side.fold:
            fold_values, signs, rest = FoldExpectation.apply(a, b, distance)  # type: ignore[no-untyped-call]
            f = side.fold**2
            own, other, values, slopes = own + f * a, other + f * b, values + f * fold_values, slopes + f * signs
            next_distance = next_distance + f * (distance - 2 * rest)
        return (own, other, values, slopes), torch.where(distance > 0, next_distance, 0.0)
