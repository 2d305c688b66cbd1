"""The programs about SRVP: clips that are asked about, scores, the filter, the ConvLSTM, and pages of made-up rows."""

import inspect
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.model_options import build_model
from benchmarks.papers import command
from benchmarks.papers.results import Trial
from benchmarks.papers.srvp import (
    ablations,
    clips,
    convlstm,
    digits,
    digits_figures,
    gate,
    judging,
    kalman,
    linear,
    methods,
    page_parts,
    pendulum,
    rates,
    svg,
    swap,
    training,
)
from scipy.stats import multivariate_normal

import timelike as tl
from timelike.sequences import generate

ROOT = Path(__file__).parents[2]
FORMS = ("ablations", "digits", "rates", "swap")  # pages with sprites
PROGRAMS = {
    "ablations": "Ablations",
    "diagnosis": "Diagnosis",
    "digits": "Digits",
    "gate": "Gate",
    "kalman": "KalmanTable",
    "pendulum": "Pendulums",
    "rates": "Rates",
    "scenes": "Scenes",
    "swap": "Swaps",
}


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with pictures like MNIST's: each has a brightness of its own, by which it is known again."""
    folder = tmp_path_factory.mktemp("data")
    shades = {"train": np.arange(100, 200), "test": np.arange(220, 240)}
    held = {}
    for part, shade in shades.items():
        held[f"X_{part}"] = np.repeat(shade, 28 * 28).reshape(-1, 28, 28).astype(np.uint8)
        held[f"y_{part}"] = (shade % 10).astype(np.int64)
    np.savez(folder / clips.FILE, **held)
    return folder


def program(name, *asked):
    kind = getattr(import_module(f"benchmarks.papers.srvp.{name}"), PROGRAMS[name])
    return kind(command.parsed(kind, ["--data", "nowhere", *asked]))


def rows_of(found):
    """Made-up rows by their keys, with what a program adds."""
    known = {"seconds": 1.0, "machine": "a machine", "date": "2026-01-01", "version": "0", "commit": "0", "seed": 0}
    return {str(place): known | row for place, row in enumerate(found)}


# --- all programs


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_published_row_is_one_of_those_planned(name):
    made = program(name)
    planned = [row.key for row in made.planned()]
    assert len(set(planned)) == len(planned)
    assert set(made.rows) <= set(planned)
    assert all(made.seconds(row) > 0 for row in made.planned())
    assert made.results.page.exists()


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_in_the_list_of_programs(name):
    assert f"`python -m benchmarks.papers.srvp.{name}`" in (ROOT / "benchmarks/papers/README.md").read_text("utf-8")


def test_every_setting_is_an_option_of_its_method():
    for kind, options in methods.TRAINED.values():
        build_model(kind, **options)
    assert all(set(given) <= set(inspect.signature(svg.SVG).parameters) for _, given in methods.OTHER_NETWORKS.values())
    known = inspect.signature(convlstm.ConvLSTM).parameters
    assert all(set(options) <= set(known) for options in methods.CANDIDATES.values())
    for setting in (kalman.NETWORKS, pendulum.NETWORKS):
        for options in setting.values():
            build_model("SRVP", **options)


# --- clips


def shades(patches):
    return set(np.round(255 * patches.max(axis=(2, 3))).astype(int).ravel().tolist())


def test_no_picture_that_is_asked_about_was_learned_from(data):
    test = clips.asked(data, "two digits", 3, 30)
    assert shades(test.patches) <= set(range(220, 240))
    held = clips.asked(data, "two digits", 3, 30, "held out")
    assert shades(held.patches) <= set(range(180, 200))
    rng = np.random.default_rng(0)
    one = clips.VERSIONS["one digit"]
    assert one == {"n_digits": 1}
    learned = np.stack(list(clips.source(data, "one digit", "fitting", 50)(rng)))
    assert learned.shape == (50, 15, 1, 32, 32)
    assert set(np.round(255 * learned.max(axis=(1, 2, 3, 4))).astype(int).tolist()) <= set(range(100, 180))


