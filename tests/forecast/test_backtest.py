"""Backtests: which windows, what a model is shown, scores and their intervals, going on after an interruption."""

import json
import os
import random
import signal
from functools import partial

import numpy as np
import pytest

import timelike as tl
from contract.tampered import NONSENSE, edited, places_in
from naive import forecast_scores as naive
from timelike import score
from timelike.core.parameters import store_parameters
from timelike.forecast import Backtest, Persistence, backtest
from timelike.forecast.base import Futures
from timelike.forecast.baselines.base import Baseline, repeat_rows


def walks(lengths, n_channels=2, seed=0, **known):
    """Random walks in whole steps, so that many values are equal."""
    rng = np.random.default_rng(seed)
    return tl.Sequences(
        [np.cumsum(rng.integers(-2, 3, (n, n_channels)), axis=0).astype(float) for n in lengths], **known
    )


def clocks(lengths, starts, step=1.0):
    """Sequences whose values are their own times, so that whatever is shown says when it is from."""
    times = [start + step * np.arange(n) for n, start in zip(lengths, starts, strict=True)]
    return tl.Sequences(times, times=times)


class Spy(Baseline):
    """Persistence that notes what it is shown, in `seen`: pairs of what it was told to do and the values."""

    seen: list = []  # noqa: RUF012
    breaks: dict = {}  # noqa: RUF012

    def __init__(self, *, need=1):
        store_parameters(self, locals())

    def _min_past_steps(self):
        return self.need

    def _fit_sequences(self, sequences, source=None):
        Spy.seen.append(("fit", sequences))
        self.last_ = float(np.nanmax(sequences.values))

    def _predict_rows(self, past, request):
        Spy.seen.append(("predict", past, self.last_))
        done = sum(call[0] == "predict" for call in Spy.seen)
        if done in Spy.breaks:
            Spy.breaks.pop(done)()
        return Futures(repeat_rows(self._last_rows(past, 1)[:, 0], request.horizon))


@pytest.fixture(autouse=True)
def fresh():
    Spy.seen.clear()
    Spy.breaks.clear()


def fits():
    return [call[1] for call in Spy.seen if call[0] == "fit"]


def answered():
    return [call[1:] for call in Spy.seen if call[0] == "predict"]


# --- windows ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 3])
def test_origins_are_the_last_that_leave_the_horizon(step):
    found = backtest(Persistence(), walks([20, 14]), 4, n_windows=4, step=step)
    expected = [(i, n - 4 - k * step) for i, n in enumerate((20, 14)) for k in (3, 2, 1, 0)]
    assert list(zip(found.item, found.origin, strict=True)) == expected


def test_a_shorter_sequence_has_fewer_windows_and_one_that_just_suffices_has_one():
    X = walks([20, 7, 6, 8])
    found = backtest(Spy(need=3).fit(X), X, 4, n_windows=5)
    assert np.bincount(found.item, minlength=4).tolist() == [5, 1, 0, 2]
    assert found.origin.min() == 3
    assert "3 shorter sequences have fewer windows, or none" in str(found)


def test_scores_are_those_of_a_loop_over_windows():
    X = walks([15, 11, 9], seed=3)
    found = backtest(Persistence(), X, 3, n_windows=4, step=2, scores=("mse", "mae", "crps", "energy", "mase"))
    for row, (item, origin) in enumerate(zip(found.item, found.origin, strict=True)):
        past, truth = X[item][:origin], X[item][origin : origin + 3]
        apart = truth - past[-1]
        np.testing.assert_allclose(found.scores["mse"][row], (apart**2).mean(axis=1))
        np.testing.assert_allclose(found.scores["mae"][row], np.abs(apart).mean(axis=1))
        np.testing.assert_allclose(found.scores["crps"][row], np.abs(apart).mean(axis=1))
        np.testing.assert_allclose(found.scores["energy"][row], np.linalg.norm(apart, axis=1))
        scales = [naive.naive_scale(past[:, channel], 1) for channel in range(2)]
        np.testing.assert_allclose(found.scores["mase"][row], (np.abs(apart) / scales).mean(axis=1))
    np.testing.assert_allclose(found.per_step("mae").mean, found.scores["mae"].mean(axis=0))
    assert found.at_step(3)["mse"].mean == pytest.approx(found.scores["mse"][:, 2].mean())
    assert found.mean_to_step(2)["mse"].mean == pytest.approx(found.scores["mse"][:, :2].mean())
    assert found.mean_to_step()["mse"].mean == pytest.approx(found.scores["mse"].mean())


