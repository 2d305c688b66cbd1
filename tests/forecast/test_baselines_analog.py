"""Analog beside a loop over all windows, under metrics of every kind."""

import numpy as np
import pytest
from sklearn.base import clone

import timelike as tl
from blocked_torch import facts_without_torch
from naive import forecasting as naive
from timelike.forecast import Analog
from timelike.forecast.baselines import analog

RNG = np.random.default_rng(0)


def walks(*lengths, channels=2, seed=0, whole=False):
    rng = np.random.default_rng(seed)
    made = [np.cumsum(rng.standard_normal((n, channels)), axis=0) * [1.0, 100.0][:channels] for n in lengths]
    return [np.rint(x) for x in made] if whole else made


def followed(train, past, near, window, horizon, align):
    found = []
    for item, end in near:
        future = train[item][end : end + horizon]
        before = train[item][end - window : end]
        if align == "level":
            future = future + past[-window:].mean(axis=0) - before.mean(axis=0)
        if align == "last":
            future = future + past[-1] - before[-1]
        found.append(future)
    return np.array(found)


def scaled(train):
    rows = np.concatenate(train)
    return lambda x: (x - rows.mean(axis=0)) / rows.std(axis=0)


METRICS = ["euclidean", "dtw", tl.DTW(window=1, cost="manhattan"), tl.MSM(), tl.SoftDTW(gamma=0.5, divergence=True)]


