"""The compiled sums of the learned similarity: every instruction set against the formula, for any batch composition."""

import numpy as np
import pytest

from naive import similarity as naive
from timelike.native import similarity
from timelike.native.similarity import OutputLayer

kernels = pytest.importorskip("timelike.native._kernels", reason="this installation is the pure wheel")

# roundings of sums of a few hundred units
CLOSE = {np.float32: {"rtol": 1e-5, "atol": 1e-5}, np.float64: {"rtol": 1e-13, "atol": 1e-13}}


def given(n, m, hidden, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    left, right, weight = (rng.standard_normal(shape).astype(dtype) for shape in ((n, hidden), (m, hidden), hidden))
    return left, right, OutputLayer(weight / 10, 0.1, 0.7)


def scores(left, right, layer, *, isa=None, threads=1):
    out = np.full((len(left), len(right)), np.nan, left.dtype)
    kernels.similarity_scores(left, right, layer, threads=threads, out=out, isa=isa)
    return out


def best(left, right, layer, k, *, isa=None, threads=1):
    values, ids = np.full((len(right), k), np.nan, left.dtype), np.full((len(right), k), -1)
    kernels.similarity_best(left, right, layer, threads=threads, values=values, ids=ids, isa=isa)
    return values, ids


def maxima(left, right, layer, starts, *, isa=None, threads=1):
    out = np.full((len(right), len(starts)), np.nan, left.dtype)
    kernels.similarity_maxima(left, right, layer, starts, threads=threads, out=out, isa=isa)
    return out


def same(found, expected):
    bits = np.int32 if found.dtype == np.float32 else np.int64
    np.testing.assert_array_equal(found.view(bits), expected.view(bits))


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "hidden"), [(1, 1, 1), (3, 5, 7), (4, 2, 16), (9, 6, 33), (5, 4, 48)])
def test_sums_are_those_of_the_formula(isa, dtype, n, m, hidden):
    left, right, layer = given(n, m, hidden, dtype)
    np.testing.assert_allclose(scores(left, right, layer, isa=isa), naive.table(left, right, *layer), **CLOSE[dtype])


@pytest.mark.learn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("slope", [0.0, 0.1, 1.0])
def test_every_instruction_set_has_the_numbers_of_the_fallback(dtype, slope):
    from timelike.native.similarity import fallback

    left, right, layer = given(150, 270, 512, dtype)
    layer = layer._replace(slope=slope)
    expected = fallback.scores(left, right, layer)
    for isa in kernels.isas():
        np.testing.assert_allclose(scores(left, right, layer, isa=isa), expected, **CLOSE[dtype], err_msg=isa)


@pytest.mark.parametrize("isa", kernels.isas())
@pytest.mark.parametrize("hidden", [40, 512])
def test_a_pair_has_the_same_bits_in_any_batch_on_any_threads_and_in_every_verb(isa, hidden):
    left, right, layer = given(333, 290, hidden)
    whole = scores(left, right, layer, isa=isa)
    same(scores(left, right, layer, isa=isa, threads=3), whole)
    rows, columns = np.array([7, 300, 3]), np.array([280, 0])
    same(scores(left[rows], right[columns], layer, isa=isa), whole[np.ix_(rows, columns)])
    same(scores(left[5:6], right[9:10], layer, isa=isa), whole[5:6, 9:10])
    values, ids = best(left, right, layer, 4, isa=isa, threads=2)
    order = np.argsort(-whole, axis=0, kind="stable")[:4].T
    np.testing.assert_array_equal(ids, order)
    same(values, np.take_along_axis(whole.T, order, 1).copy())
    starts = np.array([0, 1, 2, 100, 130, 332])
    expected = np.maximum.reduceat(whole, starts, axis=0).T.copy()
    same(maxima(left, right, layer, starts, isa=isa, threads=3), expected)


def test_one_row_against_many_is_shared_among_threads_without_a_change():
    left, right, layer = given(5000, 1, 512)
    whole = scores(left, right, layer)
    for threads in (1, 2, 5):
        values, ids = best(left, right, layer, 3, threads=threads)
        np.testing.assert_array_equal(ids[0], np.argsort(-whole[:, 0], kind="stable")[:3])
        same(values[0], whole[ids[0], 0])
        same(maxima(left, right, layer, np.arange(5000), threads=threads), whole.T.copy())


