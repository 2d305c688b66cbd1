"""Backtests are fair: the same channels for all, draws that are used, windows that nobody has learned from."""

import re
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm

import timelike as tl
from timelike import score
from timelike.forecast import AR, Analog, Backtest, Climatology, Mean, Persistence, Ridge, SeasonalNaive, backtest


def noisy(lengths, n_channels=1, seed=0, **known):
    """Sines of whole numbers of steps with noise."""
    rng = np.random.default_rng(seed)
    phases = rng.integers(0, 12, (len(lengths), n_channels))
    waves = [np.sin(np.pi * (np.arange(n)[:, None] + phase) / 6) for n, phase in zip(lengths, phases, strict=True)]
    return tl.Sequences([one + 0.3 * rng.standard_normal(one.shape) for one in waves], **known)


# --- methods that draw -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("model", [AR(order=3), Analog(k=20, window=6)], ids=repr)
def test_methods_that_draw_are_judged_by_their_draws(model, refit):
    X = noisy([150] * 4)
    found = backtest(model, X, 4, n_windows=6, scores=("crps", "mae"), refit=refit, random_state=0)
    mean = {name: one.mean for name, one in found.mean_to_step().items()}
    assert mean["crps"] < 0.85 * mean["mae"]  # of a normal distribution with the right spread 1/√2
    assert 0.6 < mean["coverage"] < 0.95
    assert 0.5 < mean["width"] < 2
    assert "absolute error" not in str(found)


def test_the_draws_of_an_autoregression_are_those_of_its_noise():
    rng = np.random.default_rng(0)
    X = tl.Sequences(rng.standard_normal((6, 300)))
    found = backtest(AR(order=1), X, 2, n_windows=60, scores="crps", n_samples=400, random_state=0)
    truth = np.stack([X[i][o : o + 2, 0] for i, o in zip(found.item, found.origin, strict=True)])
    # the CRPS of a standard normal distribution (Gneiting and Raftery, 2007), whose interval of 80 % is 2 · 1.2816 wide
    expected = truth * (2 * norm.cdf(truth) - 1) + 2 * norm.pdf(truth) - 1 / np.sqrt(np.pi)
    assert found.mean_to_step()["crps"].mean == pytest.approx(expected.mean(), rel=0.02)
    assert found.mean_to_step()["width"].mean == pytest.approx(2 * 1.2816, rel=0.05)
    assert found.mean_to_step()["coverage"].mean == pytest.approx((np.abs(truth) < 1.2816).mean(), abs=0.02)


# --- channels ----------------------------------------------------------------------------------------------------------------


def planned():
    rng = np.random.default_rng(0)
    hours = np.arange(120)
    night = (hours % 24 < 8).astype(float)
    load = [3 - 2 * night + 0.1 * rng.standard_normal(120) for _ in range(3)]
    return tl.Sequences(
        [np.stack([night, one, hours % 24], axis=1) for one in load], channel_names=["night", "load", "hour"]
    )


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize(
    ("model", "rival"),
    [(["night", "hour"], ["load", "hour"]), (["night", "hour"], ["load"]), (None, ["night"]), (["hour"], ["hour", 1])],
)
def test_a_rival_that_does_not_forecast_what_the_model_does_is_refused_at_the_door(model, rival, fitted):
    X = planned()
    theirs = Analog(k=2, window=4, known_channels=rival)
    if fitted:
        theirs.fit(X)
    with pytest.raises(
        ValueError, match="Analog with known_channels=.* does not forecast all channels that Ridge with known_channels="
    ):
        backtest(Ridge(lags=4, known_channels=model), X, 4, n_windows=3, baseline=theirs)


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("known", [None, ["night"], ["hour"], [0, 2], [2]])
def test_a_rival_that_forecasts_more_is_judged_by_the_channels_of_the_model(known, fitted):
    X = planned()
    theirs = Ridge(lags=3, alpha=1.0, known_channels=known)
    mine = Ridge(lags=4, alpha=1.0, known_channels=["night", "hour"])
    found = backtest(mine, X, 4, n_windows=3, baseline=theirs.fit(X) if fitted else theirs)
    fits = theirs if fitted else Ridge(lags=3, alpha=1.0, known_channels=known).fit(X.crop(0, 114))
    if known is None and not fitted:  # it is shown the targets alone
        load = tl.Sequences([one[:, [1]] for one in X])
        fits = Ridge(lags=3, alpha=1.0).fit(load.crop(0, 114))
    positions = (
        []
        if known is None
        else sorted(["night", "load", "hour"].index(k) if k in ("night", "hour") else k for k in known)
    )
    place = 0 if known is None and not fitted else [c for c in range(3) if c not in positions].index(1)
    for row, (item, origin) in enumerate(zip(found.item, found.origin, strict=True)):
        one = X[item] if not (known is None and not fitted) else X[item][:, [1]]
        ahead = None if not positions else one[None, origin : origin + 4][:, :, positions]
        answer = fits.predict([one[:origin]], 4, known_covariates=ahead).mean[0, :, place]
        np.testing.assert_allclose(found.reference["mse"][row], np.square(answer - X[item][origin : origin + 4, 1]))