class TestNearest:
    @pytest.mark.parametrize("metric", METRICS, ids=repr)
    @pytest.mark.parametrize("align", ["none", "level", "last"])
    def test_it_is_the_mean_of_what_followed_the_nearest_windows(self, metric, align):
        train, past = walks(20, 6, 15, 5), walks(9, 5, 4, seed=1)
        scale, plain = scaled(train), tl.align.metric_names.resolve_metric(metric)
        found = Analog(metric, 3, window=4, align=align).fit(train).predict(past, 2).mean
        for item, one in enumerate(past):
            near = naive.analogs([scale(x) for x in train], scale(one), 4, 2, 3, plain.distance)
            expected = followed(train, one, near, 4, 2, align).mean(axis=0)
            np.testing.assert_allclose(found[item], expected, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("window", [1, 2, 5, 9])
    def test_the_sliding_search_finds_what_the_metric_finds(self, window, monkeypatch):
        monkeypatch.setattr(analog, "_BLOCK_NUMBERS", 16)
        train, past = walks(60, 30, 12, whole=True, channels=1), walks(20, 9, 40, seed=1, whole=True, channels=1)
        model = Analog(k=7, window=window).fit(train)
        model.predict(past, 3)
        found, ends = model.galleries_[3]
        rows = tl.Sequences(model._standardize(model.rows_)[None])
        every = rows.windows(window)[ends - window]
        queries = tl.Sequences([model._standardize(x[-window:]) for x in past])
        expected = tl.Euclidean().neighbors(every, queries, 7)
        nearest = found.neighbors(queries, 7)
        np.testing.assert_array_equal(nearest.ids, expected.ids)
        np.testing.assert_allclose(nearest.distances, expected.distances, rtol=1e-12)

    @pytest.mark.parametrize("metric", ["euclidean", "dtw"])
    def test_of_equally_near_windows_the_first_count(self, metric):
        train = [[0.0, 1.0, 7.0, 0.0, 1.0, 8.0, 0.0, 1.0, 9.0], [0.0, 1.0, 5.0]]
        for k, expected in ((1, 7.0), (2, 7.5), (3, 8.0), (4, 7.25)):
            found = Analog(metric, k, window=2).fit(train).predict([[0.0, 1.0]], 1).mean
            assert found.ravel() == pytest.approx(expected)

    @pytest.mark.parametrize("metric", ["dtw", tl.MSM()], ids=repr)
    def test_a_search_part_by_part_finds_the_same(self, metric, monkeypatch):
        train, past = walks(40, 30, whole=True), walks(9, 5, seed=1, whole=True)
        whole = Analog(metric, 5, window=3).fit(train).predict(past, 2).mean
        monkeypatch.setattr(analog, "_MAX_BLOCK_NUMBERS", 3 * 2 * 4)  # four windows at a time
        model = Analog(metric, 5, window=3).fit(train)
        np.testing.assert_array_equal(model.predict(past, 2).mean, whole)
        assert len(model.galleries_[2][0].galleries) > 10

    def test_windows_are_views_of_the_training_data(self):
        model = Analog("dtw", 1, window=50).fit(walks(5000))
        model.predict(walks(60, seed=1), 10)
        parts, ends = model.galleries_[10]
        assert len(ends) == 4941
        assert all(gallery.collection.buffers()[0].size <= 2 * 5000 for gallery in parts.galleries)

    def test_a_window_without_enough_steps_after_it_is_no_candidate(self):
        train = [np.array([0.0, 0.0, 1.0, 2.0, 3.0, 9.0, 9.0])]
        found = Analog(k=1, window=2, align="none").fit(train).predict([[9.0, 9.0]], 2).mean
        np.testing.assert_array_equal(found.ravel(), [9.0, 9.0])  # after 2, 3: nothing followed 9, 9

    def test_times_are_no_part_of_the_comparison(self):
        train = walks(40, 30, channels=1)
        timed = tl.Sequences(train, times=[np.arange(40.0), 1000 + np.arange(30.0)])
        past = tl.Sequences(walks(9, seed=1, channels=1), times=[np.arange(5e6, 5e6 + 9)])
        plain = Analog("twe", 3, window=4).fit(train).predict(list(past), 2).mean
        np.testing.assert_array_equal(Analog("twe", 3, window=4).fit(timed).predict(past, 2).mean, plain)


class TestWeights:
    def test_by_distance_the_nearer_count_more(self):
        train = [[0.0, 5.0, 100.0], [1.0, 5.0, 200.0], [9.0, 9.0, 300.0]]
        model = Analog(k=2, window=2, weights="distance", align="none").fit(train)
        near, far = 0.25, 0.75
        expected = (100 / near + 200 / far) / (1 / near + 1 / far)
        assert model.predict([[0.25, 5.0]], 1).mean.item() == pytest.approx(expected)

    def test_windows_at_no_distance_decide_alone(self):
        train = [[0.0, 5.0, 100.0], [0.0, 5.0, 200.0], [0.0, 5.1, 900.0]]
        model = Analog(k=3, window=2, weights="distance", align="none").fit(train)
        assert model.predict([[0.0, 5.0]], 1).mean.item() == 150.0

    def test_a_negative_distance_is_no_closeness(self):
        model = Analog(tl.SoftDTW(gamma=1.0), 2, window=3, weights="distance").fit(walks(30))
        with pytest.raises(ValueError, match="weights='distance': SoftDTW.* gave the distance -"):
            model.predict(walks(30), 1)


class TestSamples:
    def test_samples_are_whole_futures_of_the_nearest(self):
        train, past = walks(30, channels=1), walks(9, 8, seed=1, channels=1)
        model = Analog(k=4, window=3, align="none").fit(train)
        found = model.predict(past, 5, n_samples=60, random_state=0)
        scale = scaled(train)
        for item, one in enumerate(past):
            near = naive.analogs([scale(x) for x in train], scale(one), 3, 5, 4, tl.Euclidean().distance)
            futures = followed(train, one, near, 3, 5, "none")
            drawn = [int(np.flatnonzero((futures == s).all(axis=(1, 2)))[0]) for s in found.samples[:, item]]
            assert set(drawn) == {0, 1, 2, 3}
            np.testing.assert_allclose(found.mean[item], futures.mean(axis=0))

    def test_a_seed_repeats_them(self):
        model = Analog(k=4, window=3).fit(walks(30))
        one, same = (model.predict(walks(9), 2, n_samples=9, random_state=3).samples for _ in range(2))
        np.testing.assert_array_equal(one, same)


class TestKnown:
    @pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7])
    def test_what_is_known_counts_over_the_window_and_the_horizon(self, horizon):
        train = [np.hstack([x, RNG.standard_normal((len(x), 1))]) for x in walks(30, 20)]
        past = [np.hstack([x, RNG.standard_normal((len(x), 1))]) for x in walks(9, 5, seed=1)]
        ahead = RNG.standard_normal((2, horizon, 1))
        window = 3
        found = (
            Analog(k=2, window=window, known_channels=[2])
            .fit(train)
            .predict(past, horizon, known_covariates=ahead)
            .mean
        )
        scale = scaled(train)
        shifts = [*range(window, horizon, window), horizon]

        def compared(x, end):
            """The window before `end`, and again what is known so many steps later."""
            rows = range(end - window, end)
            return np.array([[*x[t], *(x[t + shift, 2] for shift in shifts)] for t in rows])

        for item, one in enumerate(past):
            both = scale(np.vstack([one, np.hstack([np.zeros((horizon, 2)), ahead[item]])]))
            own = compared(both, len(one))
            near = sorted(
                (np.linalg.norm(compared(scale(x), end) - own), i, end)
                for i, x in enumerate(train)
                for end in range(window, len(x) - horizon + 1)
            )[:2]
            expected = followed(train, one, [(i, end) for _, i, end in near], window, horizon, "level").mean(axis=0)
            np.testing.assert_allclose(found[item], expected[:, :2], rtol=1e-9, atol=1e-9)

    def test_a_plan_tells_two_futures_apart(self):
        plan = np.tile([0, 0, 0, 1, 0, 0, 0, -1], 20).astype(float)
        answer = 10 * plan
        X = tl.Sequences([np.stack([answer, plan], axis=1)], channel_names=["y", "plan"])
        for known in ([0.0, 1.0], [0.0, -1.0]):
            found = (
                Analog("dtw", 1, window=2, known_channels=["plan"], align="none")
                .fit(X)
                .predict(X.crop(0, 2), 2, known_covariates=np.array(known)[None, :, None])
            )
            np.testing.assert_allclose(found.mean.ravel(), 10 * np.array(known))

    def test_a_metric_that_learns_cannot_see_the_horizon(self):
        with pytest.raises(ValueError, match=r"known_channels=\[1\]: .* learns from the window alone"):
            Analog(tl.Rocket(n_features=84, random_state=0), known_channels=[1]).fit(walks(50))


