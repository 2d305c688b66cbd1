"""What every forecaster does at its door: cells and masks, known channels, clocks, gaps, sources, and requests."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import timelike as tl
from contract.discover import FORECASTERS, small
from timelike.forecast import AR, DMD, Analog, Climatology, Mean, Persistence, Ridge, SeasonalNaive
from timelike.forecast.cells import Cells

RNG = np.random.default_rng(0)
BASELINES = [
    *(Persistence(), SeasonalNaive(period=2), Mean(), Climatology(period=2), Ridge(lags=2), AR(order=1), DMD()),
    Analog(k=2, window=2),
]
HOUR = np.timedelta64(1, "h")


def channels(n=3, length=20, count=4, names=None):
    return tl.Sequences(RNG.standard_normal((n, length, count)), channel_names=names)


# --- cells ---------------------------------------------------------------------------------------------------------


@given(arrays(bool, array_shapes(min_dims=1, max_dims=3, max_side=4)))
def test_rows_of_cells_become_the_frames_they_were(there):
    if there.ndim == 2:
        there = there[None]
    if not there.any():
        return
    frames = np.where(there, np.arange(2.0 * 3 * there.size).reshape(2, 3, *there.shape), np.nan)
    sequences = tl.Sequences(frames)
    cells = Cells.from_sequences(sequences, None)
    rows = cells.target_rows(sequences)
    assert rows.values.shape == (6, cells.n_cells) == (6, there.sum())
    assert not np.isnan(rows.values).any()
    np.testing.assert_array_equal(cells.to_frames(rows.values), sequences.values)
    np.testing.assert_array_equal(cells.valid_mask, there)
    assert cells.is_masked == (not there.all())


@given(st.permutations(range(4)), st.integers(1, 3))
def test_known_and_forecast_channels_are_all_there_are(order, count):
    sequences = tl.Sequences(np.arange(24.0).reshape(1, 6, 4))
    known = list(order[:count])
    cells = Cells.from_sequences(sequences, known)
    parts = [cells.target_rows(sequences).values, cells.covariates(sequences).values]
    left = [i for i in range(4) if i not in known]
    np.testing.assert_array_equal(np.hstack(parts), sequences.values[:, left + known])


def test_channels_are_known_by_name_or_by_place_counted_from_either_end():
    names = ("load", "hour", "day")
    sequences = channels(count=3, names=names)
    for known in (["hour", "day"], ["day", "hour"], [1, 2], [-1, -2], (np.int64(1), "day")):
        cells = Cells.from_sequences(sequences, known)
        first = known[0] in ("day", -1)
        assert cells.known_channels.tolist() == (
            [2, 1] if first else [1, 2]
        )  # in the order of the list, as values are given
        assert cells.target_names(sequences) == ("load",)


@pytest.mark.parametrize(
    ("known", "kind", "said"),
    [
        ("hour", TypeError, r"known_channels='hour': expected a list of channels, such as known_channels=\['hour'\]"),
        (3, TypeError, "known_channels=3: expected a list"),
        ([1.0], TypeError, "known_channels holds 1.0: expected names or positions"),
        ([True], TypeError, "known_channels holds True"),
        (["hours"], ValueError, "there is no channel 'hours'; X has 'load', 'hour', 'day', 'rain'"),
        ([4], ValueError, "there is no channel 4: X has 4"),
        ([-5], ValueError, "there is no channel -5"),
        ([1, "hour"], ValueError, "names a channel twice"),
        ([0, 1, 2, 3], ValueError, "are all 4 channels: there is nothing left to forecast"),
    ],
)
def test_channels_that_cannot_be_known_are_refused(known, kind, said):
    with pytest.raises(kind, match=said):
        Ridge(lags=2, known_channels=known).fit(channels(names=("load", "hour", "day", "rain")))


def test_names_of_channels_that_have_none_are_refused():
    with pytest.raises(ValueError, match="there is no channel 'hour'; X has no channel names"):
        Ridge(lags=2, known_channels=["hour"]).fit(channels())
    with pytest.raises(ValueError, match=r"names channels, and X has frames of shape \(1, 4, 4\)"):
        Ridge(lags=2, known_channels=[0]).fit(RNG.standard_normal((3, 9, 1, 4, 4)))


def test_what_is_known_over_the_horizon_is_asked_for_and_checked():
    X = channels(names=("load", "hour", "day", "rain"))
    model = Ridge(lags=2, known_channels=["rain", "hour"]).fit(X)
    assert model.predict(X, 5, known_covariates=np.zeros((3, 5, 2))).mean.shape == (3, 5, 2)
    np.testing.assert_array_equal(  # more than is needed is no harm
        model.predict(X, 5, known_covariates=np.zeros((3, 9, 2))).mean,
        model.predict(X, 5, known_covariates=np.zeros((3, 5, 2))).mean,
    )
    with pytest.raises(
        ValueError, match=r"known_covariates=None: .*fitted with known_channels=\['rain', 'hour'\]; .*\(item, 5, 2\)"
    ):
        model.predict(X, 5)
    for wrong in (np.zeros((3, 4, 2)), np.zeros((2, 5, 2)), np.zeros((3, 5, 3))):
        with pytest.raises(
            ValueError, match=r"known_covariates has .*: expected 3 of at least 5 steps and frames \(2,\)"
        ):
            model.predict(X, 5, known_covariates=wrong)
    with pytest.raises(ValueError, match=r"known.*missing"):
        model.predict(X, 5, known_covariates=np.full((3, 5, 2), np.nan))
    with pytest.raises(
        ValueError, match="known_covariates is given, but this Persistence was fitted without known_channels"
    ):
        Persistence().fit(X).predict(X, 5, known_covariates=np.zeros((3, 5, 2)))


def test_a_forecast_has_the_names_of_what_it_forecasts():
    X = channels(names=("load", "hour", "day", "rain"))
    found = Ridge(lags=2, known_channels=["hour", "day"]).fit(X).predict(X, 2, known_covariates=np.zeros((3, 2, 2)))
    assert found.channel_names == ("load", "rain")
    assert found.past.frame == (2,)
    assert found.to_sequences().channel_names == ("load", "rain")


# --- masks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", BASELINES, ids=lambda model: type(model).__name__)
def test_masked_cells_are_missing_in_the_answer_and_change_no_other(model):
    fields = RNG.standard_normal((4, 12, 1, 3, 3))
    masked = fields.copy()
    masked[..., 0, :] = np.nan
    found = model.fit(masked).predict(masked, 3).mean
    np.testing.assert_array_equal(np.isnan(found), np.isnan(masked[:, :3]))
    whole = model.fit(fields[..., 1:, :]).predict(fields[..., 1:, :], 3).mean
    np.testing.assert_allclose(found[..., 1:, :], whole, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("model", BASELINES, ids=lambda model: type(model).__name__)
def test_a_mask_that_changes_or_leaves_nothing_is_refused(model):
    X = RNG.standard_normal((3, 9, 2))
    X[1, 4, 0] = np.nan
    with pytest.raises(ValueError, match="X: sequence 1 lacks other cells at time step 4 .* must not change over time"):
        model.fit(X)
    with pytest.raises(ValueError, match="X: every cell of every frame is missing"):
        model.fit(np.full((3, 9, 2), np.nan))
    fine = np.nan_to_num(X)
    with pytest.raises(ValueError, match="past: sequence 1 is missing .* at time step 4 in a cell that was there"):
        model.fit(fine).predict(X, 1)
    with pytest.raises(ValueError, match="X: sequence 1 is missing .* at time step 4"):
        model.calibrate(X)


# --- clocks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "step"),
    [(0.0, 0.5), (-3, 2), (np.datetime64("2024-02-28T12:00"), HOUR), (np.datetime64("1969"), 30 * HOUR)],
)
def test_times_go_on_after_the_last_of_each_past(start, step):
    times = [start + step * (np.arange(n) + 7 * i) for i, n in enumerate((5, 9, 6))]
    X = tl.Sequences([RNG.standard_normal((len(one), 2)) for one in times], times=times)
    found = Persistence().fit(X).predict(X[1:], 3)
    expected = np.stack([one[-1] + step * np.arange(1, 4) for one in times[1:]])
    np.testing.assert_array_equal(found.times, expected.astype(found.times.dtype))
    assert found.to_sequences().times.tolist() == found.times.ravel().tolist()


def test_the_step_is_that_of_what_was_learned_from():
    learned = tl.Sequences(RNG.standard_normal((2, 9, 1)), times=[np.arange(9) * 2.0] * 2)
    asked = tl.Sequences(RNG.standard_normal((1, 1, 1)), times=[[10.0]])  # which has none of its own
    np.testing.assert_array_equal(Persistence().fit(learned).predict(asked, 3).times, [[12, 14, 16]])
    timeless = Persistence().fit(learned.values[None])
    assert timeless.step_duration_ is None
    pair = tl.Sequences(RNG.standard_normal((1, 2, 1)), times=[[10.0, 13.0]])
    np.testing.assert_array_equal(timeless.predict(pair, 2).times, [[16, 19]])
    assert Persistence().fit(learned).predict(learned.values[None], 2).times is None


@pytest.mark.parametrize(
    ("months", "expected"),
    [
        (["2023-11-01", "2023-12-01", "2024-01-01"], ["2024-02-01", "2024-03-01", "2024-04-01"]),
        (["2023-10-31", "2023-11-30", "2023-12-31"], ["2024-01-31", "2024-02-29", "2024-03-31"]),
        (["2023-01-15", "2023-04-15", "2023-07-15"], ["2023-10-15", "2024-01-15", "2024-04-15"]),
    ],
)
def test_months_go_on_as_months(months, expected):
    X = tl.Sequences(RNG.standard_normal((1, 3, 1)), times=[np.array(months, "M8[ns]")])
    found = Persistence().fit(X).predict(X, 3).times[0]
    assert found.astype("M8[D]").astype(str).tolist() == expected


@pytest.mark.parametrize("model", BASELINES, ids=lambda model: type(model).__name__)
def test_gaps_are_told_where_steps_are_counted(model):
    if isinstance(model, Climatology):
        pytest.skip("it goes by the clock itself, and has tests of its own")
    times = np.arange(12.0)
    times[7:] += 3
    even = tl.Sequences(RNG.standard_normal((4, 12, 2)), times=[np.arange(12.0)] * 4)
    gap = tl.Sequences(RNG.standard_normal((4, 12, 2)), times=[times] * 4)
    with pytest.warns(UserWarning, match=r"X has gaps of up to 4 between timestamps that are usually 1 apart, and"):
        model.fit(gap)
    with pytest.warns(UserWarning, match=r"past has gaps of up to 4 .* counts steps: resample\(rate=1\)"):
        model.fit(even).predict(gap, 2)
    model.fit(even).predict(even, 2)  # nothing to tell


# --- requests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", BASELINES, ids=lambda model: type(model).__name__)
def test_requests_that_make_no_sense_are_refused(model):
    X = RNG.standard_normal((3, 12, 2))
    model.fit(X)
    for horizon, kind in ((0, ValueError), (-1, ValueError), (1.5, TypeError), ("3", TypeError), (True, TypeError)):
        with pytest.raises(kind, match=f"horizon={horizon!r}: expected"):
            model.predict(X, horizon)
    with pytest.raises(ValueError, match="n_samples=0: expected at least 1"):
        model.predict(X, 1, n_samples=0)
    with pytest.raises(ValueError, match=r"frames_per_step=2: .* at the steps of the data only, expected 1"):
        model.predict(X, 1, frames_per_step=2)
    with pytest.raises(ValueError, match=r"substeps=2: .* at the steps of the data only, expected 1"):
        model.predict(X, 1, substeps=2)
    if isinstance(model, AR | Analog):  # which draw futures themselves
        assert len(np.unique(model.predict(X, 1, n_samples=20, random_state=0).samples[:, 0, 0, 0])) > 1
    else:
        with pytest.raises(ValueError, match=r"n_samples=3: .* has one future for a past; call calibrate\(X\)"):
            model.predict(X, 1, n_samples=3)
    with pytest.raises(ValueError, match=r"past has frames of shape \(1,\): this .* was fitted on \(2,\)"):
        model.predict(X[..., :1], 1)


@pytest.mark.parametrize("model", BASELINES, ids=lambda model: type(model).__name__)
def test_a_past_that_is_too_short_says_how_long_it_must_be(model):
    X = RNG.standard_normal((3, 12, 2))
    need = model.fit(X)._min_past_steps()
    found = model.predict([x[-need:] for x in X], 2).mean  # as long as it must be
    assert found.shape == (3, 2, 2)
    if need > 1:
        with pytest.raises(ValueError, match=rf"past: sequence 1 has {need - 1} time steps?: .* at least {need}$"):
            model.predict([X[0], X[1, : need - 1], X[2]], 2)


@pytest.mark.parametrize("shape", [(144, 1), (144, 1, 3), (1, 1)])
@pytest.mark.parametrize("kind", FORECASTERS)
def test_series_of_one_step_are_refused_and_the_axis_of_time_is_named(kind, shape):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    for one in (x, tl.Sequences(x)):
        with pytest.raises(
            ValueError, match=r"time is the second axis: .*fit\(\[x\]\) \(scikit-learn's n_features = 1\)$"
        ):
            small(kind).fit(one)
    if kind is Persistence and shape != (1, 1):
        assert Persistence().fit([x[:, 0]]).predict([x[:, 0]], 2).mean.shape == (1, 2, x[0, 0].size)


@pytest.mark.parametrize("kind", [Persistence, Mean])
def test_an_array_of_one_column_is_no_past_of_one_step_each_unless_that_is_said(kind):
    series = np.arange(144.0)
    model = kind().fit([series])
    with pytest.raises(ValueError, match=r"past has shape \(144, 1\).*second time.*give Sequences\(past\)"):
        model.predict(series[:, None])
    said = model.predict(tl.Sequences(series[:3, None]), 2).mean
    assert said.shape == (3, 2, 1)
    np.testing.assert_array_equal(said, model.predict([[0.0], [1.0], [2.0]], 2).mean)
    assert model.predict(series[None], 2).mean.shape == (1, 2, 1)


@pytest.mark.parametrize("model", BASELINES, ids=lambda model: type(model).__name__)
def test_a_source_is_asked_and_what_it_gives_must_be_sequences(model):
    given_to = []

    def source(rng):
        given_to.append(rng)
        return tl.Sequences(rng.standard_normal((4, 12, 2)))

    model.fit(source).predict(RNG.standard_normal((1, 12, 2)), 2)
    assert len(given_to) == 1
    with pytest.raises(TypeError, match="the source X returned a list: expected Sequences"):
        model.fit(lambda rng: [[1.0, 2.0]])


# --- the record --------------------------------------------------------------------------------------------------------


def test_a_forecast_is_its_mean_as_an_array():
    X = RNG.standard_normal((3, 12, 2))
    found = Persistence().fit(X).calibrate(X).predict(X, 4, n_samples=5, random_state=0)
    np.testing.assert_array_equal(np.asarray(found), found.mean)
    assert np.asarray(found, np.float32).dtype == np.float32
    assert (found.shape, len(found)) == ((3, 4, 2), 3)
    np.testing.assert_array_equal(found[1], found.mean[1])
    np.testing.assert_array_equal(found[[2, 0], -1], found.mean[[2, 0], -1])
    assert found.samples.shape == (5, 3, 4, 2)
    np.testing.assert_array_equal(found.mean, np.repeat(X[:, -1:], 4, axis=1))  # not the mean of a few errors
    assert repr(found) == "Forecast(3 futures of 4 steps, frames (2,), 5 samples, calibrated, by Persistence)"


def test_a_series_given_as_items_is_told_by_the_shape_that_was_given():
    x = np.sin(np.arange(40) / 3)
    fitted = tl.forecast.Ridge(lags=3).fit([x])
    calls = {
        r"fit\(\[x\]\)": tl.forecast.Ridge().fit,
        r"calibrate\(\[x\]\)": fitted.calibrate,
        r"backtest\(model, \[x\], …\)": lambda X: tl.forecast.backtest(fitted, X, 2, n_windows=2),
    }
    for way, call in calls.items():
        with pytest.raises(ValueError, match=rf"X has shape \(40, 1\) .* time is the second axis: .* {way}"):
            call(x[:, None])
    with pytest.raises(ValueError, match=r"shape \(40, 1\) .* time is the second axis"):
        tl.forecast.backtest(tl.forecast.Ridge(), x[:, None], 2, n_windows=2)
