"""Tangent and conjugate kernels against mpmath, where points nearly meet, at the origin, and in line with it."""

from functools import cache

import numpy as np
import pytest
from mpmath import mp, mpf

from naive import tangent as naive
from optional_torch import torch
from timelike.distributions import NTK, ConjugateKernel

DEPTHS = (1, 3, 5)
DISTANCES = (0.0, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1.0)
FORMS = {
    "relu": naive.relu,
    "leaky_relu": naive.leaky_relu(mpf(0.01)),
    "abs": naive.absolute,
    "sigmoid": naive.sigmoid,
    "sine": naive.sine,
    "gelu": naive.gelu,
}
KINKED = ("relu", "leaky_relu", "abs")  # without bias they have no gradient at the origin
QUADRATURE = ("gelu",)  # whose expectations are integrated with torch
CASES = [
    pytest.param(name, bias, marks=[pytest.mark.learn] if name in QUADRATURE else [])
    for name in FORMS
    for bias in (0.0, 1.0)
]
STATED = {  # neural-tangents 0.6.5, depth 3: the first three of row 0 of default_rng(0).normal(size=(6, 3))
    ("relu", 1.0): (2.32390016, 2.22224103, 1.99179763),
    ("relu", 0.0): (0.07390016, 0.04147421, 0.03957234),
    ("sigmoid", 0.2): (0.28130673, 0.28128456, 0.28114455),
    ("sine", 1.0): (1.82652743, 1.7724609, 1.32557025),
}


def dimensions(name, depth):
    """Every one for ReLU; for others one or two, as mpmath is slow."""
    return (1, 2, 3) if name == "relu" else (2,) if depth != 3 else (1, 3) if name == "abs" else (3,)


