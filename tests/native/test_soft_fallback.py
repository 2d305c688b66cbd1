"""The soft-DTW fallback in NumPy: beside the naive reference and the kernels, and without torch."""

import numpy as np
import pytest

import timelike as tl
from blocked_torch import facts_without_torch
from naive import elastic, soft_dtw as naive
from timelike.native import PackedSequences, WarpingBand, is_native_enabled, soft
from timelike.native.soft import fallback

OPEN = WarpingBand()
BANDS = [
    OPEN,
    WarpingBand("widened", cells=1),
    WarpingBand("widened", share=0.1),
    WarpingBand("slanted", share=0.2),
    WarpingBand("itakura", share=2.0),
]


def ragged(rng, lengths, channels=2, dtype=np.float64):
    values = rng.standard_normal((lengths.sum(), channels)).astype(dtype)
    return PackedSequences(values, np.cumsum(lengths) - lengths, lengths)


def open_cells(band, n, m):
    """The cells (n, m) of a band, by the plain reference."""
    if band.is_unbounded:
        return np.ones((n, m), bool)
    return elastic.mask(n, m, band.cells if band.cells is not None else band.share, band.shape)


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("gamma", [1e-9, 0.3, 1e4])
def test_values_and_expected_alignments_are_those_of_the_sum_over_all_paths(gamma, band):
    rng, how = np.random.default_rng(0), soft.SoftMinimum(gamma, band)
    for n, m in ((5, 4), (4, 5), (3, 3), (5, 5)):
        x, y = rng.standard_normal((n, 2)), rng.standard_normal((m, 2))
        allowed = open_cells(band, n, m)
        value, visits = naive.expected(naive.costs(x, y), gamma, allowed)
        total, found = fallback.expected_alignment(how, x, y)
        np.testing.assert_allclose(total, [value], rtol=1e-12)
        np.testing.assert_allclose(found, visits, atol=1e-10)
        assert not found[~allowed].any()


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("gamma", [1e-9, 0.3, 1e4])
def test_totals_of_ragged_pairs_are_those_of_the_naive_reference(gamma, band):
    rng = np.random.default_rng(1)
    n = rng.integers(12, 19, 15)
    x, y = ragged(rng, n), ragged(rng, np.clip(n + rng.integers(-1, 2, 15), 1, None))
    every = np.arange(15)
    found = fallback.pair_totals(soft.SoftMinimum(gamma, band), x, y, every, every)
    for p, (one, two) in enumerate(zip(x.items(), y.items(), strict=True)):
        expected = naive.total(naive.costs(one, two), gamma, open_cells(band, len(one), len(two)))
        assert found[p] == pytest.approx(expected, rel=1e-12)


def test_gradients_are_differences_of_totals():
    rng, how, step = np.random.default_rng(2), soft.SoftMinimum(0.5, WarpingBand("widened", share=0.2)), 1e-6
    x, y = ragged(rng, np.array([4, 6, 1])), ragged(rng, np.array([5, 6, 3]))
    scales, every = rng.standard_normal(3), np.arange(3)

    def loss(side, other):
        return float(scales @ fallback.pair_totals(how, side, other, every, every))

    by_x, by_y = fallback.gradients(how, x, y, scales)
    for gradient, side, value in ((by_x, x, lambda s: loss(s, y)), (by_y, y, lambda s: loss(x, s))):
        for place in np.ndindex(side.values.shape):
            moved = np.zeros_like(side.values)
            moved[place] = step
            ends = [value(side._replace(values=side.values + sign * moved)) for sign in (1, -1)]
            assert gradient[place] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-7)