def test_of_equal_ones_the_earlier_row_is_best():
    left, right, layer = given(600, 3, 24)
    left[:] = left[0]
    np.testing.assert_array_equal(best(left, right, layer, 5, threads=2)[1], np.tile(np.arange(5), (3, 1)))


def test_what_is_not_a_number_is_never_best_and_stays_in_sums():
    left, right, layer = given(10, 4, 24)
    left[[2, 5]] = np.nan
    values, ids = best(left, right, layer, 10)
    assert np.isnan(scores(left, right, layer)[[2, 5]]).all()
    assert np.isneginf(values[:, 8:]).all()
    np.testing.assert_array_equal(ids[:, 8:], [[2, 5]] * 4)
    found = maxima(left, right, layer, np.array([0, 2, 5]))
    assert np.isfinite(found[:, 0]).all()
    assert np.isnan(found[:, 1:]).all()


def test_large_numbers_that_cancel_lose_no_more_than_their_rounding():
    """l + r is small where both are large; both are exact in float32, and the sum must not show their size."""
    rng = np.random.default_rng(0)
    left = (rng.integers(-8, 9, (20, 512)) + 1024.0).astype(np.float32)
    right = (rng.integers(-8, 9, (20, 512)) - 1024.0).astype(np.float32)
    layer = OutputLayer(rng.standard_normal(512).astype(np.float32), 0.1, 0.0)
    bound = 512 * 1024 * np.abs(layer.weight).mean() * np.finfo(np.float32).eps
    assert np.abs(scores(left, right, layer) - naive.table(left, right, *layer)).max() < bound


@pytest.mark.learn
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_door_has_the_same_answers_with_and_without_kernels(monkeypatch, dtype):
    left, right, layer = given(40, 30, 65, dtype)
    starts = np.array([0, 3, 20])
    found = [
        similarity.scores(left, right, layer, threads=1),
        *similarity.best_scores(left, right, layer, 2, threads=1),
        similarity.group_maxima(left, right, layer, starts, threads=1),
    ]
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    monkeypatch.setattr("timelike.native.similarity.fallback._MAX_UNITS", 1000)  # several blocks
    without = [
        similarity.scores(left, right, layer, threads=1),
        *similarity.best_scores(left, right, layer, 2, threads=1),
        similarity.group_maxima(left, right, layer, starts, threads=1),
    ]
    for one, other in zip(found, without, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, **CLOSE[dtype])


def test_nothing_on_a_side_is_nothing_found():
    left, right, layer = given(4, 3, 8)
    assert similarity.scores(left[:0], right, layer, threads=1).shape == (0, 3)
    assert similarity.scores(left, right[:0], layer, threads=1).shape == (4, 0)
    assert similarity.best_scores(left, right[:0], layer, threads=1)[1].shape == (0, 1)


def test_the_door_refuses_what_does_not_belong_together():
    left, right, layer = given(4, 3, 8)
    with pytest.raises(ValueError, match=r"left has shape \(4, 7\): expected \(row, 8\)"):
        similarity.scores(left[:, :7], right, layer, threads=1)
    with pytest.raises(ValueError, match="right is float64 and the weights float32"):
        similarity.scores(left, right.astype(np.float64), layer, threads=1)
    with pytest.raises(ValueError, match="right is not contiguous"):
        similarity.scores(left, np.asfortranarray(right), layer, threads=1)
    for k in (0, 5):
        with pytest.raises(ValueError, match=f"k={k}: expected at least 1 and at most 4"):
            similarity.best_scores(left, right, layer, k, threads=1)
    for starts in ([], [1, 2], [0, 0], [0, 4], [0, 3, 2]):
        with pytest.raises(ValueError, match="expected numbers that rise from 0 and are below 4"):
            similarity.group_maxima(left, right, layer, np.array(starts, np.int64), threads=1)


def test_the_kernels_refuse_arrays_that_would_be_read_or_written_elsewhere():
    left, right, layer = given(4, 3, 8)
    with pytest.raises(ValueError, match="expected left and right"):
        scores(left[:, :7].copy(), right, layer)
    with pytest.raises(ValueError, match="expected out"):
        kernels.similarity_scores(left, right, layer, threads=1, out=np.empty((4, 2), np.float32))
    with pytest.raises(ValueError, match="expected k"):
        best(left, right, layer, 5)
    with pytest.raises(ValueError, match="expected starts"):
        maxima(left, right, layer, np.array([0, 7]))