def test_batches_change_nothing(monkeypatch):
    X = walks([30, 26])
    whole = backtest(Persistence(), X, 3, n_windows=9)
    monkeypatch.setattr("timelike.forecast.backtests.backtest._MAX_BATCH_NUMBERS", 100)
    Spy.seen.clear()
    parts = backtest(Spy(), X, 3, n_windows=9, n_samples=1)
    assert len(answered()) > 5
    np.testing.assert_array_equal(parts.scores["mse"], whole.scores["mse"])
    np.testing.assert_array_equal(parts.origin, whole.origin)


# --- leakage -----------------------------------------------------------------------------------------------------------------


def test_a_forecast_is_shown_its_past_and_nothing_after_it():
    X = clocks([20, 17], [0.0, 0.0]).replace(times=None)
    found = backtest(Spy(), X, 5, n_windows=6)
    pasts = [one for past, _ in answered() for one in past]
    assert [len(past) for past in pasts] == found.origin.tolist()
    for past, origin in zip(pasts, found.origin, strict=True):
        np.testing.assert_array_equal(past[:, 0], np.arange(origin))


def test_a_model_that_was_not_fitted_learns_before_the_first_origin_and_stays_as_it_was():
    model = Spy()
    found = backtest(model, clocks([20, 17], [0.0, 0.0]).replace(times=None), 5, n_windows=6)
    (learned,) = fits()
    assert [len(one) for one in learned] == [7, 7]  # 17 − 5 − 5, the first origin of all
    assert learned.values.max() < found.origin.min()
    assert "Spy fitted on the first 7 steps of every sequence" in str(found)
    assert not hasattr(model, "frame_")


def test_a_model_that_was_fitted_is_asked_as_it_is():
    X = walks([20, 17])
    model = Spy().fit(X)
    found = backtest(model, X, 5, n_windows=6)
    assert len(fits()) == 1
    assert "as it came, fitted before" in str(found)


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize(
    "X",
    [
        clocks([20, 20], [0.0, 0.0]).replace(times=None),
        clocks([20, 14, 9], [0.0, 0.0, 0.0]).replace(times=None),
        clocks([20, 14], [0.0, 3.0]),  # the shorter begins later, and ends earlier
        clocks([12, 12], [100.0, 107.5]),
        clocks([12, 12], [0.0, 200.0]),  # one is over when the other begins
    ],
)
def test_refitted_models_have_learned_nothing_from_the_time_of_their_forecasts(X, fitted):
    model = Spy().fit(X) if fitted else Spy()
    found = backtest(model, X, 4, n_windows=3, step=2, refit=True)
    assert found.refit
    shown = [(one, last) for past, last in answered() for one in past]
    assert len(shown) == len(found.item)
    for past, last in shown:
        assert last <= past.max()  # what was learned from ends where the past ends, or before
    by_origin = {(item, origin): last for (past, last) in answered() for item, origin in _places(X, past)}
    for item, origin in zip(found.item, found.origin, strict=True):
        times = np.arange(len(X[item])) if X.times is None else X[item][:, 0]
        now = times[origin - 1]
        available = [one[one[:, 0] <= now].max() for one in X if (one[:, 0] <= now).any()]
        assert by_origin[item, origin] == max(available)  # and no less than there is


def _places(X, pasts):
    for past in pasts:
        for item, one in enumerate(X):
            if len(past) < len(one) and (one[: len(past)] == past).all():
                yield item, len(past)


