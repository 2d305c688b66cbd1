"""MMD by four estimators, its witness, and the energy distance."""

import numpy as np
import pytest
from scipy.stats import energy_distance

import timelike as tl
from naive import kernels as naive_kernels, two_sample as naive
from optional_torch import torch
from timelike.distributions import (
    RBF,
    ExponentialKernel,
    Laplacian,
    Linear,
    NegativeDistance,
    TwoSample,
    energy,
    mmd,
    witness,
)
from timelike.distributions.kernels import base as kernel_base

RNG = np.random.default_rng(0)
KERNELS = {
    "rbf": (RBF(width=1.2), lambda a, b: naive_kernels.rbf(a, b, 1.2)),
    "laplace": (Laplacian(width=0.9), lambda a, b: naive_kernels.laplace(a, b, 0.9)),
    "linear": (Linear(), naive_kernels.linear),
    "distance": (NegativeDistance(), naive_kernels.negative_distance),
    "sum": (
        RBF(width=1.0) + 0.5 * Linear(),
        lambda a, b: naive_kernels.rbf(a, b, 1.0) + 0.5 * naive_kernels.linear(a, b),
    ),
    "function": (lambda x, y: x @ y.T, naive_kernels.linear),
}
ESTIMATORS = {"biased": naive.biased, "unbiased": naive.unbiased, "block": naive.block, "linear": naive.linear}
NAN = float("nan")


def samples(n, m, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, d)), 0.5 + rng.standard_normal((m, d))
    x[-1] = y[0] = x[0]  # copies within and across
    return x, y


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 2), (9, 9), (11, 8), (5, 12)])
def test_an_estimate_is_that_of_the_naive_reference_of_arrays_and_of_tensors(kernel, estimator, n, m):
    x, y = samples(n, m)
    ours, reference = KERNELS[kernel]
    expected = pytest.approx(ESTIMATORS[estimator](x, y, reference), rel=1e-10, abs=1e-13)
    found = mmd(x, y, ours, estimator=estimator)
    assert isinstance(found, float)
    assert found == expected
    if torch:
        given = mmd(torch.tensor(x), torch.tensor(y), ours, estimator=estimator)
        assert given.shape == ()
        assert given.item() == expected


@pytest.mark.parametrize("size", [2, 3, 4, 8])
def test_blocks_are_consecutive_and_the_rest_is_left_out(size):
    x, y = samples(11, 8)
    expected = naive.block(x, y, KERNELS["rbf"][1], size)
    assert mmd(x, y, RBF(width=1.2), estimator="block", block_size=size) == pytest.approx(expected, rel=1e-12)
    far = np.concatenate([x, np.full((1, 2), 99.0)]), y  # beyond the last block of the smaller sample
    assert mmd(*far, RBF(width=1.2), estimator="block", block_size=size) == pytest.approx(expected, rel=1e-12)


def test_estimates_of_one_item_each_are_the_squared_distance_in_the_kernels_space():
    assert mmd([[0.0]], [[3.0]], Linear()) == 9
    assert mmd([[0.0]], [[3.0]], RBF(width=1.0)) == pytest.approx(2 - 2 * np.exp(-4.5))


@pytest.mark.parametrize("kernel", KERNELS)
def test_of_a_sample_and_itself_the_biased_estimate_is_zero(kernel):
    x, _ = samples(20, 2)
    assert mmd(x, x.copy(), KERNELS[kernel][0]) == 0
    assert mmd(x, x[::-1], KERNELS[kernel][0]) == pytest.approx(0, abs=1e-13)
    if torch:
        assert mmd(torch.tensor(x), torch.tensor(x), KERNELS[kernel][0]).item() == pytest.approx(0, abs=1e-13)


def test_the_linear_kernel_gives_the_squared_distance_of_the_means():
    x, y = samples(13, 7)
    assert mmd(x, y, Linear()) == pytest.approx(((x.mean(axis=0) - y.mean(axis=0)) ** 2).sum(), rel=1e-12)