def test_a_source_never_gives_the_same_twice(data):
    draw, rng = clips.source(data, "two digits", "train", 3), np.random.default_rng(0)
    assert not np.array_equal(draw(rng).values, draw(rng).values)


def test_every_second_frame_is_that_of_the_slower_clip(data):
    slow, fast = (clips.asked(data, "two digits", 6, 5, "test", k) for k in (1, 2))
    np.testing.assert_allclose(slow.past, fast.past, atol=1e-6)
    assert fast.truth.shape[1] == 12
    np.testing.assert_allclose(fast.truth[:, 1::2], slow.truth, atol=1e-5)
    np.testing.assert_allclose(fast.positions[:, 1::2], slow.positions, atol=1e-9)


def test_what_came_is_where_the_positions_say(data):
    test = clips.asked(data, "one digit", 4, 6)
    np.testing.assert_array_equal(generate.rasterize_digits(test.patches, test.positions, size=32), test.truth)


def test_analogs_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    known, past = (rng.random(shape).astype(np.float32) for shape in ((6, 9, 1, 4, 4), (5, 3, 1, 4, 4)))
    past[0] = known[2, 1:4]  # found again
    found = methods.analogs(known, past, 4, 3)
    windows = [(known[i, s : s + 3], known[i, s + 3 : s + 7]) for i in range(6) for s in range(3)]
    for one, forecast in zip(past, found, strict=True):
        near = sorted(windows, key=lambda pair, one=one: float(np.square(pair[0] - one).sum()))[:3]
        np.testing.assert_allclose(forecast, np.mean([after for _, after in near], axis=0), rtol=1e-5)
    np.testing.assert_array_equal(methods.analogs(known, past[:1], 4, 1)[0], known[2, 4:8])


# --- scores


def test_the_best_of_several_futures_is_that_of_the_library():
    rng = np.random.default_rng(0)
    truth, futures = rng.random((25, 6, 1, 12, 12)), rng.random((3, 25, 6, 1, 12, 12))
    futures[1, 4] = truth[4]  # without error: the mean of decibels is capped, not infinite
    found = judging.judged(lambda rows: futures[:, rows], truth, (2, 6))
    for name in ("psnr", "ssim"):
        for h in (2, 6):
            best = tl.score.best_of_n(truth[:, :h], futures[:, :, :h], name)
            assert found["scores"][judging.BEST][name][str(h)][0] == pytest.approx(best, rel=1e-9)
            one = judging.SCORES[name](truth[:, :h], futures[0][:, :h])
            assert found["scores"][judging.ONE][name][str(h)][0] == pytest.approx(one, rel=1e-9)
            mean = judging.SCORES[name](truth[:, :h], futures.mean(axis=0)[:, :h])
            assert found["scores"][judging.MEAN][name][str(h)][0] == pytest.approx(mean, rel=1e-9)
    assert len(found["steps"][judging.ONE]["psnr"]) == 6
    low, high = found["scores"][judging.ONE]["psnr"]["6"][1:]
    assert low < found["scores"][judging.ONE]["psnr"]["6"][0] < high


def test_one_future_has_one_reading():
    truth = np.random.default_rng(0).random((3, 4, 1, 12, 12))
    found = judging.judged(lambda rows: truth[None, rows] / 2, truth, (4,))
    assert list(found["scores"]) == [judging.FORECAST]


# --- the linear system


def dense(system, x):
    """log p(x) by the covariance of all frames at once."""
    size, n = len(system.transition), len(x)
    power = [np.linalg.matrix_power(system.transition, t) for t in range(n)]
    cover = np.zeros((n * size, n * size))
    for s in range(n):
        for t in range(n):
            moved = sum(power[s - u] @ power[t - u].T for u in range(1, min(s, t) + 1))
            block = power[s] @ power[t].T + system.moved**2 * (moved if min(s, t) else np.zeros((size, size)))
            cover[s * size : (s + 1) * size, t * size : (t + 1) * size] = block
    emission = np.kron(np.eye(n), system.emission)
    whole = emission @ cover @ emission.T + system.seen**2 * np.eye(n * len(system.emission))
    return multivariate_normal(np.zeros(len(whole)), whole).logpdf(x.ravel())


