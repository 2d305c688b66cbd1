"""Activations without a compiled kernel: any function by Hermite series, GELU, and branches of both."""

import numpy as np
import pytest
import torch
from mpmath import mp
from torch.nn import functional

from naive import tangent as naive
from timelike.distributions import NTK, ConjugateKernel, mmd
from timelike.distributions.tangent import hermite
from timelike.distributions.tangent.autograd import KernelRecursion

SPREAD = 2.4020563531719796
FUNCTIONS = {
    "relu": torch.relu,
    "leaky_relu": functional.leaky_relu,
    "abs": torch.abs,
    "sine": torch.sin,
    "sigmoid": lambda z: 0.5 + 0.5 * torch.erf(z / SPREAD),
}


def sample(n=7, dimension=3, seed=0):
    """Points of which some nearly meet, two are one, and one is at the origin."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, dimension))
    x[1] = x[0] + 1e-8 * rng.standard_normal(dimension)
    x[2] = x[0] + 1e-4 * rng.standard_normal(dimension)
    x[4] = x[3]
    x[-1] = 0
    return x


def by_panels(function, a, b, c, breaks):
    """E[φ(u) φ(v)] for φ with kinks, by Gauss and Legendre between them."""

    def rule(edges):
        nodes, weights = np.polynomial.legendre.leggauss(40)
        low, high = edges[..., :-1, None], edges[..., 1:, None]
        points = (low + high) / 2 + (high - low) / 2 * nodes
        masses = (high - low) / 2 * weights * np.exp(-(points**2) / 2) / np.sqrt(2 * np.pi)
        shape = (*edges.shape[:-1], -1)
        return points.reshape(shape), masses.reshape(shape)

    even = np.linspace(-9, 9, 13)
    s, outer = rule(np.sort(np.r_[even, np.array(breaks) / np.sqrt(a)]))
    along, across = c / np.sqrt(a), np.sqrt(b - c**2 / a)
    kinks = np.stack([(kink - along * s) / across for kink in breaks], 1).clip(-9, 9)
    t, inner = rule(np.sort(np.concatenate([np.broadcast_to(even, (len(s), len(even))), kinks], 1)))
    u, v = (torch.from_numpy(values) for values in (np.sqrt(a) * s, along * s[:, None] + across * t))
    return float(outer @ (function(u).numpy() * (inner * function(v).numpy()).sum(1)))


def slope_of(function):
    def slope(z):
        with torch.enable_grad():
            leaf = z.clone().requires_grad_()
            return torch.autograd.grad(function(leaf).sum(), leaf)[0]

    return slope


@pytest.mark.parametrize("weight", [1.0, 1.5])
def test_a_smooth_function_has_the_expectations_of_its_integral(weight):
    x, y = [0.3, -1.2], [0.8, 0.1]
    reference = naive.integrated(mp.tanh, lambda u: mp.sech(u) ** 2, step="0.16", n_points=151)
    for kernel, expected in zip((ConjugateKernel, NTK), naive.both(x, y, reference, 1, 0.5, weight), strict=True):
        found = kernel(activation=torch.tanh, depth=1, bias=0.5, weight=weight)([x], [y]).item()
        assert found == pytest.approx(float(expected), rel=1e-11)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("kernel", [ConjugateKernel, NTK])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_the_kernel_of_its_name_and_the_same_gradients(name, kernel, bias):
    x = sample()
    by_name, by_function = (kernel(activation=one, bias=bias) for one in (name, FUNCTIONS[name]))
    np.testing.assert_allclose(by_function(x), by_name(x), rtol=1e-11, atol=1e-13)
    weights = np.random.default_rng(1).standard_normal((len(x), len(x)))
    values, gradients = by_function._weighted_sums(x, x, weights)
    expected_values, expected = by_name._weighted_sums(x, x, weights)
    kept = np.ones(len(x), bool) if bias else x.any(axis=1)  # without bias there is no gradient at the origin
    np.testing.assert_allclose(values, expected_values, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(gradients[kept], expected[kept], rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_gelu_as_a_function_is_gelu_by_name():
    x = sample()
    series, closed = NTK(activation=functional.gelu), NTK(activation="gelu")
    np.testing.assert_allclose(series(x), closed(x), rtol=1e-6)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_branches_are_added_in_every_layer_each_with_a_bias_of_its_own(bias):
    x = sample()
    names, mixed = NTK(activation=("relu", "sine"), bias=bias), NTK(activation=("relu", torch.sin), bias=bias)
    np.testing.assert_allclose(mixed(x), names(x), rtol=1e-11, atol=1e-13)
    both = (naive.relu, naive.sine)
    for kernel in (names, mixed):
        expected = [float(naive.ntk(x[0], y, both, 3, bias)) for y in x]
        np.testing.assert_allclose(kernel(x)[0], expected, rtol=1e-11)
    assert abs(names(x)[0, 3] - NTK(bias=bias)(x)[0, 3] - NTK(activation="sine", bias=bias)(x)[0, 3]) > 1e-3


def test_branches_of_a_fold_and_a_function_keep_their_gradients_where_points_nearly_meet():
    x, y = sample()[:3], sample()[[0]]
    kernel = NTK(activation=("relu", "gelu", torch.tanh), bias=0.5)
    gradients = kernel._weighted_sums(x, y, np.ones(1))[1]
    reference = (naive.relu, naive.gelu, naive.integrated(mp.tanh, lambda u: mp.sech(u) ** 2))
    aside = np.eye(3)[0] * 1e-3  # a central difference, whose error is 1e-6 of the third derivative
    far = np.random.default_rng(3).standard_normal((1, 3)) / 3
    slope = (kernel(far + aside, y) - kernel(far - aside, y)).item() / 2e-3
    assert kernel._weighted_sums(far, y, np.ones(1))[1][0, 0] == pytest.approx(slope, rel=1e-5)
    shallow = NTK(activation=kernel.activation, bias=0.5, depth=1)
    assert shallow(far, y).item() == pytest.approx(float(naive.ntk(far[0], y[0], reference, 1, 0.5)), rel=1e-10)
    assert np.isfinite(gradients).all()
    steps = [kernel._weighted_sums(y + 1e-7 * sign * far, y, np.ones(1))[1] for sign in (1, -1)]
    np.testing.assert_allclose(gradients[0], (steps[0] + steps[1])[0] / 2, rtol=1e-5)  # the middle of a cusp


@pytest.mark.parametrize(
    ("function", "breaks", "values", "slopes"),
    [(functional.elu, [0.0], 1e-6, 1e-4), (functional.hardtanh, [-1.0, 1.0], 1e-3, 0.05)],
)
@pytest.mark.filterwarnings("ignore:activation=hardtanh")
def test_a_kink_costs_as_many_digits_as_stated(function, breaks, values, slopes):
    """In the limit of coincidence; hardly any for points that are apart."""
    for cosine, part in ((0.3, 1e-3), (0.999, 1.0)):
        expected = [by_panels(one, 1.0, 1.0, cosine, breaks) for one in (function, slope_of(function))]
        x = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
        y = torch.tensor([[cosine, np.sqrt(1 - cosine**2)]], dtype=torch.float64)
        found = [KernelRecursion(function, 1, 0.0, 2**0.5, tangent).matrix(x, y).item() for tangent in (False, True)]
        mean, dot = found[0] / 2, (found[1] - found[0]) / (2 * cosine)
        assert mean == pytest.approx(expected[0], rel=values * part + 1e-10)
        assert dot == pytest.approx(expected[1], rel=slopes * part + 1e-9)


def test_what_a_rough_function_loses_is_told():
    x = sample()
    with pytest.warns(UserWarning, match=r"activation=hardtanh: .* loses .* of E\[φ′²\]"):
        NTK(activation=functional.hardtanh)(x)
    for steep in (lambda z: torch.tanh(300 * z), torch.exp):
        with pytest.raises(ValueError, match="too steep, or not smooth; use smaller inputs|nan or infinite"):
            NTK(activation=steep)(100 * x)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (torch.sign, ValueError, "activation=sign has no derivative near"),
        (torch.round, ValueError, "activation=round has no derivative near"),
        (np.tanh, TypeError, "expected a function of torch"),
        (lambda z: 2 * z.detach(), ValueError, "has no derivative by autograd"),
        (lambda z: torch.heaviside(z, z), TypeError, "differentiated by autograd"),
        (lambda z: 3.0, TypeError, "gave a float: expected a tensor"),
        (lambda z: z.softmax(-1), ValueError, "expected a function of single numbers"),
        (lambda z: z.sum(), ValueError, "gave shape"),
        (lambda z: 0 * z, ValueError, "is constant"),
        (torch.log, ValueError, "is nan or infinite at"),
        (torch.nn.PReLU(), TypeError, r"needs \.double"),
        ("tanh", ValueError, "expected one of"),
        (["relu", "sine"], TypeError, "expected a tuple"),
        (("relu", torch.sign), ValueError, "activation=sign has no derivative"),
        (3, TypeError, "expected one of"),
    ],
)
def test_what_is_no_activation_is_refused_where_it_is_given(function, error, message):
    with pytest.raises(error, match=message):
        NTK(activation=function)


def test_kernels_of_functions_are_positive_and_the_same_in_any_company_and_block(monkeypatch):
    x = sample(12)
    kernel = NTK(activation=(torch.tanh, functional.silu))
    whole = kernel(x)
    np.testing.assert_array_equal(whole, whole.T)
    assert np.linalg.eigvalsh(whole).min() > -1e-12 * np.trace(whole)
    np.testing.assert_allclose(kernel(x[:2], x[5:]), whole[:2, 5:], rtol=1e-13)
    monkeypatch.setattr(hermite, "_MAX_VALUES", 2000)
    np.testing.assert_allclose(kernel(x), whole, rtol=1e-13)
    assert mmd(x, x + 1, kernel) > 0 == pytest.approx(mmd(x, x, kernel), abs=1e-12)


def test_a_function_is_shown_by_its_name():
    assert repr(NTK(activation=("relu", torch.tanh), depth=2)) == "NTK(activation=('relu', tanh), depth=2)"