def test_a_rival_with_a_mask_where_the_model_forecasts_is_refused():
    X = np.random.default_rng(0).random((2, 20, 1, 2, 3))
    masked = X.copy()
    masked[:, :, 0, 0, :2] = np.nan
    with pytest.raises(ValueError, match="Persistence was fitted with 2 masked cells that the model forecasts"):
        backtest(Mean(), X, 3, n_windows=2, baseline=Persistence().fit(masked))


def test_numbers_in_cells_that_are_masked_for_the_model_do_not_count():
    X = np.random.default_rng(0).random((2, 20, 1, 2, 3))
    masked = X.copy()
    masked[:, :, 0, 0, :2] = np.nan
    found = backtest(Persistence().fit(masked), X, 3, n_windows=2, baseline=Mean())
    for row, (item, origin) in enumerate(zip(found.item, found.origin, strict=True)):
        apart = masked[item, origin : origin + 3] - masked[item, origin - 1]
        np.testing.assert_allclose(found.scores["mse"][row], np.nanmean(np.square(apart), axis=(1, 2, 3)))
    whole = np.round(100 * X).astype(np.int64)  # which cannot hold NaN themselves
    assert np.isfinite(backtest(Persistence().fit(masked), whole, 3, n_windows=2).scores["mse"]).all()


def test_frames_are_nan_where_the_model_is_masked_and_the_array_is_left_alone():
    X = np.ones((1, 4, 1, 2, 2), np.float32)
    masked = X.copy()
    masked[:, :, 0, 1, 1] = np.nan
    cells = Persistence().fit(masked).cells_
    found = cells.target_frames(tl.Sequences(X)).values
    np.testing.assert_array_equal(found, masked[0])
    assert found.dtype == np.float32
    assert (X == 1).all()


# --- several rivals ----------------------------------------------------------------------------------------------------------


def test_several_rivals_stand_in_one_table():
    X = noisy([120] * 5)
    rivals = ["persistence", SeasonalNaive(12), "ridge", "analog", "mean"]
    found = backtest(Climatology(12), X, 3, n_windows=4, baseline=rivals, random_state=0)
    names = ["Persistence", "SeasonalNaive", "Ridge", "Analog", "Mean"]
    assert list(found.references) == names
    assert (found.baseline, found.reference) == ("Persistence", found.references["Persistence"])
    for name, rival in zip(names, (Persistence(), SeasonalNaive(12), Ridge(), Analog(), Mean()), strict=True):
        alone = backtest(Climatology(12), X, 3, n_windows=4, baseline=rival, random_state=0)
        np.testing.assert_array_equal(found.references[name]["mse"], alone.reference["mse"])
        assert found.skill(reference=name) == alone.skill()
        np.testing.assert_array_equal(found.skill_per_step("mae", reference=name).low, alone.skill_per_step("mae").low)
        assert found.at_step(2, method=name) == alone.at_step(2, method="baseline")
    header, _, *rows = found.table().splitlines()
    assert [cell.strip() for cell in header.split("|")[7:-1]] == [f"skill against {name}" for name in names]
    assert [row.split("|")[2].strip() for row in rows[:6]] == ["Climatology", *names]
    assert len(found.plot("mse").axes[0].lines) == 6
    back = Backtest.from_json(found.to_json())
    assert str(back) == str(found)
    with pytest.raises(ValueError, match="reference='AR': expected one of 'baseline', 'Persistence', 'SeasonalNaive'"):
        found.skill(reference="AR")


