"""Soft-DTW over matrices of costs: every instruction set against the sum over all paths, and torch beside them."""

import numpy as np
import pytest

from naive import elastic, soft_dtw as naive
from timelike.native import PackedSequences, WarpingBand, is_native_enabled, soft

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")
pytestmark = pytest.mark.skipif(not is_native_enabled(), reason="the kernels are switched off")

ISAS, OPEN = kernels.isas(), WarpingBand()
N, M = np.array([5, 1, 4, 3, 5, 2]), np.array([4, 5, 1, 3, 5, 5])


@pytest.fixture
def cost():
    return np.random.default_rng(0).random((6, 5, 5)) * 4


def on(isa, gamma, cost, n=N, m=M, window=OPEN, direction=None, budget=1 << 28, threads=2):
    """Totals, visits and, if a direction is given, the product, by the kernels of one instruction set."""
    plan = soft.SoftMinimum(gamma, window).numbers()
    totals, again = np.empty(len(cost), cost.dtype), np.empty(len(cost), cost.dtype)
    visits, turned = np.zeros_like(cost), np.zeros_like(cost)
    kernels.soft_totals(plan, cost, n, m, totals, threads, isa=isa)
    kernels.soft_visits(plan, cost, n, m, again, visits, budget, threads, isa=isa)
    np.testing.assert_array_equal(totals, again)
    if direction is not None:
        kernels.soft_product(plan, cost, direction, n, m, turned, budget, threads, isa=isa)
    return totals, visits, turned


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 3e-6)])
def test_value_gradient_and_second_derivative_are_those_of_the_sum_over_all_paths(isa, dtype, tolerance, cost):
    given = cost.astype(dtype)
    direction = np.random.default_rng(1).standard_normal(cost.shape).astype(dtype)
    totals, visits, turned = on(isa, 0.7, given, direction=direction)
    for p, (n, m) in enumerate(zip(N, M, strict=True)):
        part = given[p, :n, :m].astype(float)
        value, share = naive.expected(part, 0.7)
        np.testing.assert_allclose(totals[p], value, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(visits[p, :n, :m], share, atol=tolerance)
        hessian = naive.covariance(part, 0.7, direction[p, :n, :m].astype(float))
        np.testing.assert_allclose(turned[p, :n, :m], hessian, atol=3 * tolerance)
        for matrix in (visits[p], turned[p]):
            assert not matrix[n:].any()
            assert not matrix[:, m:].any()


@pytest.mark.parametrize(
    "window", [WarpingBand("sakoe", cells=1), WarpingBand("slanted", share=0.2), WarpingBand("itakura", share=2.0)]
)
@pytest.mark.parametrize("isa", ISAS)
def test_a_band_closes_cells(isa, window, cost):
    n, m = np.array([5, 4, 3, 5]), np.array([5, 5, 3, 4])
    totals, visits, _ = on(isa, 0.5, cost[:4], n, m, window)
    for p in range(4):
        spec = window.cells if window.cells is not None else window.share
        open_cells = elastic.mask(n[p], m[p], spec, window.shape)
        value, share = naive.expected(cost[p, : n[p], : m[p]], 0.5, open_cells)
        assert totals[p] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(visits[p, : n[p], : m[p]], share, atol=1e-13)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("dtype", "units"), [(np.float64, 3), (np.float32, 3)])
def test_exp_and_log_are_right_to_the_last_places(isa, dtype, units):
    # of a 2 × 2 matrix whose other three cells cost 0, a and b the value is −γ log(1 + exp(−a/γ) + exp(−b/γ))
    rng = np.random.default_rng(0)
    cost = np.zeros((4000, 2, 2), dtype)
    cost[:, 0, 1], cost[:, 1, 0] = rng.exponential(3, 4000), rng.exponential(3, 4000)
    cost[:2000, 0, 1] = np.linspace(0, 90, 2000)
    totals, _, _ = on(isa, 1.0, cost, np.full(4000, 2), np.full(4000, 2))
    a, b = cost[:, 0, 1].astype(np.longdouble), cost[:, 1, 0].astype(np.longdouble)
    exact = -np.log1p(np.exp(-a) + np.exp(-b))
    assert (np.abs(totals - exact) / np.spacing(np.abs(exact).astype(dtype))).max() <= units


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("isa", ISAS)
def test_neither_threads_nor_neighbours_nor_padding_nor_memory_change_a_bit(isa, dtype):
    rng = np.random.default_rng(2)
    cost, direction = rng.random((2, 37, 40, 33)).astype(dtype)
    n, m = rng.integers(1, 41, 37), rng.integers(1, 34, 37)
    whole = on(isa, 0.3, cost, n, m, direction=direction, threads=1)
    for other in (
        on(isa, 0.3, cost, n, m, direction=direction, threads=3),
        on(isa, 0.3, cost, n, m, direction=direction, budget=1),
    ):
        for a, b in zip(whole, other, strict=True):
            np.testing.assert_array_equal(a, b)
    for p in (0, 11, 36):
        alone = [np.ascontiguousarray(given[p : p + 1, : n[p], : m[p]]) for given in (cost, direction)]
        single = on(isa, 0.3, alone[0], n[p : p + 1], m[p : p + 1], direction=alone[1])
        assert single[0][0] == whole[0][p]
        for a, b in zip(single[1:], whole[1:], strict=True):
            np.testing.assert_array_equal(a[0], b[p, : n[p], : m[p]])