@pytest.mark.parametrize("length", [1, 5])
def test_the_filter_is_a_dense_normal_density(length):
    rng = np.random.default_rng(0)
    system = linear.turning(0.3, 0.9, 3, 0.4, rng)
    x = system.drawn(4, length, rng)
    expected = [dense(system, one) for one in x]
    np.testing.assert_allclose(system.log_likelihood(x), expected, rtol=1e-10)


def test_the_state_of_the_system_keeps_its_spread():
    rng = np.random.default_rng(0)
    x = linear.System(0.8 * np.eye(2), np.eye(2), 0.6, 1e-9).drawn(20_000, 6, rng)
    np.testing.assert_allclose(x[:, -1].T @ x[:, -1] / len(x), np.eye(2), atol=0.03)


def test_a_regression_on_nothing_is_one_normal_density_of_all_frames():
    rng = np.random.default_rng(0)
    train, x = 2 + rng.standard_normal((50, 7, 3)), rng.standard_normal((4, 7, 3))
    frames = train.reshape(-1, 3)
    expected = multivariate_normal(frames.mean(axis=0), np.cov(frames.T, bias=True)).logpdf(x).sum(axis=1)
    np.testing.assert_allclose(linear.autoregressive(train, x, 0), expected)


def test_a_regression_on_one_frame_is_that_of_a_loop():
    rng = np.random.default_rng(1)
    train, x = rng.standard_normal((40, 5, 2)).cumsum(axis=1), rng.standard_normal((3, 5, 2)).cumsum(axis=1)
    inputs = np.concatenate([np.append(one[t], 1.0)[None] for one in train for t in range(4)])
    targets = np.concatenate([one[t + 1][None] for one in train for t in range(4)])
    weights = np.linalg.solve(inputs.T @ inputs, inputs.T @ targets)
    cover = np.cov((targets - inputs @ weights).T, bias=True)
    first = train.reshape(-1, 2)
    for found, one in zip(linear.autoregressive(train, x, 1), x, strict=True):
        nats = multivariate_normal(first.mean(axis=0), np.cov(first.T, bias=True)).logpdf(one[0])
        nats += sum(multivariate_normal(np.append(one[t], 1.0) @ weights, cover).logpdf(one[t + 1]) for t in range(4))
        assert found == pytest.approx(nats)


def test_pictures_that_are_known_leave_the_likelihood_of_their_noise():
    _, seen, clean = pendulum.swings(0)
    found = pendulum.noise_alone(seen, clean)
    expected = multivariate_normal(np.zeros(1), pendulum.NOISE**2).logpdf((seen[0] - clean[0]).reshape(-1, 1)).sum()
    assert found[0] == pytest.approx(expected, rel=1e-6)
    entropy = -15 * 256 * 0.5 * np.log(2 * np.pi * np.e * pendulum.NOISE**2)
    assert found.mean() == pytest.approx(entropy, rel=0.01)


# --- the ConvLSTM


def test_a_cell_is_an_lstm_where_pictures_have_one_pixel():
    torch.manual_seed(0)
    cell, twin = convlstm.Cell(3, 4, 1), torch.nn.LSTMCell(3, 4)
    weights, bias = cell.gates.weight.detach()[:, :, 0, 0], cell.gates.bias.detach()
    into, forget, out, new = (slice(4 * k, 4 * k + 4) for k in range(4))
    order = [into, forget, new, out]  # torch's
    with torch.no_grad():
        twin.weight_ih.copy_(torch.cat([weights[rows, :3] for rows in order]))
        twin.weight_hh.copy_(torch.cat([weights[rows, 3:] for rows in order]))
        twin.bias_ih.copy_(torch.cat([bias[rows] for rows in order]))
        twin.bias_hh.zero_()
    x, hidden, memory = torch.randn(5, 3), torch.randn(5, 4), torch.randn(5, 4)
    found = cell(x[:, :, None, None], (hidden[:, :, None, None], memory[:, :, None, None]))
    for one, other in zip(found, twin(x, (hidden, memory)), strict=True):
        torch.testing.assert_close(one[:, :, 0, 0], other)