def near(dimension):
    """Pairs at every distance, in a direction of no importance."""
    rng = np.random.default_rng(dimension)
    places, directions = rng.standard_normal((2, len(DISTANCES), dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return places + np.array(DISTANCES)[:, None] * directions, places


def in_line(dimension):
    """Parallel, antiparallel, of equal norm, and nearly so; multiples of two, so that rounding changes no direction."""
    rng = np.random.default_rng(10 + dimension)
    y, other, away = rng.standard_normal((3, dimension))
    ones = np.ones(dimension)
    pairs = [(2 * y, y), (y / 4, y), (-y, y), (-2 * y, y), (y[::-1].copy(), y), (other, y)]
    pairs += [(ones, ones), (2 * ones, ones), (-ones, ones)]
    if dimension > 1:  # nearly in line; an angle loses half of the digits by which it differs from 0 or π
        pairs += [(-y + 1e-3 * away, y), (2 * y + 1e-3 * away, y)]
    return tuple(np.array(side) for side in zip(*pairs, strict=True))


def at_origin(dimension):
    """Pairs of which one point, or both, are at the origin or near it."""
    rng = np.random.default_rng(20 + dimension)
    y, away, other = rng.standard_normal((3, dimension))
    nothing = np.zeros(dimension)
    pairs = [(nothing, nothing), (nothing, y), (y, nothing), (1e-12 * away, nothing), (1e-12 * away, y)]
    pairs += [(y, 1e-12 * away), (1e-6 * away, 1e-6 * other), (1e-12 * away, 1e-12 * other)]
    return tuple(np.array(side) for side in zip(*pairs, strict=True))


@cache
def pairs_of(dimension):
    """All of them."""
    groups = [near(dimension), in_line(dimension), at_origin(dimension)]
    return tuple(np.concatenate(side) for side in zip(*groups, strict=True))


@cache
def truth(name, bias, depth, dimension):
    """Both kernels (kernel, pair) and their gradients (kernel, pair, feature), in higher precision."""
    form = FORMS[name]
    found = [naive.both(x, y, form, depth, bias) for x, y in zip(*pairs_of(dimension), strict=True)]
    slopes = [naive.slopes(x, y, form, depth, bias) for x, y in zip(*pairs_of(dimension), strict=True)]
    return np.array(found, float).T, np.array(slopes).swapaxes(0, 1)


def unlike(found, expected, relative):
    """The pairs whose gradients differ by more than a part of their length; an exact 0 may be 1e-14."""
    errors = np.linalg.norm(found - expected, axis=-1)
    return np.flatnonzero(~(errors <= relative * np.linalg.norm(expected, axis=-1) + 1e-14))


def told(pairs, wrong, found, expected):
    x, y = pairs
    return [(x[i].tolist(), y[i].tolist(), found[i].tolist(), expected[i].tolist()) for i in wrong]


@pytest.mark.parametrize(("name", "bias"), STATED)
def test_the_references_has_the_values_of_neural_tangents(name, bias):
    x = np.random.default_rng(0).normal(size=(6, 3))
    found = [float(naive.ntk(x[0], y, FORMS[name], 3, bias)) for y in x[:3]]
    np.testing.assert_allclose(found, STATED[name, bias], atol=1e-8)


@pytest.mark.parametrize(("name", "bias"), STATED)
def test_the_kernel_has_the_values_of_neural_tangents(name, bias):
    x = np.random.default_rng(0).normal(size=(6, 3))
    np.testing.assert_allclose(NTK(activation=name, bias=bias)(x)[0, :3], STATED[name, bias], atol=1e-8)


def test_the_references_formula_for_gelu_is_its_integral():
    integral = naive.integrated(lambda u: u * mp.ncdf(u), lambda u: mp.ncdf(u) + u * mp.npdf(u), "0.4", 61)
    x, y = [0.3, -1.2], [0.8, 0.1]
    assert naive.ntk(x, y, naive.gelu, 1) == pytest.approx(naive.ntk(x, y, integral, 1), rel=1e-13)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("name", "bias"), CASES)
def test_kernels_have_twelve_digits(name, bias, depth):
    for dimension in dimensions(name, depth):
        x, y = pairs_of(dimension)
        values, _ = truth(name, bias, depth, dimension)
        for kind, kernel in enumerate((ConjugateKernel, NTK)):
            k = kernel(activation=name, bias=bias, depth=depth)
            scale = np.sqrt(np.diagonal(k(x)) * np.diagonal(k(y)))  # of what is nearly opposite
            errors = np.abs(np.diagonal(k(x, y)) - values[kind])
            assert np.all(errors <= 1e-12 * np.abs(values[kind]) + 1e-13 * scale), (kernel, dimension, errors)


@pytest.mark.learn
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kernel", [ConjugateKernel, NTK])
@pytest.mark.parametrize(("name", "bias"), CASES)
def test_gradients_have_six_digits(kernel, name, bias, depth):
    k = kernel(activation=name, bias=bias, depth=depth)
    for dimension in dimensions(name, depth):
        x, y = pairs_of(dimension)
        expected = truth(name, bias, depth, dimension)[1][int(kernel is NTK)]
        _, pulled = k._weighted_sums(x, y, np.eye(len(x)))
        leaf = torch.tensor(x, requires_grad=True)
        k(leaf, torch.tensor(y)).diagonal().sum().backward()
        defined = np.ones(len(x), bool) if bias or name not in KINKED else x.any(axis=1)
        for found in (pulled, leaf.grad.numpy()):
            assert np.isfinite(found).all()
            wrong = unlike(found, expected, 1e-6)
            wrong = wrong[defined[wrong]]
            assert not len(wrong), (dimension, told((x, y), wrong, found, expected))


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_gradients_have_six_digits_in_784_dimensions(bias):
    rng = np.random.default_rng(0)
    y, direction = rng.standard_normal((2, 1, 784))
    some = [0, 5, 783]
    for distance in (0.0, 1e-9, 1e-3):
        x = y + distance * direction / np.linalg.norm(direction)
        expected = np.array(naive.slopes(x[0], y[0], naive.relu, 3, bias, coordinates=some)[1])
        _, found = NTK(bias=bias)._weighted_sums(x, y, np.ones(1))
        assert not len(unlike(found[:, some], expected[None], 1e-6)), distance
