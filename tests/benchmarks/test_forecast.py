"""The programs about forecasts: what is cut where, what is chosen by what, finished rows, and pages of made-up ones."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.accuracy import (
    forecast,
    forecast_dlinear as dlinear,
    forecast_gate as gate,
    forecast_methods as sensor,
    forecast_peers as peers,
    forecast_series as series,
)
from benchmarks.papers import command
from benchmarks.papers.results import Trial
from benchmarks.papers.separation import (
    content,
    content_scenes,
    data,
    heat,
    methods,
    sst,
    sst_data,
    sst_methods,
    waves100,
)

import timelike as tl
from timelike import forecast as fc

ROOT = Path(__file__).parents[2]
SMALL = data.Size(n_train=12, n_test=3, length=60, every=5, pixels=7)


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def rows_of(found):
    """Made-up rows by their keys, with what a program adds."""
    known = {"seconds": 1.0, "machine": "a machine", "date": "2026-01-01", "version": "0", "commit": "0"}
    return {str(place): known | row for place, row in enumerate(found)}


# --- content


def test_the_true_swap_of_waves_is_one_wave_at_the_time_of_the_clip_before():
    scene = content_scenes.Scene(trained=2, horizon=4, few=1, many=1)
    frames = np.arange(3 * 20).reshape(3, 20, 1).astype(np.float32)
    clips = content_scenes.wave_clips(frames, np.array([0, 7, 3]), scene)
    for i, (own, other) in enumerate([(0, 3), (7, 0), (3, 7)]):
        np.testing.assert_array_equal(clips.past[i], frames[i, own : own + 5])
        np.testing.assert_array_equal(clips.truth[i], frames[i, own + 5 : own + 9])
        np.testing.assert_array_equal(clips.swaps[0, i], frames[i, other + 5 : other + 9])


def test_unseen_waves_are_faster_than_those_of_the_training():
    made = content_scenes.problem(Path("none"), "waves", "few", 0, 3)
    assert made.train.shape == (20, 85, 100)
    assert {name: clips.truth.shape for name, clips in made.asked.items()} == dict.fromkeys(
        content_scenes.APPEARANCES, (3, 60, 100)
    )


@pytest.mark.parametrize(("known", "verdict"), [(1.0, "latter stands"), (2.0, "latter does not stand")])
def test_the_hypothesis_about_the_content_is_judged_where_it_says_something(known, verdict):
    def row(kind, code, error, longer):
        errors = {
            "within": [error, 0, 9],
            "after": [longer, 0, 9],
            "swap within": [1.0, 0, 9],
            "swap after": [1.0, 0, 9],
        }
        return {"dataset": "waves, few", "method": f"{kind}, {code} code", "seed": 0, "seen": errors, "unseen": errors}

    found = [row("with w", "small", 0.1, 0.1), row("without w", "small", 0.1, 0.2)]
    found += [row("with w", "large", 0.1, 0.1), row("without w", "large", 0.1 * known, 0.1)]
    program = content.Content.of_rows(rows_of(found))
    assert f"is 2.00 times that with it, and {known:.2f} times" in program.headline()
    assert verdict in program.headline()
    assert "| waves, few, small code | 2.00 | 2.00 |" in program.body()


def test_pictures_of_swaps_are_kept_in_rows(tmp_path):
    rng = np.random.default_rng(0)
    truth, swaps = rng.random((5, 10, 1, 32, 32)), rng.random((2, 5, 10, 1, 32, 32))
    clips = content_scenes.Clips(truth[:, :5], truth, swaps)
    frames = content.decode_picture(content.encode_picture(clips, swaps[1]))
    np.testing.assert_allclose(frames[0, 0, 1] / 255, truth[1, 3, 0], atol=0.003)
    np.testing.assert_allclose(frames[0, 1, 1] / 255, truth[0, 3, 0], atol=0.003)
    np.testing.assert_array_equal(frames[:, 2], frames[:, 3])  # of two truths the nearer one
    content.draw_swaps(np.where(truth[:3, :4, None, 0] > 0.9, frames, 0), tmp_path)  # mostly black, as digits are
    assert 0 < (tmp_path / content.FIGURE).stat().st_size < 150_000


# --- waves


def test_only_what_is_seen_of_the_noisy_waves_is_noisy():
    made = data.problem("noisy", 0, SMALL)
    assert made.truth.min() >= 0
    assert made.truth.max() <= 1
    seen = np.stack(list(made.train))
    assert seen.min() < 0
    assert made.past.min() < 0
    alike = seen[:, 0] - seen[:, 0].mean(axis=1, keepdims=True)  # all pixels are at rest in the first frame
    assert alike.std() == pytest.approx(data.NOISE, rel=0.3)


def test_faster_waves_are_asked_about_than_were_learned_from():
    made = data.problem("beyond", 0, SMALL)
    assert made.celerity.max() < 375
    again = data.problem("beyond", 0, SMALL)
    np.testing.assert_array_equal(made.past, again.past)
    assert not np.array_equal(made.past, data.problem("beyond", 1, SMALL).past)


def test_chunks_are_those_of_a_loop():
    sequences = np.arange(2 * 56 * 1, dtype=np.float32).reshape(2, 56, 1)
    past, truth = data.chunks(sequences, 5)
    naive = [(s, start) for start in (0, 5, 10) for s in (0, 1)]
    assert len(past) == len(naive)
    for row, (s, start) in enumerate(naive):
        np.testing.assert_array_equal(past[row], sequences[s, start : start + 5])
        np.testing.assert_array_equal(truth[row], sequences[s, start + 5 : start + 45])


@pytest.mark.parametrize("version", data.VERSIONS)
def test_settings_are_judged_by_training_sequences_alone(version):
    made = data.problem(version, 0, SMALL)
    judged = data.held_out(made, version, 5)
    assert len(judged.train) == 10
    known = {one.tobytes() for one in made.train}
    assert all(one.tobytes() in known for one in judged.train)
    whole = np.concatenate([judged.past, judged.truth], axis=1)
    held = np.stack([one for one in made.train if one.tobytes() not in {two.tobytes() for two in judged.train}])
    assert len(held) == 2
    assert all(any(np.array_equal(chunk, one[s : s + 45]) for one in held for s in range(0, 16, 5)) for chunk in whole)


def test_the_fastest_are_held_out_where_faster_ones_are_asked_about():
    made = data.problem("beyond", 0, SMALL)
    judged = data.held_out(made, "beyond", 5)
    assert judged.celerity.max() < np.sort(made.celerity)[-2]


def test_errors_of_the_trained_length_and_after_it_are_apart():
    truth = np.zeros((3, 40, 2))
    wrong = truth.copy()
    wrong[:, 20:] = 2
    assert data.errors(wrong, truth) == {"within": 0.0, "after": 4.0, "all": 2.0}


def test_what_is_chosen_was_best_on_what_was_held_out_whatever_the_test_says():
    found = [
        {"dataset": "noisy", "method": "held out: product", "seed": 0, "all": 3.0},
        {"dataset": "noisy", "method": "held out: three blocks", "seed": 0, "all": 2.0},
        {"dataset": "beyond", "method": "held out: defaults", "seed": 0, "all": 1.0},
        {"dataset": "noisy", "method": "Separation, product", "seed": 0, "all": 0.1},
    ]
    assert methods.best(rows_of(found), "noisy") == "three blocks"
    assert methods.best(rows_of(found), "thesis") is None


def test_no_row_of_waves_is_planned_twice_and_what_is_chosen_waits_for_candidates():
    program = waves100.Waves100(command.parsed(waves100.Waves100, []))
    planned = list(program.planned())
    assert len({row.key for row in planned}) == len(planned)
    assert all(program.seconds(row) > 0 for row in planned)
    needed = list(program.needs(Trial("noisy", methods.CHOSEN, 1)))
    assert [row.method for row in needed] == [methods.HELD_OUT + name for name in methods.CANDIDATES]
    assert not any(waves100.FULL in row.method for row in planned)
    whole = waves100.Waves100(command.parsed(waves100.Waves100, ["--full"]))
    assert len([row for row in whole.planned() if waves100.FULL in row.method]) == 6


def test_targets_of_waves_are_met_in_every_seed_or_not_at_all():
    def row(method, seed, error):
        numbers = {"within": error, "after": error, "all": error, "training seconds": 1.0}
        return {"dataset": "noisy", "method": method, "seed": seed} | numbers

    found = [row("Ridge", 0, 4e-4), row("DMD", 0, 9e-4), row("Separation", 0, 2e-4)]
    found += [row("Separation, without w", 0, 5e-4), row("Ridge", 1, 1e-4), row("Separation", 1, 2e-4)]
    body = waves100.Waves100.of_rows(rows_of(found)).body()
    assert "| noisy | Separation / best baseline < 1 | 0.50 · 2.00 | NOT MET |" in body
    assert "| noisy | Separation: without w / with w ≥ 2 | 2.50 | met |" in body


# --- temperatures


@pytest.fixture
def sea():
    rng = np.random.default_rng(0)
    temperatures = rng.standard_normal((40, 4, 6)).cumsum(axis=0)
    temperatures[:, 1, 2] = np.nan
    return sst_data.Sea(temperatures, 24)


def test_months_that_are_asked_about_change_nothing_that_is_learned(sea):
    later = sea.temperatures.copy()
    later[24:] += 5
    other = sst_data.Sea(later, 24)
    np.testing.assert_array_equal(sea.usual, other.usual)
    np.testing.assert_array_equal(sea.anomalies[:24], other.anomalies[:24])
    assert list(sea.starts) == list(range(24, 35))
    np.testing.assert_allclose(np.nansum(sea.anomalies[:24].reshape(2, 12, 4, 6), axis=0), 0, atol=1e-12)


@pytest.mark.parametrize("each", [False, True])
def test_damped_anomalies_are_those_of_a_loop(sea, each):
    found, known = sst_methods.damped(sea, each=each), sea.anomalies[:24]
    for step in (1, 6):
        pairs = [(known[t], known[t + step]) for t in range(24 - step)]
        if each:
            share = sum(a[0, 3] * b[0, 3] for a, b in pairs) / sum(a[0, 3] ** 2 for a, _ in pairs)
        else:
            share = sum(np.nansum(a * b) for a, b in pairs) / sum(np.nansum(a**2) for a, _ in pairs)
        assert found[2, step - 1, 0, 3] == pytest.approx(share * sea.anomalies[25, 0, 3])
    assert np.isnan(found[:, :, 1, 2]).all()


def test_a_regression_on_what_says_nothing_more_is_the_damped_anomaly():
    rng = np.random.default_rng(1)
    whole = np.repeat(np.repeat(rng.standard_normal((40, 1, 1)), 4, axis=1), 6, axis=2)  # all cells are alike
    made = sst_data.Sea(whole, 24)
    np.testing.assert_allclose(sst_methods.regressed(made, globe=True), sst_methods.damped(made, each=False), atol=1e-9)


def test_a_regression_uses_months_learned_from_alone(sea):
    later = sea.temperatures.copy()
    later[30:] += rng_shift(later[30:].shape)
    other = sst_data.Sea(later, 24)
    np.testing.assert_allclose(sst_methods.regressed(sea, globe=True)[:6], sst_methods.regressed(other, globe=True)[:6])


def rng_shift(shape):
    return np.random.default_rng(2).standard_normal(shape)


def test_the_mean_of_the_surrounding_leaves_land_out_and_goes_around_the_globe(sea):
    found = sst_data.surrounding(sea.anomalies, 3)
    assert np.isnan(found[:, 1, 2]).all()
    near = [sea.anomalies[5, i, j % 6] for i in (0, 1, 2) for j in (-1, 0, 1)]
    assert found[5, 1, 0] == pytest.approx(np.mean(near))
    beside = [sea.anomalies[5, i, j] for i in (1, 2, 3) for j in (2, 3, 4) if (i, j) != (1, 2)]
    assert found[5, 2, 3] == pytest.approx(np.mean(beside))


def test_climatology_is_the_forecast_of_no_anomaly(sea):
    found = sst_methods.simple("Climatology", sea)
    for row, start in enumerate(sea.starts):
        np.testing.assert_allclose(found[row, 0], sea.usual[start % 12])


def test_cells_are_put_back_where_they_were(sea):
    class Same:
        def fit(self, X):
            assert X.shape == (23, 24, 2)

        def predict(self, past, horizon):
            assert past.shape == (23, 1, 2)
            return fc.Persistence().fit(np.zeros((1, 2, 2))).predict(past, horizon)

    found = sst_methods._cells(Same(), sea, 1)
    last = np.stack([sea.anomalies[start - 1] for start in sea.starts])
    np.testing.assert_allclose(found[:, 3], last, rtol=1e-5)


def test_the_setting_of_temperatures_is_that_of_the_months_held_out(monkeypatch):
    found = [
        {"part": "held out", "method": "cells", "seed": 0, "error": 0.3},
        {"part": "held out", "method": "fields", "seed": 0, "error": 0.2},
        {"part": "held out", "method": "Damped anomalies", "seed": 0, "error": 0.1},
        {"part": "test", "method": "Separation, chosen", "seed": 0, "error": 0.01},
    ]
    assert sst.best(rows_of(found), tuple(sst_methods.CANDIDATES)) == "fields"
    with pytest.raises(ValueError, match="held out"):
        sst.best({}, ("cells",))
    program = sst.Temperatures(command.parsed(sst.Temperatures, ["--data", "nowhere"]))
    planned = list(program.planned())
    assert len({row.key for row in planned}) == len(planned)
    assert "is missing" in program.lacks(planned[0])


def test_the_page_of_temperatures_says_whether_the_target_is_met():
    known = {"errors": [0.1] * 6, "n_starts": 27, "processor seconds": 3.0, "part": "test"}
    found = [
        known | {"method": "Damped anomalies", "seed": 0, "error": 0.22},
        known | {"method": "Separation, chosen", "seed": 0, "error": 0.21, "setting": "cells"},
        known | {"method": "Separation, chosen", "seed": 1, "error": 0.23, "setting": "cells"},
    ]
    assert "Separation, chosen 1.000 of it, **NOT MET**" in sst.Temperatures.of_rows(rows_of(found)).body()
    assert "Separation, chosen 0.955 of it, **met**" in sst.Temperatures.of_rows(rows_of(found[:2])).body()


# --- heat, and finished rows


def test_a_linear_map_explains_what_is_linear_and_nothing_of_noise():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 3))
    halves = (x[:200], x[200:])
    weights = rng.standard_normal((3, 2))
    assert heat.explained(halves, (x[:200] @ weights, x[200:] @ weights)) == pytest.approx(1)
    noise = rng.standard_normal((400, 2))
    assert heat.explained(halves, (noise[:200], noise[200:])) < 0.05


def test_finished_rows_are_kept_and_never_worked_out_again(monkeypatch, tmp_path, capsys):
    asked = ["--quick", "--results", str(tmp_path / "heat.json"), "--only", "Persistence", "--only", "Ridge"]
    assert heat.HeatTable.main(asked) == 0
    assert "2 rows" in capsys.readouterr().out

    def again(self, row):
        raise AssertionError("a finished row was worked out again")

    monkeypatch.setattr(heat.HeatTable, "work", again)
    assert heat.HeatTable.main(asked) == 0
    assert "| Ridge |" in (tmp_path / "heat.md").read_text("utf-8")


def test_the_page_of_heat_says_what_w_and_y_explain():
    known = {"dataset": "heat", "seed": 0, "error": 1e-5, "relative": 1e-3}
    told = {"w space": 0.9, "w time": 0.2, "y space": 0.4, "y time": 0.3}
    said = heat.HeatTable.of_rows(
        rows_of([known | {"method": name} | told for name in ("Separation", "Separation, product")])
    ).headline()
    assert "w explains space better than time (0.90 and 0.20) and y does NOT explain time" in said


# --- sensor series


@pytest.fixture
def daily():
    times = series.FROM + np.arange(100) * np.timedelta64(24, "h")
    return series.Series(np.arange(100.0), times, series.calendar(times, ("week", "year")))


PLAN = series.Plan(horizon=7, period=7, longer=None, step=2, lookback=10)


def test_learned_calibrated_and_asked_about_do_not_overlap(daily):
    assert daily.cuts == (60, 80)
    assert daily.training()[0].ravel().tolist() == list(range(60))
    windows = daily.calibration(5)[0].ravel()
    assert windows.tolist() == list(range(55, 80))
    model = fc.Ridge(lags=5).fit(daily.training())
    model.calibrate(daily.calibration(5), horizon=7)
    assert len(model.calibration_.errors) == 20  # origins 60 … 79: none is in the training
    assert daily.asked(30)[0][0, 0] == 50


def test_origins_are_in_what_is_asked_about_and_the_same_for_ours_and_for_peers(daily):
    calibrated, asked = peers.origins(daily, PLAN)
    assert min(asked) >= 80
    assert min(asked) - PLAN.step < 80
    assert max(asked) == 100 - 7
    assert (min(calibrated), max(calibrated)) == (60, 80 - 7)
    given = {"n_windows": daily.n_windows(PLAN), "step": PLAN.step}
    found = fc.backtest(fc.Persistence().fit(daily.training()), daily.asked(30), 7, **given)
    assert (found.origin + 50).tolist() == asked


def test_the_calendar_comes_back_after_a_week_and_begins_on_a_monday():
    times = np.datetime64("2024-01-01T00") + np.arange(24 * 15) * np.timedelta64(1, "h")  # a Monday
    found = series.calendar(times, ("day", "week"))
    np.testing.assert_allclose(found[0], [0, 1, 0, 1], atol=1e-9)
    np.testing.assert_allclose(found[:168], found[168:336], atol=1e-9)
    np.testing.assert_allclose(found[6, :2], [1, 0], atol=1e-9)


def test_what_is_missing_is_filled_from_before():
    assert series.filled(np.array([2.0, np.nan, 3.0, np.nan])).tolist() == [2.0, 2.0, 3.0, 3.0]


def test_sunspots_are_read_from_a_file(tmp_path):
    path = tmp_path / "sunspots.csv"
    path.write_text('"YEAR","SUNACTIVITY"\n1700,5\n1701,11.5\n', encoding="utf-8")
    years, values = series.sunspots(path)
    assert years == [1700, 1701]
    assert values.tolist() == [5.0, 11.5]


def test_crps_of_quantiles_is_that_of_the_formula():
    from scipy.stats import norm

    truth = np.random.default_rng(0).standard_normal((4000, 1, 1))
    quantiles = [np.full_like(truth, norm.ppf(q)) for q in sensor.QUANTILES]
    exact = np.mean(truth * (2 * norm.cdf(truth) - 1) + 2 * norm.pdf(truth) - 1 / np.sqrt(np.pi))
    assert sensor.crps_of(truth, quantiles) == pytest.approx(exact, rel=0.05)


def test_every_method_learns_is_calibrated_and_judged(daily):
    wave = np.sin(2 * np.pi * np.arange(300) / 7) + 0.1 * np.random.default_rng(0).standard_normal(300)
    times = series.FROM + np.arange(300) * np.timedelta64(24, "h")
    made = series.Series(wave, times, series.calendar(times, ("week", "year")))
    for name in sensor.named(PLAN, calendar=True):
        found = sensor.judged(name, made, PLAN, 0, 2, 0.05)
        assert found["n_windows"] == made.n_windows(PLAN)
        assert len(found["mse"]) == 3
        assert 0 <= found["coverage"][0] <= 1
    naive = sensor.judged("SeasonalNaive", made, PLAN, 0, 2, 0.05)
    origins = peers.origins(made, PLAN)[1]
    errors = [np.square(wave[at : at + 7] - wave[at - 7 : at]).mean() for at in origins]
    assert naive["mse"][0] == pytest.approx(np.mean(errors), rel=1e-5)


def test_dlinear_learns_a_wave():
    wave = np.sin(2 * np.pi * np.arange(400) / 8)[:, None]
    model = dlinear.DLinear(lookback=16, horizon=4, seconds=20.0, steps=600).fit([wave])
    assert model.steps_ == 600
    found = model.predict([wave[:100]], 4).mean[0]
    np.testing.assert_allclose(found, wave[100:104], atol=0.05)


def test_series_of_the_gate_are_told_apart_within_and_after_the_trained_length():
    found = gate.judged(0, 2)
    assert set(found) == {"within", "after"}
    every = np.stack(list(gate.sines(0)))
    past, truth = every[160:, :30], every[160:, 30:]
    naive = float(np.square(truth[:, :20] - past[:, -1:]).mean())
    assert found["within"]["simple"]["Persistence"] == pytest.approx(naive, rel=1e-5)


def test_dlinear_waits_for_the_seconds_of_separation_and_what_is_missing_is_said(monkeypatch, tmp_path):
    asked = ["--data", str(tmp_path), "--results", str(tmp_path / "rows.json")]
    program = forecast.Forecasts(command.parsed(forecast.Forecasts, asked))
    planned = list(program.planned())
    assert len({row.key for row in planned}) == len(planned)
    for row in planned:
        assert program.seconds(row) > 0
        assert [one.method for one in program.needs(row)] == (["Separation"] if row.method == "DLinear" else [])
    hourly = next(row for row in planned if row.dataset == "household, hourly")
    assert "household_power.npz is missing" in program.lacks(hourly)
    monkeypatch.setattr(program.given, "statsforecast", None)
    assert "statsforecast" in program.lacks(next(row for row in planned if row.method == "AutoETS"))


def test_the_page_of_sensor_series_puts_the_best_first_and_says_what_is_met():
    known = {"part": "series", "dataset": "household, daily", "seed": 0, "n_windows": 9, "training seconds": 1.0}
    numbers = {"mse": [1.0, 0.5, 1.5], "mase": [1.0, 0.5, 1.5], "width": [2.0, 1.0, 3.0]}
    found = [
        known | numbers | {"method": "SeasonalNaive", "crps": 2.0, "coverage": [0.8, 0.7, 0.9]},
        known | numbers | {"method": "Separation", "crps": 1.0, "coverage": [0.6, 0.5, 0.7]},
    ]
    span = {"mse": 0.1, "simple": {"Persistence": 1.0, "Mean": 0.5}, "ratio": 0.2, "coverage": 0.8}
    gated = {"part": "gate", "dataset": "noisy sines", "method": "Separation", "seed": 0}
    found.append(gated | {"within": span, "after": span | {"ratio": 0.6}})
    body = forecast.Forecasts.of_rows(rows_of(found)).body()
    assert body.index("| **Separation** | 1 | 0.500 |") < body.index("| SeasonalNaive | 2 | 1.000 |")
    assert "| household, daily | Separation | met | NOT MET |" in body
    assert "**met** in 1 seed, after it **NOT MET**" in body


def test_sequences_of_the_gate_are_drawn_again_with_the_same_seed():
    first, again = gate.sines(3), gate.sines(3)
    assert isinstance(first, tl.Sequences)
    np.testing.assert_array_equal(first.values, again.values)