def test_a_longer_forecast_begins_as_a_shorter_one_and_needs_no_company():
    model = convlstm.ConvLSTM(hidden=4)
    past = np.random.default_rng(0).random((3, 5, 1, 8, 8)).astype(np.float32)
    short, long = model.predict(past, 2), model.predict(past, 6)
    assert long.shape == (3, 6, 1, 8, 8)
    np.testing.assert_allclose(short, long[:, :2], atol=1e-6)
    np.testing.assert_allclose(model.predict(past[1:2], 6), long[1:2], atol=1e-5)


@pytest.mark.parametrize("loss", ["mse", "bce"])
def test_the_convlstm_learns_that_nothing_moves(loss):
    def still(rng):
        squares = rng.integers(0, 2, size=(64, 1, 1, 2, 2)).repeat(8, axis=1)
        return tl.Sequences(squares.repeat(4, axis=3).repeat(4, axis=4).astype(np.float32))

    model = convlstm.ConvLSTM(hidden=16, loss=loss, max_steps=120, learning_rate=1e-2, batch_size=32).fit(still)
    clip = np.stack(list(still(np.random.default_rng(9))))
    error = np.square(model.predict(clip[:, :5], 3) - clip[:, 5:]).mean()
    assert error < 0.2 * 0.25  # a quarter is what grey has


# --- training and swaps


def test_a_training_that_is_at_its_end_is_taken_as_it_is(data, tmp_path):
    draws = []

    def source(rng):
        draws.append(1)
        return clips.source(data, "one digit", "train", 32)(rng)

    how = {"conditioning": 5, "batch_size": 8, "hidden": 4}
    model, took = training.trained("ConvLSTM", how, source, 1.0, 0, tmp_path, quick=True)
    again, told = training.trained("ConvLSTM", how, source, 1.0, 0, tmp_path, quick=True)
    assert took == told
    assert took["training steps"] == training.QUICK
    for one, other in zip(model.network_.parameters(), again.network_.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    _, other = training.trained("ConvLSTM", how | {"loss": "bce"}, source, 1.0, 0, tmp_path, quick=True)
    assert len(list(tmp_path.iterdir())) == 2
    assert other["training steps"] == training.QUICK


def test_a_kept_model_is_not_taken_for_one_by_other_numerics(monkeypatch):
    words = {kind: training.numerics_word(kind) for kind in ("SRVP", "Separation", "ConvLSTM", "SVG")}
    assert len(set(words.values())) == 4
    raised = training.Ledger().versions

    def changed(system):
        monkeypatch.setattr(training.Ledger, "versions", raised | {system: raised[system] + 1})
        return {kind for kind, word in words.items() if training.numerics_word(kind) != word}

    assert changed("srvp") == {"SRVP"}
    assert changed("separation") == {"Separation"}
    assert changed("generators") == {*words}  # all learn from clips that are generated
    assert changed("rocket") == set()


def test_the_truth_of_a_swap_has_the_digits_of_one_clip_on_the_paths_of_the_one_before(data):
    test = clips.asked(data, "two digits", 3, 4)
    straight, crossed = swap.truths(test)
    expected = generate.rasterize_digits(test.patches[1:2], test.positions[0:1], size=32)
    np.testing.assert_array_equal(straight[1:2], expected)
    np.testing.assert_array_equal(
        crossed[0], generate.rasterize_digits(test.patches[:1, ::-1], test.positions[3:], size=32)[0]
    )


def test_the_nearer_truth_of_a_swap_counts():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 3, 4, 1, 12, 12))
    found = swap._nearest(other, [one, other], (4,))
    assert found["ssim"]["4"][0] == pytest.approx(1.0)
    assert found["psnr"]["4"][0] == pytest.approx(100.0)