@pytest.mark.skipif(not is_native_enabled(), reason="without kernels there is nothing to compare with")
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 1e-5)])
@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize("gamma", [1e-9, 1e-3, 1.0, 1e4])
def test_the_fallback_agrees_with_the_kernels_to_rounding(gamma, band, dtype, tolerance, monkeypatch):
    rng, how = np.random.default_rng(3), soft.SoftMinimum(gamma, band)
    n = rng.integers(30, 60, 24)
    x, y = ragged(rng, n, dtype=dtype), ragged(rng, n + rng.integers(-1, 2, 24), dtype=dtype)
    scales, rows, columns = rng.standard_normal(24).astype(dtype), *rng.permuted(np.tile(np.arange(24), (2, 1)), axis=1)
    if not band.is_unbounded:
        rows = columns  # other lengths may admit no path

    def answers():
        alignment = soft.expected_alignment(how, x.items()[7], y.items()[7])
        return soft.pair_totals(how, x, y, rows, columns), *soft.gradients(how, x, y, scales), *alignment

    if dtype == np.float32 and gamma == 1e-3:
        tolerance = 1e-2  # totals of about 20 are rounded to 1e-6, a thousandth of gamma
    compiled = answers()
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    for ours, theirs in zip(answers(), compiled, strict=True):
        assert ours.dtype == theirs.dtype == dtype
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("band", [OPEN, WarpingBand("widened", None, 0.1)])
def test_a_pair_has_the_same_bits_whatever_else_is_in_the_batch(dtype, band):
    rng, how = np.random.default_rng(3), soft.SoftMinimum(0.5, band)
    x, y = (ragged(rng, rng.integers(1, 60, 24), dtype=dtype) for _ in range(2))
    scales, every = rng.standard_normal(24).astype(dtype), np.arange(24)
    together, gradients = fallback.pair_totals(how, x, y, every, every), fallback.gradients(how, x, y, scales)
    for p in range(0, 24, 3):
        one, two = (PackedSequences.from_sequence(side.items()[p]) for side in (x, y))
        assert fallback.pair_totals(how, one, two, np.zeros(1, int), np.zeros(1, int))[0] == together[p]
        alone = fallback.gradients(how, one, two, scales[p : p + 1])
        for found, all_of_them, side in zip(alone, gradients, (x, y), strict=True):
            np.testing.assert_array_equal(found, all_of_them[side.starts[p] : side.starts[p] + side.lengths[p]])


def test_a_pair_has_the_same_bits_in_either_order(monkeypatch):
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    rng = np.random.default_rng(3)
    X = tl.Sequences([rng.normal(size=(n, 2)).round(1) for n in (1, 4, 4, 7, 9)])
    table = tl.SoftDTW(gamma=0.3).pairwise(X)
    for i in range(len(X)):
        for j in range(len(X)):
            assert tl.SoftDTW(gamma=0.3).pairwise(X[[i]], X[[j]])[0, 0] == table[i, j]


def test_a_value_beyond_the_range_is_refused_and_not_cut_to_its_end(monkeypatch):
    monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    with pytest.raises(ValueError, match="too large|infinite|overflow|inf"):
        tl.SoftDTW().distance([1e200, 0.0], [0.0, 1.0])


def test_what_is_kept_for_gradients_grows_with_the_window_and_not_with_the_product_of_the_lengths():
    rng, band = np.random.default_rng(4), WarpingBand("widened", cells=2)
    x, y = (ragged(rng, np.full(8, 400)) for _ in range(2))
    every = np.arange(8)
    program = fallback.Program(band=band)
    wave = fallback.SoftWavefront(soft.SoftMinimum(1.0, band), fallback.elastic.make_block(program, x, y, every, every))
    kept = [wave._keep(diagonal).total.size for diagonal in wave.diagonals()]
    assert sum(kept) < 8 * 800 * 8


# of every aligner that has a fallback, what its verbs compute
WITHOUT_TORCH = """
import numpy as np
import timelike as tl
rng = np.random.default_rng(0)
data = [rng.standard_normal((n, 2)).cumsum(0) for n in (5, 7, 6)]
soft = tl.SoftDTW(divergence=True, window=0.5)
for metric in (tl.DTW(), tl.SoftDTW(), soft, tl.GDTW(regularization=0.1), tl.Sinkhorn(), tl.OPW()):
    assert np.isfinite(metric.pairwise(data)).all()
    metric.distance(data[0], data[1]), metric.align(data[0], data[1]), metric.neighbors(data, k=1)
tl.barycenter(data, metric=tl.SoftDTW(), max_iter=3)
tl.KMeans(2, metric=tl.SoftDTW(), random_state=0).fit(data)
tl.subsequence(data[0], data[1])
tl.Rocket(n_features=100, random_state=0).fit(tl.Sequences(data)).encode(data)
x, y = rng.standard_normal((2, 9, 3))
tl.distributions.mmd(x, y, kernel=tl.distributions.NTK())
from timelike.native.similarity import OutputLayer, scores
scores(x, y, OutputLayer(np.ones(3), 0.1, 0.0), threads=1)
facts["torch"] = "torch" in sys.modules
"""


def test_no_fallback_of_an_aligner_needs_torch():
    assert facts_without_torch(WITHOUT_TORCH, TIMELIKE_NATIVE="0") == {"torch": False}