def test_rivals_of_one_name_are_told_apart():
    rivals = [Ridge(lags=2), Ridge(lags=3), Persistence(), Ridge(lags=4)]
    found = backtest(Ridge(lags=5), noisy([60] * 2), 3, n_windows=2, baseline=rivals)
    assert list(found.references) == ["Ridge (baseline)", "Ridge (baseline 2)", "Persistence", "Ridge (baseline 3)"]
    alone = backtest(Ridge(lags=5), noisy([60] * 2), 3, n_windows=2, baseline=Ridge(lags=4))
    np.testing.assert_array_equal(found.references["Ridge (baseline 3)"]["mse"], alone.reference["mse"])


def test_an_empty_list_is_no_baseline_and_other_things_are_refused():
    assert backtest(Mean(), noisy([20] * 2), 3, n_windows=2, baseline=[]).baseline is None
    for wrong in ("seasonal naive", 3, ["persistence", tl.DTW()]):
        with pytest.raises(ValueError, match=r"baseline=.*: expected 'persistence', .* such as SeasonalNaive\(24\)"):
            backtest(Mean(), noisy([20] * 2), 3, n_windows=2, baseline=wrong)


def test_a_checkpoint_with_other_rivals_is_refused(tmp_path):
    call = partial(backtest, Mean(), noisy([20] * 2), 3, n_windows=2, checkpoint=tmp_path)
    call(baseline=["persistence", SeasonalNaive(2)])
    call(baseline=[Persistence(), SeasonalNaive(2)])
    for other in (["persistence", SeasonalNaive(3)], "persistence", [SeasonalNaive(2), "persistence"]):
        with pytest.raises(ValueError, match=r"\(different baseline\)"):
            call(baseline=other)


# --- short sequences, and late ones --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize("model", [Ridge(), Analog(k=2), AR(), Climatology(12)], ids=repr)
def test_a_short_sequence_does_not_decide_what_is_learned_from(model, refit):
    lengths = [120] * 6 + [6]
    found = backtest(model, noisy(lengths), 3, n_windows=10, refit=refit, baseline="persistence")
    assert np.bincount(found.item, minlength=7).tolist() == [10] * 6 + [0]
    assert found.origin.min() == 120 - 3 - 9
    if not refit:
        assert f"{found.model} fitted on the first 108 steps of every sequence" in str(found)
    if isinstance(model, Climatology):  # the others need more of a past than the short one has
        assert "3 windows of shorter sequences are left out: models are fitted on the first 108 steps" in str(found)
    assert "1 shorter sequence has fewer windows, or none" in str(found)


def test_a_short_sequence_keeps_its_windows_where_nothing_is_learned_from_values():
    X = noisy([40, 40, 6])
    for model in (Mean().fit(X), Persistence()):
        found = backtest(model, X, 3, n_windows=5, baseline="persistence")
        assert np.bincount(found.item).tolist() == [5, 5, 3]
        assert "left out" not in str(found)


