"""Split-conformal calibration: ranks beside their definition, and coverage beside what exchangeability promises."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom

import timelike as tl
from latent_options import srvp
from timelike.forecast import ConformalCalibration, Persistence
from timelike.forecast.base import Futures
from timelike.forecast.calibration import min_windows, quantile_rank
from timelike.forecast.windows import select_windows

RNG = np.random.default_rng(0)
ROUND = [0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.975]


def errors(values):
    return ConformalCalibration(np.asarray(values, np.float32).reshape(len(values), 1, 1))


@pytest.mark.parametrize("q", ROUND)
@given(count=st.integers(1, 200))
def test_the_rank_is_the_least_that_covers_enough(q, count):
    """Of n + 1 errors in any order, the last is at most the k-th of the others with probability k/(n + 1)."""
    covers = [k for k in range(1, count + 1) if k / (count + 1) >= q - 1e-9]
    leaves = [k for k in range(1, count + 1) if k / (count + 1) <= q + 1e-9]
    if q >= 0.5:
        assert quantile_rank(q, count) == (covers[0] if covers else count)
    else:
        assert quantile_rank(q, count) == (leaves[-1] if leaves else 1)


@pytest.mark.parametrize("q", ROUND)
def test_as_many_windows_are_needed_as_give_the_rank_its_coverage(q):
    need = min_windows(q)
    enough = [n for n in range(1, 500) if 1 <= round(q * (n + 1), 9) <= n]  # a rank among n that covers exactly so much
    tail = min(q, 1 - q)
    assert need == next(n for n in range(1, 500) if tail * (n + 1) >= 1 - 1e-9)
    assert need <= enough[0]


@given(st.lists(st.integers(-3, 3), min_size=9, max_size=40), st.sampled_from([0.1, 0.5, 0.9]))
def test_a_margin_is_the_error_at_its_rank_ties_and_all(values, q):
    assert errors(values).margin(q, 1).item() == sorted(values)[quantile_rank(q, len(values)) - 1]


@pytest.mark.parametrize(("n", "level"), [(9, 0.8), (19, 0.8), (24, 0.8), (19, 0.9), (39, 0.95), (40, 0.95)])
@pytest.mark.parametrize("ties", [False, True])
def test_intervals_cover_as_often_as_exchangeability_promises(n, level, ties):
    """Without ties exactly (k_high − k_low)/(n + 1); with them at least so often, at the ends included."""
    trials = 4000
    low, high = (1 - level) / 2, (1 + level) / 2
    promised = (quantile_rank(high, n) - quantile_rank(low, n)) / (n + 1)
    assert promised >= level - 1e-9
    drawn = RNG.integers(0, 3, (n + 1, trials)).astype(float) if ties else RNG.standard_normal((n + 1, trials))
    calibration = ConformalCalibration(drawn[:n, None].astype(np.float32))
    below, above = (calibration.margin(q, 1)[0] for q in (low, high))
    truth = drawn[n].astype(np.float32)
    covered = int(((below <= truth) & (truth <= above)).sum())
    least, most = binom.ppf([1e-6, 1 - 1e-6], trials, promised)
    assert covered >= least
    assert ties or covered <= most


def test_steps_that_fewer_windows_reach_are_judged_by_those():
    found = np.full((12, 2, 1), np.nan, np.float32)
    found[:, 0, 0], found[:9, 1, 0] = np.arange(12), 10 * np.arange(9)
    calibration = ConformalCalibration(found)
    assert calibration.window_counts().tolist() == [12, 9]
    assert calibration.margin(0.9, 2).ravel().tolist() == [11, 80]
    assert calibration.margin(0.5, 2).ravel().tolist() == [6, 40]


def test_masked_cells_have_no_margin_and_do_no_harm_to_others():
    found = RNG.standard_normal((20, 2, 3)).astype(np.float32)
    found[..., 1] = np.nan
    margin = ConformalCalibration(found).margin(0.9, 2)
    np.testing.assert_array_equal(np.isnan(margin), [[False, True, False]] * 2)
    np.testing.assert_array_equal(margin[:, 0], ConformalCalibration(found[..., :1]).margin(0.9, 2)[:, 0])


@pytest.mark.parametrize(("n", "q", "need"), [(8, 0.9, 9), (8, 0.1, 9), (38, 0.975, 39), (2, 0.75, 3)])
def test_too_few_windows_say_how_many_are_needed(n, q, need):
    with pytest.raises(ValueError, match=f"calibrated by {n} windows at step 1, and {need} are needed for the quanti"):
        errors(range(n)).margin(q, 1)
    errors(range(need)).margin(q, 1)


def test_too_few_windows_at_a_later_step_name_it():
    found = np.zeros((9, 3, 1), np.float32)
    found[8, 2] = np.nan
    with pytest.raises(ValueError, match="calibrated by 8 windows at step 3, and 9 are needed"):
        ConformalCalibration(found).margin(0.9, 3)
    ConformalCalibration(found).margin(0.9, 2)


def test_more_steps_than_are_calibrated_are_refused():
    model = Persistence().fit(np.zeros((3, 9))).calibrate(RNG.standard_normal((40, 6)))
    assert model.calibration_.horizon == 5
    model.predict(np.zeros((1, 9)), 5).interval(0.8)
    with pytest.raises(ValueError, match="calibrated for 5 steps and the forecast has 6: give calibrate longer seq"):
        model.predict(np.zeros((1, 9)), 6).interval(0.8)
    with pytest.raises(ValueError, match="calibrated for 5 steps and the forecast has 6"):
        model.predict(np.zeros((1, 9)), 6, n_samples=2)


def test_draws_keep_whole_windows_together():
    found = RNG.standard_normal((15, 4, 2)).astype(np.float32)
    found[12:, 2:] = np.nan  # these end too early
    drawn = ConformalCalibration(found).sample_errors(50, 3, [np.random.default_rng(i) for i in range(6)])
    assert drawn.shape == (50, 6, 3, 2)
    rows = {one[:3].tobytes() for one in found[:12]}
    assert {one.tobytes() for one in drawn.reshape(-1, 3, 2)} == rows  # all of them, and nothing else


def test_samples_are_the_forecast_with_errors_of_whole_windows():
    past = RNG.standard_normal((2, 5, 2))
    model = Persistence().fit(past).calibrate(RNG.standard_normal((30, 8, 2)), horizon=3)
    found = model.predict(past, 3, n_samples=7, random_state=0)
    windows = {one.tobytes() for one in model.calibration_.errors if not np.isnan(one).any()}
    moved = (found.samples - found.mean).astype(np.float32)
    for error in moved.reshape(-1, 3, 2):
        assert min(np.abs(error - np.frombuffer(one, np.float32).reshape(3, 2)).max() for one in windows) < 1e-5
    again = model.predict(past, 3, n_samples=7, random_state=0).samples
    np.testing.assert_array_equal(found.samples, again)
    assert not np.array_equal(model.predict(past, 3, n_samples=7, random_state=1).samples, again)


def test_errors_are_truth_minus_forecast_of_every_window():
    x = np.array([1.0, 4, 9, 16, 25])
    found = Persistence().fit(x[None]).calibrate(x[None], horizon=2).calibration_.errors
    expected = [[x[t + h] - x[t] if t + h < 5 else np.nan for h in (1, 2)] for t in range(4)]
    np.testing.assert_array_equal(found[..., 0], expected)


def test_what_was_calibrated_is_kept_in_the_saved_model(tmp_path):
    past = RNG.standard_normal((3, 9, 2))
    model = Persistence().fit(past).calibrate(RNG.standard_normal((12, 9, 2)))
    model.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.calibration_.errors, model.calibration_.errors)
    for one, other in zip(again.predict(past, 4).interval(0.8), model.predict(past, 4).interval(0.8), strict=True):
        np.testing.assert_array_equal(one, other)


def test_fitting_again_forgets_the_calibration():
    past = RNG.standard_normal((12, 9, 2))
    model = Persistence().fit(past).calibrate(past)
    assert not hasattr(model.fit(past), "calibration_")
    with pytest.raises(ValueError, match=r"one future has no quantiles: call Persistence.calibrate\(X\)"):
        model.predict(past, 2).interval(0.8)


@pytest.mark.parametrize("level", [0, 1, -0.5, 1.5, np.nan])
def test_a_level_that_is_none_is_refused(level):
    past = RNG.standard_normal((12, 9))
    with pytest.raises(ValueError, match="level="):
        Persistence().fit(past).calibrate(past).predict(past, 2).interval(level)


def oscillations(count, rng, length=100):
    """x_t = 1.3 x_{t−1} − 0.5 x_{t−2} + noise, after a beginning that is left out."""
    x = np.zeros((count, length + 50))
    for t in range(2, length + 50):
        x[:, t] = 1.3 * x[:, t - 1] - 0.5 * x[:, t - 2] + rng.standard_normal(count)
    return x[:, 50:, None]


@pytest.mark.parametrize("name", ["Persistence", "Mean", "Ridge", "AR", "DMD", "Analog"])
def test_intervals_cover_what_they_say_however_far_the_calibration_looked(name):
    """Ridge and Analog are other models for another horizon: one calibration at the farthest covered 43 % at step 1."""
    rng = np.random.default_rng(0)
    train, other, test = (oscillations(count, rng) for count in (3, 120, 400))
    model = getattr(tl.forecast, name)().fit(train).calibrate(other)
    low, high = model.predict(test[:, :60], 5).interval(0.8)
    inside = ((test[:, 60:65] >= low) & (test[:, 60:65] <= high)).mean(axis=(0, 2))
    assert inside.min() > 0.72
    assert 0.76 < inside.mean() < 0.86


# --- methods whose forecast is the mean of what they draw ------------------------------------------------------------


class Draws(tl.forecast.Persistence):
    """Futures drawn around the last frame, with a deviation that is not that of the data."""

    _is_probabilistic = True

    def _predict_rows(self, past, request):
        shape = (request.n_samples, request.horizon, self.cells_.n_cells)
        noise = np.stack([rng.standard_normal(shape) for rng in self._past_generators(past, request)], axis=1)
        return Futures(None, self._last_rows(past, 1) + 2.0 * noise)


@pytest.mark.parametrize("n_samples", [1, 5, 7, 100, 130])
def test_intervals_around_means_of_draws_cover_what_they_say_for_any_number_of_them(n_samples):
    """4000 channels are as many trials: 19 windows each, so that 16 of 20 ranks are inside."""
    rng, n_windows, trials = np.random.default_rng(1), 19, 4000
    x = rng.standard_normal((n_windows + 1, 2, trials)).cumsum(axis=1)
    model = Draws().fit(x[:1]).calibrate(x[:-1], horizon=1)
    low, high = model.predict(x[-1:, :1], 1, n_samples=n_samples, random_state=7).interval(0.8)
    inside = int(((low <= x[-1:, 1:]) & (x[-1:, 1:] <= high)).sum())
    least, most = binom.ppf(
        [1e-4, 1 - 1e-4], trials, (quantile_rank(0.9, n_windows) - quantile_rank(0.1, n_windows)) / (n_windows + 1)
    )
    assert least <= inside <= most


@pytest.mark.parametrize(("n_samples", "used"), [(1, 1), (2, 2), (4, 2), (5, 5), (12, 10), (13, 13), (99, 13)])
def test_an_interval_is_around_the_mean_of_as_many_draws_as_its_errors_are_of(n_samples, used):
    x = np.random.default_rng(0).standard_normal((12, 4, 2))
    model = Draws().fit(x).calibrate(x, horizon=2, n_samples=13)
    found = model.predict(x[:3], 2, n_samples=n_samples, random_state=0)
    assert found.calibration.n_samples == used
    ordered = np.sort(found.calibration.errors, axis=0)  # NaN, where a window ends, at the end
    counts = (~np.isnan(found.calibration.errors)).sum(axis=0)
    places = np.vectorize(lambda count: quantile_rank(0.9, count) - 1)(counts)
    margin = np.take_along_axis(ordered, places[None], axis=0)[0]
    unit = 1.0
    if used >= 10:
        deviation = found.samples[:used].std(axis=0, ddof=1)
        unit = np.sqrt(deviation**2 + found.calibration.min_spread.astype(float) ** 2)
    np.testing.assert_allclose(found.quantile(0.9), found.samples[:used].mean(axis=0) + margin * unit, rtol=1e-6)
    np.testing.assert_array_equal(found.mean, found.samples.mean(axis=0))


def test_errors_of_means_are_those_of_the_first_draws_of_the_same_futures(monkeypatch):
    x = np.random.default_rng(0).standard_normal((6, 3, 2))
    model, asked = Draws().fit(x), []
    predict = Draws.predict
    monkeypatch.setattr(Draws, "predict", lambda *given, **how: asked.append(predict(*given, **how)) or asked[-1])
    model.calibrate(x, horizon=1, n_samples=5)
    (drawn,) = [one for one in asked if len(one.samples) == 5]
    truth = np.stack([x[:, 1], x[:, 2]], axis=1).reshape(12, 1, 2)
    for one in [*model.shorter_calibrations_, model.calibration_]:
        np.testing.assert_array_equal(one.errors, (truth - drawn.samples[: one.n_samples].mean(0)).astype(np.float32))
    assert [one.n_samples for one in [*model.shorter_calibrations_, model.calibration_]] == [1, 2, 5]


class KnowsItsSpread(tl.forecast.Persistence):
    """Futures drawn around the last frame, with a deviation that is the size of the last frame."""

    _is_probabilistic = True

    def _predict_rows(self, past, request):
        last = self._last_rows(past, 1)
        shape = (request.n_samples, request.horizon, self.cells_.n_cells)
        noise = np.stack([rng.standard_normal(shape) for rng in self._past_generators(past, request)], axis=1)
        return Futures(None, last + np.abs(last) * noise)


def test_intervals_around_means_of_draws_are_wide_where_the_draws_differ_and_cover_there_too():
    """Steps of a deviation of 1, and of 10 after one past in five: margins of one width would cover 15 % of those."""
    rng = np.random.default_rng(3)
    start = rng.choice([1.0, 10.0], (4000, 1, 1), p=[0.8, 0.2])
    x = np.concatenate([start, start + start * rng.standard_normal((4000, 1, 1))], axis=1)
    model = KnowsItsSpread().fit(x[:1]).calibrate(x[1:500], horizon=1, n_samples=100)
    low, high = (end[:, 0, 0] for end in model.predict(x[500:, :1], 1, n_samples=100, random_state=0).interval(0.8))
    covered = (low <= x[500:, 1, 0]) & (x[500:, 1, 0] <= high)
    wild = x[500:, 0, 0] == 10
    assert 0.77 < covered.mean() < 0.85
    assert 0.62 < covered[wild].mean() < 0.8
    assert 0.78 < covered[~wild].mean() < 0.88
    assert 5 < (high - low)[wild].mean() / (high - low)[~wild].mean() < 10


def test_draws_that_agree_and_are_wrong_have_intervals_as_wide_as_their_errors():
    class Certain(tl.forecast.Persistence):
        _is_probabilistic = True

        def _predict_rows(self, past, request):
            return Futures(None, np.repeat(self._last_rows(past, 1)[None], request.n_samples, axis=0))

    x = np.random.default_rng(4).standard_normal((400, 2, 3)).cumsum(axis=1)
    model = Certain().fit(x[:1]).calibrate(x[1:200], horizon=1, n_samples=20)
    many, plain = (model.predict(x[200:, :1], 1, n_samples=n).interval(0.8) for n in (20, 1))
    np.testing.assert_allclose(many, plain, rtol=1e-5)


def test_frames_too_large_for_all_counts_of_draws_keep_their_windows(monkeypatch):
    x = np.random.default_rng(0).standard_normal((12, 4, 2))  # 36 windows of 2 numbers after one step
    per_window = 2
    for room, counts, n_windows in (
        (7 * 36, [1, 2, 5, 10, 20, 50, 100], 36),
        (7 * 36 - 1, [1, 100], 36),
        (2 * 36, [1, 100], 36),
        (20, [1, 100], len(select_windows(tl.Sequences(x), 1, 1, 10).item)),
    ):
        monkeypatch.setattr("timelike.forecast.base._MAX_ERRORS", room * per_window)
        model = Draws().fit(x).calibrate(x, horizon=1)
        every = [*model.shorter_calibrations_, model.calibration_]
        assert [one.n_samples for one in every] == counts
        assert {len(one.errors) for one in every} == {n_windows}
        assert {one.is_memory_limited for one in every} == {n_windows < 36}
    with pytest.raises(ValueError, match=r"windows at step 1, and 39 are .*: memory does not hold .*n_samples=1"):
        model.predict(x, 1).interval(0.95)
    monkeypatch.undo()
    with pytest.raises(ValueError, match="by 36 windows at step 1, and 39 are .*: give calibrate more or longer"):
        Draws().fit(x).calibrate(x, horizon=1).predict(x, 1).interval(0.95)


def test_pieces_change_no_error(monkeypatch):
    x = np.random.default_rng(0).standard_normal((6, 5, 2))
    whole = Persistence().fit(x).calibrate(x).calibration_.errors
    monkeypatch.setattr("timelike.forecast.calibration._BLOCK_NUMBERS", 20)
    np.testing.assert_array_equal(Persistence().fit(x).calibrate(x).calibration_.errors, whole)


def test_a_method_with_a_forecast_of_its_own_is_calibrated_once_however_many_it_draws():
    x = oscillations(12, np.random.default_rng(0), 30)
    model = tl.forecast.AR(order=2).fit(x).calibrate(x, horizon=2)
    assert model.shorter_calibrations_ == []
    many, one = (model.predict(x[:2], 2, n_samples=n).interval(0.8) for n in (50, 1))
    np.testing.assert_array_equal(many, one)


@pytest.mark.learn
def test_what_means_of_draws_were_calibrated_by_is_kept_in_the_saved_model(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((10, 9, 1)).cumsum(axis=1)
    small = {"hidden": 4, "n_state": 3, "n_random": 2, "n_content": 2, "n_code": 3, "motion_hidden": 4}
    model = srvp(conditioning=2, max_steps=2, random_state=0, **small).fit(x).calibrate(x, horizon=2, n_samples=5)
    model.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    assert [one.n_samples for one in again.shorter_calibrations_] == [1, 2]
    for n in (1, 2, 5):
        pairs = zip(*(m.predict(x[:2], 2, n_samples=n).interval(0.8) for m in (model, again)), strict=True)
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)


def test_backtest_intervals_of_means_of_draws_cover_what_they_say():
    rng = np.random.default_rng(2)
    x, other = rng.standard_normal((2, 120, 3, 20)).cumsum(axis=2)
    model = Draws().fit(x[:1]).calibrate(other, horizon=1)
    found = tl.forecast.backtest(model, x, 1, n_windows=1, scores=("crps",), n_samples=100, random_state=0)
    assert 0.77 < found.at_step(1)["coverage"].mean < 0.85  # 2400 windows, and 240 that were calibrated on


def test_calibrating_says_how_long_it_takes_where_that_is_long(capsys, monkeypatch):
    now = iter(np.arange(0.0, 1000.0, 2.0))
    monkeypatch.setattr("timelike.core.progress.time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr("timelike.forecast.calibration._BLOCK_NUMBERS", 1)
    x = np.random.default_rng(0).standard_normal((5, 5))
    Persistence().fit(x).calibrate(x, horizon=1)
    assert capsys.readouterr().err == "Persistence.calibrate: 20 windows, about 40 s; progress=True shows a bar\n"
    Persistence().fit(x).calibrate(x, horizon=1, progress=False)
    assert capsys.readouterr().err == ""