def test_dates_cut_all_sequences_at_one_moment():
    days = [np.datetime64("2024-01-01", "ns") + np.arange(n) * np.timedelta64(1, "D") for n in (15, 10)]
    X = tl.Sequences([np.arange(15.0), np.arange(10.0)], times=days)
    found = backtest(Spy(), X, 2, n_windows=3)
    assert [len(one) for one in fits()[0]] == [6, 6]
    assert "fitted on all steps up to 2024-01-06" in str(found)


def test_a_method_that_rolls_is_asked_once_by_a_copy_fitted_before_the_first_origin():
    class Rolling(Spy):
        calls: list = []  # noqa: RUF012

        def _forecast_rolling(self, sequences, windows, horizon, known=None):
            self.calls.append((self.last_, windows))
            return repeat_rows(self._last_rows(windows.pasts, 1)[:, 0], horizon)

    X = clocks([20, 17], [0.0, 0.0]).replace(times=None)
    found = backtest(Rolling().fit(X), X, 5, n_windows=6, refit=True)
    ((last, windows),) = Rolling.calls
    assert last == found.origin.min() - 1
    assert windows.origin.tolist() == found.origin.tolist()
    np.testing.assert_array_equal(found.scores["mse"], backtest(Spy(), X, 5, n_windows=6).scores["mse"])
    # where clocks are apart the cut is not after the same number of steps, and every cut is fitted by itself
    backtest(Rolling(), clocks([20, 17], [0.0, 2.0]), 5, n_windows=6, refit=True)
    assert len(Rolling.calls) == 1


# --- intervals ---------------------------------------------------------------------------------------------------------------


def test_several_sequences_are_drawn_whole():
    """As `score.bootstrap` does by groups; windows drawn one by one would give an interval far too narrow."""
    from scipy.stats import norm, t as student

    rng = np.random.default_rng(0)
    X = tl.Sequences([np.cumsum(rng.standard_normal(60) * spread) for spread in rng.gamma(1.0, size=20)])
    found = backtest(Persistence(), X, 5, n_windows=30, random_state=1)
    mean = found.mean_to_step(5)["mse"]
    windows = found.scores["mse"].mean(axis=1)
    tail = norm.cdf(-np.sqrt(20 / 19) * student.ppf(0.975, 19))  # a little wider, as twenty are not many
    whole = score.bootstrap(windows, groups=found.item, random_state=0, confidence=1 - 2 * tail)
    single = score.bootstrap(windows, random_state=0)
    assert (mean.low, mean.high) == pytest.approx((whole.low, whole.high), rel=0.1)
    assert mean.half_width > 2 * single.half_width
    assert found.intervals == "whole sequences resampled (20)"


def test_sequences_of_a_group_are_drawn_together():
    found = backtest(Persistence(), walks([12] * 6, groups=list("aabbcc")), 2, n_windows=2)
    assert found.intervals == "whole groups resampled (3, which are few)"
    assert found.unit.tolist() == np.repeat([0, 1, 2], 4).tolist()


def test_of_one_sequence_blocks_of_windows_are_drawn():
    found = backtest(Persistence(), walks([300], 1), 5, n_windows=200, random_state=0)
    assert found.intervals == "blocks of 6 windows of one sequence resampled"  # 200^⅓, more than the 5 that overlap
    assert backtest(Persistence(), walks([300], 1), 12, n_windows=200).intervals.startswith("blocks of 12 windows")
    assert backtest(Persistence(), walks([300], 1), 12, n_windows=60, step=4).intervals.startswith("blocks of 4 w")
    counts = found._bootstrap.counts
    assert (counts.sum(axis=1) == 200).all()
    assert 100 < (counts[:, 100] > 0).mean() * 200 < 150  # about 1 − 1/e of resamples have it


def test_too_few_windows_have_no_interval_rather_than_a_narrow_one():
    found = backtest(Persistence(), walks([40], 1), 8, n_windows=15)
    assert (found.at_step(1)["mse"].low, found.at_step(1)["mse"].high) == (-np.inf, np.inf)
    assert "none: 15 windows of one sequence are fewer than two blocks of 8 that do not overlap" in str(found)
    assert found.plot().axes


