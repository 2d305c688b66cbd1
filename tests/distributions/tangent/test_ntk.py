"""`NTK` and `ConjugateKernel` as kernels: positive, the same for arrays and tensors, with gradients that torch's own confirm."""

import numpy as np
import pytest

from optional_torch import torch
from timelike.distributions import IPM, NTK, ConjugateKernel, mmd

CLOSED = ("relu", "leaky_relu", "abs", "sigmoid", "sine", ("relu", "sine"))


def sample(n, features=2, seed=0):
    return np.random.default_rng(seed).standard_normal((n, features))


def crowded(n, features):
    """Points of which many nearly meet, some are the same, some in line, and one is the origin."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, features))
    x[n // 2 :] = x[: n - n // 2] + 1e-9 * rng.standard_normal((n - n // 2, features))
    x[1], x[2], x[3] = x[0], 2 * x[0], 0
    return x


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("kind", [NTK, ConjugateKernel])
def test_matrices_are_positive_to_rounding_where_points_nearly_meet(kind, activation, bias):
    for features in (1, 2, 30):
        found = kind(activation=activation, bias=bias)(crowded(60, features))
        assert np.isfinite(found).all()
        np.testing.assert_array_equal(found, found.T)
        values = np.linalg.eigvalsh(found)
        assert values[0] >= -1e-13 * values[-1]


@pytest.mark.learn
@pytest.mark.parametrize("activation", CLOSED)
@pytest.mark.parametrize("kind", [NTK, ConjugateKernel])
def test_gradients_by_both_sides_are_those_of_finite_differences(kind, activation):
    kernel = kind(activation=activation, depth=2, bias=0.5, weight=1.3)
    x, y = (torch.tensor(sample(n, 3, seed=n), requires_grad=True) for n in (4, 5))
    assert torch.autograd.gradcheck(kernel, (x, y))


@pytest.mark.learn
@pytest.mark.parametrize("kind", [NTK, ConjugateKernel])
def test_the_gradient_of_a_matrix_of_one_sample_counts_both_its_sides(kind):
    kernel, x = kind(bias=0.5), torch.tensor(sample(5), requires_grad=True)
    weights = torch.tensor(sample(5, 5))
    assert torch.autograd.gradcheck(lambda x: (kernel(x) * weights).sum(), (x,))


@pytest.mark.learn
def test_tensors_have_the_numbers_of_arrays_and_their_own_dtype():
    x, y, kernel = sample(7), sample(4, seed=1), NTK()
    expected = kernel(x, y)
    found = kernel(torch.tensor(x), torch.tensor(y))
    np.testing.assert_array_equal(found.numpy(), expected)
    graded = kernel(torch.tensor(x, requires_grad=True), torch.tensor(y))
    np.testing.assert_array_equal(graded.detach().numpy(), expected)
    single = kernel(torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
    assert single.dtype == torch.float32
    np.testing.assert_allclose(single.numpy(), expected, rtol=1e-6)


@pytest.mark.learn
def test_who_differentiates_twice_is_told():
    x = torch.tensor(sample(3), requires_grad=True)
    (gradient,) = torch.autograd.grad(NTK()(x, x.detach()).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiated twice: its closed-form gradients"):
        gradient.square().sum().backward()


@pytest.mark.learn
@pytest.mark.parametrize("activation", ["relu", ("relu", "sine")])
def test_sums_over_the_other_points_are_those_of_autograd(activation):
    kernel, x, y = NTK(activation=activation), crowded(12, 2), sample(9)
    for weights in (sample(9, 1)[:, 0], sample(12, 9)):
        values, gradients = kernel._weighted_sums(x, y, weights)
        points = torch.tensor(x, requires_grad=True)
        sums = (kernel(points, torch.tensor(y)) * torch.tensor(weights)).sum(1)
        (expected,) = torch.autograd.grad(sums.sum(), points)
        np.testing.assert_allclose(values, sums.detach().numpy(), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(gradients, expected.numpy(), rtol=1e-11, atol=1e-12)


def test_sums_over_series_have_gradients_like_them():
    x, y = sample(6, 8).reshape(6, 4, 2), sample(5, 8, seed=1).reshape(5, 4, 2)
    values, gradients = NTK()._weighted_sums(x, y, np.ones(5))
    assert gradients.shape == x.shape
    flat = NTK()._weighted_sums(x.reshape(6, 8), y.reshape(5, 8), np.ones(5))
    np.testing.assert_array_equal(values, flat[0])
    np.testing.assert_array_equal(gradients.reshape(6, 8), flat[1])


@pytest.mark.parametrize("kind", [NTK, ConjugateKernel])
@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "abs"])
def test_without_bias_nothing_is_like_the_origin_and_no_number_is_lost_there(kind, activation):
    kernel, x = kind(activation=activation, bias=0.0), np.array([[0.0, 0.0], [1.0, 2.0], [-3.0, 0.5]])
    assert not kernel(x)[0].any()
    values, gradients = kernel._weighted_sums(x, np.zeros((1, 2)), np.ones(1))
    assert not values.any()
    assert not gradients.any()
    assert np.isfinite(kernel._weighted_sums(x, x, np.ones(3))[1]).all()


def test_without_bias_relu_tells_no_multiples_apart_and_with_it_does():
    x = np.array([[1.0, 2.0]])
    y = 2 * x
    one, both = NTK(bias=0.0), NTK()
    assert one(x, y) ** 2 == pytest.approx(one(x) * one(y), rel=1e-14)
    assert both(x, y) ** 2 < (1 - 1e-4) * both(x) * both(y)


def test_one_hidden_layer_of_relu_is_the_formula_of_bietti_and_mairal():
    # ‖x‖‖y‖ κ(cos θ) with κ(u) = u κ₀(u) + κ₁(u), of 2019, up to a factor of the dimension and of ½ for the half of z < 0
    x, y = np.array([[1.0, 0.0]]), np.array([[0.0, 3.0]])
    assert NTK(depth=1, bias=0.0)(x, y)[0, 0] == pytest.approx(3 / 2 / (2 * np.pi), rel=1e-15)


def test_the_kernels_serve_discrepancies_and_discriminators():
    x, y = sample(8), sample(9, seed=1) + 1
    kernel = NTK()
    full = kernel(np.concatenate([x, y]))
    expected = full[:8, :8].mean() + full[8:, 8:].mean() - 2 * full[:8, 8:].mean()
    assert mmd(x, y, kernel) == pytest.approx(expected, rel=1e-12)
    critic = IPM(kernel).train_critic(x, y)
    np.testing.assert_allclose(critic(x), kernel(x).mean(axis=1) - kernel(x, y).mean(axis=1), rtol=1e-11, atol=1e-13)


def test_equal_options_are_equal_kernels_and_are_shown():
    assert NTK(bias=1) == NTK()
    assert hash(NTK()) == hash(NTK(depth=3))
    assert NTK() != ConjugateKernel()
    assert repr(NTK(activation=("relu", "sine"), bias=0)) == "NTK(activation=('relu', 'sine'), bias=0.0)"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"activation": "swish"}, ValueError, "activation='swish': expected one of \"relu\""),
        ({"activation": 3}, TypeError, "activation=3: expected one of"),
        ({"activation": ()}, TypeError, r"activation=\(\): expected a tuple of names for branches"),
        ({"activation": ["relu", "sine"]}, TypeError, "expected a tuple of names for branches"),
        ({"depth": 0}, ValueError, "depth=0: expected at least 1"),
        ({"depth": 2.5}, TypeError, "depth=2.5: expected an integer"),
        ({"bias": -1.0}, ValueError, "bias=-1.0: expected a finite number at least 0"),
        ({"weight": 0.0}, ValueError, "weight=0.0: expected a finite number greater than 0"),
    ],
)
def test_options_that_make_no_network_are_refused(options, error, message):
    for kind in (NTK, ConjugateKernel):
        with pytest.raises(error, match=message):
            kind(**options)


def test_samples_that_cannot_be_compared_are_refused():
    with pytest.raises(ValueError, match="y has vectors of 3 numbers and x of 2"):
        NTK()(sample(3), sample(3, 3))
    with pytest.raises(ValueError, match="missing"):
        NTK()(np.array([[np.nan, 1.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match=r"x has numbers beyond 1e\+50"):
        NTK()(np.full((2, 2), 1e60))