def test_one_open_width_serves_all_three_matrices():
    x, y = samples(9, 6)
    y += 5
    width = naive_kernels.median_width(np.concatenate([x, y]))
    for estimator, reference in ESTIMATORS.items():
        expected = pytest.approx(reference(x, y, lambda a, b: naive_kernels.rbf(a, b, width)), rel=1e-10, abs=1e-13)
        assert mmd(x, y, RBF(), estimator=estimator) == expected
        if torch:
            assert mmd(torch.tensor(x), torch.tensor(y), RBF(), estimator=estimator).item() == expected


def test_all_points_equal_give_zero_and_never_nan():
    x = np.full((4, 2), 7.0)
    for estimator in ESTIMATORS:
        assert mmd(x, x, RBF(), estimator=estimator) == 0
        assert energy(x, x, estimator=estimator) == 0


@pytest.mark.parametrize(
    "kernel", [RBF(), Laplacian() + Linear(), NegativeDistance(), ExponentialKernel("dtw")], ids=repr
)
@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
def test_blocks_of_rows_change_an_estimate_by_rounding_only(kernel, estimator, monkeypatch):
    x, y = samples(30, 23)
    z = samples(8, 2, seed=3)[0]
    whole, f = mmd(x, y, kernel, estimator=estimator), witness(x, y, kernel)(z)
    for block in (1, 40, 71):
        monkeypatch.setattr(kernel_base, "BLOCK_ENTRIES", block)
        assert mmd(x, y, kernel, estimator=estimator) == pytest.approx(whole, rel=1e-12, abs=1e-14)
        np.testing.assert_allclose(witness(x, y, kernel)(z), f, rtol=1e-12, atol=1e-14)


def test_the_linear_estimate_of_more_pairs_than_a_step_is_the_mean_over_all():
    x, y = samples(1401, 1300)
    even, odd = slice(0, 1300, 2), slice(1, 1300, 2)

    def k(a, b):
        return np.exp(-((a - b) ** 2).sum(axis=1) / 2)

    h = k(x[even], x[odd]) + k(y[even], y[odd]) - k(x[even], y[odd]) - k(x[odd], y[even])
    assert mmd(x, y, RBF(width=1.0), estimator="linear") == pytest.approx(h.mean(), rel=1e-12)


@pytest.mark.parametrize("estimator", ["unbiased", "block", "linear"])
def test_estimates_without_bias_are_zero_in_the_mean_where_nothing_differs(estimator):
    rng = np.random.default_rng(0)
    found = [mmd(*rng.standard_normal((2, 12, 1)), RBF(width=1.0), estimator=estimator) for _ in range(300)]
    assert abs(np.mean(found)) < 3.5 * np.std(found) / np.sqrt(
        len(found)
    )  # false in one of 2000 draws; the seed is fixed
    assert np.min(found) < 0


def test_the_biased_estimate_is_too_large_by_about_one_over_n_and_m_and_never_negative():
    rng = np.random.default_rng(0)
    pairs = rng.standard_normal((400, 2, 12, 1))
    found = [mmd(x, y, RBF(width=1.0)) for x, y in pairs]
    assert min(found) > 0
    assert np.mean(found) == pytest.approx(
        2 / 12 * (1 - 1 / np.sqrt(3)), rel=0.1
    )  # E k(x, x′) = 1/√3 of normal numbers


# --- gradients ---------------------------------------------------------------------------------------------------------