def test_block_intervals_cover_the_mean_of_dependent_windows():
    """Of random walks, where E(x_{t+h} − x_t)² = h: windows drawn one by one would cover it about half of the time."""
    rng = np.random.default_rng(5)
    truth = np.mean(np.arange(1, 11))
    blocks = single = 0
    for seed in range(60):
        X = tl.Sequences([np.cumsum(rng.standard_normal(215))])
        found = backtest(Persistence(), X, 10, n_windows=200, random_state=seed)
        mean = found.mean_to_step(10)["mse"]
        alone = score.bootstrap(found.scores["mse"].mean(axis=1), n_resamples=300, random_state=seed)
        blocks += mean.low <= truth <= mean.high
        single += alone.low <= truth <= alone.high
    assert blocks >= 48
    assert single <= 38


# --- skill -----------------------------------------------------------------------------------------------------------------


class Halved(Persistence):
    """Half as wrong as persistence where everything grows by one."""

    def _predict_rows(self, past, request):
        return Futures(super()._predict_rows(past, request).center + np.arange(1, request.horizon + 1)[:, None] / 2)


def test_skill_is_paired_with_the_baseline():
    X = tl.Sequences([np.arange(n, dtype=float) * size for n, size in ((20, 1), (25, 1), (22, 1))])
    found = backtest(Halved(), X, 4, n_windows=5, baseline="persistence", scores=("mae", "mse", "psnr"))
    assert (found.model, found.baseline) == ("Halved", "Persistence")
    skill = found.skill()
    assert skill.keys() == {"mae", "mse"}
    assert (skill["mae"].mean, skill["mae"].low, skill["mae"].high) == pytest.approx((0.5, 0.5, 0.5))
    assert skill["mse"].mean == pytest.approx(0.75)
    np.testing.assert_allclose(found.skill_per_step("mse").mean, 0.75)
    np.testing.assert_allclose(found.per_step("mae", method="baseline").mean, [1, 2, 3, 4])
    assert found.at_step(2, method="baseline")["mae"].mean == 2


def test_a_paired_interval_is_narrower_than_the_two_apart():
    rng = np.random.default_rng(0)
    X = tl.Sequences([np.cumsum(0.5 + rng.standard_normal(40)) * scale for scale in rng.gamma(1.0, size=12)])
    found = backtest(tl.forecast.Mean(), X, 3, n_windows=20, baseline="persistence", random_state=0)
    ours, theirs = found.mean_to_step(), found.mean_to_step(method="baseline")
    apart = 1 - ours["mse"].high / theirs["mse"].low, 1 - ours["mse"].low / theirs["mse"].high
    skill = found.skill()["mse"]
    assert skill.high - skill.low < (apart[1] - apart[0]) / 2
    assert skill.mean == pytest.approx(1 - ours["mse"].mean / theirs["mse"].mean)


def test_a_model_against_itself_has_no_skill_and_is_told_apart():
    found = backtest(Persistence(), walks([20, 20]), 3, n_windows=4, baseline=Persistence())
    assert found.baseline == "Persistence (baseline)"
    assert (found.skill()["mse"].mean, found.skill()["mse"].low, found.skill()["mse"].high) == (0, 0, 0)
    assert len(found.plot().legends[0].get_texts()) == 2


def test_without_a_baseline_there_is_no_skill():
    found = backtest(Persistence(), walks([20, 20]), 3, n_windows=4)
    with pytest.raises(ValueError, match='backtest\\(…, baseline="persistence"\\)'):
        found.skill()
    with pytest.raises(ValueError, match='method="baseline": there was no baseline'):
        found.per_step(method="baseline")
    only = backtest(Persistence(), walks([20, 20]), 3, n_windows=4, scores="psnr", baseline="persistence")
    with pytest.raises(ValueError, match="there is no skill by psnr"):
        only.skill()
    assert "psnr" in str(only)