def test_the_convlstm_waits_for_what_is_chosen_on_clips_held_out(data, tmp_path):
    made = program("digits", "--results", str(tmp_path / "rows.json"))
    needed = [row.method for row in made.needs(Trial("one digit", "ConvLSTM", 0))]
    assert needed == [page_parts.HELD_OUT + name for name in methods.CANDIDATES]
    assert "is missing" in made.lacks(Trial("one digit", "black", 0))
    with pytest.raises(ValueError, match="no ConvLSTM has been tried"):
        made._setting(Trial("one digit", "ConvLSTM", 0))
    rows = rows_of(
        [
            {"method": "held out: a", "scores": {"forecast": {"psnr": {"10": [17.0, 16, 18]}}}},
            {"method": "held out: b", "scores": {"forecast": {"psnr": {"10": [18.0, 17, 19]}}}},
            {"method": "SRVP", "scores": {"one sample": {"psnr": {"10": [30.0, 29, 31]}}}},
        ]
    )
    assert digits.best(rows) == "b"


def test_minutes_are_those_of_the_version_unless_others_are_asked_for():
    made = program("digits")
    assert [made.minutes_of(version) for version in clips.VERSIONS] == [15, 90, 15, 90]
    assert program("digits", "--minutes", "7").minutes_of("two digits") == 7
    some = program("digits", "--minutes", "7", "--minutes-of", "one digit=3")
    assert (some.minutes_of("one digit"), some.minutes_of("two digits")) == (3, 7)
    assert program("ablations", "--minutes", "7").minutes_of("two digits") == 7
    with pytest.raises(SystemExit):
        program("digits", "--minutes-of", "three digits=3")


def test_forms_that_a_user_gets_have_nothing_but_a_limit_in_time(tmp_path, monkeypatch):
    given = {}

    class Stub:
        history_ = type("History", (), {"n_steps": 1, "seconds": 1.0})

        def fit(self, clips):
            return self

    def build(kind, checkpoint, **options):
        given.update(options)
        checkpoint.mkdir(parents=True, exist_ok=True)
        return Stub()

    monkeypatch.setattr(training, "build_model", build)
    assert methods.TRAINED[methods.DEFAULTS] == ("SRVP", {})
    training.trained("SRVP", {}, None, 2.0, 1, tmp_path, False, only_time=True)
    assert given == {"max_time": 120.0, "random_state": 1}
    training.trained("SRVP", {}, None, 2.0, 1, tmp_path, False)
    assert given["max_steps"] > 10**6


def test_samples_of_svg_stand_beside_the_same_reading_of_srvp():
    ours = {"one_sample": (20.0, 0.6), "best_of_N": (22.0, 0.8), "mean_of_N": (21.0, 0.9)}
    theirs = {"one_sample": (19.0, 0.5), "best_of_N": (23.0, 0.7), "mean_of_N": (20.0, 0.8)}
    name = methods.DEFAULTS
    found = [scored(name, **ours), scored("SVG", **theirs), scored("ConvLSTM", forecast=(19.5, 0.4))]
    body = digits.Digits.of_rows(rows_of([*found, scored(name, **ours) | {"seed": 1}])).body()
    assert f"| One digit | {name} | one sample | PSNR | 20.00 | ConvLSTM, 19.50 | apart | met |" in body
    assert f"| One digit | {name} | mean of N | PSNR | 21.00 | SVG, 20.00 | apart | met |" in body
    assert f"| One digit: {name} | 22.00 ± 0.00 | 0.8000 ± 0.0000 | 20.00 ± 0.00 |" in body
    main = [row | {"dataset": digits.MAIN} for row in found]
    assert digits.Digits.of_rows(rows_of(main)).headline().startswith("SRVP at the library's defaults reaches")


