"""Tangent and conjugate kernels of wide networks in closed form, and their gradients, in arrays of doubles.

Of two points a network of infinite width knows three numbers in every layer: a and b, the variances of what its units
take in, and their covariance c. Next to them stands D = a + b − 2c, which begins as a squared distance of the points:
nothing here is found as the small difference of large numbers where points are close, or parallel.

The derivatives come in two forms. Of a pair that is far they are by c, of one that is near by D, as c has lost what
tells near points from each other. `turn` stands before the other point where the pair is far, and before the difference
x − y where it is near; `own` before the point itself. Rows are added up in one order: no number depends on the threads,
the blocks or the rows beside it. Instruction sets round differently.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine import kernels, use_kernels

Doubles = NDArray[np.float64]

_MAX_VALUE = 1e50  # products of powers of numbers up to it stay finite

SLOPE, SINE, SIGMOID = range(3)
"""Families of activations: s·z below 0 and z above it; sin z; ½ + ½ erf(z / 2.402…)."""


class WideNetwork(NamedTuple):
    """A wide network: what its layers compute, and which of its kernels is meant."""

    branches: tuple[tuple[int, float], ...]
    """Of every layer: families of activations, each with its slope below 0 (0 where it has none)."""
    depth: int
    """Hidden layers."""
    bias: float
    weight: float
    tangent: bool
    """The tangent kernel, else the conjugate one."""

    @property
    def is_cone(self) -> bool:
        """Whether only the angle between points goes through its layers: one activation of two slopes, no bias."""
        return len(self.branches) == 1 and self.branches[0][0] == SLOPE and self.bias == 0


class KernelSlopes(NamedTuple):
    """A matrix (x, y) and what its derivatives are made of, each (x, y)."""

    values: Doubles
    turn: Doubles
    own_x: Doubles
    own_y: Doubles | None
    """None where gradients by y are not wanted."""
    near: NDArray[np.bool_]


def matrix(x: Doubles, y: Doubles | None, network: WideNetwork, *, threads: int) -> Doubles:
    """The kernel of x (row, feature) and y (row, feature); of x with itself, exactly symmetric, where y is None."""
    x, other = _validate_sides(x, x if y is None else y)
    if use_kernels():
        out = np.empty((len(x), len(other)))
        kernels.tangent_matrix(network, x, other, symmetric=y is None, threads=threads, out=out)
        return out
    from . import fallback

    return fallback.matrix(x, None if y is None else other, network)


def weighted_sums(
    x: Doubles, y: Doubles, weights: Doubles, network: WideNetwork, *, threads: int
) -> tuple[Doubles, Doubles]:
    """Σ_j w_j k(x_i, y_j), (x,), and its gradient by x_i, (x, feature); weights are (y,) or (x, y)."""
    x, y = _validate_sides(x, y)
    if weights.shape not in ((len(y),), (len(x), len(y))):
        raise ValueError(f"weights have shape {weights.shape}: expected ({len(y)},) or ({len(x)}, {len(y)})")
    if use_kernels():
        values, gradients = np.empty(len(x)), np.empty(x.shape)
        shares = np.ascontiguousarray(np.atleast_2d(weights), np.float64)
        kernels.tangent_pulled(network, x, y, shares, threads=threads, values=values, gradients=gradients)
        return values, gradients
    from . import fallback

    return fallback.weighted_sums(x, y, weights, network)


def kernel_slopes(x: Doubles, y: Doubles, network: WideNetwork, *, threads: int, both: bool = True) -> KernelSlopes:
    """The matrix with all that `weighted_gradients` needs to give its gradients, by both sides or by x alone."""
    x, y = _validate_sides(x, y)
    if not use_kernels():
        from . import fallback

        return fallback.kernel_slopes(x, y, network)
    shape = len(x), len(y)
    values, turn, own_x = (np.empty(shape) for _ in range(3))
    slopes = KernelSlopes(values, turn, own_x, np.empty(shape) if both else None, np.empty(shape, bool))
    kernels.tangent_slopes(network, x, y, threads=threads, **slopes._asdict())
    return slopes


def weighted_gradients(
    x: Doubles,
    y: Doubles,
    found: KernelSlopes,
    weights: Doubles,
    network: WideNetwork,
    *,
    threads: int,
    wanted: tuple[bool, bool] = (True, True),
) -> tuple[Doubles | None, Doubles | None]:
    """The gradients of Σ_ij w_ij k(x_i, y_j) by x and by y, those that are wanted."""
    x, y = _validate_sides(x, y)
    if not use_kernels():
        from . import fallback

        return fallback.weighted_gradients(x, y, found, weights, network, wanted)
    by_x, by_y = (np.empty(side.shape) if is_wanted else None for side, is_wanted in zip((x, y), wanted, strict=True))
    if by_x is not None:
        given = found.turn, found.own_x, found.near, weights
        kernels.tangent_pushed(network, x, y, *given, turned=False, threads=threads, gradients=by_x)
    if by_y is not None:
        assert found.own_y is not None, "slopes were asked for x alone"
        given = found.turn, found.own_y, found.near, weights
        kernels.tangent_pushed(network, y, x, *given, turned=True, threads=threads, gradients=by_y)
    return by_x, by_y


def _validate_sides(x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
    """Both sides as the kernels read them."""
    for side, name in ((x, "x"), (y, "y")):
        if side.ndim != 2 or side.shape[1] != x.shape[1] or not side.shape[1]:
            raise ValueError(f"{name} has shape {side.shape}: expected (row, feature), with as many features as x")
        if side.dtype != np.float64:
            raise ValueError(f"{name} is {side.dtype}: expected float64; use {name}.astype(np.float64)")
        if side.size and not max(-side.min(), side.max()) < _MAX_VALUE:  # also where it is not a number
            raise ValueError(
                f"{name} has numbers beyond {_MAX_VALUE:g}, whose squares are infinite, or none: rescale it"
            )
    one = np.ascontiguousarray(x)
    return one, one if y is x else np.ascontiguousarray(y)
