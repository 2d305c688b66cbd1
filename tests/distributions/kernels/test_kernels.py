"""Kernels of vectors: values, gradients, coincidences, definiteness, widths, independence of the batch."""

import itertools
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from sklearn.gaussian_process import kernels as peers
from sklearn.metrics import pairwise

import timelike as tl
from naive import kernels as naive
from optional_torch import torch
from timelike.distributions import RBF, Laplacian, Linear, Matern, NegativeDistance, Polynomial, RationalQuadratic
from timelike.distributions.kernels.base import FunctionKernel
from timelike.distributions.validation import validate_sample

RADIAL = {
    "rbf": (RBF(width=0.8), lambda x, y: naive.rbf(x, y, 0.8)),
    "laplace": (Laplacian(width=0.8), lambda x, y: naive.laplace(x, y, 0.8)),
    "matern 1/2": (Matern(width=0.8, smoothness=0.5), lambda x, y: naive.matern(x, y, 0.8, 0.5)),
    "matern 3/2": (Matern(width=0.8), lambda x, y: naive.matern(x, y, 0.8, 1.5)),
    "matern 5/2": (Matern(width=0.8, smoothness=2.5), lambda x, y: naive.matern(x, y, 0.8, 2.5)),
    "rational": (RationalQuadratic(width=0.8, alpha=0.7), lambda x, y: naive.rational_quadratic(x, y, 0.8, 0.7)),
}
OTHERS = {
    "linear": (Linear(), naive.linear),
    "linear with offset": (Linear(offset=2.5), lambda x, y: naive.linear(x, y, 2.5)),
    "polynomial": (Polynomial(), naive.polynomial),
    "quadratic": (Polynomial(degree=2, scale=0.3, offset=0.0), lambda x, y: naive.polynomial(x, y, 2, 0.3, 0.0)),
    "distance": (NegativeDistance(), naive.negative_distance),
    "sum": (RBF(width=1.0) + Linear(), lambda x, y: naive.rbf(x, y, 1) + naive.linear(x, y)),
    "product": (Laplacian(width=2.0) * Linear(offset=1.0), lambda x, y: naive.laplace(x, y, 2) * naive.linear(x, y, 1)),
    "nested": (
        0.25 * (RBF(width=1.0) * (Linear() + 2 * Laplacian(width=1.0))),
        lambda x, y: 0.25 * naive.rbf(x, y, 1) * (naive.linear(x, y) + 2 * naive.laplace(x, y, 1)),
    ),
}
ALL = RADIAL | OTHERS
OPEN = [RBF(), Laplacian(), Matern(), RationalQuadratic(alpha=2.0), RBF() + Linear(), RBF() * Laplacian(), 2 * RBF()]
SMOOTH = [name for name in ALL if name not in ("laplace", "matern 1/2", "distance", "product", "nested")]

RNG = np.random.default_rng(0)
each = pytest.mark.parametrize("name", ALL)