def test_a_quick_run_of_digits_makes_a_page(data, tmp_path, capsys):
    asked = ["--data", str(data), "--quick", "--results", str(tmp_path / "digits.json"), "--scratch", str(tmp_path)]
    for method in ("black", "SRVP", "SRVP, sprites", methods.DEFAULTS, "SVG"):
        asked += ["--only", f"one digit/{method}/0"]
    assert digits.Digits.main(asked) == 0
    page = (tmp_path / "digits.md").read_text("utf-8")
    assert "| SRVP, best of 2 |" in page
    assert "| SRVP, sprites, best of 2 |" in page
    assert "| SRVP, defaults, best of 2 |" in page
    assert "| SVG, best of 2 |" in page
    assert "| black |" in page
    assert "NOT MET" in page  # after two steps of training


@pytest.mark.parametrize(
    ("name", "key", "shown"),
    [
        ("ablations", "two digits/black/0", "| black |"),
        ("gate", "noisy sines/Ridge/0", "| Ridge |"),
        ("kalman", "turning/regression on 1 frame/0", "| regression on 1 frame | 0 |"),
        ("pendulum", "pendulum/independent pictures/0", "| independent pictures | 0 |"),
        ("rates", "one digit/SRVP, sprites/0", "| SRVP, sprites, trained at Δt = 1 | 1/5 |"),
        ("swap", "two digits/Separation/0", "## Swaps"),
    ],
)
def test_a_quick_run_makes_a_page(name, key, shown, data, tmp_path):
    kind = type(program(name))
    asked = ["--data", str(data), "--quick", "--results", str(tmp_path / "rows.json"), "--scratch", str(tmp_path)]
    assert kind.main([*asked, "--only", key]) == 0
    assert shown in (tmp_path / "rows.md").read_text("utf-8")


# --- pages


def scored(method, dataset="one digit", **readings):
    """A row whose intervals are ± 0.1 dB and ± 0.01."""
    scores = {
        reading.replace("_", " "): {
            "psnr": {h: [psnr, psnr - 0.1, psnr + 0.1] for h in ("10", "20")},
            "ssim": {h: [ssim, ssim - 0.01, ssim + 0.01] for h in ("10", "20")},
        }
        for reading, (psnr, ssim) in readings.items()
    }
    took = {"minutes": 3.0, "processor seconds": 120.0, "training steps": 7, "options": {"filters": 16}}
    steps = {reading: {"psnr": [1.0, 2.0], "ssim": [0.1, 0.2]} for reading in scores}
    return {"dataset": dataset, "method": method, "scores": scores, "steps": steps, "n_samples": 10} | took


def test_targets_of_digits_are_met_score_by_score(tmp_path):
    ours = {"one_sample": (20.0, 0.6), "best_of_N": (22.0, 0.8), "mean_of_N": (19.05, 0.9)}
    found = [scored("black", forecast=(18.0, 0.7)), scored("ConvLSTM", forecast=(19.0, 0.5)), scored("SRVP", **ours)]
    body = digits.Digits.of_rows(rows_of(found)).body()
    assert "| One digit | SRVP | one sample | PSNR | 20.00 | ConvLSTM, 19.00 | apart | met |" in body
    assert "| One digit | SRVP | one sample | SSIM | 0.6000 | black, 0.7000 | apart | NOT MET |" in body
    assert "| One digit | SRVP | mean of N | PSNR | 19.05 | ConvLSTM, 19.00 | not apart | met |" in body
    assert "| SRVP, best of 10 | 22.00 [21.90, 22.10] |" in body
    assert "- SRVP: `filters=16`" in body
    other = scored("SRVP", "two digits", **ours) | {"options": {"filters": 8}}
    assert "- SRVP (two digits): `filters=8`" in page_parts.settings(rows_of([*found, other]))
    digits_figures.draw(rows_of(found), tmp_path)
    assert (tmp_path / digits.FIGURE).stat().st_size > 1000


