"""The fallback of the tangent kernels in NumPy, a block of rows after the other: the same numbers up to rounding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import KernelSlopes, WideNetwork
from .fallback_layers import LayerMoments, PointPair, cone_angle, is_near, layer_moments, layer_variance, next_angle

Doubles = NDArray[np.float64]

_MAX_PAIRS = 1 << 15  # pairs of a block: about forty arrays of them are alive


class KernelBlock(NamedTuple):
    """The kernel of a block of pairs and what its derivatives are made of."""

    values: Doubles
    turn: Doubles
    own_x: Doubles
    own_y: Doubles
    near: NDArray[np.bool_]


class CarriedDerivatives(NamedTuple):
    """Derivatives of one number: by D where a pair is near, else by c, and by both variances."""

    v: Doubles
    x: Doubles
    y: Doubles


def matrix(x: Doubles, y: Doubles | None, network: WideNetwork) -> Doubles:
    """The kernel of all rows of x and of y."""
    out = np.empty((len(x), len(x if y is None else y)))
    for rows, block in _iterate_blocks(x, x if y is None else y, network):
        out[rows] = block.values
    return out if y is not None else np.tril(out) + np.tril(out, -1).T


def kernel_slopes(x: Doubles, y: Doubles, network: WideNetwork) -> KernelSlopes:
    """The matrix and its derivatives."""
    shape = len(x), len(y)
    values, turn, own_x, own_y = (np.empty(shape) for _ in range(4))
    near = np.empty(shape, bool)
    for rows, block in _iterate_blocks(x, y, network):
        for whole, part in zip((values, turn, own_x, own_y, near), block, strict=True):
            whole[rows] = part
    return KernelSlopes(values, turn, own_x, own_y, near)


def weighted_sums(x: Doubles, y: Doubles, weights: Doubles, network: WideNetwork) -> tuple[Doubles, Doubles]:
    """Weighted sums of every row and their gradients by x."""
    values, gradients = np.zeros(len(x)), np.zeros(x.shape)
    for rows, block in _iterate_blocks(x, y, network):
        shares = weights[rows] if weights.ndim == 2 else weights
        values[rows] = (shares * block.values).sum(axis=1)
        gradients[rows] = _sum_gradients(x[rows], y, block.turn * shares, block.own_x * shares, block.near)
    return values, gradients * _input_scale(x, network)


def weighted_gradients(
    x: Doubles, y: Doubles, found: KernelSlopes, weights: Doubles, network: WideNetwork, wanted: tuple[bool, bool]
) -> tuple[Doubles | None, Doubles | None]:
    """Gradients of the weighted sum of a matrix, by x and by y."""
    turn, scale = found.turn * weights, _input_scale(x, network)
    by_x = scale * _sum_gradients(x, y, turn, found.own_x * weights, found.near) if wanted[0] else None
    if not wanted[1]:
        return by_x, None
    assert found.own_y is not None
    by_y = scale * _sum_gradients(y, x, turn.T, (found.own_y * weights).T, found.near.T)
    return by_x, by_y


def _sum_gradients(x: Doubles, y: Doubles, turn: Doubles, own: Doubles, near: NDArray[np.bool_]) -> Doubles:
    """Σ_j turn_ij (x_i − y_j where the pair is near, else y_j) + own_ij x_i."""
    out = np.empty(x.shape)
    total = own.sum(axis=1)
    for k in range(x.shape[1]):
        out[:, k] = (turn * np.where(near, x[:, k, None] - y[:, k], y[:, k])).sum(axis=1) + total * x[:, k]
    return out


def _input_scale(x: Doubles, network: WideNetwork) -> float:
    return float(network.weight**2 / x.shape[1])


def _iterate_blocks(x: Doubles, y: Doubles, network: WideNetwork) -> Iterator[tuple[slice, KernelBlock]]:
    if not len(y):
        return
    at_once = max(1, _MAX_PAIRS // len(y))
    for begin in range(0, len(x), at_once):
        rows = slice(begin, begin + at_once)
        yield rows, _compute_block(x[rows], y, network)


def _input_pair(x: Doubles, y: Doubles, network: WideNetwork) -> PointPair:
    """Before the first activation; feature by feature, so that every pair is added up in the same order."""
    shape = len(x), len(y)
    c, apart, change = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    a, b = np.zeros((len(x), 1)), np.zeros((1, len(y)))
    for k in range(x.shape[1]):
        one, two = x[:, k, None], y[None, :, k]
        a, b, c = a + one * one, b + two * two, c + one * two
        away = one - two
        apart += away * away
        change += away * (one + two)
    scale, more = _input_scale(x, network), network.bias**2
    # sums over features in a row: their errors grow like the root of how many there are
    snap = 16 + 2 * float(np.sqrt(x.shape[1]))
    a, b = (_drop_tiny(scale * one + more) for one in (a, b))
    pair = PointPair(a, b, scale * c + more, scale * apart, scale * change, snap)
    return pair._replace(angle=cone_angle(pair, *_direction_lengths(x, y, pair, scale))) if network.is_cone else pair


def _direction_lengths(x: Doubles, y: Doubles, pair: PointPair, scale: float) -> tuple[Doubles, Doubles]:
    """Squared lengths of the difference and of the sum of two vectors of length 1; 0 stays what it is."""
    sides = [np.sqrt(np.where(one > 0, one, np.inf)) for one in (pair.a, pair.b)]
    apart, together = np.zeros((2, len(x), len(y)))
    for k in range(x.shape[1]):
        one, two = x[:, k, None] / sides[0], y[None, :, k] / sides[1]
        apart += (one - two) ** 2
        together += (one + two) ** 2
    return scale * apart, scale * together


def _compute_block(x: Doubles, y: Doubles, network: WideNetwork) -> KernelBlock:
    pair = _input_pair(x, y, network)
    near = is_near(pair)
    half = np.where(near, -0.5, 1.0)  # of c by what is carried
    nothing = np.zeros_like(half)
    carried = CarriedDerivatives(np.ones_like(half), nothing, nothing)
    grown_x, grown_y = np.ones_like(pair.a), np.ones_like(pair.b)  # of this layer's variances by the first's
    kernel, slope = pair.c, CarriedDerivatives(half, np.where(near, 0.5, 0.0), np.where(near, 0.5, 0.0))
    square = network.weight**2
    for layer in range(network.depth):
        after = _sum_branches(network, pair)
        more = len(network.branches) * network.bias**2 if layer < network.depth - 1 else 0.0
        a, next_x = _next_variances(network, pair.a, grown_x, more)
        b, next_y = _next_variances(network, pair.b, grown_y, more)
        turned = CarriedDerivatives(
            square * after.tau * carried.v,
            square * (after.tau * carried.x + np.where(near, after.apart_x, after.c_x) * grown_x),
            square * (after.tau * carried.y + np.where(near, after.apart_y, after.c_y) * grown_y),
        )
        mean = square * after.c + more
        by_mean = CarriedDerivatives(
            half * turned.v,
            np.where(near, 0.5 * (next_x - turned.x), turned.x),
            np.where(near, 0.5 * (next_y - turned.y), turned.y),
        )
        if network.tangent:
            tau_v = half * after.tau_c
            tau_x = tau_v * carried.x + np.where(near, after.near_x, after.tau_x) * grown_x
            tau_y = tau_v * carried.y + np.where(near, after.near_y, after.tau_y) * grown_y
            slope = CarriedDerivatives(
                by_mean.v + square * (after.tau * slope.v + tau_v * carried.v * kernel),
                by_mean.x + square * (after.tau * slope.x + tau_x * kernel),
                by_mean.y + square * (after.tau * slope.y + tau_y * kernel),
            )
            kernel = mean + square * after.tau * kernel
        else:
            kernel, slope = mean, by_mean
        carried, grown_x, grown_y = turned, next_x, next_y
        angle = pair.angle and next_angle(network.branches[0][1], pair.angle)
        pair = PointPair(a, b, mean, square * after.apart, square * after.change, pair.snap, angle)
    return KernelBlock(kernel, np.where(near, 2 * slope.v, slope.v), 2 * slope.x, 2 * slope.y, near)


def _sum_branches(network: WideNetwork, pair: PointPair) -> LayerMoments:
    moments = [layer_moments(family, slope, pair) for family, slope in network.branches]
    return sum(moments[1:], moments[0])


def _next_variances(network: WideNetwork, a: Doubles, grown: Doubles, more: float) -> tuple[Doubles, Doubles]:
    """The variances after a layer, and their derivatives by the first's."""
    values, slopes = np.full_like(a, more), np.zeros_like(a)
    for family, slope in network.branches:
        value, by = layer_variance(family, slope, a)
        values, slopes = values + network.weight**2 * value, slopes + network.weight**2 * by
    return _drop_tiny(values), slopes * grown


def _drop_tiny(variances: Doubles) -> Doubles:
    """0 where the inverse would be infinite."""
    return np.where(variances < 1e-290, 0.0, variances)