# --- distributions -----------------------------------------------------------------------------------------------------------


def test_a_calibrated_model_has_coverage_width_and_the_crps_of_its_samples():
    rng = np.random.default_rng(0)
    X = tl.Sequences([np.cumsum(rng.standard_normal(40)) for _ in range(60)])
    model = Persistence().fit(X[:30]).calibrate(X[:30], horizon=5)
    plain = backtest(Persistence(), X[30:], 5, n_windows=10, scores=("crps", "mae"))
    found = backtest(model, X[30:], 5, n_windows=10, scores=("crps", "mae"), n_samples=200, random_state=0)
    assert "coverage" not in plain.scores
    assert "its CRPS is its absolute error" in str(plain)
    assert "absolute error" not in str(found)
    assert found.mean_to_step()["coverage"].mean == pytest.approx(0.8, abs=0.04)
    # of a normal distribution with the right spread the CRPS is 1/√2 of the absolute error of its mean
    np.testing.assert_allclose(found.per_step("crps").mean, plain.per_step("mae").mean / np.sqrt(2), rtol=0.05)
    widths = 2 * 1.2816 * np.sqrt(np.arange(1, 6))
    np.testing.assert_allclose(found.per_step("width").mean, widths, rtol=0.12)
    again = backtest(model, X[30:], 5, n_windows=10, scores=("crps", "mae"), n_samples=200, random_state=0)
    np.testing.assert_array_equal(again.scores["crps"], found.scores["crps"])
    refitted = backtest(model, X[30:], 5, n_windows=2, scores="crps", refit=True)
    assert "is calibrated, but its refitted copies are not" in str(refitted)


def test_a_method_that_draws_is_judged_by_its_own_samples():
    class Drawn(Persistence):
        _is_probabilistic = True

        def _predict_rows(self, past, request):
            center = super()._predict_rows(past, request).center
            noise = request.rng.standard_normal((request.n_samples, *center.shape))
            return Futures(None, center + noise)

    X = tl.Sequences(np.zeros((3, 60)))
    found = backtest(Drawn(), X, 4, n_windows=50, scores=("crps", "mse"), n_samples=400, level=0.5, random_state=0)
    assert found.mean_to_step()["crps"].mean == pytest.approx(2 / np.sqrt(2 * np.pi) - 1 / np.sqrt(np.pi), abs=0.005)
    assert found.mean_to_step()["mse"].mean == pytest.approx(1 / 400, rel=0.2)
    assert found.mean_to_step()["width"].mean == pytest.approx(2 * 0.6745, rel=0.05)
    assert found.mean_to_step()["coverage"].mean == 1.0


# --- frames ------------------------------------------------------------------------------------------------------------------


class Knows(Persistence):
    """Takes channels that are known in advance, and forecasts their sum."""

    def __init__(self, *, known_channels=None):
        store_parameters(self, locals())

    def _predict_rows(self, past, request):
        return Futures(np.repeat(request.known_covariates.sum(axis=2, keepdims=True), self.cells_.n_cells, axis=2))


@pytest.mark.parametrize("fitted", [False, True])
def test_known_channels_are_given_to_the_model_and_not_judged(fitted):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, (3, 20, 3)).astype(float)
    values[:, :, 1] = values[:, :, 0] + values[:, :, 2]
    X = tl.Sequences(values, channel_names=["hour", "load", "plan"])
    rival = Persistence().fit(X) if fitted else "persistence"
    found = backtest(Knows(known_channels=["hour", "plan"]), X, 4, n_windows=5, baseline=rival)
    assert found.mean_to_step()["mse"].mean == 0
    expected = [
        np.square(values[i, o : o + 4, 1] - values[i, o - 1, 1]) for i, o in zip(found.item, found.origin, strict=True)
    ]
    np.testing.assert_allclose(found.reference["mse"], expected)