def test_both_forms_of_srvp_have_targets_and_are_no_rivals_of_each_other():
    better = {"one_sample": (25.0, 0.9), "best_of_N": (26.0, 0.9), "mean_of_N": (25.0, 0.9)}
    worse = {"one_sample": (18.5, 0.6), "best_of_N": (19.5, 0.6), "mean_of_N": (18.5, 0.6)}
    found = [
        scored("black", forecast=(18.0, 0.7)),
        scored("SRVP", **worse),
        scored("SRVP, sprites", **better),
        scored("SRVP, sprites, MLP", **better),
    ]
    body = digits.Digits.of_rows(rows_of(found)).body()
    assert "| One digit | SRVP | one sample | PSNR | 18.50 | black, 18.00 | apart | met |" in body
    assert "| One digit | SRVP | one sample | SSIM | 0.6000 | black, 0.7000 | apart | NOT MET |" in body
    assert "| One digit | SRVP, sprites | mean of N | SSIM | 0.9000 | black, 0.7000 | apart | met |" in body
    assert body.count("| One digit | SRVP, sprites") == 4  # the form with an MLP has none
    assert "## Targets" not in digits.Digits.of_rows(rows_of(found[1:])).body()  # without a rival


def test_srvp_is_the_thesis_s_form_and_what_is_not_says_so():
    assert methods.TRAINED["SRVP"][1]["codec"] == "dcgan"
    assert methods.TRAINED["SRVP, sprites"][1] == methods.TRAINED["SRVP"][1] | {"codec": "sprites"}
    options = {name: given for name, (kind, given) in methods.TRAINED.items() if kind == "SRVP"}
    for name, given in options.items():
        assert (given.get("codec") == "sprites") == ("sprites" in name)
    pages = {name: " ".join((ROOT / f"benchmarks/results/srvp_{name}.md").read_text("utf-8").split()) for name in FORMS}
    assert all("is **not the thesis's**" in page for page in pages.values())
    assert "without w the patches of sprites come from the state" in pages["ablations"]
    assert "for one digit **partly on test pictures**" in pages["digits"]


def test_futures_are_those_that_srvp_draws():
    rng = np.random.default_rng(0)
    X = rng.random((6, 15, 2)).astype(np.float32)
    options = {"n_state": 4, "n_random": 2, "n_content": 2, "n_code": 4, "hidden": 8}
    model = build_model("SRVP", max_steps=2, random_state=0, **options).fit(X)
    for n_samples in (1, 3):
        found = methods.futures(model, X[:, :5], 4, n_samples, 7)
        expected = model.predict(X[:, :5], 4, n_samples=n_samples, random_state=7).samples
        np.testing.assert_array_equal(found, expected)
        assert found.shape == (n_samples, 6, 4, 2)


def test_an_ablation_that_contradicts_the_thesis_is_said_to():
    version = "two digits"
    found = [
        scored("SRVP, sprites", version, one_sample=(17.0, 0.7)),
        scored("SRVP, sprites, MLP", version, one_sample=(16.0, 0.7)),
        scored("SRVP, sprites, GRU", version, one_sample=(17.05, 0.7)),
        scored("SRVP, sprites, without w", version, one_sample=(15.0, 0.7)),
    ]
    body = ablations.Ablations.of_rows(rows_of(found)).body()
    assert "Residual steps are 1.00 dB above MLP; in the thesis 1.55 dB above it." in body
    assert "0.05 dB below GRU, and the intervals overlap: this **contradicts** the thesis" in body
    assert "2.00 dB above without w; the thesis has no number for it." in body


def divided(method, psnr):
    one = {name: {"ssim": {"20": [0.8, 0.7, 0.9]}, "psnr": {"20": [value, 0, 0]}} for name, value in psnr.items()}
    between = dict.fromkeys(("drawn at half steps", "mean of both neighbours"), one["1"])
    took = {"minutes": 3.0, "processor seconds": 120.0, "training steps": 7}
    return {"dataset": "one digit", "method": method, "tested": one, "between": between} | took