@pytest.mark.learn
@pytest.mark.parametrize("kernel", ["rbf", "laplace", "sum"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_gradients_are_those_of_finite_differences(kernel, estimator):
    x, y = (torch.tensor(RNG.standard_normal((n, 2)), requires_grad=True) for n in (4, 5))
    assert torch.autograd.gradcheck(lambda x, y: mmd(x, y, KERNELS[kernel][0], estimator=estimator), (x, y), atol=1e-6)


@pytest.mark.learn
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_gradients_are_finite_where_points_coincide_and_dtypes_stay(estimator):
    x, y = (torch.tensor(side, dtype=torch.float32, requires_grad=True) for side in samples(6, 6))
    for kernel in (RBF(), NegativeDistance(), Laplacian()):
        found = mmd(x, y, kernel, estimator=estimator)
        assert found.dtype == torch.float32
        assert all(torch.isfinite(part).all() for part in torch.autograd.grad(found, (x, y)))


@pytest.mark.learn
def test_descending_the_energy_distance_moves_points_onto_others():
    x, y = torch.zeros(20, 1, dtype=torch.float64, requires_grad=True), torch.tensor(samples(20, 2, 1)[0])
    before = energy(x, y).item()
    (slope,) = torch.autograd.grad(energy(x, y), x)
    after = energy(x - 2 * slope, y).item()
    assert torch.isfinite(slope).all()
    assert after < before


# --- witness and energy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_witness_is_that_of_the_naive_reference_and_its_means_give_mmd(kernel):
    x, y = samples(7, 5)
    ours, reference = KERNELS[kernel]
    f, z = witness(x, y, ours), np.concatenate([x[:2], RNG.standard_normal((3, 2))])
    expected = [naive.witness(x, y, reference, one) for one in z]
    np.testing.assert_allclose(f(z), expected, rtol=1e-10, atol=1e-13)
    if torch:
        given = witness(torch.tensor(x), torch.tensor(y), ours)
        np.testing.assert_allclose(given(torch.tensor(z)), expected, rtol=1e-10, atol=1e-13)
    assert f(x).mean() - f(y).mean() == pytest.approx(mmd(x, y, ours), rel=1e-12)


@pytest.mark.learn
def test_the_witness_of_tensors_has_gradients_to_all_three():
    x, y, z = (torch.tensor(RNG.standard_normal((n, 2)), requires_grad=True) for n in (3, 4, 2))
    assert torch.autograd.gradcheck(lambda x, y, z: witness(x, y, RBF(width=1.0))(z), (x, y, z), atol=1e-6)


def test_a_witness_keeps_the_width_of_its_two_samples():
    x, y = samples(7, 5)
    f = witness(x, y, RBF())
    assert f.kernel.width == pytest.approx(naive_kernels.median_width(np.concatenate([x, y])))
    np.testing.assert_array_equal(f(x[:1]), f(np.concatenate([x, 100 + y]))[:1])


def test_the_energy_distance_of_numbers_is_the_square_of_scipys():
    x, y = samples(15, 9, 1)
    assert energy(x, y) == pytest.approx(energy_distance(x[:, 0], y[:, 0]) ** 2, rel=1e-12)


@pytest.mark.parametrize("d", [1, 3])
def test_the_energy_distance_is_that_of_the_naive_reference(d):
    x, y = samples(8, 6, d)
    for far in (0.0, 1e6):
        a, b = x + far, y + far
        assert energy(a, b) == pytest.approx(naive.energy(a, b), rel=1e-10, abs=1e-12)
        assert energy(a, b, estimator="unbiased") == pytest.approx(naive.energy(a, b, diagonal=False), rel=1e-10)
        if torch:
            assert energy(torch.tensor(a), torch.tensor(b)).item() == pytest.approx(naive.energy(a, b), rel=1e-9)


def test_the_energy_distance_takes_sequences_of_any_lengths_with_a_metric():
    x, y = [[0.0], [1.0, 2.0], [3.0, 3.0, 4.0]], [[0.0, 0.0], [5.0]]
    metric = tl.DTW(window=None)

    def d(a, b):
        return metric.distance(a, b)

    assert energy(x, y, metric="dtw") == pytest.approx(naive.energy(x, y, d), rel=1e-12)
    assert energy(x, y, metric=metric, estimator="unbiased") == pytest.approx(naive.energy(x, y, d, False), rel=1e-12)


# --- refusals ----------------------------------------------------------------------------------------------------------

X, T = np.zeros((4, 2)), torch.zeros(4, 2) if torch else None


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: mmd(X, X, "rbf"), r"kernel='rbf': expected a kernel such as distributions.RBF\(\)"),
        (lambda: mmd(X, X, RBF), r"kernel=RBF: expected a kernel, not its class; write RBF\(\)"),
        (lambda: mmd(X, X, tl.Rocket()), r"kernel=Rocket\(\): .* use EncoderKernel\(Rocket\(\), RBF\(\)\)"),
        (lambda: mmd(X, X, RBF(), estimator="u"), r"estimator='u': expected one of 'biased', 'unbiased'"),
        (lambda: mmd(X, X, RBF(), estimator="block", block_size=5), r"block_size=5: expected at most 4"),
        pytest.param(
            lambda: mmd(T, T, RBF(), estimator="block", block_size=5),
            r"block_size=5: expected at most 4",
            marks=pytest.mark.learn,
        ),
        (lambda: mmd(X, X, RBF(), estimator="block", block_size=1), r"block_size=1: expected at least 2"),
        (lambda: mmd(X, X, RBF(), block_size=2), r"block_size=2 does not apply to estimator='biased': use .*block"),
        (lambda: mmd(X, X[:1], RBF(), estimator="unbiased"), r"y holds 1 item: expected at least 2"),
        pytest.param(
            lambda: mmd(T, T[:1], RBF(), estimator="linear"),
            r"x has 4 items and y 1: expected at least 2",
            marks=pytest.mark.learn,
        ),
        (lambda: mmd(X, X[:, :1], RBF()), r"y has vectors of 1 numbers and x of 2"),
        (lambda: mmd(X, X + NAN, RBF()), r"y: sequence 0 is missing"),
        pytest.param(lambda: mmd(T, T + NAN, RBF(width=1.0)), r"y: sequence 0 is missing", marks=pytest.mark.learn),
        pytest.param(lambda: mmd(X, T, RBF()), r"x is a ndarray and the other a tensor", marks=pytest.mark.learn),
        (lambda: mmd(X, X, lambda x, y: np.ones(3)), r"kernel gave shape \(3,\): expected \(4, 4\)"),
        (lambda: mmd(X, X, lambda x, y: np.full((4, 4), NAN)), r"kernel gave nan or infinity"),
        (lambda: witness(X, X, RBF())(X[:, :1]), r"z has vectors of 1 numbers and x of 2"),
        (lambda: witness(X, X, RBF())(X[0]), r"z has shape \(2,\): expected \(item, feature\)"),
        (lambda: witness(X, X, RBF())(X + NAN), r"z: sequence 0 is missing"),
        pytest.param(
            lambda: witness(T, T, RBF())(X), r"z is a ndarray and the other a tensor", marks=pytest.mark.learn
        ),
        pytest.param(lambda: witness(T, T, RBF())(T + NAN), r"z: sequence 0 is missing", marks=pytest.mark.learn),
        pytest.param(
            lambda: witness(T, T, RBF())(T[:, :1]),
            r"z is \(4, 1\) torch.float32 and x \(4, 2\)",
            marks=pytest.mark.learn,
        ),
        (lambda: energy(X, X, metric="nonsense"), r"metric='nonsense': expected a Metric"),
    ],
)
def test_bad_input_is_refused_by_name_with_what_was_expected(attempt, words):
    with pytest.raises((ValueError, TypeError), match=words):
        attempt()


@pytest.mark.parametrize("kernel", [Linear(), 2.0 * Linear(offset=1.0), Linear() + RBF(width=1.0)])
def test_far_from_the_origin_the_linear_kernel_loses_no_digits(kernel):
    rng = np.random.default_rng(0)
    x, y = rng.integers(-5, 6, (2, 30, 2)).astype(float)
    for estimator in ("biased", "unbiased", "linear", "block"):
        near, far = (mmd(x + away, y + 2 + away, kernel, estimator=estimator) for away in (0.0, 1e9))
        assert far == pytest.approx(near, rel=1e-9)
    plain, moved = (TwoSample(kernel, n_permutations=99, random_state=0).test(x + a, y + 2 + a) for a in (0.0, 1e9))
    assert (plain.p_value, plain.statistic) == (moved.p_value, pytest.approx(moved.statistic, rel=1e-9))
