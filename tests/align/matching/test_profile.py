"""The nearest other window of every window: against a plain loop and stumpy's distance, motifs, discords, bad input."""

import numpy as np
import pytest

import timelike as tl
from naive import matching
from timelike.align.matching import profile as profiles


def by_loop(series, size, distance, exclusion, normalize=True):
    """From the definition; equal distances go to the earlier window."""
    ready = matching.scaled if normalize else np.asarray
    windows = [ready(series[s : s + size]) for s in range(len(series) - size + 1)]
    ids, distances = [], []
    for i, one in enumerate(windows):
        others = [(distance(one, other), j) for j, other in enumerate(windows) if abs(i - j) > exclusion]
        value, place = min(others)
        ids.append(place)
        distances.append(value)
    return ids, distances


def euclidean(x, y):
    return float(np.sqrt(((x - y) ** 2).sum()))


def walk(n, channels=1, seed=0):
    return np.random.default_rng(seed).standard_normal((n, channels)).cumsum(axis=0)


@pytest.fixture(params=[3, 1024])
def height(request, monkeypatch):
    """Blocks of a few windows, and all in one."""
    monkeypatch.setattr(profiles, "_BLOCK_HEIGHT", request.param)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(("size", "exclusion"), [(6, None), (5, 0), (1, 2), (8, 11)])
def test_it_is_that_of_the_definition(size, exclusion, channels, height):
    series = walk(40, channels)
    zone = -(-size // 4) if exclusion is None else exclusion
    for normalize in (True, False):
        found = tl.matrix_profile(series, size, exclusion=exclusion, normalize=normalize)
        ids, distances = by_loop(series, size, euclidean, zone, normalize)
        if size > 1 or not normalize:
            np.testing.assert_array_equal(found.ids, ids)
        np.testing.assert_allclose(found.distances, distances, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", [tl.DTW(window=2), tl.MSM(), tl.SoftDTW(gamma=0.1)], ids=repr)
def test_any_metric_will_do(metric, height):
    series = walk(30)
    found = tl.matrix_profile(series, 7, metric=metric)
    ids, distances = by_loop(series, 7, metric.distance, 2)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-9, atol=1e-12)


def test_a_metric_that_is_not_symmetric_is_asked_from_the_window_to_the_others(height):
    class Rising(tl.align.Metric):
        symmetric = False

        def _fill_matrix(self, x, y, out, threads, report):
            ends = [np.array([one[-1, 0] for one in side]) for side in (x, y)]
            out[:] = np.maximum(ends[0][:, None] - ends[1], 0)

    series = walk(25)
    found = tl.matrix_profile(series, 3, metric=Rising(), normalize=False)
    ids, distances = by_loop(series, 3, lambda x, y: max(0.0, x[-1, 0] - y[-1, 0]), 1, normalize=False)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_allclose(found.distances, distances)


def test_equal_windows_are_each_others_first(height):
    series = np.tile([0.0, 1.0, 3.0, 1.0], 6)
    found = tl.matrix_profile(series, 4, normalize=False, exclusion=1)
    assert (found.distances == 0).all()
    assert found.ids[:6].tolist() == [4, 5, 6, 7, 0, 1]


def test_what_was_planted_is_found_and_nothing_overlaps():
    rng = np.random.default_rng(0)
    series = np.sin(np.arange(600) / 5) + 0.05 * rng.standard_normal(600)
    pattern = rng.standard_normal(30).cumsum()
    series[100:130], series[400:430] = pattern, 3 * pattern
    found = tl.matrix_profile(series, 30)
    (motif,) = found.motifs()
    assert (motif.first, motif.second) == (100, 400)
    assert motif.distance < 1e-9
    starts = sorted(match.start for match in found.discords(5))
    assert np.diff(starts).min() >= 30
    used = [place for one in found.motifs(4) for place in (one.first, one.second)]
    for k, pair in enumerate(found.motifs(4)):
        assert all(abs(place - other) >= 30 for place in pair[:2] for other in used[: 2 * k])


def test_what_never_comes_again_is_a_discord():
    series = np.sin(np.arange(600) / 5) + 0.05 * np.random.default_rng(0).standard_normal(600)
    series[250:262] *= -1
    (discord,) = tl.matrix_profile(series, 30).discords()
    assert discord.start < 262
    assert discord.start + 30 == discord.stop > 250
    assert discord.distance == tl.matrix_profile(series, 30).distances.max()


def test_asking_for_more_than_there_are_gives_all():
    found = tl.matrix_profile(walk(30), 10)
    assert 1 <= len(found.discords(100)) <= 3
    with pytest.raises(ValueError, match="k=0: expected at least 1"):
        found.motifs(0)


@pytest.mark.parametrize(
    ("series", "size", "options", "words"),
    [
        (walk(10), 9, {}, r"series has 10 samples, which hold no two windows of size=9 that start more than 3 apart"),
        (walk(10), 0, {}, "size=0: expected at least 1"),
        (walk(10), 3, {"metric": "dwt"}, "metric='dwt': expected a Metric"),
        (walk(10), 3, {"exclusion": -1}, "exclusion=-1: expected at least 0"),
        (walk(10), 3, {"normalize": "yes"}, "normalize='yes': expected True or False"),
        (np.array([1.0, np.nan, 2.0, 3.0, 4.0]), 2, {}, "series: sequence 0 is missing"),
    ],
)
def test_what_has_no_profile_is_refused(series, size, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        tl.matrix_profile(series, size, **options)


def test_a_profile_is_shown_in_a_line():
    assert repr(tl.matrix_profile(np.sin(np.arange(100.0)), 10)) == "MatrixProfile(91 windows of 10)"


def test_windows_that_are_compared_with_nothing_are_named_by_nobody(height):
    series = walk(14)
    for normalize, metric in ((True, "euclidean"), (False, "euclidean"), (True, "dtw")):
        found = tl.matrix_profile(series, 4, exclusion=6, metric=metric, normalize=normalize)  # 11 windows, 4 … 6 alone
        alone = [i for i in range(11) if all(abs(i - j) <= 6 for j in range(11))]
        assert alone == [4, 5, 6]
        np.testing.assert_array_equal(np.flatnonzero(found.ids == -1), alone)
        np.testing.assert_array_equal(np.flatnonzero(np.isinf(found.distances)), alone)
        assert all(one.start not in alone and np.isfinite(one.distance) for one in found.discords(11))
        assert all({one.first, one.second}.isdisjoint({-1, *alone}) for one in found.motifs(11))
        strangest = max((i for i in range(11) if i not in alone), key=lambda i: (found.distances[i], -i))
        assert found.discords()[0].start == strangest


def test_a_series_whose_distances_overflow_is_refused():
    with pytest.raises(ValueError, match=r"windows are too large for float64.*normalize=True"):
        tl.matrix_profile([1e200, 0.0, -1e200] * 5, 4, normalize=False)
    assert tl.matrix_profile([1e200, 0.0, -1e200] * 5, 4).distances.max() < 1e-6


def test_a_series_of_channels_before_time_is_told_so():
    series = np.random.default_rng(0).standard_normal((3, 50))
    with pytest.raises(ValueError, match=r"the first axis is time, and it has 50 channels: series\.T"):
        tl.matrix_profile(series, 5)
    with pytest.raises(ValueError, match="smaller size or exclusion$"):
        tl.matrix_profile(series[:, :2], 5)
    assert len(tl.matrix_profile(series.T, 5).distances) == 46