@pytest.mark.parametrize(("finer", "said"), [(19.9, "make it lose less."), (15.0, "which contradicts the thesis.")])
def test_the_page_of_frame_rates_says_what_smaller_steps_cost(finer, said):
    found = [
        divided("SRVP, sprites", {"1": 20.0, "2": 19.0, "4": 18.0}),
        divided("SRVP, sprites, two substeps", {"1": 18.0, "2": 20.0, "4": finer}),
    ]
    body = rates.Rates.of_rows(rows_of(found)).body()
    assert "Trained at Δt = 1, Δt = 1/4 loses 2.00 dB here and 0.79 dB in the thesis (KTH)" in body
    assert said in body
    assert "frames drawn at half steps are **worse**" in body  # than what is as good


def test_the_page_of_swaps_compares_differences_with_the_thesis():
    def row(method, psnr):
        part = {"psnr": {"95": [psnr, psnr - 0.1, psnr + 0.1]}, "ssim": {"95": [0.7, 0.6, 0.8]}}
        took = {"minutes": 3.0, "processor seconds": 120.0, "training steps": 7}
        return {"dataset": "two digits", "method": method, "prediction": part, "swap": part} | took

    body = swap.Swaps.of_rows(
        rows_of([row("Separation", 15.0), row("SRVP, sprites", 14.0), row("Separation, GRU", 14.95)])
    ).body()
    assert "- prediction, SRVP, sprites: +1.00 dB, -0.75 dB in the thesis: which **contradicts** the thesis." in body
    assert "- swap, SRVP, sprites: +1.00 dB, +0.33 dB in the thesis: as in the thesis." in body
    assert "- swap, Separation, GRU: +0.05 dB (intervals overlap), +1.73 dB in the thesis: as in the thesis." in body


def test_the_gap_to_the_filter_is_met_only_below_it_and_near():
    def row(method, gap):
        return {"method": method, "nats": -3.0, "gap": [gap, gap - 0.01, gap + 0.01], "processor seconds": 1.0}

    near = kalman.KalmanTable.of_rows(rows_of([row("SRVP", 0.2), row("regression on 1 frame", 0.1)])).body()
    assert "the gaps are 0.200 nats per frame: **met**. SRVP is farther than regression on 1 frame (0.100)" in near
    far = kalman.KalmanTable.of_rows(rows_of([row("SRVP", 0.3), row("independent frames", 1.0)])).body()
    assert "**NOT MET**. SRVP is closer than independent frames (1.000)." in far
    over = kalman.KalmanTable.of_rows(rows_of([row("SRVP", -0.1)])).body()
    assert "is **above** the exact likelihood; the gaps are -0.100 nats per frame: **NOT MET**" in over


def test_the_gate_is_half_of_the_better_simple_forecast():
    def row(method, within, after):
        return {"method": method, "within": within, "after": after, "processor seconds": 1.0}

    found = [row("Persistence", 2.0, 2.0), row("Mean", 1.0, 3.0), row("SRVP", 0.4, 1.1)]
    body = gate.Gate.of_rows(rows_of(found)).body()
    assert "- SRVP, t+1…t+20: **met** (at most 0.400 in 1 seeds)" in body
    assert "- SRVP, t+21…t+30: **NOT MET** (at most 0.550 in 1 seeds)" in body


def test_the_page_of_the_pendulum_says_who_is_ahead():
    def row(method, nats):
        return {"method": method, "nats": [nats, nats - 1, nats + 1], "processor seconds": 1.0}

    found = [row(pendulum.KNOWN, 3400.0), row("SRVP", 3200.0), row("SRVP, MLP", 3201.0), row("other", 3000.0)]
    body = pendulum.Pendulums.of_rows(rows_of(found)).body()
    assert "- SRVP is 1.0 nats **below** SRVP, MLP, and the intervals overlap." in body
    assert "- SRVP is 200.0 nats above other." in body
    assert "| SRVP | 0 | 3200.0 [3199.0, 3201.0] | 200.0 |" in body
