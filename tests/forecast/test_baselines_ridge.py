"""Ridge beside scikit-learn's, its two forms beside each other, and refits at every origin beside naive ones."""

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.base import clone

import timelike as tl
from naive import forecasting as naive
from timelike.forecast import Ridge
from timelike.forecast.baselines import lagged_regression, ridge, rolling_ridge
from timelike.forecast.windows import known_futures_after, windows_at_origins

RNG = np.random.default_rng(0)


def series(*lengths, channels=2, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for n in lengths:
        t = np.arange(n)[:, None] + rng.uniform(0, 9)
        made.append(np.sin(0.4 * t + np.arange(channels)) * 3 + 10 + 0.3 * rng.standard_normal((n, channels)))
    return made


def standard(train):
    rows = np.concatenate(train)
    return rows.mean(axis=0), rows.std(axis=0)


def expected(train, past, lags, horizon, alpha):
    """scikit-learn's ridge regression of windows that loops cut out."""
    mean, spread = standard(train)
    before, _, after = naive.windows([(x - mean) / spread for x in train], lags, horizon)
    model = linear_model.Ridge(alpha=alpha).fit(before, after.reshape(len(after), -1))
    asked = np.stack([((x - mean) / spread)[-lags:].ravel() for x in past])
    return model.predict(asked).reshape(len(past), horizon, -1) * spread + mean


class TestOneSolve:
    @pytest.mark.parametrize(("lags", "horizon", "alpha"), [(1, 1, 1.0), (3, 5, 0.01), (8, 2, 100.0), (4, 16, 1.0)])
    def test_it_is_scikit_learns_ridge_of_all_windows(self, lags, horizon, alpha):
        train, past = series(40, 20, 33), series(8, 9, 20, seed=1)
        found = Ridge(lags=lags, alpha=alpha).fit(train).predict(past, horizon).mean
        np.testing.assert_allclose(found, expected(train, past, lags, horizon, alpha), rtol=1e-9)

    def test_a_single_window_is_enough(self):
        train, past = series(7), series(9, seed=1)
        found = Ridge(lags=4, alpha=1.0).fit(train).predict(past, 3).mean
        np.testing.assert_allclose(found, np.broadcast_to(train[0][4:], (1, 3, 2)), rtol=1e-9)

    @pytest.mark.parametrize(
        ("most", "kind"), [(0, lagged_regression.DualRidge), (1 << 22, lagged_regression.LinearSolution)]
    )
    def test_where_features_are_more_than_windows_the_answer_is_the_same(self, monkeypatch, most, kind):
        monkeypatch.setattr(ridge, "_MAX_WEIGHTS", most)
        train, past = series(14, 15, channels=5), series(8, 9, seed=1, channels=5)
        model = Ridge(lags=6, alpha=0.3).fit(train)
        found = model.predict(past, 4).mean
        assert isinstance(model.solution(4), kind)
        np.testing.assert_allclose(found, expected(train, past, 6, 4, 0.3), rtol=1e-9)

    @pytest.mark.parametrize("together", [1, 4, 256])
    def test_with_known_channels_weights_of_features_say_what_a_mean_of_windows_does(self, monkeypatch, together):
        """Errors of a calibration at every horizon: those that the slow way has, window by window."""
        train, other = series(40, 31, channels=6), series(50, seed=2, channels=6)
        model = Ridge(lags=12, known_channels=[1, 3, 4]).fit(train)
        fast = model.calibrate(other, horizon=5)
        monkeypatch.setattr(ridge, "_MAX_WEIGHTS", 0)
        monkeypatch.setattr(lagged_regression, "_BLOCK_COLUMNS", together)
        slow = Ridge(lags=12, known_channels=[1, 3, 4]).fit(train).calibrate(other, horizon=5)
        assert isinstance(slow.solution(5), lagged_regression.DualRidge)
        assert len(fast.shorter_calibrations_) == len(slow.shorter_calibrations_) == 4
        for one, two in zip(
            [*fast.shorter_calibrations_, fast.calibration_],
            [*slow.shorter_calibrations_, slow.calibration_],
            strict=True,
        ):
            np.testing.assert_allclose(one.errors, two.errors, rtol=1e-5, atol=1e-6)  # single precision

    def test_both_forms_choose_the_same_penalty_and_say_the_same(self, monkeypatch):
        train, past = series(60, 50), series(8, 9, seed=1)
        model = Ridge(lags=5).fit(train)
        one, other = model.solution(3), model.predict(past, 3).mean
        monkeypatch.setattr(ridge, "_MAX_SOLUTION_NUMBERS", 0)
        monkeypatch.setattr(ridge, "_MAX_WEIGHTS", 0)
        by_windows = Ridge(lags=5).fit(train)
        np.testing.assert_allclose(by_windows.predict(past, 3).mean, other, rtol=1e-8)
        assert by_windows.solution(3).alpha == pytest.approx(one.alpha)

    def test_the_penalty_has_the_least_generalised_cross_validation_error(self):
        train = series(30, 25, channels=1)
        mean, spread = standard(train)
        before, _, after = naive.windows([(x - mean) / spread for x in train], 6, 4)
        alphas = lagged_regression._ALPHA_SHARES * len(before)
        errors = [naive.generalised_cross_validation(before, after.reshape(len(after), -1), a) for a in alphas]
        found = Ridge(lags=6).fit(train).solution(4).alpha
        assert found == pytest.approx(alphas[int(np.argmin(errors))])
        assert alphas[0] < found < alphas[-1]

    def test_a_second_forecast_costs_no_second_solve(self, monkeypatch):
        train = series(40)
        model = Ridge(lags=3).fit(train)
        first = model.predict(train, 4).mean
        monkeypatch.setattr(ridge, "RegressionMoments", None)  # nothing can be solved any more
        np.testing.assert_array_equal(model.predict(train, 4).mean, first)
        with pytest.raises(TypeError):
            model.predict(train, 5)

    def test_few_horizons_are_kept_and_the_answers_are_those_of_a_new_model(self):
        train = series(40)
        model = Ridge(lags=3, alpha=1.0).fit(train)
        for horizon in (1, 2, 3, 4, 5, 6, 1):
            np.testing.assert_array_equal(
                model.predict(train, horizon).mean, clone(model).fit(train).predict(train, horizon).mean
            )
        assert len(model.solutions_) == ridge._MAX_KEPT_HORIZONS

    def test_memory_is_bounded_by_taking_windows_evenly(self, monkeypatch):
        monkeypatch.setattr(ridge, "MAX_MATRIX_ROWS", 16)
        monkeypatch.setattr(ridge, "_MAX_WEIGHTS", 0)
        train, past = series(100, channels=8), series(9, seed=1, channels=8)
        model = Ridge(lags=3).fit(train)
        assert np.isfinite(model.predict(past, 2).mean).all()
        assert model.solution(2).origin[[0, -1]].tolist() == [3, 98]
        assert len(model.solution(2).origin) == 16

    def test_blocks_of_windows_add_up(self, monkeypatch):
        train, past = series(60, 50), series(8, seed=1)
        whole = Ridge(lags=5, alpha=1.0).fit(train).predict(past, 3).mean
        monkeypatch.setattr(lagged_regression, "_BLOCK_NUMBERS", 50)
        np.testing.assert_allclose(Ridge(lags=5, alpha=1.0).fit(train).predict(past, 3).mean, whole, rtol=1e-10)


class TestKnown:
    def test_each_step_sees_what_is_known_up_to_it(self):
        train, past = series(60, 50, channels=3), series(8, 12, seed=1, channels=3)
        ahead = RNG.standard_normal((2, 4, 1)) + 10
        lags, horizon, alpha = 2, 4, 0.7
        found = (
            Ridge(lags=lags, alpha=alpha, known_channels=[1])
            .fit(train)
            .predict(past, horizon, known_covariates=ahead)
            .mean
        )
        mean, spread = standard(train)
        order = [0, 2, 1]
        before, known, after = naive.windows([(x - mean) / spread for x in train], lags, horizon, known=[1])
        for step in range(horizon):
            seen = np.hstack([before, known[:, : step + 1].reshape(len(known), -1)])
            model = linear_model.Ridge(alpha=alpha).fit(seen, after[:, step])
            for item, one in enumerate(past):
                last = ((one - mean) / spread)[-lags:, order].ravel()
                own = np.concatenate([last, ((ahead[item] - mean[1]) / spread[1])[: step + 1].ravel()])
                answer = model.predict(own[None])[0] * spread[[0, 2]] + mean[[0, 2]]
                np.testing.assert_allclose(found[item, step], answer, rtol=1e-9)

    def test_by_windows_all_of_the_horizon_is_seen(self, monkeypatch):
        monkeypatch.setattr(ridge, "_MAX_SOLUTION_NUMBERS", 0)
        train, past = series(30, 30, channels=3), series(8, seed=1, channels=3)
        ahead = RNG.standard_normal((1, 3, 1)) + 10
        found = Ridge(lags=2, alpha=0.7, known_channels=[2]).fit(train).predict(past, 3, known_covariates=ahead).mean
        mean, spread = standard(train)
        before, known, after = naive.windows([(x - mean) / spread for x in train], 2, 3, known=[2])
        model = linear_model.Ridge(alpha=0.7).fit(
            np.hstack([before, known.reshape(len(known), -1)]), after.reshape(len(after), -1)
        )
        own = np.concatenate([((past[0] - mean) / spread)[-2:].ravel(), ((ahead[0] - mean[2]) / spread[2]).ravel()])
        answer = model.predict(own[None]).reshape(3, 2) * spread[:2] + mean[:2]
        np.testing.assert_allclose(found[0], answer, rtol=1e-9)

    def test_what_a_plan_causes_is_forecast_from_the_plan(self):
        plan = RNG.standard_normal(300)
        answer = np.concatenate([[0.0], 2 * plan[1:] + plan[:-1]])
        X = tl.Sequences([np.stack([answer, plan], axis=1)], channel_names=["load", "plan"])
        model = Ridge(lags=2, known_channels=["plan"]).fit(X.crop(0, 250))
        found = model.predict(X.crop(0, 250), 50, known_covariates=plan[None, 250:, None])
        np.testing.assert_allclose(found.mean[0, :, 0], answer[250:], atol=1e-3)
        assert found.channel_names == ("load",)

    def test_without_the_plan_it_says_what_to_give(self):
        model = Ridge(lags=1, known_channels=[0]).fit(series(20))
        with pytest.raises(
            ValueError, match=r"known_covariates=None: .*known_channels=\[0\]; give their values over the horizon"
        ):
            model.predict(series(20), 3)


def cut(sequences, origin):
    return [x[:origin] for x in sequences]


def refitted(model, train, windows, horizon, known=None):
    found = []
    for row, (item, origin) in enumerate(zip(windows.item, windows.origin, strict=True)):
        one = clone(model).fit(tl.Sequences(cut(train, origin)))
        ahead = None if known is None else known[row : row + 1]
        found.append(one.predict([train[item][:origin]], horizon, known_covariates=ahead).mean[0])
    return np.stack(found)


class TestRolling:
    def windows(self, train, origins):
        item, origin = zip(*origins, strict=True)
        return windows_at_origins(tl.Sequences(train), np.array(item), np.array(origin))

    def test_it_is_a_refit_at_every_origin(self):
        train = series(60, 45, 70)
        train[1] = train[1] * 1000 - 5e4
        windows = self.windows(train, [(0, 50), (2, 20), (1, 30), (0, 20), (2, 69), (2, 50), (1, 44)])
        model = Ridge(lags=4, alpha=2.0).fit(cut(train, 20))
        found = model._forecast_rolling(tl.Sequences(train), windows, 5)
        np.testing.assert_allclose(found, refitted(model, train, windows, 5), rtol=1e-8)

    def test_more_features_than_windows_at_the_first_origins_change_nothing(self):
        train = series(40, channels=3)
        windows = self.windows(train, [(0, origin) for origin in range(8, 41, 4)])
        model = Ridge(lags=5, alpha=0.5).fit(cut(train, 8))
        found = model._forecast_rolling(tl.Sequences(train), windows, 3)
        np.testing.assert_allclose(found, refitted(model, train, windows, 3), rtol=1e-8)

    def test_the_penalty_is_the_one_of_the_earliest_origin(self):
        train = series(90, 80)
        train[0][:30] *= 5
        windows = self.windows(train, [(0, 60), (1, 30), (0, 80)])
        model = Ridge(lags=3).fit(cut(train, 30))
        alpha = model.solution(4).alpha
        found = model._forecast_rolling(tl.Sequences(train), windows, 4)
        np.testing.assert_allclose(found, refitted(Ridge(lags=3, alpha=alpha), train, windows, 4), rtol=1e-8)

    def test_known_channels_are_seen_up_to_each_step(self):
        train = series(50, 40, channels=3)
        windows = self.windows(train, [(0, 30), (1, 30), (0, 41)])
        model = Ridge(lags=2, alpha=1.0, known_channels=[0]).fit(cut(train, 30))
        known = known_futures_after(model.cells_, tl.Sequences(train), windows, 4)
        found = model._forecast_rolling(tl.Sequences(train), windows, 4, known)
        np.testing.assert_allclose(found, refitted(model, train, windows, 4, known), rtol=1e-8)

    def test_a_channel_that_begins_to_move_later_has_the_scale_it_had(self):
        train = series(60)
        train[0][:30, 1] = 0.1
        windows = self.windows(train, [(0, 20), (0, 31), (0, 50)])
        model = Ridge(lags=3, alpha=1.0).fit(cut(train, 20))
        found = model._forecast_rolling(tl.Sequences(train), windows, 2)
        np.testing.assert_allclose(found, refitted(model, train, windows, 2), rtol=1e-8)

    def both_ways(self, monkeypatch, model, train, windows, horizon, atol=0.0):
        """By a factorisation at every cut, and by one for several, beside naive refits."""
        naive_ones = refitted(model, train, windows, horizon)
        for few in (0, 10**9):  # every question is few enough for updates, or none is
            monkeypatch.setattr(rolling_ridge, "_FEATURES_PER_QUERY", few)
            found = model._forecast_rolling(tl.Sequences(train), windows, horizon)
            np.testing.assert_allclose(found, naive_ones, rtol=1e-8, atol=atol)

    @pytest.mark.parametrize("step", [1, 3, 7])
    @pytest.mark.parametrize("lengths", [(90,), (90, 84, 61), (70, 70, 70, 12)])
    def test_both_ways_are_refits_whatever_the_step_and_the_lengths(self, monkeypatch, step, lengths):
        train = series(*lengths)
        ends = [(item, n) for item, length in enumerate(lengths) for n in range(length - 4, 39, -step)]
        windows = self.windows(train, ends)
        model = Ridge(lags=3, alpha=0.4).fit(cut(train, 40))
        self.both_ways(monkeypatch, model, train, windows, 4)

    def test_both_ways_are_refits_where_the_lags_just_suffice(self, monkeypatch):
        train = series(26, 23)
        windows = self.windows(train, [(0, n) for n in range(9, 23)] + [(1, n) for n in range(9, 20)])
        model = Ridge(lags=6, alpha=1.0).fit(cut(train, 9))  # one window in each sequence at the first origin
        self.both_ways(monkeypatch, model, train, windows, 3)

    def test_both_ways_are_refits_of_equal_values_and_constant_channels(self, monkeypatch):
        rng = np.random.default_rng(2)
        train = [rng.integers(0, 2, (60, 3)).astype(float), np.ones((50, 3))]
        train[0][:, 1] = train[1][:, 1] = 7.1
        windows = self.windows(train, [(item, n) for item in (0, 1) for n in range(20, 47)])
        model = Ridge(lags=4, alpha=1.0).fit(cut(train, 20))
        self.both_ways(monkeypatch, model, train, windows, 3, atol=1e-11)
        found = model._forecast_rolling(tl.Sequences(train), windows, 3)
        np.testing.assert_allclose(found[..., 1], 7.1, rtol=1e-12)

    def test_both_ways_are_refits_where_scales_grow_a_thousandfold(self, monkeypatch):
        train = series(80, 70)
        train[0][40:, 0] = 1000 * train[0][40:, 0] - 3000
        train[1][:50, 1] = 2.5  # flat, and only then a channel that moves
        windows = self.windows(train, [(item, n) for item in (0, 1) for n in range(30, 66)])
        model = Ridge(lags=3, alpha=2.0).fit(cut(train, 30))
        self.both_ways(monkeypatch, model, train, windows, 3)

    @pytest.mark.parametrize("alpha", [1e-6, 1e4])
    def test_both_ways_are_refits_with_hardly_any_penalty_and_with_a_great_one(self, monkeypatch, alpha):
        train = series(90, channels=3)
        windows = self.windows(train, [(0, n) for n in range(50, 85)])
        model = Ridge(lags=8, alpha=alpha).fit(cut(train, 50))
        self.both_ways(monkeypatch, model, train, windows, 5)

    def test_origins_asked_twice_and_in_any_order_are_answered_in_that_order(self, monkeypatch):
        train = series(60, 60)
        windows = self.windows(train, [(1, 50), (0, 30), (0, 50), (1, 30), (0, 50), (0, 41)])
        model = Ridge(lags=2, alpha=1.0).fit(cut(train, 30))
        self.both_ways(monkeypatch, model, train, windows, 2)

    def test_known_channels_are_seen_up_to_each_step_from_every_origin(self):
        train = series(60, 50, channels=3)
        train[0][:, 1] = np.round(train[0][:, 1])
        windows = self.windows(train, [(item, n) for item in (0, 1) for n in range(20, 46, 5)])
        model = Ridge(lags=2, alpha=0.1, known_channels=[1, 2]).fit(cut(train, 20))
        known = known_futures_after(model.cells_, tl.Sequences(train), windows, 4)
        found = model._forecast_rolling(tl.Sequences(train), windows, 4, known)
        np.testing.assert_allclose(found, refitted(model, train, windows, 4, known), rtol=1e-8)

    def test_few_windows_at_a_time_change_nothing(self, monkeypatch):
        train = series(90)
        windows = self.windows(train, [(0, n) for n in range(40, 86)])
        model = Ridge(lags=20, alpha=1.0).fit(cut(train, 40))
        whole = model._forecast_rolling(tl.Sequences(train), windows, 4)
        monkeypatch.setattr(rolling_ridge, "_MAX_SHARED_WINDOWS", 5)
        np.testing.assert_allclose(model._forecast_rolling(tl.Sequences(train), windows, 4), whole, rtol=1e-10)

    def test_many_refits_take_few_factorisations(self, monkeypatch):
        calls, factor = [], rolling_ridge._cholesky_lower
        monkeypatch.setattr(rolling_ridge, "_cholesky_lower", lambda *given: calls.append(1) or factor(*given))
        train = series(600)
        windows = self.windows(train, [(0, n) for n in range(480, 580)])
        Ridge(lags=24, alpha=1.0).fit(cut(train, 480))._forecast_rolling(tl.Sequences(train), windows, 12)
        assert 1 < len(calls) < 10

    def test_frames_too_large_to_add_up_are_fitted_one_by_one(self, monkeypatch):
        train = series(40, 30)
        windows = self.windows(train, [(0, 20), (1, 25), (0, 25), (0, 38)])
        model = Ridge(lags=3).fit(cut(train, 20))
        expected = model._forecast_rolling(tl.Sequences(train), windows, 4)
        monkeypatch.setattr(rolling_ridge, "MAX_MATRIX_ROWS", 1)
        np.testing.assert_allclose(model._forecast_rolling(tl.Sequences(train), windows, 4), expected, rtol=1e-8)

    def test_an_origin_before_anything_was_seen_is_refused(self):
        train = series(40)
        model = Ridge(lags=3).fit(train)
        with pytest.raises(ValueError, match="at origin 6 there is nothing to fit on: expected at least 7 steps"):
            model._forecast_rolling(tl.Sequences(train), self.windows(train, [(0, 6)]), 4)
        model._forecast_rolling(tl.Sequences(train), self.windows(train, [(0, 7)]), 4)


class TestBadInput:
    def test_a_horizon_longer_than_training_says_how_long_it_may_be(self):
        model = Ridge(lags=4).fit(series(10, 7))
        with pytest.raises(ValueError, match=r"horizon=7: at most 6 can be learned .* one of at least 11 steps"):
            model.predict(series(10), 7)
        assert model.predict(series(10), 6).mean.shape == (1, 6, 2)

    def test_more_lags_than_steps_are_refused_at_once(self):
        with pytest.raises(ValueError, match=r"lags=10: fewer can be learned .*at least 11 steps"):
            Ridge(lags=10).fit(series(10))
        Ridge(lags=9).fit(series(10))

    @pytest.mark.parametrize(
        ("options", "words"),
        [({"lags": 0}, "lags=0"), ({"alpha": 0.0}, r"alpha=0\.0"), ({"known_channels": "x"}, "known_channels='x'")],
    )
    def test_options_are_refused_by_name(self, options, words):
        with pytest.raises((TypeError, ValueError), match=words):
            Ridge(**options).fit(series(10))
