"""Kernels of wide networks whose activations the compiled kernels do not know: GELU, any function, branches of both."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor

from ..kernels.distances import tensor_squares
from .expectations import Fold, Gelu, Series, Sigmoid, Sine, Slope, Smooth
from .spec import Activation, branches

_NAMED = {
    "relu": lambda: Slope(0.0),
    "leaky_relu": lambda: Slope(0.01),
    "abs": lambda: Slope(-1.0),
    "sigmoid": Sigmoid,
    "sine": Sine,
    "gelu": Gelu,
}
_NEAR = 1e-8  # of a + b: below, D of the next layer is taken from its expansion, and not as a difference


class Network(Protocol):
    """The options of a kernel of wide networks."""

    @property
    def activation(self) -> Activation: ...
    @property
    def depth(self) -> int: ...
    @property
    def bias(self) -> float: ...
    @property
    def weight(self) -> float: ...

    _tangent: ClassVar[bool]


def matrix(x: Tensor, y: Tensor, network: Network) -> Tensor:
    """The kernel of x and y, each (item, feature) in double precision, with gradients to both."""
    kernel = Recursion(network.activation, network.depth, network.bias, network.weight, network._tangent)
    return kernel.matrix(x, y)


def refuse_unfit(activation: Activation) -> None:
    """An error for functions that are no activations, so that they are refused where they are given."""
    for one in branches(activation):
        if not isinstance(one, str):
            Series(one)


class Layer(NamedTuple):
    """Of the inputs of a layer: variances (item,) of both sides, covariances (item, item), and D = a + b − 2c.

    D is None where nothing has a fold: smooth kernels need no distances.
    """

    a: Tensor
    b: Tensor
    c: Tensor
    distance: Tensor | None


class Recursion:
    """The tangent, or the conjugate, kernel of a network, layer by layer, in torch."""

    def __init__(self, activation: Activation, depth: int, bias: float, weight: float, tangent: bool) -> None:
        self.sides: list[Smooth] = [
            _NAMED[one]() if isinstance(one, str) else Series(one) for one in branches(activation)
        ]
        self.depth, self.bias, self.weight, self.tangent = depth, bias**2, weight**2, tangent

    def matrix(self, x: Tensor, y: Tensor) -> Tensor:
        """Of tensors (item, feature) in double precision, with gradients."""
        layer = self._first(x, y)
        theta = layer.c
        for last in [False] * (self.depth - 1) + [True]:
            layer, slopes = self._next(layer, 0.0 if last else len(self.sides) * self.bias)
            theta = layer.c + self.weight * slopes * theta
        return theta if self.tangent else layer.c

    def _first(self, x: Tensor, y: Tensor) -> Layer:
        scale = self.weight / x.shape[1]
        folded = any(side.fold for side in self.sides)
        return Layer(
            a=scale * x.square().sum(1) + self.bias,
            b=scale * y.square().sum(1) + self.bias,
            c=scale * (x @ y.T) + self.bias,
            distance=scale * tensor_squares(x, y) if folded else None,
        )

    def _next(self, layer: Layer, bias: float) -> tuple[Layer, Tensor]:
        """The inputs of the next layer, and E[φ′(u) φ′(v)] of this one: branches add up, each with its own weights."""
        parts = [self._through(side, layer) for side in self.sides]
        sums = [sum(one[1:], one[0]) for one in zip(*(part for part, _ in parts), strict=True)]
        a, b, c = (self.weight * one + bias for one in sums[:3])
        distances = [distance for _, distance in parts if distance is not None]
        distance = self.weight * sum(distances[1:], distances[0]) if distances else None
        return Layer(a, b, c, distance), sums[3]

    def _through(self, side: Smooth, layer: Layer) -> tuple[tuple[Tensor, ...], Tensor | None]:
        """a, b, c and E[φ′ φ′] behind one activation, and its D."""
        a, b, c, distance = layer
        known = side.known(a), side.known(b)
        (own, own_slopes), (other, other_slopes) = side.itself(a, known[0]), side.itself(b, known[1])
        values, slopes = side.between(a, b, c, known)
        if distance is None:
            return (own, other, values, slopes), None
        near = distance.detach() < _NEAR * (a[:, None] + b).detach()
        steep = (own_slopes[:, None] + other_slopes) / 2
        bent = (side.bend(a, known[0])[:, None] + side.bend(b, known[1])) / 4
        expanded = distance * steep + (a[:, None] - b) ** 2 * bent
        apart = torch.where(near, expanded, (own[:, None] + other - 2 * values).clamp(min=0))
        if side.fold:
            folded, signs, rest = Fold.apply(a, b, distance)  # type: ignore[no-untyped-call]
            f = side.fold**2
            own, other, values, slopes = own + f * a, other + f * b, values + f * folded, slopes + f * signs
            apart = apart + f * (distance - 2 * rest)
        return (own, other, values, slopes), torch.where(distance > 0, apart, 0.0)