def points(n=7, d=3, seed=0):
    """With the origin, whole numbers, and copies."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((n, d))
    found[0], found[1], found[-1] = 0.0, np.arange(d), found[2]
    return found


def tensors(*arrays, grad=True):
    return [torch.tensor(array, dtype=torch.float64, requires_grad=grad) for array in arrays]


# --- values ------------------------------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("d", [1, 3])
def test_a_matrix_is_that_of_the_naive_reference_in_numpy_and_in_torch(name, d):
    kernel, reference = ALL[name]
    x, y = points(7, d), points(5, d, 1)
    expected = naive.matrix(reference, x, y)
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(kernel(x), naive.matrix(reference, x, x), rtol=1e-10, atol=1e-14)
    if torch:
        np.testing.assert_allclose(kernel(*tensors(x, y)).detach(), kernel(x, y), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(kernel(*tensors(x)).detach(), kernel(x), rtol=1e-12, atol=1e-12)
    assert (kernel(x) == kernel(x).T).all()


def test_values_are_those_of_scikit_learn():
    x, y = points(), points(4, seed=1)
    for ours, theirs in (
        (RBF(width=0.7), pairwise.rbf_kernel(x, y, gamma=1 / (2 * 0.49))),
        (Linear(), pairwise.linear_kernel(x, y)),
        (Polynomial(degree=4, offset=0.5), pairwise.polynomial_kernel(x, y, degree=4, coef0=0.5)),
        (Polynomial(degree=2, scale=0.1), pairwise.polynomial_kernel(x, y, degree=2, gamma=0.1, coef0=1)),
        (RationalQuadratic(width=0.7, alpha=3.0), peers.RationalQuadratic(0.7, 3.0)(x, y)),
        *((Matern(width=0.7, smoothness=nu), peers.Matern(0.7, nu=nu)(x, y)) for nu in (0.5, 1.5, 2.5)),
    ):
        np.testing.assert_allclose(ours(x, y), theirs, rtol=1e-10)


@pytest.mark.parametrize("name", [*RADIAL, "distance"])
@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
def test_near_points_far_from_the_origin_keep_their_distance_to_the_last_digits(name, apart, offset):
    kernel, reference = ALL[name]
    x = np.array([[offset, -offset], [offset + apart, -offset - 2 * apart], [offset + 40.0, 1.0]])
    y = x[::-1].copy()
    expected = naive.matrix(reference, x, y)  # of the differences of the same float64 numbers
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-10, atol=1e-290)
    if torch:
        np.testing.assert_allclose(kernel(*tensors(x, y)).detach(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.learn
@pytest.mark.parametrize("spread", [1e-3, 1e-2, 0.03, 0.1, 0.3])
def test_torch_is_as_exact_as_numpy_where_clusters_are_narrow(spread):
    x = np.repeat(10 * RNG.standard_normal((4, 3)), 6, axis=0) + spread * RNG.standard_normal((24, 3))
    for kernel in (RBF(width=spread), Laplacian(width=spread), Matern(width=spread, smoothness=2.5)):
        np.testing.assert_allclose(kernel(*tensors(x)).detach(), kernel(x), atol=1e-12)


@pytest.mark.parametrize("name", RADIAL)
def test_widths_of_any_size_give_the_limit_and_never_nan(name):
    x = np.array([[0.0], [0.0], [1e6]])
    narrow, wide = (replace(RADIAL[name][0], width=width) for width in (1e-200, 1e200))
    same = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(narrow(x), same, atol=1e-100)
    np.testing.assert_allclose(wide(x), 1)


@pytest.mark.learn
@pytest.mark.parametrize("name", RADIAL)
def test_widths_of_any_size_give_tensors_the_limit_and_never_nan(name):
    x = np.array([[0.0], [0.0], [1e6]])
    narrow, small, wide = (replace(RADIAL[name][0], width=width) for width in (1e-200, 1e-150, 1e200))
    same = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    (given,) = tensors(x)
    np.testing.assert_allclose(narrow(given).detach(), same, atol=1e-100)
    np.testing.assert_allclose(wide(given).detach(), 1)
    assert torch.autograd.grad(small(given).sum(), given)[0].tolist() == [[0], [0], [0]]


def test_a_matern_kernel_is_the_bessel_function_that_defines_it():
    for nu, r in itertools.product((0.5, 1.5, 2.5), (0.1, 1.0, 4.0)):
        z = mpmath.sqrt(2 * nu) * r
        expected = 2 ** (1 - nu) / mpmath.gamma(nu) * z**nu * mpmath.besselk(nu, z)
        assert Matern(width=2.0, smoothness=nu)([[0.0]], [[2 * r]])[0, 0] == pytest.approx(float(expected), rel=1e-12)


def test_sequences_of_equal_lengths_are_compared_as_flat_vectors():
    x = RNG.standard_normal((4, 5, 2))
    for kernel in (RBF(width=3.0), Linear(), Polynomial(degree=2)):
        flat = kernel(x.reshape(4, 10))
        np.testing.assert_array_equal(kernel(tl.Sequences(x)), flat)
        np.testing.assert_array_equal(kernel(list(x)), flat)
        if torch:
            np.testing.assert_allclose(kernel(torch.tensor(x)), flat, rtol=1e-12)


# --- gradients ---------------------------------------------------------------------------------------------------------


@pytest.mark.learn
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_those_of_finite_differences_also_where_points_coincide(name):
    x, y = tensors(points(4, 2), points(4, 2)[::-1].copy())
    assert torch.autograd.gradcheck(ALL[name][0], (x, y), atol=1e-6)
    assert torch.autograd.gradcheck(ALL[name][0], (x,), atol=1e-6)


@pytest.mark.learn
@pytest.mark.parametrize("name", [name for name in ALL if name not in SMOOTH])
def test_gradients_of_kernels_with_a_cusp_are_right_away_from_it(name):
    x, y = tensors(RNG.standard_normal((3, 2)), RNG.standard_normal((4, 2)))
    assert torch.autograd.gradcheck(ALL[name][0], (x, y), atol=1e-6)


@pytest.mark.learn
@pytest.mark.parametrize("name", ["laplace", "matern 1/2", "distance"])
def test_gradients_at_a_cusp_are_zero(name):
    x, y = tensors([[1.0, 2.0], [0.0, 0.0]], [[1.0, 2.0], [0.0, 0.0]])
    kernel = ALL[name][0]
    for found in torch.autograd.grad(kernel(x, y).diagonal().sum(), (x, y)):
        assert found.tolist() == [[0, 0], [0, 0]]
    assert torch.isfinite(torch.autograd.grad(kernel(x).sum(), x)[0]).all()


@pytest.mark.learn
@pytest.mark.parametrize("name", ["rbf", "rational", "matern 3/2", "matern 5/2"])
def test_second_derivatives_are_those_of_finite_differences(name):
    x, y = tensors(RNG.standard_normal((3, 2)), RNG.standard_normal((3, 2)))
    assert torch.autograd.gradgradcheck(ALL[name][0], (x, y), atol=1e-6)


@pytest.mark.learn
@pytest.mark.parametrize(("name", "curvature"), [("rbf", 1), ("rational", 1), ("matern 3/2", 3), ("matern 5/2", 5 / 3)])
def test_second_derivatives_where_points_coincide_are_those_of_the_series(name, curvature):
    # k = 1 − c r²/2 + …, with r = |x − y| / w
    x, y = tensors([[1.0]], [[1.0]])
    (slope,) = torch.autograd.grad(ALL[name][0](x, y).sum(), x, create_graph=True)
    along, across = torch.autograd.grad(slope.sum(), (x, y))
    assert along.item() == pytest.approx(-curvature / 0.8**2)
    assert across.item() == pytest.approx(curvature / 0.8**2)


@pytest.mark.learn
@each
def test_tensors_keep_their_dtype_and_inputs_are_not_changed(name):
    kernel = ALL[name][0]
    x, y = (torch.tensor(points(5, 2, seed), dtype=torch.float32, requires_grad=True) for seed in (0, 1))
    before = x.detach().clone()
    found = kernel(x, y)
    assert found.dtype == torch.float32
    assert found.shape == (5, 5)
    assert all(torch.isfinite(part).all() and part.abs().sum() > 0 for part in torch.autograd.grad(found.sum(), (x, y)))
    assert torch.equal(x, before)
    assert kernel(x.detach()).requires_grad is False


@each
def test_arrays_are_not_changed_and_give_double_precision(name):
    kernel = ALL[name][0]
    array = points()
    kernel(array, array)
    assert (array == points()).all()
    assert kernel(array.astype(np.float32)).dtype == np.float64


# --- definiteness ------------------------------------------------------------------------------------------------------


@each
def test_matrices_are_positive_semidefinite_where_a_kernel_says_so_and_it_says_why_not(name):
    kernel = ALL[name][0]
    x = np.concatenate([points(20, 2), points(20, 2), 1e-6 + points(20, 2)])
    assert kernel.is_definite == (name != "distance") == (kernel.indefinite_reason == "")
    if kernel.is_definite:
        matrix = kernel(x)
        assert np.linalg.eigvalsh(matrix)[0] >= -1e-10 * len(x) * np.abs(matrix).max()


def test_one_part_that_is_not_definite_makes_a_kernel_say_so():
    assert "sum to 0" in (RBF() + NegativeDistance()).indefinite_reason
    assert "sum to 0" in (2 * (NegativeDistance() * RBF())).indefinite_reason
    assert not FunctionKernel(lambda x, y: x @ y.T).is_definite
    assert not NegativeDistance("dtw").is_definite


def test_the_negative_distance_is_definite_for_weights_that_sum_to_zero():
    x = points(20, 2)
    weights = RNG.standard_normal((100, 20))
    weights -= weights.mean(axis=1, keepdims=True)
    assert (np.einsum("pi,ij,pj->p", weights, NegativeDistance()(x), weights) > -1e-12).all()


# --- widths ------------------------------------------------------------------------------------------------------------


def test_an_open_width_is_the_median_distance_of_the_pooled_sample():
    x, y = points(7), 3 + points(6, seed=1)
    width = naive.median_width(np.concatenate([x, y]))
    for kernel in (RBF(), Laplacian(), Matern(), RationalQuadratic()):
        settled = type(kernel)(width=width)
        np.testing.assert_allclose(kernel(x, y), settled(x, y), rtol=1e-12)
        if torch:
            np.testing.assert_allclose(kernel(*tensors(x, y)).detach(), settled(x, y), rtol=1e-12)
        assert kernel.resolve(validate_sample(x, "x")).width == pytest.approx(naive.median_width(x), rel=1e-14)


def test_the_width_of_copies_is_the_mean_distance_and_of_nothing_but_copies_one():
    half = np.array([[1.0]] * 8 + [[3.0], [4.0]])
    assert naive.median_width(half) == np.mean([abs(a - b) for a, b in itertools.combinations(half[:, 0], 2)])
    assert RBF().resolve(validate_sample(half, "x")).width == pytest.approx(naive.median_width(half))
    for copies in (np.ones((5, 2)), np.full((3, 1), 1e6), np.ones((1, 1))):
        assert RBF().resolve(validate_sample(copies, "x")).width == 1.0
        assert (RBF()(copies) == 1).all()
        if torch:
            assert (Laplacian()(*tensors(copies)) == 1).all()


def test_the_width_of_many_items_is_taken_of_some_and_still_close():
    x = RNG.standard_normal((1500, 2))
    assert RBF().resolve(validate_sample(x, "x")).width == pytest.approx(naive.median_width(x[:300]), rel=0.1)
    assert RBF().resolve(validate_sample(x, "x")) == RBF().resolve(validate_sample(x, "x"))
    drawn = [RBF().resolve(validate_sample(x, "x"), np.random.default_rng(seed)).width for seed in (1, 2)]
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize("kernel", OPEN, ids=repr)
@pytest.mark.parametrize("n", [1, 2, 9, 1003])
def test_what_is_settled_is_what_is_ready_and_nothing_is_open_then(kernel, n):
    sample = validate_sample(RNG.standard_normal((n, 2)), "x")
    ready = kernel.resolve(sample, np.random.default_rng(3))
    settled = kernel.resolve_with_matrix(sample, np.random.default_rng(3))
    assert kernel.has_open_options
    assert not ready.has_open_options
    assert settled.kernel == ready
    some = sample[:40]
    np.testing.assert_allclose(settled.matrix[:40, :40], ready(some, some), rtol=1e-14)


def test_a_part_that_is_settled_draws_nothing_from_those_after_it():
    sample = validate_sample(RNG.standard_normal((1010, 1)), "x")
    kernel = RBF(width=1.0) + RBF()
    assert kernel.resolve_with_matrix(sample, np.random.default_rng(0)).kernel == kernel.resolve(
        sample, np.random.default_rng(0)
    )


# --- independence of the batch -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*RADIAL, "distance"])
def test_company_changes_no_bit(name):
    kernel = ALL[name][0]
    x, y = points(33, 5), points(29, 5, 1)
    whole = kernel(x, y)
    for rows, columns in ((slice(4, 5), slice(0, 1)), (slice(1, 20), slice(3, 29)), ([5, 2, 2], [28, 0])):
        np.testing.assert_array_equal(kernel(x[rows], y[columns]), whole[rows][:, columns])
    np.testing.assert_array_equal(kernel(x[3:9], x[1:30]), kernel(x)[3:9, 1:30])