@pytest.mark.parametrize("isa", ISAS)
def test_what_lies_beyond_the_lengths_is_never_read(isa, cost):
    dirty = cost.copy()
    for p, (n, m) in enumerate(zip(N, M, strict=True)):
        dirty[p, n:], dirty[p, :, m:] = np.nan, np.inf
    for a, b in zip(on(isa, 0.7, cost, direction=cost), on(isa, 0.7, dirty, direction=dirty), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.learn
@pytest.mark.parametrize("window", [WarpingBand(), WarpingBand("sakoe", cells=20), WarpingBand("slanted", share=0.1)])
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3])
def test_kernels_and_tensors_agree(gamma, window):
    import torch

    from timelike.native.soft import torch_fallback

    rng = np.random.default_rng(3)
    cost, direction = rng.random((2, 7, 40, 33)) * 5
    n, m = rng.integers(25, 41, 7), rng.integers(25, 34, 7)
    how, tensor = soft.SoftMinimum(gamma, window), torch.from_numpy(cost)
    fast = [
        soft.totals(how, cost, n, m),
        *soft.visits(how, cost, n, m),
        soft.hessian_product(how, cost, direction, n, m),
    ]
    slow = [
        torch_fallback.totals(how, tensor, n, m),
        *torch_fallback.visits(how, tensor, n, m),
        torch_fallback.hessian_product(how, tensor, torch.from_numpy(direction), n, m),
    ]
    for a, b in zip(fast, slow, strict=True):
        np.testing.assert_allclose(a, b.numpy(), rtol=1e-12, atol=1e-12 * float(b.abs().max()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("isa", ISAS)
def test_frames_give_what_their_costs_give(isa, dtype):
    rng = np.random.default_rng(4)
    n, m = rng.integers(1, 30, 21), rng.integers(1, 30, 21)
    x = PackedSequences(rng.standard_normal((n.sum(), 3)).astype(dtype), np.cumsum(n) - n, n)
    y = PackedSequences(rng.standard_normal((m.sum(), 3)).astype(dtype), np.cumsum(m) - m, m)
    scales = rng.standard_normal(21).astype(dtype)
    one, two = (np.zeros((21, side.lengths.max(), 3), dtype) for side in (x, y))
    for padded, side in ((one, x), (two, y)):
        for p, item in enumerate(side.items()):
            padded[p, : len(item)] = item
    cost = np.zeros((21, n.max(), m.max()), dtype)
    kernels.soft_costs(one, two, n, m, cost, 2, isa=isa)
    totals, visits, _ = on(isa, 0.5, cost, n, m)
    plan, found, kept = soft.SoftMinimum(0.5).numbers(), np.empty_like(totals), np.empty_like(totals)
    kernels.soft_pairs(plan, *x, *y, np.arange(21), np.arange(21), found, 2, isa=isa)
    np.testing.assert_array_equal(found, totals)
    tables = kernels.soft_keep(plan, *x, *y, kept, 1 << 27, 2, isa=isa)
    np.testing.assert_array_equal(kept, totals)
    given = []
    for held, budget in ((tables, 1 << 28), (None, 1 << 28), (None, 1), (tables, 1 << 28)):
        gradient = np.zeros_like(x.values), np.zeros_like(y.values)
        kernels.soft_gradients(plan, *x, *y, scales, held, *gradient, budget, 2, isa=isa)
        given.append(gradient)
    for gradient in given[1:]:
        np.testing.assert_array_equal(gradient[0], given[0][0])
        np.testing.assert_array_equal(gradient[1], given[0][1])
    for p in range(21):
        weights = scales[p] * visits[p, : n[p], : m[p], None].astype(float)
        difference = one[p, : n[p], None].astype(float) - two[p, None, : m[p]]
        rows, columns = slice(x.starts[p], x.starts[p] + n[p]), slice(y.starts[p], y.starts[p] + m[p])
        tolerance = 1e-5 if dtype == np.float32 else 1e-12
        np.testing.assert_allclose(given[0][0][rows], 2 * (weights * difference).sum(1), atol=10 * tolerance)
        np.testing.assert_allclose(given[0][1][columns], -2 * (weights * difference).sum(0), atol=10 * tolerance)


def test_costs_are_exact_differences(cost):
    x = np.full((1, 2, 1), 1e8) + np.array([0.0, 3.0])[None, :, None]
    found = soft.costs(x, x, np.array([2]), np.array([2]))
    assert found.tolist() == [[[0.0, 9.0], [9.0, 0.0]]]


def test_an_unknown_instruction_set_is_named(cost):
    with pytest.raises(ValueError, match="isa='v9'"):
        on("v9", 1.0, cost)


def test_no_pairs_give_no_numbers():
    none = np.empty((0, 3, 3))
    assert soft.totals(soft.SoftMinimum(1.0), none, np.empty(0, np.int64), np.empty(0, np.int64)).shape == (0,)