class TestLearnedMetrics:
    def test_an_encoder_learns_from_windows(self, tmp_path):
        train, past = walks(60, 40), walks(20, 11, seed=1)
        model = Analog(tl.Rocket(n_features=84, random_state=0), 2, window=10).fit(train)
        encoder = clone(model.metric).fit(model._cut_windows(model._standardize(model.rows_), np.r_[10:61, 70:101]))
        found, ends = model.predict(past, 3).mean, np.r_[10:58, 70:98]
        windows = model._cut_windows(model._standardize(model.rows_), ends)
        distances = encoder.pairwise([model._standardize(x[-10:]) for x in past], windows)
        for item in range(2):
            order = np.argsort(distances[item], kind="stable")[:2]
            near = [(0, int(e)) if e <= 60 else (1, int(e) - 60) for e in ends[order]]
            expected = followed(train, past[item], near, 10, 3, "level").mean(axis=0)
            np.testing.assert_allclose(found[item], expected, rtol=1e-6)
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(tl.load_model(tmp_path / "model").predict(past, 3).mean, found)

    def test_one_that_is_fitted_is_used_as_it_is(self):
        X = walks(60, 40)
        encoder = tl.Rocket(n_features=84, random_state=0).fit(walks(50, 50, seed=3))
        model = Analog(encoder, 2, window=10).fit(X)
        np.testing.assert_array_equal(model.metric_.encode(X), encoder.encode(X))

    @pytest.mark.parametrize("name", ["Discriminant", pytest.param("SiameseGRU", marks=pytest.mark.learn)])
    def test_one_that_needs_labels_is_refused_with_the_way_out(self, name):
        labelled = tl.Sequences(walks(60, 40), labels=["a", "b"])
        with pytest.raises(ValueError, match=rf"metric={name}.* could not be fitted to windows.*: fit it before"):
            Analog(getattr(tl, name)(random_state=0), 2, window=10).fit(labelled)

    def test_pictures_reach_the_metric_as_pictures(self):
        model = Analog("dtw", 1, window=2).fit(RNG.standard_normal((2, 9, 1, 4, 4)))
        model.predict(RNG.standard_normal((1, 3, 1, 4, 4)))
        assert model.galleries_[1][0].galleries[0].collection.frame == (1, 4, 4)


