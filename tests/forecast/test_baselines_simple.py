"""Persistence, SeasonalNaive, Mean and Climatology beside loops, and what every baseline has in common."""

import copy
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

import timelike as tl
from naive import forecasting as naive
from timelike.forecast import AR, DMD, Analog, Climatology, Mean, Persistence, Ridge, SeasonalNaive

RNG = np.random.default_rng(0)


def every():
    """One of each, that needs at most two steps of a past."""
    return [
        Persistence(),
        SeasonalNaive(2),
        Mean(),
        Climatology(3),
        Ridge(lags=2),
        Ridge(lags=2, alpha=0.5),
        AR(order=2),
        AR(order=1, vector=True),
        DMD(),
        DMD(delays=2, rank=3),
        Analog(k=3, window=2),
        Analog("dtw", k=2, window=2, weights="distance", align="none"),
        Analog(k=2, window=1, align="last"),
    ]


def ragged(lengths=(9, 12, 7, 30), frame=(3,), seed=0):
    rng = np.random.default_rng(seed)
    return tl.Sequences([np.cumsum(rng.standard_normal((n, *frame)), axis=0) for n in lengths])


baselines = pytest.mark.parametrize("model", every(), ids=repr)


@baselines
class TestEveryBaseline:
    def test_a_forecast_is_the_same_alone_and_in_company(self, model):
        X, past = ragged(), ragged((2, 9, 3, 5, 2, 40, 3), seed=1)
        together = model.fit(X).predict(past, 4).mean
        assert together.shape == (7, 4, 3)
        for item in range(len(past)):
            np.testing.assert_array_equal(model.predict(past[item : item + 1], 4).mean[0], together[item])

    def test_a_cell_that_is_masked_is_nan_in_the_answer_and_changes_nothing_else(self, model):
        X, past = ragged(), ragged((4, 6), seed=1)
        expected = model.fit(X).predict(past, 3).mean
        holes = [np.insert(x, 1, np.nan, axis=1) for x in X], [np.insert(x, 1, np.nan, axis=1) for x in past]
        found = clone(model).fit(holes[0]).predict(holes[1], 3).mean
        assert np.isnan(found[:, :, 1]).all()
        np.testing.assert_array_equal(found[:, :, [0, 2, 3]], expected)

    def test_pictures_are_forecast_as_pictures(self, model):
        found = model.fit(ragged(frame=(1, 2, 3))).predict(ragged((4, 2), frame=(1, 2, 3), seed=1), 3)
        assert found.mean.shape == (2, 3, 1, 2, 3)
        assert np.isfinite(found.mean).all()

    def test_what_never_changes_stays(self, model):
        flat = [np.full((n, 2), [0.1, -3.0]) for n in (9, 12, 8)]
        found = model.fit(flat).predict([flat[0][:2], flat[1]], 5).mean
        np.testing.assert_allclose(found, np.broadcast_to([0.1, -3.0], (2, 5, 2)), rtol=1e-12)

    def test_after_calibrate_there_are_intervals_and_samples(self, model):
        found = (
            model.fit(ragged())
            .calibrate(ragged((60,), seed=2))
            .predict(ragged((9,), seed=3), 5, n_samples=7, random_state=0)
        )
        low, high = found.interval(0.8)
        assert found.samples.shape == (7, 1, 5, 3)
        assert (low <= high).all()

    def test_a_unit_changes_nothing(self, model):
        X, past = ragged(), ragged((4, 6), seed=1)
        expected = model.fit(X).predict(past, 3).mean
        moved = clone(model).fit([8 * x + 64 for x in X]).predict([8 * x + 64 for x in past], 3).mean
        np.testing.assert_allclose(moved, 8 * expected + 64, rtol=1e-9)

    def test_a_past_that_is_too_short_is_refused_with_the_length_it_needs(self, model):
        need = model.fit(ragged())._min_past_steps()
        if need > 1:
            steps = "1 time step" if need == 2 else f"{need - 1} time steps"
            with pytest.raises(ValueError, match=f"past: sequence 1 has {steps}: .* at least {need}"):
                model.predict([np.zeros((need, 3)), np.zeros((need - 1, 3))], 1)
        else:
            assert model.predict([np.ones((1, 3))], 2).mean.shape == (1, 2, 3)

    def test_one_sequence_is_enough(self, model):
        assert np.isfinite(model.fit(ragged((30,))).predict(ragged((5,), seed=1), 2).mean).all()


