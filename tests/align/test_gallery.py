"""Searches: the k nearest without sorting everything, galleries, and what a metric knows of a collection beforehand."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

import timelike as tl
from timelike.align import gallery, metric_names
from timelike.align.gallery import smallest_positions
from toys import turning

FEW_VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, -1.5, np.inf])
TRAIN, TEST = turning(40, 0), turning(7, 1)


@st.composite
def rows_and_k(draw):
    n = draw(st.integers(1, 40))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    rows = draw(arrays.arrays(dtype, (draw(st.integers(1, 5)), n), elements=FEW_VALUES, fill=FEW_VALUES))
    return rows, draw(st.integers(1, n))


@given(rows_and_k())
def test_the_smallest_are_those_of_a_stable_sort_whatever_is_equal(case):
    rows, k = case
    expected = np.argsort(rows, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(smallest_positions(rows, k), expected)


@pytest.mark.parametrize("values", [2, 50, 10**6])
@pytest.mark.parametrize("k", [1, 2, 5, 60, 250, 300])
def test_blocks_of_rows_are_selected_as_one(values, k, monkeypatch):
    monkeypatch.setattr(gallery, "_SELECTION_BLOCK", 1000)
    rows = np.random.default_rng(values).integers(0, values, (11, 300)).astype(float)
    np.testing.assert_array_equal(smallest_positions(rows, k), np.argsort(rows, axis=1, kind="stable")[:, :k])


def assert_same(found, expected):
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("metric", [tl.DTW(), tl.DTW(normalize="length"), tl.DDTW(), tl.LCSS(), tl.GDTW(), tl.OPW()])
def test_a_gallery_gives_the_bits_of_the_metric(metric, monkeypatch):
    candidates = np.stack([np.random.default_rng(i).permutation(40)[:9] for i in range(7)])
    ready = metric.prepare_gallery(TRAIN)
    whole = metric.neighbors(TRAIN, TEST, k=3)
    assert_same(ready.neighbors(TEST, k=3), whole)
    assert_same(ready.neighbors(TEST, k=3, n_jobs=1), whole)
    again = metric.neighbors(TRAIN, TEST, k=3, among=candidates)
    assert_same(ready.neighbors(TEST, k=3, among=candidates), again)
    assert_same(ready.neighbors(TEST, k=3, among=np.argsort(metric.pairwise(TEST, TRAIN), axis=1)), whole)
    monkeypatch.setattr(gallery, "_BLOCK_DISTANCES", 3 * len(TRAIN))
    assert_same(ready.neighbors(TEST, k=3), whole)


@pytest.mark.parametrize("name", ["Rocket", pytest.param("CausalEncoder", marks=pytest.mark.learn)])
def test_an_encoder_sees_candidates_once(name, monkeypatch):
    kind = getattr(tl, name)
    small = {"channels": 4, "depth": 2, "max_steps": 2} if name == "CausalEncoder" else {}
    encoder = kind(n_features=6, random_state=0, **small).fit(TRAIN)
    candidates, seen = np.array([[3, 1, 4], [1, 5, 9], [3, 5, 1]]), []
    real = kind._encode
    ready = encoder.prepare_gallery(TRAIN)
    monkeypatch.setattr(kind, "_encode", lambda self, s, n: seen.append(len(s)) or real(self, s, n))
    found = encoder.neighbors(TRAIN, TEST[:3], k=2, among=candidates)
    assert sorted(seen) == [3, 5]
    assert_same(ready.neighbors(TEST[:3], k=2, among=candidates), found)
    assert sorted(seen) == [3, 3, 5]


def test_a_distance_that_is_too_large_is_named_by_its_place_in_the_whole(monkeypatch):
    monkeypatch.setattr(gallery, "_BLOCK_DISTANCES", 2 * 5)
    known, asked = np.zeros((5, 3), np.float32), np.zeros((6, 3), np.float32)
    asked[3] = 3e19
    metric = tl.DTW(normalize="length")
    with pytest.raises(ValueError, match=r"distance of queries\[3\] and X\[0\] is too large for float32"):
        metric.neighbors(known, asked)
    with pytest.raises(ValueError, match=r"distance of queries\[3\] and X\[2\] is too large for float32"):
        metric.neighbors(known, asked, among=[[3, 2]] * 6)


def test_what_cannot_be_searched_is_refused_when_it_is_prepared():
    with pytest.raises(ValueError, match="X holds no sequences"):
        tl.DTW().prepare_gallery(TRAIN[:0])
    with pytest.raises(ValueError, match="X: sequence 1 is missing"):
        tl.DTW().prepare_gallery([[0.0, 1.0], [0.0, np.nan]])
    with pytest.raises(ValueError, match="k=41: expected 1 to 40"):
        tl.DTW().prepare_gallery(TRAIN).neighbors(TEST, k=41)


def test_matches_show_the_first_queries_as_a_table():
    found = tl.DTW().neighbors([[0.0], [1.0], [5.0]], [[0.0], [4.0]], k=2)
    shown = found._repr_html_()
    assert shown.count("<tr>") == 3
    assert shown.count("<td") == 2 * (1 + 2 * 2)
    assert '<td class="number">2</td><td class="number">1</td>' in shown  # the third, at distance 1, is nearest to 4


def others_by_sorting(metric, X, k):
    """Of each the k nearest others, equal ones in order, from all distances."""
    matrix = metric.pairwise(X)
    np.fill_diagonal(matrix, np.inf)
    ids = np.argsort(matrix, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(matrix, ids, axis=1)


@pytest.mark.parametrize("metric", [tl.DTW(), tl.DTW(normalize="length"), tl.SoftDTW(), tl.Euclidean()], ids=repr)
@pytest.mark.parametrize("k", [1, 3, 39])
def test_nobody_is_their_own_neighbour_unless_asked_for(metric, k):
    X = [np.round(one[:5]) for one in TRAIN]  # with copies, which do count
    ids, distances = others_by_sorting(metric, X, k)
    for found in (
        metric.neighbors(X, k=k),
        metric.neighbors(X, X, k, exclude_self=True),
        metric.prepare_gallery(X).neighbors(X, k, exclude_self=True),
    ):
        np.testing.assert_array_equal(found.ids, ids)
        np.testing.assert_allclose(found.distances, distances, rtol=1e-12)
    plain = metric.neighbors(X, X, 1)
    assert_same(metric.neighbors(X, k=1, exclude_self=False), plain)


def test_copies_that_come_first_may_fill_all_places():
    """Sequence 3 is not among its own two nearest: it is the last of four copies."""
    found = tl.DTW().neighbors([[1.0]] * 4 + [[5.0]], k=1)
    assert found.ids[:, 0].tolist() == [1, 0, 0, 0, 0]
    assert found.distances[:, 0].tolist() == [0.0, 0.0, 0.0, 0.0, 16.0]


def test_candidates_lose_only_the_place_of_their_query():
    X = TRAIN[:6]
    rough = tl.Euclidean().neighbors(X.resample(4), k=3)  # of others already
    assert_same(tl.DTW().neighbors(X, X, 3, among=rough, exclude_self=True), tl.DTW().neighbors(X, X, 3, among=rough))
    every = np.tile(np.arange(6), (6, 1))
    assert_same(tl.DTW().neighbors(X, k=5, among=every), tl.DTW().neighbors(X, k=5))
    with pytest.raises(ValueError, match="k=4: among has only 3"):
        tl.DTW().neighbors(X, X, 3, among=[[0, 1, 2]] * 6, exclude_self=True)


@pytest.mark.parametrize(
    ("queries", "options", "words"),
    [
        (
            TEST,
            {"exclude_self": True},
            "exclude_self=True with 7 queries and 40 sequences in X: expected queries to be X",
        ),
        (None, {"k": 40}, "k=40: expected 1 to 39, the number of other sequences"),
        (None, {"exclude_self": "no"}, "exclude_self='no': expected True or False"),
    ],
)
def test_what_cannot_leave_itself_out_is_refused(queries, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        tl.DTW().neighbors(TRAIN, queries, **options)


KINDS = [
    pytest.param(kind, id=name, marks=[pytest.mark.transport] if name == "ot" else [])
    for name, kind in sorted(metric_names.metrics_by_name().items())
]


@pytest.mark.parametrize(("dtype", "large"), [(np.float64, 1e200), (np.float32, 1e30)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_neighbour_at_infinite_distance_is_refused_as_pairwise_refuses_it(kind, dtype, large, channels):
    metric = kind()
    X = np.array([[0, 1, 2, 1], [1, -1, 1, 1], [1, 2, 3, 1], [-1, 1, -1, 1]], dtype)
    queries = np.array([[0, 1, 0, 1], [1, 1, 2, 1]], dtype)
    X[1], X[3], queries[0] = large * X[1], large * X[3], large * queries[0]
    X, queries = (np.repeat(side[:, :, None], channels, axis=2) for side in (X, queries))
    calls = [
        lambda: metric.neighbors(X, queries, 4),
        lambda: metric.prepare_gallery(X).neighbors(queries, 4),
        lambda: metric.neighbors(X, queries, 2, among=np.tile(np.arange(4), (2, 1))),
        lambda: tl.Neighbors(metric).fit(X, [0, 1, 0, 1]).predict(queries),
        lambda: tl.NeighborsRegressor(metric, weights="distance").fit(X, [0.0, 1, 0, 1]).predict(queries),
        lambda: tl.KMedoids(2, metric=metric, random_state=0).fit(X),
    ]
    try:
        expected = metric.pairwise(queries, X)
    except ValueError:
        for call in calls:
            with pytest.raises(ValueError, match="too large for"):
                call()
        return
    for call in calls[:2]:
        np.testing.assert_array_equal(call().ids, np.argsort(expected, axis=1, kind="stable"))


def test_edr_scales_the_deviations_of_very_large_values():
    x, y = np.random.default_rng(0).integers(-3, 4, (2, 12)).astype(float)
    assert tl.EDR().distance(2.0**700 * x, 2.0**700 * y) == tl.EDR().distance(x, y) > 0


def test_an_infinite_distance_is_named_by_ids():
    X = tl.Sequences([[1e200, 0.0], [0.0, 1.0]], ids=["loud", "quiet"])
    for search in (lambda: tl.DTW().neighbors(X, k=1), lambda: tl.DTW().pairwise(X)):
        with pytest.raises(ValueError, match=r"\(id 'loud'\) and X\[.\] \(id"):
            search()
