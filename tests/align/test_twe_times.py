"""TWE on clocks: irregular, of another spacing, from a negative or a far start, against Marteau's recurrence with times."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import timelike as tl
from naive import elastic

METRIC = tl.TWE(nu=0.1, lmbda=0.8)
KINDS = ["irregular", "evenly", "negative", "far"]
seeds = st.integers(0, 2**32)


def clock(rng, kind, length):
    """Strictly increasing times of one kind."""
    steps = rng.uniform(0.01, 3.0, length).cumsum()
    return {
        "irregular": steps,
        "evenly": 0.25 * np.arange(length),
        "negative": steps - 40.0,
        "far": np.round(steps, 6) + 1.7e9,  # seconds since 1970
    }[kind]


def timed(rng, kind, lengths, channels=1, dtype=np.float64):
    values = [rng.standard_normal((int(n), channels)).astype(dtype) for n in lengths]
    return tl.Sequences(values, times=[clock(rng, kind, int(n)) for n in lengths])


def naive(x, y, metric=METRIC, allowed=None):
    """Of two collections of one, in float64."""
    clocks = {"x_times": x.elapsed_times, "y_times": y.elapsed_times}
    return elastic.twe(x[0].astype(float), y[0].astype(float), metric.nu, metric.lmbda, allowed=allowed, **clocks)


def all_pairs(x, y, metric=METRIC):
    return np.array(
        [[naive(x[i : i + 1], y[j : j + 1], metric) for j in range(len(y))] for i in range(len(x))]
    )  # fmt: skip


@pytest.fixture(params=["kernels", "torch"])
def executor(request, monkeypatch):
    if request.param == "torch":
        monkeypatch.setenv("TIMELIKE_NATIVE", "0")
    return request.param


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=seeds, channels=st.integers(1, 3))
def test_every_verb_is_marteaus_recurrence_with_times(executor, kind, seed, channels):
    rng = np.random.default_rng(seed)
    x, y = timed(rng, kind, rng.integers(1, 12, 3), channels), timed(rng, kind, rng.integers(1, 12, 5), channels)
    expected = all_pairs(x, y)
    np.testing.assert_allclose(METRIC.pairwise(x, y), expected, rtol=1e-9)
    np.testing.assert_allclose(METRIC.pairwise(x), all_pairs(x, x), rtol=1e-9)
    found = METRIC.neighbors(y, x, k=3)
    np.testing.assert_array_equal(found.ids, np.argsort(METRIC.pairwise(x, y), axis=1, kind="stable")[:, :3])
    np.testing.assert_allclose(found.distances, np.sort(expected, axis=1)[:, :3], rtol=1e-9)
    one, two = x[:1], y[:1]
    assert METRIC.distance(one, two) == METRIC.distance(two, one) == pytest.approx(expected[0, 0], rel=1e-9)
    assert METRIC.align(one, two).cost == pytest.approx(expected[0, 0], rel=1e-9)
    assert METRIC.cost_matrix(one, two)[-1, -1] == pytest.approx(expected[0, 0], rel=1e-9)


@settings(max_examples=25)
@given(seed=seeds, kind=st.sampled_from(KINDS), window=st.integers(0, 12))
def test_a_band_leaves_out_the_cells_of_the_formula(seed, kind, window):
    rng = np.random.default_rng(seed)
    x, y = timed(rng, kind, [9], 2), timed(rng, kind, [rng.integers(max(1, 9 - window), 10 + window)], 2)
    narrow = tl.TWE(nu=0.3, lmbda=0.2, window=window)
    allowed = elastic.mask(9, len(y[0]), window)
    assert narrow.distance(x, y) == pytest.approx(naive(x, y, narrow, allowed), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10)
@given(seed=seeds)
def test_float32_knows_times_as_float64_does(kind, seed):
    rng = np.random.default_rng(seed)
    x, y = (timed(rng, kind, rng.integers(3, 20, 4), 1, np.float32) for _ in range(2))
    found = METRIC.pairwise(x, y)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, all_pairs(x, y), rtol=1e-5)


@settings(max_examples=10)
@given(seed=seeds, k=st.integers(1, 5), dtype=st.sampled_from([np.float32, np.float64]))
def test_giving_up_early_loses_no_neighbour(seed, k, dtype):
    rng = np.random.default_rng(seed)
    items, queries = (timed(rng, "irregular", rng.integers(5, 30, count), 1, dtype) for count in (60, 5))
    stiff = tl.TWE(nu=2.0, lmbda=0.1)
    ids, distances = stiff.neighbors(items, queries, k=k)
    whole = stiff.pairwise(queries, items)
    np.testing.assert_array_equal(ids, np.argsort(whole, axis=1, kind="stable")[:, :k])
    np.testing.assert_array_equal(distances, np.take_along_axis(whole, ids, axis=1))


def test_company_and_threads_change_no_bit():
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        x = timed(rng, "far", rng.integers(1, 40, 30), 2, dtype)
        whole = METRIC.pairwise(x, n_jobs=2)
        np.testing.assert_array_equal(whole, METRIC.pairwise(x, n_jobs=1))
        for i, j in [(0, 1), (5, 29), (17, 3)]:
            assert METRIC.distance(x[i : i + 1], x[j : j + 1]) == whole[i, j]


@given(seed=seeds)
def test_times_that_count_the_steps_change_nothing(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((int(rng.integers(1, 20)), 2)), rng.standard_normal((int(rng.integers(1, 20)), 2))
    counted = [tl.Sequences([side], times=[np.arange(1.0, len(side) + 1)]) for side in (x, y)]
    assert METRIC.distance(*counted) == pytest.approx(METRIC.distance(x, y), rel=1e-12)
    # one without times is at 1, 2, 3, …
    assert METRIC.distance(counted[0], y) == METRIC.distance(*counted)


@given(seed=seeds, shift=st.sampled_from([-1e6, -0.5, 3.0, 1e6]))
def test_of_a_start_only_what_the_clocks_do_not_share_counts(seed, shift):
    rng = np.random.default_rng(seed)
    x, y = timed(rng, "irregular", [8]), timed(rng, "irregular", [8])
    moved = [side.replace(times=side.times + shift) for side in (x, y)]
    assert METRIC.distance(*moved) == pytest.approx(METRIC.distance(x, y), rel=1e-7)
    # a sequence against itself, later: cheapest is to match step by step, where nothing is dearer than a deletion
    late = x.replace(times=x.times + 0.5)
    assert tl.TWE(nu=0.1, lmbda=100.0).distance(x, late) == pytest.approx(0.1 * 0.5 * (2 * 8 - 1), rel=1e-9)


def test_datetimes_count_in_seconds_from_the_first_step_of_their_sequence():
    values = [[1.0, 2.0, 4.0], [1.0, 3.0, 4.0]]
    dates = [np.datetime64(day) + np.array([0, 500, 2500], "timedelta64[ms]") for day in ("2024-01-01", "2025-06-01")]
    seconds = [[0.0, 0.5, 2.5]] * 2
    dated, clocked = tl.Sequences(values, times=dates), tl.Sequences(values, times=seconds)
    np.testing.assert_array_equal(METRIC.pairwise(dated), METRIC.pairwise(clocked))


def test_independent_channels_keep_the_clock():
    rng = np.random.default_rng(0)
    x, y = timed(rng, "irregular", [7], 3), timed(rng, "irregular", [9], 3)
    alone = tl.TWE(nu=0.1, lmbda=0.8, dependent=False)
    one = [[tl.Sequences([side[0][:, [c]]], times=[side.times]) for side in (x, y)] for c in range(3)]
    assert alone.distance(x, y) == pytest.approx(sum(naive(*sides) for sides in one), rel=1e-12)


@given(seed=seeds)
def test_with_times_it_obeys_the_triangle_inequality(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (timed(rng, "negative", [rng.integers(1, 9)]) for _ in range(3))
    assert METRIC.distance(a, c) <= METRIC.distance(a, b) + METRIC.distance(b, c) + 1e-9


def test_a_barycenter_has_the_clock_of_its_start_and_costs_what_it_says():
    rng = np.random.default_rng(1)
    members = timed(rng, "irregular", [9, 12, 10, 8])
    mean = tl.barycenter(members, metric=METRIC)
    assert any(np.array_equal(mean.times, members[i : i + 1].times) for i in range(4))
    average = tl.Sequences([mean.sequence], times=[mean.times])
    assert mean.cost == pytest.approx(sum(naive(average, members[i : i + 1]) for i in range(4)), rel=1e-9)
    assert tl.barycenter(members, metric=tl.DTW()).times is None
    assert len(tl.barycenter(members, metric=METRIC, length=5).times) == 5


def test_centers_of_clusters_have_clocks_and_are_kept():
    rng = np.random.default_rng(2)
    values = [np.sin(np.linspace(0, 6, n)) + rng.normal(0, 0.05, n) for n in (10, 11, 12, 10, 12, 11)]
    starts = [0.0, 0.0, 0.0, 500.0, 500.0, 500.0]  # alike but for when they were
    data = tl.Sequences(values, times=[start + np.arange(len(v)) for start, v in zip(starts, values, strict=True)])
    groups = tl.KMeans(2, metric=tl.TWE(nu=1.0), random_state=0).fit(data)
    assert set(map(tuple, [groups.labels_[:3], groups.labels_[3:]])) == {(0, 0, 0), (1, 1, 1)}
    np.testing.assert_array_equal(groups.predict(data), groups.labels_)
    assert sorted(times[0] for times in groups.center_times_) == [0.0, 500.0]


def test_a_fitted_model_keeps_the_clocks_it_compares_with(tmp_path):
    rng = np.random.default_rng(4)
    values = [rng.standard_normal(6) for _ in range(8)]
    data = tl.Sequences(values, labels=[0, 1] * 4, times=[np.arange(6.0) + 100 * (i % 2) for i in range(8)])
    model = tl.Neighbors(tl.TWE(nu=1.0)).fit(data)
    asked = data.replace(labels=None)
    np.testing.assert_array_equal(model.predict(asked), data.labels)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "model").predict(asked), data.labels)


def test_times_that_float32_cannot_hold_are_refused():
    far = tl.Sequences([np.zeros(2, np.float32)], times=[[0.0, 1e39]])
    with pytest.raises(ValueError, match="times reach 1e\\+39, too large for float32: give the sequences as float64"):
        METRIC.distance(far, far)