class TestBadInput:
    def test_a_horizon_longer_than_any_future_says_the_longest(self):
        model = Analog(k=1, window=4).fit(walks(10, 7))
        with pytest.raises(ValueError, match="horizon=7: at most 6 steps followed a window of 4"):
            model.predict(walks(9), 7)
        assert model.predict(walks(9), 6).mean.shape == (1, 6, 2)

    def test_more_neighbours_than_windows_are_refused(self):
        model = Analog(k=4, window=4).fit(walks(10, 7))
        with pytest.raises(ValueError, match="k=4: 3 windows of the training sequences have 4 steps after them"):
            model.predict(walks(9), 4)
        assert model.predict(walks(9), 3).mean.shape == (1, 3, 2)
        assert model._max_horizon() == 3

    def test_a_window_as_long_as_every_sequence_has_no_future(self):
        with pytest.raises(ValueError, match="window=10: nothing followed a window of 10"):
            Analog(window=10).fit(walks(10, 7))

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"metric": "dwt"}, "metric='dwt'"),
            ({"k": 0}, "k=0"),
            ({"window": 0}, "window=0"),
            ({"align": "x"}, "align='x'"),
        ],
    )
    def test_options_are_refused_by_name(self, options, words):
        with pytest.raises(ValueError, match=words):
            Analog(**options).fit(walks(20))

    def test_options_of_the_metric_are_options(self):
        model = Analog("dtw").set_params(metric__window=2)
        assert model.metric == tl.DTW(window=2)


SAVED_AND_LOADED = """
import numpy as np, timelike as tl

folder, rng = pathlib.Path(sys.argv[1]), np.random.default_rng(0)
X = tl.Sequences([np.sin(np.arange(n) * 0.5)[:, None] + 0.1 * rng.standard_normal((n, 2)) for n in (30, 41, 26, 50)])

def answers(model, horizon):
    forecast = model.predict(X, horizon)
    return [forecast.mean, *forecast.interval(0.5), forecast.quantile(0.4)]

for name, model, horizon in (
    ("euclidean", tl.forecast.Analog(k=2, window=5), None),
    ("DTW", tl.forecast.Analog(tl.DTW(window=0.5), k=3, weights="distance"), 4),
    ("level", tl.forecast.Analog("msm", k=2, window=7, align="last"), 3),
):
    model.fit(X).calibrate(X, horizon=horizon, progress=False)
    model.save(folder / name)
    again = tl.load_model(folder / name)
    pairs = [zip(answers(model, h), answers(again, h), strict=True) for h in (1, 3)]
    facts[name] = all(np.array_equal(a, b) for pair in pairs for a, b in pair)
"""


def test_a_calibrated_model_is_saved_and_loaded_also_without_torch(tmp_path):
    assert facts_without_torch(SAVED_AND_LOADED, tmp_path) == {"euclidean": True, "DTW": True, "level": True}