def test_masked_cells_of_pictures_do_not_count():
    rng = np.random.default_rng(0)
    values = rng.random((2, 12, 1, 4, 5))
    values[:, :, 0, :2, :3] = np.nan
    ssim = partial(score.ssim, window=3)
    found = backtest(Persistence(), tl.Sequences(values), 2, n_windows=3, scores=("mse", "psnr", ssim))
    errors = np.square(values[0, 8] - values[0, 7])
    assert found.scores["mse"][0, 0] == pytest.approx(np.nanmean(errors))
    assert found.scores["psnr"][0, 0] == pytest.approx(-10 * np.log10(np.nanmean(errors)))
    assert found.scores["ssim"][0, 0] == pytest.approx(naive.ssim(values[0, 8, 0], values[0, 7, 0], 3))


# --- going on ------------------------------------------------------------------------------------------------------------------


class Broken(Exception):
    pass


def breaking():
    raise Broken


def pressing():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("refit", [False, True])
def test_a_backtest_goes_on_where_it_broke_off(tmp_path, monkeypatch, refit):
    monkeypatch.setattr("timelike.forecast.backtests.backtest._MAX_BATCH", 2)
    X = walks([20, 20])
    call = partial(backtest, Spy(), X, 4, n_windows=5, refit=refit, baseline="persistence")
    whole = call()
    Spy.seen.clear()
    Spy.breaks[3] = breaking
    with pytest.raises(Broken):
        call(checkpoint=tmp_path / "kept")
    done = len(list((tmp_path / "kept").glob("part-*.json")))
    assert done == 2
    Spy.seen.clear()
    found = call(checkpoint=tmp_path / "kept")
    assert len(answered()) == 3
    np.testing.assert_array_equal(found.scores["mse"], whole.scores["mse"])
    np.testing.assert_array_equal(found.reference["mae"], whole.reference["mae"])
    np.testing.assert_array_equal(found.origin, whole.origin)
    Spy.seen.clear()
    call(checkpoint=tmp_path / "kept")
    assert not answered()


def test_an_edited_part_is_refused_by_name(tmp_path):
    call = partial(backtest, Persistence(), walks([20, 20]), 3, n_windows=2, checkpoint=tmp_path / "kept")
    call()
    (part,) = (tmp_path / "kept").glob("part-*.json")
    part.write_text(part.read_text().replace('"mse": [[', '"mse": [[1'))
    with pytest.raises(ValueError, match=f"'{part}' has changed since it was written; delete it to recompute the row"):
        call()
    part.unlink()
    call()


def test_an_edited_backtest_is_refused_or_read():
    X = walks([20, 20])
    model = Persistence().fit(X).calibrate(X, horizon=3)
    tree = json.loads(backtest(model, X, 3, n_windows=2, baseline="persistence").to_json())
    chance, refused = random.Random(0), []
    for _ in range(200):
        changed = json.dumps(edited(tree, chance.choice(list(places_in(tree))), chance.choice(NONSENSE)))
        try:
            assert Backtest.from_json(changed).table()
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all("source" in words for words in refused)


def test_draws_go_on_with_the_seed_they_began_with(tmp_path):
    X = walks([30] * 12)
    model = Persistence().fit(X).calibrate(X, horizon=3)
    first = backtest(model, X, 3, n_windows=2, scores="crps", checkpoint=tmp_path / "kept")
    again = backtest(model, X, 3, n_windows=2, scores="crps", checkpoint=tmp_path / "kept")
    np.testing.assert_array_equal(first.scores["crps"], again.scores["crps"])
    assert first.at_step(1) == again.at_step(1)
    with pytest.raises(ValueError, match=r"\(different random_state\)"):
        backtest(model, X, 3, n_windows=2, scores="crps", checkpoint=tmp_path / "kept", random_state=5)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"X": walks([30] * 4, seed=1)}, "data"),
        ({"model": Persistence().fit(walks([30] * 4)).calibrate(walks([30] * 4, seed=2), horizon=3)}, "model"),
        ({"model": Halved()}, "model"),
        ({"horizon": 2}, "arguments"),
        ({"n_windows": 3}, "arguments"),
        ({"refit": True}, "arguments"),
        ({"scores": ("mse", "mae")}, "arguments"),
        ({"baseline": None}, "baseline"),
    ],
)
def test_a_checkpoint_of_another_backtest_is_refused(tmp_path, change, word):
    given = {"model": Persistence().fit(walks([30] * 4)), "X": walks([30] * 4), "horizon": 3, "n_windows": 2}
    given |= {"scores": ("mse",), "baseline": "persistence", "checkpoint": tmp_path / "kept"}
    backtest(**given)
    with pytest.raises(ValueError, match=rf"is of another backtest \(different {word}\): repeat its call"):
        backtest(**given | change)
    backtest(**given)