def test_no_window_that_is_left_in_was_learned_from():
    """Values are their own times: what was learned from is over when a forecast begins."""
    seen = []

    class Noting(Mean):
        def _fit_sequences(self, sequences, source=None):
            seen.append(sequences.values.max())
            super()._fit_sequences(sequences, source)

    clocks = [np.arange(40.0), np.arange(10.0), 30 + np.arange(8.0)]
    found = backtest(Noting(), tl.Sequences(clocks, times=clocks), 3, n_windows=9)
    (last,) = seen
    assert last == 28  # the first of nine origins of the longest sequence
    assert [clocks[i][o - 1] >= last for i, o in zip(found.item, found.origin, strict=True)] == [True] * len(found.item)
    assert np.bincount(found.item).tolist() == [9, 0, 5]  # a late one has the windows it can have


@pytest.mark.parametrize("model", [Analog(k=2), Ridge(), AR()], ids=repr)
def test_copies_keep_what_the_first_one_chose_so_that_late_sequences_stay_long_enough(model):
    lengths, starts = [200, 200, 200, 70], [0.0, 0.0, 0.0, 130.0]
    times = [start + np.arange(n) for n, start in zip(lengths, starts, strict=True)]
    X = noisy(lengths).replace(times=times)
    found = backtest(model, X, 3, n_windows=60, refit=True)
    assert np.bincount(found.item, minlength=4)[:3].tolist() == [60] * 3
    assert re.search(f"copies of {found.model} keep the [a-z ]+ that the first one chose", str(found))


def test_ridge_refitted_cut_by_cut_has_the_lags_and_the_penalty_that_it_has_at_once(monkeypatch):
    X = noisy([90, 90], 2)
    call = partial(backtest, Ridge(), X, 3, n_windows=8, refit=True)
    rolled = call()
    assert "copies of Ridge keep the lags and alpha that the first one chose" in str(rolled)
    monkeypatch.delattr(Ridge, "_forecast_rolling")
    np.testing.assert_allclose(rolled.scores["mse"], call().scores["mse"], rtol=1e-5)
    assert "copies of" not in str(backtest(Ridge(lags=2, alpha=1.0), X, 3, n_windows=8, refit=True))


def test_a_fitted_model_that_is_fitted_again_needs_what_its_copies_need():
    X = noisy([40, 40])
    model = Ridge().fit(noisy([400]))  # 48 lags, and no sequence of X is so long
    found = backtest(model, X, 3, n_windows=4, refit=True)
    np.testing.assert_array_equal(found.scores["mse"], backtest(Ridge(), X, 3, n_windows=4, refit=True).scores["mse"])


# --- calibration -------------------------------------------------------------------------------------------------------------


def test_a_calibration_that_does_not_reach_so_far_leaves_a_note_and_no_intervals():
    X = noisy([40] * 12)
    model = Persistence().fit(X).calibrate(X, horizon=3)
    found = backtest(model, X, 5, n_windows=4, scores=("mae", "crps"))
    assert "Persistence has no intervals: the model is calibrated for 3 steps and the forecast has 5" in str(found)
    assert found.scores.keys() == {"mae", "crps"}
    np.testing.assert_allclose(found.scores["crps"], found.scores["mae"])
    assert "Persistence has one future: its CRPS is its absolute error" in str(found)


def test_too_few_errors_for_a_level_leave_a_note_and_draws():
    X = noisy([40] * 3)
    model = Persistence().fit(X).calibrate(X[:1].crop(0, 11), horizon=3)
    found = backtest(model, X, 3, n_windows=4, scores=("mae", "crps"), level=0.99)
    assert "has no intervals: calibrated by " in str(found)
    assert found.scores.keys() == {"mae", "crps"}
    assert found.mean_to_step()["crps"].mean < found.mean_to_step()["mae"].mean


# --- scores ------------------------------------------------------------------------------------------------------------------


def closeness(truth, forecast, per):
    """More is better, and 1 is perfect."""
    return 1 / (1 + score.mse(truth, forecast, per=per))


