"""Every elastic distance against its naive reference, and what holds for all of them."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import timelike as tl
from naive import elastic

finite = st.floats(-50, 50, allow_subnormal=False).map(lambda v: round(v, 3))

# our metric, its naive reference
REFERENCES = {
    "DTW": (tl.DTW(), lambda x, y, a: elastic.dtw(x, y, allowed=a)),
    "DTW euclidean": (tl.DTW(cost="euclidean"), lambda x, y, a: elastic.dtw(x, y, cost="euclidean", allowed=a)),
    "DTW manhattan": (tl.DTW(cost="manhattan"), lambda x, y, a: elastic.dtw(x, y, cost="manhattan", allowed=a)),
    "DTW root": (tl.DTW(root=True), lambda x, y, a: elastic.dtw(x, y, root=True, allowed=a)),
    "DTW symmetric2": (tl.DTW(step="symmetric2"), lambda x, y, a: elastic.dtw(x, y, step="symmetric2", allowed=a)),
    "DTW "
    "length": (tl.DTW(normalize="length", step="symmetric2", cost="euclidean"), lambda x, y, a: elastic.dtw(x, y, cost="euclidean", step="symmetric2", normalize="length", allowed=a)),
    "DTW steps": (tl.DTW(normalize="steps"), lambda x, y, a: elastic.dtw(x, y, normalize="steps", allowed=a)),
    "DDTW": (tl.DDTW(), lambda x, y, a: elastic.ddtw(x, y, allowed=a)),
    "WDTW": (tl.WDTW(g=0.2), lambda x, y, a: elastic.wdtw(x, y, 0.2, allowed=a)),
    "ADTW": (tl.ADTW(penalty=0.7), lambda x, y, a: elastic.adtw(x, y, 0.7, allowed=a)),
    "ERP": (tl.ERP(gap=0.4), lambda x, y, a: elastic.erp(x, y, 0.4, allowed=a)),
    "EDR": (tl.EDR(), lambda x, y, a: elastic.edr(x, y, allowed=a)),
    "EDR "
    "epsilon": (tl.EDR(epsilon=2.0, normalize=True), lambda x, y, a: elastic.edr(x, y, 2.0, allowed=a, normalize=True)),
    "EDR "
    "channels": (tl.EDR(epsilon=2.0, match="channels"), lambda x, y, a: elastic.edr(x, y, 2.0, allowed=a, match="channels")),
    "LCSS "
    "channels": (tl.LCSS(epsilon=3.0, match="channels"), lambda x, y, a: elastic.lcss(x, y, 3.0, allowed=a, match="channels")),
    "LCSS": (tl.LCSS(epsilon=3.0), lambda x, y, a: elastic.lcss(x, y, 3.0, allowed=a)),
    "MSM": (tl.MSM(c=0.6), lambda x, y, a: elastic.msm(x, y, 0.6, allowed=a)),
    "TWE": (tl.TWE(nu=0.1, lmbda=0.8), lambda x, y, a: elastic.twe(x, y, 0.1, 0.8, allowed=a)),
}  # fmt: skip


def test_every_elastic_distance_is_compared_with_its_formula():
    public = [getattr(tl.align, name) for name in tl.align.__all__]
    elastic_kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, tl.align.ElasticDistance)}
    assert {type(metric) for metric, _ in REFERENCES.values()} == elastic_kinds - {tl.align.ElasticDistance}


def banded(metric, window, band):
    from dataclasses import replace

    return replace(metric, window=window, band=band)


@pytest.mark.parametrize("name", REFERENCES)
@settings(max_examples=15)
@given(data=st.data())
def test_every_distance_is_that_of_its_formula_in_every_band(name, data):
    metric, reference = REFERENCES[name]
    channels = data.draw(st.integers(1, 3))
    n, m = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    x, y = (
        np.array(data.draw(st.lists(finite, min_size=k * channels, max_size=k * channels))).reshape(k, channels)
        for k in (n, m)
    )
    band = data.draw(st.sampled_from(["sakoe", "slanted", "itakura", "widened", "aeon"]))
    window = data.draw(st.none() | (st.floats(1, 4) if band == "itakura" else st.integers(0, 12) | st.floats(0, 1)))
    metric = banded(metric, window, band)
    expected = reference(x, y, elastic.mask(n, m, window, band))
    feasible = np.isfinite(elastic.dtw(x, y, allowed=elastic.mask(n, m, window, band)))
    if not feasible:
        with pytest.raises(ValueError, match="admits no path between lengths"):
            metric.distance(x, y)
        return
    # -0.0 + 0.0: thresholds that fall exactly on a difference are decided alike, since both sides subtract in float64
    assert metric.distance(x, y) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert metric.distance(y, x) == metric.distance(x, y)


@pytest.mark.parametrize("name", REFERENCES)
def test_independent_channels_are_added_up(name):
    from dataclasses import replace

    metric, reference = REFERENCES[name]
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((9, 3)), rng.standard_normal((11, 3))
    alone = replace(metric, dependent=False)
    expected = elastic.independent(lambda a, b: reference(a, b, None), x, y)
    assert alone.distance(x, y) == pytest.approx(expected, rel=1e-12)
    data = tl.Sequences([x, y, x[:5]])
    np.testing.assert_allclose(alone.pairwise(data), alone.pairwise(data, data))
    with pytest.raises(ValueError, match="dependent=False has a path for every channel"):
        alone.align(x, y)


@pytest.mark.parametrize("name", REFERENCES)
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32), k=st.integers(1, 7), coarse=st.booleans())
def test_pruned_neighbours_are_those_of_brute_force_with_ties(name, seed, k, coarse):
    metric, _ = REFERENCES[name]
    rng = np.random.default_rng(seed)
    make = lambda *s: rng.integers(0, 3, s).astype(float) if coarse else rng.standard_normal(s)  # noqa: E731  coarse data has many ties
    for items, queries in [
        (make(40, 12, 2), make(3, 12, 2)),
        ([make(int(n), 1) for n in rng.integers(8, 14, 40)], [make(int(n), 1) for n in rng.integers(8, 14, 3)]),
    ]:
        for window, band in [(None, "sakoe"), (6, "sakoe"), (0.5, "slanted"), (0.2, "sakoe"), (0.2, "aeon")]:
            narrow = banded(metric, window, band)
            ids, distances = narrow.neighbors(items, queries, k=k)
            whole = narrow.pairwise(queries, items)
            np.testing.assert_array_equal(ids, np.argsort(whole, axis=1, kind="stable")[:, :k])
            np.testing.assert_array_equal(distances, np.take_along_axis(whole, ids, axis=1))


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    window=st.integers(0, 15),
    channels=st.integers(1, 3),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_pruning_is_exact_on_random_walks(seed, window, channels, dtype):
    rng = np.random.default_rng(seed)
    walks = np.cumsum(rng.standard_normal((60, 40, channels)), axis=1).astype(dtype)
    for metric in (
        tl.DTW(window=window),
        tl.DTW(window=window, root=True),
        tl.ADTW(window=window),
        tl.DTW(window=window, step="symmetric2"),
    ):
        ids, distances = metric.neighbors(walks[:50], walks[50:], k=3)
        whole = metric.pairwise(walks[50:], walks[:50])
        np.testing.assert_array_equal(ids, np.argsort(whole, axis=1, kind="stable")[:, :3])
        np.testing.assert_array_equal(distances, np.take_along_axis(whole, ids, axis=1))


@given(st.integers(0, 2**32), st.integers(0, 20))
def test_a_wider_band_never_costs_more(seed, window):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((15, 2)), rng.standard_normal((15, 2))
    for metric, _ in REFERENCES.values():
        if metric == tl.DTW(normalize="steps"):
            continue  # a cheaper path may be shorter, and its mean step dearer
        for band in ("sakoe", "slanted", "widened", "aeon"):
            wide, narrow = banded(metric, window + 1, band), banded(metric, window, band)
            assert wide.distance(x, y) <= narrow.distance(x, y)


@pytest.mark.parametrize("metric", [tl.ERP(gap=0.3), tl.MSM(c=0.5), tl.TWE(nu=0.1), tl.Euclidean()])
@given(st.integers(0, 2**32))
def test_metrics_obey_the_triangle_inequality(metric, seed):
    rng = np.random.default_rng(seed)
    length = rng.integers(2, 9, 3) if metric != tl.Euclidean() else [5, 5, 5]
    a, b, c = (rng.standard_normal(int(n)) for n in length)
    assert metric.distance(a, c) <= metric.distance(a, b) + metric.distance(b, c) + 1e-12


def test_euclidean_is_that_of_numpy():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((7, 20, 3))
    expected = np.sqrt(((x[:, None] - x[None]) ** 2).sum((2, 3)))
    np.testing.assert_allclose(tl.Euclidean().pairwise(x), expected, rtol=1e-12)
    np.testing.assert_array_equal(tl.Euclidean().align(x[0], x[1]).path, np.repeat(np.arange(20)[:, None], 2, axis=1))
    with pytest.raises(ValueError, match="step by step but lengths 3 and 4 differ: resample"):
        tl.Euclidean().distance([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0])


def test_the_matrix_holds_the_distances_of_all_beginnings():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((6, 2)), rng.standard_normal((5, 2))
    for metric in (tl.DTW(), tl.ADTW(), tl.ERP(), tl.MSM(), tl.TWE()):
        found = metric.cost_matrix(x, y)
        for i in range(6):
            for j in range(5):
                assert found[i, j] == metric.distance(x[: i + 1], y[: j + 1])
    assert np.isinf(tl.DTW(window=1).cost_matrix(x[:5], y)[0, 2:]).all()


def test_metrics_that_mean_different_windows_are_not_equal():
    assert tl.DTW(window=1) != tl.DTW(window=1.0)
    assert len({tl.DTW(window=1), tl.DTW(window=1.0), tl.DTW(window=1)}) == 2


def test_whole_numbers_are_compared_exactly():
    assert tl.DTW().distance([100_000_001], [100_000_000]) == 1
    assert tl.DTW().pairwise(np.zeros((2, 3), np.int64)).dtype == np.float64
    for small in (np.float32, np.float16, np.int16, np.uint8, bool):
        assert tl.DTW().pairwise(np.zeros((2, 3), small)).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tl.DTW(window=3).distance(np.zeros(60), np.zeros(30)), ValueError,
         'window=3 admits no path between lengths 60 and 30: use window >= 30, a share \\(window=0.1\\) or '
         'band="widened"'),
        (lambda: tl.DTW(band="itakura", window=1.0).distance(np.zeros(9), np.zeros(4)), ValueError,
         'band="itakura" with slope 1 admits no path between lengths 9 and 4'),
        (lambda: tl.DTW(band="itakura", window=0.5), ValueError, "window=0.5: with band=\"itakura\" it is the largest slope"),
        (lambda: tl.DTW(band="round"), ValueError, "band='round': expected one of 'sakoe', 'slanted', 'itakura'"),
        (lambda: tl.DTW(step="asymmetric"), ValueError, "step='asymmetric': expected one of 'symmetric1', 'symmetric2'"),
        (lambda: tl.DTW(normalize="path"), ValueError, "normalize='path': expected one of None, 'length', 'steps'"),
        (lambda: tl.DTW(root="no"), TypeError, "root='no': expected True or False"),
        (lambda: tl.DTW(dependent="yes"), TypeError, "dependent='yes': expected True"),
        (lambda: tl.WDTW(g=-1), ValueError, "g=-1: expected a finite number at least 0"),
        (lambda: tl.ADTW(penalty=float("nan")), ValueError, "penalty=nan: expected a finite number"),
        (lambda: tl.ERP(gap="0"), TypeError, "gap"),
        (lambda: tl.ERP(gap=(0.0, 1.0)).distance(np.zeros((3, 3)), np.zeros((3, 3))), ValueError, "gap has 2 entries for 3 channels"),
        (lambda: tl.EDR(epsilon=-0.1), ValueError, "epsilon=-0.1"),
        (lambda: tl.EDR(match="norm"), ValueError, "match='norm': expected"),
        (lambda: tl.LCSS(match="norm"), ValueError, "match='norm': expected"),
        (lambda: tl.MSM(c=float("inf")), ValueError, "c=inf: expected a finite number"),
        (lambda: tl.TWE(nu=-1), ValueError, "nu=-1"),
        (lambda: tl.DTW().neighbors(np.zeros((2, 3)), np.zeros((1, 3)), k=1.5), TypeError, "k=1.5: expected an integer"),
        (lambda: tl.DTW().neighbors(np.zeros((2, 3)), [[np.nan] * 3]), ValueError, "queries: sequence 0 is missing"),
        (lambda: tl.DTW().align([1e200], [0.0]), ValueError, "is too large for float64"),
    ],
)  # fmt: skip
def test_bad_input_is_named_with_a_way_out(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_out_must_not_be_the_sequences_themselves():
    x = np.random.default_rng(0).standard_normal((4, 4))
    with pytest.raises(ValueError, match="out overlaps the sequences"):
        tl.DTW().pairwise(x, out=x)


@pytest.mark.parametrize("kind", [tl.DTW, tl.ERP, tl.MSM, tl.TWE, tl.EDR, tl.LCSS, tl.WDTW, tl.ADTW, tl.DDTW])
def test_short_long_and_constant_sequences_work(kind):
    metric = kind()
    assert np.isfinite(metric.distance([1.0], np.arange(3000.0)))
    assert metric.distance(np.ones(20), np.ones(20)) == 0
    assert metric.distance([2.0], [2.0]) == 0


def test_a_cluster_configured_in_joblib_gets_the_tiles(monkeypatch):
    import joblib
    from joblib._parallel_backends import ThreadingBackend

    class ClusterBackend(ThreadingBackend):
        pass

    joblib.register_parallel_backend("pretended-cluster", ClusterBackend)
    monkeypatch.setattr(tl.align.distributed, "_TILE_SIZE", 4)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((11, 9)), rng.standard_normal((6, 9))
    expected, across = tl.DTW().pairwise(x), tl.DTW().pairwise(x, y)
    calls = []
    real = tl.align.distributed._compute_tile
    monkeypatch.setattr(
        tl.align.distributed, "_compute_tile", lambda *a: calls.append(1) or real(*a)
    )  # workers see the cluster too
    with joblib.parallel_config(backend="pretended-cluster", n_jobs=2):
        backend = type(joblib.parallel.get_active_backend()[0])
        assert backend is ClusterBackend
        np.testing.assert_array_equal(tl.DTW().pairwise(x), expected)
        np.testing.assert_array_equal(tl.DTW().pairwise(x, y), across)
    assert len(calls) == 6 + 6
