"""Dynamic time warping of sequences that lack values: `missing="ignore"` against its definition, and what follows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import timelike as tl
from naive import elastic

COSTS = ["sqeuclidean", "euclidean", "manhattan"]

# our metric, its naive reference
REFERENCES = {
    **{cost: (tl.DTW(cost=cost, missing="ignore"), {"cost": cost}) for cost in COSTS},
    "root length": (tl.DTW(root=True, normalize="length", missing="ignore"), {"root": True, "normalize": "length"}),
    "symmetric2": (tl.DTW(step="symmetric2", missing="ignore"), {"corner": 2}),
    "ADTW": (tl.ADTW(penalty=0.7, missing="ignore"), {"penalty": 0.7}),
}


def holes(rng, length, channels, share, coarse=False):
    """A sequence that lacks values here and there, and some steps altogether."""
    values = rng.integers(0, 3, (length, channels)).astype(float) if coarse else rng.standard_normal((length, channels))
    values[rng.random(values.shape) < share] = np.nan
    values[rng.random(length) < share / 2] = np.nan
    return values


def agrees(metric, expected, x, y):
    if not np.isfinite(expected):
        with pytest.raises(ValueError, match="too much of them is missing to compare anything"):
            metric.distance(x, y)
        return False
    assert metric.distance(x, y) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    return True


@pytest.mark.parametrize("name", REFERENCES)
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    channels=st.integers(1, 3),
    share=st.sampled_from([0.1, 0.3, 0.6]),
    coarse=st.booleans(),
    window=st.sampled_from([None, 2, 0.3]),
)
def test_the_distance_is_that_of_the_definition(name, seed, channels, share, coarse, window):
    metric, options = REFERENCES[name]
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 12, 2)
    x, y = holes(rng, n, channels, share, coarse), holes(rng, m, channels, share, coarse)
    metric = replace(metric, window=window, band="widened")
    expected = elastic.ignoring(x, y, allowed=elastic.mask(n, m, window, "widened"), **options)
    if agrees(metric, expected, x, y):
        assert metric.distance(y, x) == metric.distance(x, y)
        assert metric.align(x, y).cost == metric.distance(x, y)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 2), st.sampled_from(COSTS), st.booleans())
def test_it_is_the_cheapest_of_all_paths_scaled_by_the_steps_it_compares(seed, channels, cost, coarse):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 6, 2)
    x, y = holes(rng, n, channels, 0.3, coarse), holes(rng, m, channels, 0.3, coarse)
    agrees(tl.DTW(cost=cost, missing="ignore"), elastic.cheapest_ignoring(x, y, cost), x, y)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_weights_slopes_and_single_channels_ignore_what_is_missing_too(seed, channels):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(3, 12, 2)
    x, y = holes(rng, n, channels, 0.15), holes(rng, m, channels, 0.15)

    def weight(i, j):
        return 1 / (1 + np.exp(-0.2 * (abs(i - j) - max(n, m) / 2)))

    agrees(tl.WDTW(g=0.2, missing="ignore"), elastic.ignoring(x, y, weight=weight), x, y)
    agrees(tl.DDTW(missing="ignore"), elastic.ignoring(elastic.derivative(x), elastic.derivative(y)), x, y)
    agrees(tl.DTW(dependent=False, missing="ignore"), elastic.independent(elastic.ignoring, x, y), x, y)


def test_complete_sequences_are_at_their_usual_distance_whatever_the_others_lack():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        data = [rng.standard_normal((int(n), 2)).astype(dtype) for n in rng.integers(10, 15, 12)]
        usual = tl.DTW(window=0.3).pairwise(data)
        np.testing.assert_array_equal(tl.DTW(window=0.3, missing="ignore").pairwise(data), usual)
        data[4][3] = np.nan
        rest = np.delete(np.arange(12), 4)
        found = tl.DTW(window=0.3, missing="ignore").pairwise(data)
        np.testing.assert_array_equal(found[np.ix_(rest, rest)], usual[np.ix_(rest, rest)])
        assert (found == found.T).all()


def test_a_pair_is_compared_as_in_any_batch_and_with_any_number_of_threads():
    rng = np.random.default_rng(1)
    data = [holes(rng, int(n), 3, 0.1) for n in rng.integers(30, 36, 25)]
    metric = tl.DTW(missing="ignore")
    whole = metric.pairwise(data, n_jobs=1)
    np.testing.assert_array_equal(metric.pairwise(data, n_jobs=2), whole)
    for i, j in [(0, 1), (7, 20), (24, 3)]:
        assert metric.distance(data[i], data[j]) == whole[i, j]
    ids, distances = metric.neighbors(data, data[:6], k=4)
    np.testing.assert_array_equal(ids, np.argsort(whole[:6], axis=1, kind="stable")[:, :4])
    np.testing.assert_array_equal(distances, np.take_along_axis(whole[:6], ids, axis=1))
    assert tl.Neighbors(metric).fit(tl.Sequences(data, labels=np.arange(25))).predict(data[:3]).tolist() == [0, 1, 2]


def test_a_half_that_is_missing_counts_as_the_half_that_is_there():
    # without warping: as many steps again as are compared, so the mean difference stays what it is
    x, y = np.zeros(20), np.ones(20)
    y[10:] = np.nan
    assert tl.DTW(window=0, missing="ignore").distance(x, y) == 20
    assert tl.DTW(window=0).distance(x, np.ones(20)) == 20


def test_a_channel_that_is_missing_counts_as_those_that_are_there():
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((2, 15, 1))
    four, lacking = np.repeat(x, 4, axis=1), np.repeat(y, 4, axis=1)
    lacking[::2, 1:3] = np.nan
    metric = tl.DTW(missing="ignore")
    assert metric.distance(four, lacking) == pytest.approx(4 * tl.DTW().distance(x, y), rel=1e-12)


def test_a_gap_is_no_way_around_what_there_is():
    # along an empty first step and an empty last one a path could pass by everything for nothing
    x, y = np.arange(10.0), np.arange(10.0) + 100
    x[0] = y[-1] = np.nan
    assert tl.DTW(missing="ignore").distance(x, y) > 1e4
    path = tl.DTW(missing="ignore").align(x, y).path
    aside = (np.diff(path, axis=0) == 0).any(axis=1)
    lacks = np.isnan(x[path[:, 0]]) | np.isnan(y[path[:, 1]])
    assert not (aside & (lacks[1:] | lacks[:-1])).any()


def test_neighbours_under_missing_values_are_those_of_the_complete_sequences():
    rng = np.random.default_rng(3)
    time = np.linspace(0, 1, 60)
    labels = np.repeat(np.arange(3), 12)
    made = np.array(
        [np.sin(2 * np.pi * (c + 1) * time**p) for c, p in zip(labels, rng.uniform(0.8, 1.25, 36), strict=True)]
    )
    made += 0.1 * rng.standard_normal(made.shape)
    for row in made:  # a gap of a fifth of the time in each
        begin = rng.integers(0, 48)
        row[begin : begin + 12] = np.nan
    distances = tl.DTW(missing="ignore").pairwise(made)
    np.fill_diagonal(distances, np.inf)
    assert np.mean(labels[distances.argmin(axis=1)] == labels) == 1


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([np.nan], [1.0]),
        ([np.nan, np.nan], [1.0, 2.0]),
        ([1.0, np.nan], [np.nan, 1.0]),  # nothing at the same time, and no way aside
        ([1.0], [1.0, np.nan, 2.0]),  # one step cannot pass the gap and come out on the other side
    ],
)
def test_too_little_to_compare_is_an_error(x, y):
    metric = tl.DTW(missing="ignore")
    for call in (metric.distance, metric.align, lambda x, y: metric.pairwise([x], [y])):
        with pytest.raises(
            ValueError, match=r"is nan, because too much of them is missing to compare anything \(interpolate"
        ):
            call(x, y)


def test_missing_values_are_refused_unless_it_is_asked_to_ignore_them():
    lacking = [[0.0, np.nan, 1.0, 2.0, 3.0, 4.0]]
    for metric in (tl.DTW(), tl.DDTW(), tl.WDTW(), tl.ADTW()):
        with pytest.raises(ValueError, match="cannot take missing values"):
            metric.pairwise(lacking)
        assert replace(metric, missing="ignore").pairwise(lacking) == 0
    for kind in (tl.MSM, tl.TWE, tl.ERP, tl.EDR, tl.LCSS):
        with pytest.raises(TypeError):
            kind(missing="ignore")


def test_the_window_can_be_chosen_where_values_are_missing():
    rng = np.random.default_rng(4)
    data = tl.Sequences([holes(rng, int(n), 2, 0.05) for n in rng.integers(12, 15, 10)], labels=np.arange(10) % 2)
    chosen = tl.DTW(missing="ignore").select_window(data, windows=[0.1, 0.3])
    assert chosen.window in (0.1, 0.3)
    assert chosen.missing == "ignore"