@pytest.mark.parametrize(
    "model", [Persistence(), Mean(), SeasonalNaive(3), Climatology(3), AR(order=2), DMD(), Ridge(lags=2), Analog(k=2)]
)
def test_what_the_caller_does_to_their_array_later_changes_no_forecast(model):
    train = RNG.standard_normal((2, 30, 2))
    past = RNG.standard_normal((1, 8, 2))
    model.fit(train)
    learned = {name: copy.deepcopy(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    kept = copy.deepcopy(model)
    train[:] = 0
    np.testing.assert_array_equal(model.predict(past, 4).mean, kept.predict(past, 4).mean)
    for name, value in learned.items():
        np.testing.assert_array_equal(getattr(model, name), value)


@pytest.mark.parametrize(
    "model",
    [Persistence(), SeasonalNaive(4), Climatology(4), AR(order=3), DMD(delays=2), Ridge(lags=5), Analog(window=6)],
)
def test_what_is_asked_costs_what_is_needed_of_a_past_and_not_all_of_it(model):
    wave = np.sin(np.arange(60.0)) + np.arange(60) % 4
    model.fit([wave])
    steps = 400_000
    long = tl.Sequences([np.tile(wave[:40], steps // 40).astype(np.float32)] * 2)  # which are computed in float64
    short = long.crop(-20)
    tracemalloc.start()
    found = model.predict(long, 3).mean
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * steps  # bytes: far less than one row of the past
    np.testing.assert_array_equal(found, model.predict(short, 3).mean)


class TestSeasonalNaive:
    @pytest.mark.parametrize(("period", "horizon"), [(1, 3), (3, 2), (3, 3), (3, 7), (5, 10)])
    def test_it_repeats_the_last_period(self, period, horizon):
        past = [RNG.standard_normal((n, 2)) for n in (5, 8, period if period >= 5 else 6)]
        found = SeasonalNaive(period).fit(past).predict(past, horizon).mean
        for item, one in enumerate(past):
            np.testing.assert_array_equal(found[item], naive.seasonal(one, period, horizon))

    def test_with_period_one_it_is_persistence(self):
        X = ragged()
        np.testing.assert_array_equal(
            SeasonalNaive(1).fit(X).predict(X, 4).mean, Persistence().fit(X).predict(X, 4).mean
        )

    @pytest.mark.parametrize("period", [0, -2])
    def test_a_period_below_one_is_refused(self, period):
        for kind in (SeasonalNaive, Climatology):
            with pytest.raises(ValueError, match=f"period={period}: expected at least 1"):
                kind(period).fit([[1.0, 2.0]])

    def test_a_period_that_is_no_integer_is_refused(self):
        with pytest.raises(TypeError, match=r"period=2\.5: expected an integer"):
            SeasonalNaive(2.5).fit([[1.0, 2.0]])


def test_the_mean_is_over_all_steps_not_over_sequences():
    found = Mean().fit([[0.0, 0.0, 0.0], [4.0]]).predict([[9.0], [7.0, 7.0]], 2).mean
    np.testing.assert_array_equal(found, np.ones((2, 2, 1)))


class TestClimatology:
    @pytest.mark.parametrize("period", [1, 2, 7, 12])
    def test_without_a_clock_the_phase_is_counted_from_the_first_step(self, period):
        train = [RNG.standard_normal((n, 2)) for n in (12, 25, 5)]
        past = [RNG.standard_normal((n, 2)) for n in (1, 12, 13, 30)]
        found = Climatology(period).fit(train).predict(past, 2 * period + 1).mean
        for item, one in enumerate(past):
            expected = naive.climatology(train, period, len(one) - 1, 2 * period + 1)
            np.testing.assert_allclose(found[item], expected, rtol=1e-12, atol=1e-14)

    def test_with_a_clock_a_cropped_past_keeps_its_phase(self):
        hours = np.datetime64("2024-03-30T22") + np.arange(200).astype("timedelta64[h]")
        values = np.arange(200.0) % 24
        for times in (hours, 7.0 + 0.1 * np.arange(200)):
            X = tl.Sequences([values[:96]], times=[times[:96]])
            model = Climatology(24).fit(X)
            for begin, end in ((0, 150), (101, 150), (149, 150)):
                past = tl.Sequences([values[begin:end]], times=[times[begin:end]])
                np.testing.assert_allclose(model.predict(past, 50).mean.ravel(), values[150:], rtol=1e-12)

    def test_sequences_that_begin_at_other_times_share_one_clock(self):
        times = 100 + 0.5 * np.arange(60)
        values = np.arange(60.0) % 6
        parts = [(0, 11), (7, 20), (33, 60)]
        X = tl.Sequences([values[a:b] for a, b in parts], times=[times[a:b] for a, b in parts])
        past = tl.Sequences([values[40:41]], times=[times[40:41]])
        np.testing.assert_allclose(Climatology(6).fit(X).predict(past, 9).mean.ravel(), values[41:50])

    def test_months_of_unequal_lengths_stay_in_phase_for_decades(self):
        months = np.arange("1950-01", "2020-01", dtype="datetime64[M]").astype("datetime64[D]")
        values = np.arange(len(months)) % 12.0
        model = Climatology(12).fit(tl.Sequences([values[:96]], times=[months[:96]]))
        past = tl.Sequences([values[700:800]], times=[months[700:800]])
        np.testing.assert_allclose(model.predict(past, 24).mean.ravel(), values[800:824])

    def test_after_a_gap_the_clock_counts_and_not_the_steps(self):
        times, values = np.arange(40.0), np.arange(40.0) % 4
        kept = np.r_[0:9, 15:40]
        model = Climatology(4).fit(tl.Sequences([values[kept]], times=[times[kept]]))
        np.testing.assert_allclose(model.phase_means_.ravel(), [0, 1, 2, 3])
        past = tl.Sequences([values[[0, 1, 9, 10]]], times=[times[[0, 1, 9, 10]]])
        np.testing.assert_allclose(model.predict(past, 3).mean.ravel(), values[11:14])

    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("dated", [False, True])
    def test_a_clock_that_trembles_keeps_its_phase_over_thousands_of_steps_and_gaps(self, seed, dated):
        rng = np.random.default_rng(seed)
        kept = np.r_[0:900, 907:2500, 3500:6000]  # 5000 steps or so, with gaps of 7 and of 1000
        seconds = 3600 * (kept + rng.uniform(-0.3, 0.3, len(kept)))
        start = np.datetime64("2020-01-01", "ns")
        times = start + (1e9 * seconds).astype(np.int64).astype("m8[ns]") if dated else 17.0 + seconds
        wave = np.sin(2 * np.pi * kept / 12)
        parts = [slice(0, 3000), slice(3000, len(kept))]
        model = Climatology(12).fit(tl.Sequences([wave[one] for one in parts], times=[times[one] for one in parts]))
        assert np.ptp(model.phase_means_) / 2 == pytest.approx(1, abs=0.02)
        assert model.uses_datetimes_ is dated
        past = tl.Sequences([wave[-5:]], times=[times[-5:]])
        np.testing.assert_allclose(model.predict(past, 24).mean.ravel(), np.sin(np.pi * np.arange(24) / 6), atol=0.02)

    def test_without_a_clock_nothing_is_dated(self):
        model = Climatology(2).fit([[1.0, 2.0, 3.0]])
        assert (model.first_time_, model.clock_step_, model.uses_datetimes_) == (None, None, False)

    def test_a_saved_clock_is_the_same_clock(self, tmp_path):
        hours = np.datetime64("2024-01-01T05") + np.arange(60).astype("timedelta64[h]")
        X = tl.Sequences([np.arange(60.0) % 24], times=[hours])
        model = Climatology(24).fit(X)
        model.save(tmp_path / "model")
        past = X.crop(50)
        np.testing.assert_array_equal(
            tl.load_model(tmp_path / "model").predict(past, 9).mean, model.predict(past, 9).mean
        )

    def test_fitted_with_a_clock_it_refuses_a_past_without_or_with_another(self):
        model = Climatology(2).fit(tl.Sequences([[1.0, 2.0, 3.0]], times=[[0.0, 1.0, 2.0]]))
        with pytest.raises(ValueError, match="past has no timestamps: .*fitted with numbers as timestamps"):
            model.predict([[1.0]])
        dated = tl.Sequences([[1.0]], times=[np.array(["2024-01-01"], "datetime64[D]")])
        with pytest.raises(ValueError, match="past has (timestamps of datetime64|times that are dates)"):
            model.predict(dated)

    def test_a_phase_that_training_never_shows_is_named(self):
        with pytest.raises(ValueError, match=r"period=5: no step of X has phase 4 of the cycle: .* longest .* 4 steps"):
            Climatology(5).fit([[1.0, 2.0, 3.0, 4.0], [1.0]])
        assert Climatology(5).fit([[1.0, 2.0, 3.0, 4.0, 5.0]]).phase_means_.shape == (5, 1)