def test_a_function_of_your_own_has_no_skill_unless_it_says_what_is_perfect():
    X = noisy([40] * 4)
    call = partial(backtest, Mean(), X, 3, n_windows=4, baseline="persistence")
    found = call(scores=("mse", closeness))
    assert found.skill().keys() == {"mse"}
    assert "there is no skill by closeness, which has no attribute `perfect`" in str(found)
    with pytest.raises(ValueError, match="there is no skill by closeness"):
        call(scores=closeness).skill()
    said = partial(closeness)
    said.perfect = 1.0
    found = call(scores=("mse", said))
    ours, theirs = (side["closeness"].mean() for side in (found.scores, found.reference))
    assert found.skill()["closeness"].mean == pytest.approx((ours - theirs) / (1 - theirs))
    assert Backtest.from_json(found.to_json()).skill() == found.skill()


def test_partials_of_our_own_scores_have_the_skill_that_the_scores_have():
    X = np.random.default_rng(0).random((3, 12, 1, 8, 8))
    scores = (partial(score.ssim, window=3), partial(score.psnr, value_range=2), score.mae)
    found = backtest(Mean(), X, 2, n_windows=3, scores=scores, baseline="persistence")
    assert found.perfect_scores == {"ssim": 1.0, "mae": 0.0}
    assert "no skill" not in str(found)


def test_a_checkpoint_tells_arguments_of_scores_apart(tmp_path):
    X = noisy([20] * 2)
    call = partial(backtest, Persistence(), X, 3, n_windows=2, checkpoint=tmp_path / "kept")
    first = call(scores=partial(score.psnr, value_range=1))
    again = call(scores=partial(score.psnr, value_range=np.int64(1)))
    np.testing.assert_array_equal(first.scores["psnr"], again.scores["psnr"])
    for other in (partial(score.psnr, value_range=255), partial(score.psnr), "psnr", score.psnr):
        with pytest.raises(ValueError, match=r"\(different arguments\)"):
            call(scores=other)


@pytest.mark.parametrize("named", [lambda t, f, per: score.mse(t, f, per=per), partial(score.mse, weights=object())])
def test_a_checkpoint_of_functions_that_have_no_name_of_their_own_is_refused(tmp_path, named):
    with pytest.raises(ValueError, match=r"checkpoint: the score '.*' .*cannot be identified"):
        backtest(Persistence(), noisy([20] * 2), 3, n_windows=2, scores=named, checkpoint=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_checkpoint_takes_equal_numbers_of_any_kind(tmp_path):
    X = noisy([20] * 2)
    call = partial(backtest, Persistence(), X, checkpoint=tmp_path / "kept", random_state=0)
    first = call(horizon=3, n_windows=3, step=2, n_samples=5)
    again = call(horizon=np.int64(3), n_windows=np.int64(3), step=np.int32(2), n_samples=np.int16(5), refit=np.False_)
    np.testing.assert_array_equal(first.scores["mse"], again.scores["mse"])


def gappy(truth, forecast, per):
    """No number for the first step, and too large a one for the last."""
    found = score.mse(truth, forecast, per=per)
    found[:, 0], found[:, -1] = np.nan, np.inf
    return found


def test_scores_that_are_no_numbers_survive_json():
    found = backtest(Persistence(), noisy([20] * 2), 3, n_windows=2, scores=gappy)
    text = found.to_json()
    assert "null" in text
    assert "NaN" not in text
    np.testing.assert_array_equal(Backtest.from_json(text).scores["gappy"], found.scores["gappy"])


def test_batches_are_as_large_as_the_futures_there_really_are(monkeypatch):
    asked = []

    class Noting(Persistence):
        def _predict_rows(self, past, request):
            asked.append(len(past))
            return super()._predict_rows(past, request)

    monkeypatch.setattr("timelike.forecast.backtests.backtest._MAX_BATCH_NUMBERS", 10_000)
    backtest(Noting(), noisy([40] * 10), 4, n_windows=5, n_samples=1000)
    assert asked == [50]
    X = noisy([40] * 10)
    asked.clear()
    model = Noting().fit(X).calibrate(X, horizon=4)
    asked.clear()
    backtest(model, X, 4, n_windows=5, n_samples=1000, scores="crps")
    assert len(asked) > 10