def test_other_times_are_other_data(tmp_path):
    X = walks([20])
    timed = [tl.Sequences(list(X), times=[np.arange(20) * step]) for step in (1.0, 2.0)]
    backtest(Persistence(), timed[0], 3, n_windows=2, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"\(different data\)"):
        backtest(Persistence(), timed[1], 3, n_windows=2, checkpoint=tmp_path)


def test_one_ctrl_c_gives_what_is_finished(tmp_path, monkeypatch):
    monkeypatch.setattr("timelike.forecast.backtests.backtest._MAX_BATCH", 2)
    X = walks([20, 20])
    whole = backtest(Spy(), X, 4, n_windows=5)
    Spy.seen.clear()
    Spy.breaks[3] = pressing
    found = backtest(Spy(), X, 4, n_windows=5, checkpoint=tmp_path / "kept")
    assert "stopped by Ctrl-C after 2 of 5 parts" in str(found)
    np.testing.assert_array_equal(found.scores["mse"], whole.scores["mse"][:4])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    Spy.seen.clear()
    rest = backtest(Spy(), X, 4, n_windows=5, checkpoint=tmp_path / "kept")
    assert len(answered()) == 3
    np.testing.assert_array_equal(rest.scores["mse"], whole.scores["mse"])


def test_ctrl_c_before_anything_is_finished_interrupts():
    Spy.breaks[1] = pressing
    with pytest.raises(KeyboardInterrupt):
        backtest(Spy(), walks([20, 20]), 4, n_windows=5)


def test_progress_says_how_far_it_is(capfd):
    backtest(Persistence(), walks([20]), 3, n_windows=4)
    assert capfd.readouterr().err == ""
    backtest(Persistence(), walks([20]), 3, n_windows=4, progress=True)
    assert "0/4" in capfd.readouterr().err


# --- the record ----------------------------------------------------------------------------------------------------------------


def test_the_record_survives_json(tmp_path):
    found = backtest(Persistence(), walks([20, 25]), 6, n_windows=4, baseline="persistence", random_state=0)
    text = found.to_json(tmp_path / "found.json")
    for back in (Backtest.from_json(text), Backtest.from_json(tmp_path / "found.json")):
        assert str(back) == str(found)
        assert back.skill() == found.skill()
        np.testing.assert_array_equal(back.scores["mse"], found.scores["mse"])
    with pytest.raises(ValueError, match="no backtest of this timelike"):
        Backtest.from_json(json.dumps({"format": "timelike comparison 1"}))


def test_the_table_has_the_first_and_the_last_step_and_the_mean():
    found = backtest(Persistence(), walks([40, 45]), 12, n_windows=4, baseline="persistence", random_state=0)
    header, _, *rows = found.table().splitlines()
    assert [cell.strip() for cell in header.split("|")[1:-1]] == [
        "score", "method", "step 1", "step 4", "step 6", "step 9", "step 12", "mean of 1…12",
        "skill against Persistence (baseline)",
    ]  # fmt: skip
    cells = [cell.strip() for cell in rows[0].split("|")[1:-1]]
    assert cells[:3] == ["mse", "Persistence", f"{found.at_step(1)['mse'].mean:.4g}"]
    assert cells[6] == f"{found.at_step(12)['mse'].mean:.4g}"
    assert len(rows) == 4
    assert found._repr_html_().count("<tr>") == 5
    assert "<svg" in found._repr_html_()


