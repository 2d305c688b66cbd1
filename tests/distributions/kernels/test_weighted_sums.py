"""Weighted sums of kernels and their gradients: closed forms against autograd, differences and other precision."""

import numpy as np
import pytest
from mpmath import mp, mpf

from optional_torch import torch
from timelike.distributions import (
    RBF,
    GlobalAlignment,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    NegativeDistance,
    Polynomial,
    RationalQuadratic,
)

SMOOTH = [RBF(width=1.3), Matern(width=1.1, smoothness=2.5), RationalQuadratic(width=0.8, alpha=0.7)]
CUSPED = [Laplacian(width=1.3), Matern(width=0.9, smoothness=0.5), NegativeDistance()]
CLOSED = [*SMOOTH, *CUSPED, Matern(width=1.2, smoothness=1.5)]
BY_AUTOGRAD = [Linear(offset=1.0), Polynomial(), RBF(width=1.0) * Linear()]
MARKED = [*CLOSED, RBF(width=1.0) + 2 * Laplacian(width=2.0)]
MARKED += [pytest.param(kernel, marks=pytest.mark.learn) for kernel in BY_AUTOGRAD]


def samples(features, n=12, m=17, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, features)), rng.normal(size=(m, features)), rng.normal(size=m)


@pytest.mark.parametrize("kernel", MARKED, ids=repr)
@pytest.mark.parametrize("features", [1, 2, 40])
def test_values_are_the_weighted_sums_of_the_matrix_and_gradients_their_differences(kernel, features):
    x, y, weights = samples(features)
    values, gradients = kernel._weighted_sums(x, y, weights)
    np.testing.assert_allclose(values, kernel(x, y) @ weights, rtol=1e-12, atol=1e-12)
    step = 1e-6
    for feature in range(min(features, 3)):
        aside = step * np.eye(features)[feature]
        difference = (kernel(x + aside, y) @ weights - kernel(x - aside, y) @ weights) / (2 * step)
        np.testing.assert_allclose(gradients[:, feature], difference, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kernel", MARKED, ids=repr)
@pytest.mark.parametrize("features", [2, 40])
def test_weights_of_their_own_for_every_item_are_rows_one_by_one(kernel, features):
    x, y, _ = samples(features)
    weights = np.random.default_rng(1).normal(size=(len(x), len(y)))
    values, gradients = kernel._weighted_sums(x, y, weights)
    for i in range(len(x)):
        value, gradient = kernel._weighted_sums(x[i : i + 1], y, weights[i])
        np.testing.assert_allclose(values[i], value[0], rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(gradients[i], gradient[0], rtol=1e-12, atol=1e-13)


@pytest.mark.learn
@pytest.mark.parametrize("kernel", CLOSED, ids=repr)
@pytest.mark.parametrize("features", [2, 40])
def test_closed_forms_are_autograd_s_also_at_copies_of_items(kernel, features):
    x, y, weights = samples(features)
    y[:4] = x[:4]
    for ours, theirs in zip(
        kernel._weighted_sums(x, y, weights), Kernel._weighted_sums(kernel, x, y, weights), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kernel", CLOSED, ids=repr)
@pytest.mark.parametrize("features", [2, 40])
def test_a_copy_pulls_nowhere(kernel, features):
    at = np.full((1, features), 0.7)
    assert (kernel._weighted_sums(at, at.repeat(3, axis=0), np.ones(3))[1] == 0).all()


@pytest.mark.parametrize("kernel", CLOSED, ids=repr)
@pytest.mark.parametrize("features", [2, 40])
@pytest.mark.parametrize("distance", [1e-12, 1e-9, 1e-6, 1e-3])
def test_gradients_of_points_that_nearly_coincide_are_those_of_more_digits(kernel, features, distance):
    y = np.random.default_rng(3).normal(size=(1, features))
    x = y + distance * np.eye(features)[:1]
    _, gradient = kernel._weighted_sums(x, y, np.ones(1))
    exact = mpf(float(x[0, 0])) - mpf(float(y[0, 0]))  # what is left of the distance once x is rounded
    assert gradient[0, 0] == pytest.approx(float(_slope(kernel, exact)), rel=1e-9)
    assert (gradient[0, 1:] == 0).all()


def _slope(kernel, r):
    """dk/dr at r > 0, by hand."""
    width = mpf(kernel.width) if not isinstance(kernel, NegativeDistance) else None
    if isinstance(kernel, RBF):
        return -r / width**2 * mp.exp(-((r / width) ** 2) / 2)
    if isinstance(kernel, NegativeDistance):
        return mpf(-1)
    if isinstance(kernel, RationalQuadratic):
        alpha = mpf(kernel.alpha)
        return -r / width**2 * (1 + (r / width) ** 2 / (2 * alpha)) ** (-alpha - 1)
    order = {0.5: 0, 1.5: 1, 2.5: 2}[getattr(kernel, "smoothness", 0.5)]
    factor = mp.sqrt(2 * order + 1)
    s = factor * r / width
    polynomial = {0: mpf(1), 1: s, 2: s * (1 + s) / 3}[order]  # −d/ds of (1), (1 + s), (1 + s + s²/3) times exp(−s)
    return -polynomial * mp.exp(-s) * factor / width


@pytest.mark.parametrize("kernel", CLOSED, ids=repr)
@pytest.mark.parametrize("features", [2, 40])
def test_an_item_is_pulled_alike_in_any_company_to_the_last_bit(kernel, features):
    x, y, weights = samples(features, n=150, m=700)
    together = kernel._weighted_sums(x, y, weights)
    for i in (0, 1, 63, 64, 100, 149):
        for among, alone in zip(together, kernel._weighted_sums(x[i : i + 1], y, weights), strict=True):
            assert (among[i] == alone[0]).all()


def test_many_near_pairs_of_many_features_are_pulled_like_few():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(70, 300)) * 1e-3
    x[0] += 10.0  # the others are near each other beside it
    weights = rng.normal(size=70)
    for kernel in (RBF(width=0.02), NegativeDistance()):
        values, gradients = kernel._weighted_sums(x, x, weights)
        for i in (0, 1, 69):
            others = np.arange(70) != i
            r = np.linalg.norm(x[i] - x, axis=1)
            c = -np.exp(-((r / 0.02) ** 2) / 2) / 0.02**2 if kernel == RBF(width=0.02) else -1 / np.where(others, r, 1)
            expected = ((weights * c)[others, None] * (x[i] - x)[others]).sum(axis=0)
            np.testing.assert_allclose(gradients[i], expected, rtol=1e-10, atol=1e-12)
        assert np.isfinite(values).all()


@pytest.mark.learn
def test_kernels_over_sequences_are_pulled_through_autograd():
    rng = np.random.default_rng(0)
    x, y, weights = rng.normal(size=(3, 5, 2)), rng.normal(size=(4, 6, 2)), rng.normal(size=4)
    kernel = GlobalAlignment(gamma=2.0)
    values, gradients = kernel._weighted_sums(x, y, weights)
    assert gradients.shape == x.shape
    leaf = torch.tensor(x, requires_grad=True)
    sums = kernel._kernel_tensor(leaf, torch.tensor(y)) @ torch.tensor(weights)
    sums.sum().backward()
    np.testing.assert_allclose(values, sums.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(gradients, leaf.grad.numpy(), rtol=1e-12)


def test_points_too_far_apart_for_doubles_are_refused():
    with pytest.raises(ValueError, match="too far apart"):
        RBF(width=1.0)._weighted_sums(np.full((1, 40), 1e200), np.zeros((2, 40)), np.ones(2))
