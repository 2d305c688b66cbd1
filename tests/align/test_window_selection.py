"""Windows and unequal lengths: a share fits every pair, peers' bands have names, and the best one is found in one pass."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from dtaidistance import dtw as dtai
from hypothesis import given, settings, strategies as st
from sklearn.model_selection import GridSearchCV
from tslearn.metrics import dtw as tslearn_dtw

import timelike as tl
from timelike.align.window_selection import default_shares


def peaks(rng, count, lengths):
    """Two classes that differ in the width of a peak, whose place moves."""
    labels = np.arange(count) % 2
    made = []
    for label, length in zip(labels, lengths, strict=True):
        place = length / 2 + rng.integers(-6, 7)
        made.append(
            np.exp(-(((np.arange(length) - place) / (1.5, 4)[label]) ** 2)) + 0.02 * rng.standard_normal(length)
        )
    return tl.Sequences(made, labels=labels)


def one_by_one(metric, data, windows):
    """The slow loop: a matrix for every window."""
    scores = []
    for window in windows:
        distances = replace(metric, window=window).pairwise(data)
        np.fill_diagonal(distances, np.inf)
        scores.append(np.mean(data.labels[distances.argmin(axis=1)] == data.labels))
    return windows[int(np.argmax(scores))]


@pytest.mark.filterwarnings("error")
def test_a_grid_of_windows_scores_on_ragged_data():
    rng = np.random.default_rng(0)
    data = peaks(rng, 24, rng.integers(20, 61, 24))
    grid = {"metric": [tl.DTW(), tl.MSM(), tl.TWE()], "metric__window": [0.1, 0.3, None]}
    found = GridSearchCV(tl.Neighbors(tl.DTW()), grid, cv=2).fit(data, data.labels)
    assert len(found.cv_results_["mean_test_score"]) == 9
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()


@given(st.integers(1, 30), st.integers(1, 30), st.floats(0, 1))
def test_a_share_fits_every_pair_and_is_the_plain_band_where_lengths_are_equal(n, m, share):
    rng = np.random.default_rng(n * 31 + m)
    x, y = rng.standard_normal(n), rng.standard_normal(m)
    found = tl.DTW(window=share).distance(x, y)
    assert np.isfinite(found)
    assert found == tl.DTW(window=share).distance(y, x)
    assert found == tl.DTW(window=int(np.floor(share * max(n, m) + 1e-9)), band="widened").distance(x, y)
    if n == m:
        assert found == tl.DTW(window=int(np.floor(share * n + 1e-9))).distance(x, y)


def test_a_share_of_one_is_no_window():
    rng = np.random.default_rng(1)
    data = [rng.standard_normal(int(n)) for n in rng.integers(1, 30, 12)]
    for band in ("sakoe", "widened", "aeon"):
        np.testing.assert_array_equal(tl.DTW(window=1.0, band=band).pairwise(data), tl.DTW().pairwise(data))


@given(st.integers(2, 30), st.integers(2, 30), st.integers(0, 12), st.integers(0, 2**32))
def test_tslearn_and_dtaidistance_are_widened(n, m, radius, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal(n), rng.standard_normal(m)
    ours = tl.DTW(window=radius, band="widened", root=True).distance(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = tslearn_dtw(x, y, global_constraint="sakoe_chiba", sakoe_chiba_radius=radius)
    assert ours == pytest.approx(theirs, rel=1e-12)
    assert ours == pytest.approx(dtai.distance(x, y, window=radius + 1), rel=1e-12)


def test_aeon_has_a_band_of_its_own():
    distances = pytest.importorskip("aeon.distances", reason="aeon's code is in the bench extra")
    rng = np.random.default_rng(4)
    for n, m in [(20, 33), (33, 20), (7, 7), (1, 9), (50, 48), (13, 26)]:
        x, y = rng.standard_normal(n), rng.standard_normal(m)
        for window in (0.0, 0.1, 0.29, 0.5, 1.0):
            ours = tl.DTW(window=window, band="aeon").distance(x, y)
            assert ours == pytest.approx(distances.dtw_distance(x, y, window=window), rel=1e-12)


@pytest.mark.parametrize(
    "metric",
    [tl.DTW(), tl.DDTW(), tl.MSM(), tl.TWE(), tl.ERP(), tl.EDR(), tl.LCSS(), tl.WDTW(), tl.ADTW(), tl.SoftDTW()],
)
def test_every_verb_knows_the_same_band_on_ragged_data(metric):
    rng = np.random.default_rng(5)
    data = tl.Sequences([rng.standard_normal((int(n), 2)) for n in rng.integers(5, 30, 20)])
    narrow = replace(metric, window=0.1)
    whole = narrow.pairwise(data)
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(whole, whole.T)
    ids, distances = narrow.neighbors(data, data[:5], k=3)
    np.testing.assert_array_equal(ids, np.argsort(whole[:5], axis=1, kind="stable")[:, :3])
    np.testing.assert_array_equal(distances, np.take_along_axis(whole[:5], ids, axis=1))
    for i, j in [(0, 1), (3, 8), (11, 2)]:
        assert narrow.distance(data[i], data[j]) == whole[i, j]
        assert narrow.align(data[i], data[j]).cost == pytest.approx(whole[i, j], rel=1e-12)
    assert np.isfinite(tl.barycenter(data[:4], metric=replace(tl.DTW(), window=0.1), random_state=0).cost)


def test_a_path_stays_inside_the_band_that_is_widened():
    rng = np.random.default_rng(6)
    i, j = tl.DTW(window=0.1).align(rng.standard_normal(20), rng.standard_normal(30)).path.T
    assert (j - i).min() >= -3
    assert (j - i).max() <= 3 + 10


@pytest.mark.parametrize("band", ["sakoe", "widened", "slanted", "aeon", "itakura"])
@pytest.mark.parametrize(
    "options",
    [{}, {"root": True}, {"normalize": "length", "root": True}, {"normalize": "steps"}, {"step": "symmetric2"}],
)
def test_the_window_of_one_pass_is_that_of_the_slow_loop(band, options):
    rng = np.random.default_rng(7)
    # slopes of a parallelogram admit few pairs of lengths
    lengths = np.full(24, 40) if band == "itakura" else rng.integers(25, 41, 24)
    for data in (peaks(rng, 24, lengths), peaks(rng, 24, np.full(24, 30))):
        metric = tl.DTW(band=band, **options)
        longest = data.lengths.max()
        windows = [slope / 10 for slope in range(10, 31)] if band == "itakura" else default_shares(longest)
        assert metric.select_window(data).window == one_by_one(metric, data, windows)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from([tl.DTW(), tl.DDTW(root=True), tl.DTW(dependent=False)]), st.booleans())
def test_it_is_so_for_coarse_values_where_many_are_equally_near(seed, metric, ragged):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(4, 13, 20) if ragged else np.full(20, 9)
    data = tl.Sequences([rng.integers(0, 3, (int(n), 2)).astype(float) for n in lengths], labels=rng.integers(0, 3, 20))
    assert metric.select_window(data).window == one_by_one(metric, data, default_shares(data.lengths.max()))
    given_ones = [0.5, 11, 0.0, None, 12, 0.25]  # cells, shares and none, in any order: of equal ones the first counts
    assert metric.select_window(data, windows=given_ones).window == one_by_one(metric, data, given_ones)


def test_it_is_so_without_kernels(monkeypatch):
    rng = np.random.default_rng(8)
    data = peaks(rng, 10, rng.integers(12, 17, 10))
    compiled = tl.DTW().select_window(data)
    monkeypatch.setattr(tl.native.elastic, "use_kernels", lambda: False)
    assert tl.DTW().select_window(data) == compiled


def test_the_window_is_a_round_number_and_the_rest_of_the_metric_stays():
    rng = np.random.default_rng(9)
    data = peaks(rng, 20, rng.integers(100, 131, 20))
    chosen = tl.DTW(root=True, step="symmetric2").select_window(data, n_jobs=1)
    assert (chosen.root, chosen.step) == (True, "symmetric2")
    assert len(repr(chosen.window)) <= 4
    assert tl.DTW().select_window(data, windows=[30]).window == 30
    assert tl.Neighbors(tl.DTW(), select_window=True).fit(data, data.labels).metric_.window is not None


def test_every_window_offered_has_whole_cells_of_the_longest():
    for longest in range(1, 140):
        cells = np.floor(np.array(default_shares(longest)) * longest + 1e-9)
        assert cells[0] == 0
        assert cells[-1] == longest
        assert (np.diff(cells) >= 1).all()
        assert longest > 100 or (np.diff(cells) == 1).all()


def test_a_bar_shows_how_far_it_is(capsys):
    rng = np.random.default_rng(10)
    tl.DTW().select_window(peaks(rng, 30, np.full(30, 60)), progress=True)
    shown = capsys.readouterr().err
    assert "DTW windows" in shown
    assert "100%" in shown


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda data: tl.DTW().select_window(np.zeros((3, 4))), "X carries no labels"),
        (lambda data: tl.DTW().select_window(np.zeros((3, 4)), [1, 2]), "y has 2 labels for 3 sequences"),
        (lambda data: tl.DTW().select_window(data, windows=[]), "is empty: expected at least one window"),
        (lambda data: tl.DTW().select_window(data, windows=[0.1, 2]), "window=2 admits no path between lengths"),
        (lambda data: tl.DTW().select_window(data, windows=[-1]), "window=-1: expected 0 or more cells"),
        (lambda data: tl.DTW().select_window([[1.0, np.nan], [0.0, 1.0]], [0, 1]), "sequence 0 is missing"),
    ],
)
def test_bad_input_is_named(call, words):
    rng = np.random.default_rng(11)
    with pytest.raises(ValueError, match=words):
        call(peaks(rng, 6, rng.integers(10, 40, 6)))