def test_the_plot_has_the_bands_of_both():
    found = backtest(Persistence(), walks([40, 45]), 5, n_windows=4, baseline="persistence", random_state=0)
    (axes,) = found.plot("mae").axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), found.per_step("mae").mean)
    corners = axes.collections[0].get_paths()[0].vertices
    assert corners[:, 1].max() == pytest.approx(found.per_step("mae").high.max())


# --- what is refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"model": tl.DTW()}, TypeError, "model is a DTW: expected a Forecaster"),
        ({"X": []}, ValueError, "X is empty: expected at least one sequence"),
        ({"horizon": 0}, ValueError, "horizon=0"),
        ({"n_windows": 0}, ValueError, "n_windows=0"),
        ({"step": 0}, ValueError, "step=0"),
        (
            {"n_windows": 9},
            ValueError,
            "n_windows=9: sequence 0 has 12 time steps, and with 1 before and horizon=4 after",
        ),
        ({"horizon": 12}, ValueError, "it allows 0 windows 1 apart: use fewer"),
        ({"scores": "rmse"}, ValueError, "scores holds 'rmse': expected 'mse'"),
        ({"scores": ()}, ValueError, "scores is empty"),
        ({"scores": ("mse", "mse")}, ValueError, "scores holds 'mse' twice"),
        ({"scores": (3,)}, TypeError, "scores holds 3: expected names or functions"),
        ({"level": 1.0}, ValueError, "level=1.0"),
        ({"n_samples": 0}, ValueError, "n_samples=0"),
        ({"baseline": "naive"}, ValueError, "baseline='naive': expected 'persistence'"),
        ({"refit": "no"}, TypeError, "refit='no'"),
        (
            {"model": Persistence().fit(walks([9], 3))},
            ValueError,
            r"frames of shape \(2,\): this Persistence was fitted",
        ),
        ({"scores": lambda truth, answer, per: 0.0}, ValueError, "the score '<lambda>' returned shape"),
    ],
)
def test_what_makes_no_sense_is_refused(change, error, words):
    given = {"model": Persistence(), "X": walks([12, 12]), "horizon": 4, "n_windows": 3}
    with pytest.raises(error, match=words):
        backtest(**given | change)


def test_a_model_that_cannot_be_fitted_so_early_says_on_what():
    class Picky(Spy):
        def _fit_sequences(self, sequences, source=None):
            raise ValueError("too short")

    with pytest.raises(ValueError, match="too short") as caught:
        backtest(Picky(), walks([12, 12]), 4, n_windows=3)
    (note,) = caught.value.__notes__
    assert note.startswith("backtest: Picky was to be fitted on the first 6 steps of every sequence; if that is too ")


def test_asking_for_what_there_is_not_is_refused():
    found = backtest(Persistence(), walks([12, 12]), 4, n_windows=3)
    with pytest.raises(ValueError, match="h=5: expected at most 4, the number of steps in scores"):
        found.at_step(5)
    with pytest.raises(ValueError, match="score='crps': expected one of 'mse', 'mae'"):
        found.per_step("crps")


def test_ridge_refitted_at_once_is_ridge_refitted_origin_by_origin(monkeypatch):
    X = walks([60, 60], seed=4)
    call = partial(backtest, tl.forecast.Ridge(lags=4, alpha=2.0), X, 3, n_windows=8, refit=True)
    rolled = call()
    monkeypatch.delattr(tl.forecast.Ridge, "_forecast_rolling")
    np.testing.assert_allclose(rolled.scores["mse"], call().scores["mse"], rtol=1e-6)


def test_a_past_that_never_changes_has_no_mase():
    with pytest.raises(ValueError, match="never changes") as caught:
        backtest(Persistence(), np.ones((2, 12)), 4, n_windows=3, scores="mase")
    assert "the pasts of windows" in caught.value.__notes__[0]
