"""Soft-DTW: the metric and the barycenter, on both executors, against the recurrence and sums over all paths."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as arrays

import timelike as tl
from naive import elastic, soft_dtw as naive
from timelike.native import is_native_enabled


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda gamma: tl.nn.SoftDTW(gamma=gamma), marks=pytest.mark.learn),
        lambda gamma: tl.SoftDTW(gamma=gamma),
    ],
)
def test_softness_is_a_positive_finite_number(make):
    for gamma in (0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"gamma={gamma}: expected a finite number greater than 0"):
            make(gamma)
    with pytest.raises(TypeError, match="gamma='1': expected a number"):
        make("1")


def test_divergence_is_true_or_false():
    with pytest.raises(TypeError, match="divergence=None: expected True or False"):
        tl.SoftDTW(divergence=None)


@settings(max_examples=25)
@given(st.data())
def test_the_divergence_is_not_negative_and_symmetric(data):
    values = st.floats(-5, 5, width=32).map(lambda v: round(v, 3))
    shape = st.tuples(st.integers(1, 8), st.just(2))
    x, y = (data.draw(arrays.arrays(np.float64, shape, elements=values)) for _ in range(2))
    metric = tl.SoftDTW(gamma=data.draw(st.sampled_from([0.01, 0.3, 1.0, 10.0])), divergence=True)
    assert metric.distance(x, y) >= -1e-9
    assert metric.distance(x, y) == metric.distance(y, x)
    assert metric.distance(x, x) == 0


@pytest.mark.usefixtures("executor")
class TestTheMetric:
    @pytest.fixture
    def data(self):
        rng = np.random.default_rng(5)
        return tl.Sequences([rng.standard_normal((n, 2)) for n in (7, 5, 9, 5, 1)])

    @pytest.mark.parametrize("options", [{}, {"window": 5}, {"band": "slanted", "window": 0.2}, {"band": "itakura"}])
    @pytest.mark.parametrize("divergence", [False, True])
    def test_all_pairs_are_the_recurrence(self, data, options, divergence):
        data = data[[0, 1, 2, 3]]  # one step alone has no path in a narrow band
        value = {}
        for i, x in enumerate(data):
            for j, y in enumerate(data):
                value[i, j] = naive.total(naive.costs(x, y), 0.4, elastic.mask(len(x), len(y), **options))
        exact = np.array([[value[i, j] for j in range(4)] for i in range(4)])
        if divergence:
            exact = exact - exact.diagonal()[:, None] / 2 - exact.diagonal() / 2
        metric = tl.SoftDTW(gamma=0.4, divergence=divergence, **options)
        np.testing.assert_allclose(metric.pairwise(data), exact, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(metric.pairwise(data[:3], data), exact[:3], rtol=1e-12, atol=1e-12)

    def test_the_plan_is_the_expected_alignment(self, data):
        x, y = data[1], data[3]
        found = tl.SoftDTW(gamma=0.4).align(x, y)
        value, share = naive.expected(naive.costs(x, y), 0.4)
        assert found.cost == pytest.approx(value)
        assert found.path is None
        np.testing.assert_allclose(found.plan, share, atol=1e-13)
        assert found.apply().shape == x.shape

    def test_a_divergence_is_aligned_too(self, data):
        metric = tl.SoftDTW(gamma=0.4, divergence=True)
        assert metric.align(data[0], data[1]).cost == metric.distance(data[0], data[1])

    def test_what_does_not_fit_is_refused_by_name(self, data):
        with pytest.raises(ValueError, match="window=2 admits no path"):
            tl.SoftDTW(window=2).pairwise(data)
        with pytest.raises(ValueError, match=r"gamma=1e\+38 is too large for float32"):
            tl.SoftDTW(gamma=1e38).distance(data[0].astype(np.float32), data[1].astype(np.float32))

    def test_a_barycenter_is_where_the_gradient_vanishes(self, data):
        for divergence in (False, True):
            metric = tl.SoftDTW(gamma=1.0, divergence=divergence)
            weights = [1.0, 2.0, 0.0, 0.5, 1.0]
            found = tl.barycenter(data, metric=metric, weights=weights, max_iter=300, tolerance=1e-14)
            assert found.converged
            assert (np.diff(found.costs) <= 1e-9).all()
            of = [w * metric.distance(found.sequence, x) for w, x in zip(weights, data, strict=True)]
            assert found.cost == pytest.approx(sum(of))
            for step in 1e-4 * np.random.default_rng(0).standard_normal((5, *found.sequence.shape)):
                moved = [w * metric.distance(found.sequence + step, x) for w, x in zip(weights, data, strict=True)]
                assert sum(moved) >= found.cost - 1e-7


def test_more_pairs_than_a_block_and_progress(monkeypatch, capsys):
    from timelike.align import soft_dtw

    monkeypatch.setattr(soft_dtw, "_MAX_PAIRS", 7)
    X = tl.Sequences(list(np.random.default_rng(0).standard_normal((6, 4, 1))))
    metric = tl.SoftDTW()
    whole = [[metric.distance(x, y) for y in X] for x in X]
    np.testing.assert_array_equal(metric.pairwise(X, progress=True), whole)
    np.testing.assert_array_equal(metric.pairwise(X, X[:4]), np.array(whole)[:, :4])
    assert "100%" in capsys.readouterr().err


def test_metrics_that_differ_are_unequal_and_print_their_options():
    assert repr(tl.SoftDTW(gamma=0.5, divergence=True)) == "SoftDTW(gamma=0.5, divergence=True)"
    assert tl.SoftDTW(window=1) != tl.SoftDTW(window=1.0)
    assert hash(tl.SoftDTW(gamma=2.0)) == hash(tl.SoftDTW(gamma=2.0))


@pytest.mark.skipif(not is_native_enabled(), reason="the fallback needs torch")
def test_the_metric_does_not_import_torch():
    program = (
        "import sys, timelike as tl; m = tl.SoftDTW(); m.pairwise([[0., 1.], [1., 2.]]); m.align([0., 1.], [1., 2.]);"
        "print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout.strip() == "False"


def test_values_below_zero_are_no_closeness():
    s = tl.Sequences([[0.0] * 3, [0.0, 0.0, 0.1], [5.0] * 3, [5.0, 5.0, 5.1]], labels=[0, 0, 1, 1])
    voter = tl.Neighbors(tl.SoftDTW(), k=3, weights="distance").fit(s)
    with pytest.raises(ValueError, match=r"divergence=True"):
        voter.predict(s)
    with pytest.raises(ValueError, match=r"divergence=True"):
        tl.KMedoids(2, metric=tl.SoftDTW(), random_state=0).fit(s)


def test_an_average_that_no_path_reaches_is_refused():
    with pytest.raises(ValueError, match="window=0 admits no path between lengths 9 and 7"):
        tl.barycenter(np.zeros((3, 7)), metric=tl.SoftDTW(window=0), length=9)
