"""Separation: forecasts, states, codes and swaps, beside loops over its parts and problems whose solution is known."""

from functools import cache

import numpy as np
import pytest
import torch
from sklearn.base import clone

import timelike as tl
from latent_options import separation, separation_network
from naive import separation as naive
from timelike.forecast import reencoding
from timelike.forecast.separation import estimator, rollout
from timelike.sequences import generate
from timelike.train.double_precision import double_precision_copy

RNG = np.random.default_rng(0)
TINY = {"conditioning": 3, "hidden": 6, "layers": 1, "dynamics_hidden": 6, "n_content": 4, "n_state": 3, "filters": 2}
TINY |= {"batch_size": 8, "max_steps": 3, "random_state": 0}
VARIANTS = {
    "plain": {},
    "four blocks": {"blocks": 4},
    "two tied blocks": {"blocks": 2, "tied": True},
    "offset": {"offset": True},
    "without content": {"content": False},
    "multiplied": {"combine": "multiply", "n_state": 4},
    "one frame": {"conditioning": 1},
    "gru": {"solver": "gru"},
    "rk4": {"solver": "rk4"},
    "dopri5": {"solver": "dopri5"},
    "dcgan": {"codec": "dcgan"},
    "vgg, maps and skips": {"codec": "vgg", "maps": True, "skips": True},
    "resnet and offset": {"codec": "resnet", "offset": True},
}
VECTORS = [name for name, options in VARIANTS.items() if "codec" not in options]


def tiny(**more):
    return separation(**TINY | more)


def fields(name, n=5, length=12, seed=0):
    frame = (1, 5, 6) if "codec" in VARIANTS[name] else (2,)
    return np.random.default_rng(seed).standard_normal((n, length, *frame)).cumsum(axis=1)


@cache
def fitted(name):
    """Fitted once: not to be changed."""
    return tiny(**VARIANTS[name]).fit(fields(name))


def ragged(name, lengths=(12, 4, 7, 9)):
    return tl.Sequences([x[:n] for x, n in zip(fields(name, seed=5), lengths, strict=False)])


# --- what it is for ------------------------------------------------------------------------------------------------------


def sines(n_series=200, length=60, n_channels=12, noise=0.1):
    rng = np.random.default_rng(19)
    period = rng.uniform(8, 30, n_channels)
    phase, size = rng.uniform(0, 2 * np.pi, (n_series, 1, n_channels)), rng.uniform(0.5, 2, (n_series, 1, n_channels))
    clean = size * np.sin(2 * np.pi * np.arange(length)[:, None] / period + phase)
    return (clean + noise * rng.standard_normal(clean.shape)).astype(np.float32)


def test_the_gate_noisy_sines_in_four_hundred_steps():
    X = sines()
    train, between, asked = X[:120], X[120:160], X[160:]
    past, truth = asked[:, :30], asked[:, 30:50]
    model = tl.Separation(max_steps=400, random_state=0).fit(train)
    found = model.calibrate(between, horizon=20).predict(past, 20)
    simple = [np.square(truth - past[:, -1:]).mean(), np.square(truth - train.mean(axis=(0, 1))).mean()]
    assert np.square(truth - found.mean).mean() < 0.5 * min(simple)
    low, high = found.interval(0.8)
    assert 0.7 < ((low <= truth) & (truth <= high)).mean() < 0.9


def test_the_cooling_bar_is_forecast_and_a_swap_takes_the_shape_of_the_content():
    """A mode of the heat equation is shape × decay (5.4). One number holds no shape, so that it is in the content."""
    made = generate.heat(100, 30, size=12, highest=3, interval=0.002, random_state=0)
    small = {"hidden": 32, "dynamics_hidden": 32, "n_content": 8, "n_state": 1}
    model = separation(max_steps=250, **small, random_state=0).fit(made.sequences[:60])
    X, shape, modes = np.stack(list(made.sequences[60:])), made.space[60:, 0], made.modes[60:, 0]
    error, stands = (np.square(X[:, 8:20] - one).mean() for one in (model.predict(X[:, :8], 12).mean, X[:, 7:8]))
    assert error < 0.5 * stands
    a, b = np.arange(20), np.arange(20, 40)
    swapped = model.swap(X[a, :8], X[b, :8], 12).mean[modes[a] != modes[b]]
    likeness = [alike(swapped, shape[rows][modes[a] != modes[b]]) for rows in (a, b)]
    assert likeness[0] > 0.8
    assert likeness[1] < 0.4


def alike(frames, shape):
    """The middle of |cosine| between frames (item, time, size) and a shape of each item."""
    lengths = np.linalg.norm(frames, axis=2) * np.linalg.norm(shape, axis=1)[:, None]
    return np.median(np.abs(np.einsum("nts,ns->nt", frames, shape)) / lengths)


def turning(n, seed, length=16):
    """Points that turn at a constant speed, seen at steps of 1 or, now and then, of 4."""
    rng = np.random.default_rng(seed)
    times = rng.choice([1.0, 1.0, 1.0, 4.0], (n, length)).cumsum(axis=1)
    phase = rng.uniform(-3, 3, (n, 1))
    return times, phase, on_circle(times, phase)


def on_circle(times, phase):
    angle = 0.08 * times + phase
    return np.stack([np.sin(angle), np.cos(angle)], axis=2)


def test_an_irregular_clock_moves_the_state_by_the_real_time_step():
    times, _, X = turning(100, 0)
    asked, phase, Y = turning(40, 1)
    truth = on_circle(asked[:, 7:8] + np.arange(1, 9), phase)
    small = {"max_steps": 200, "hidden": 32, "dynamics_hidden": 32, "n_content": 4, "n_state": 4, "conditioning": 3}
    model = separation(**small, random_state=0)
    timed = model.fit(tl.Sequences(X, times=times)).predict(tl.Sequences(Y[:, :8], times=asked[:, :8]), 8)
    np.testing.assert_array_equal(timed.times, asked[:, 7:8] + np.arange(1, 9))
    plain = clone(model).fit(X).predict(Y[:, :8], 8)
    errors = [np.square(one.mean - truth).mean() for one in (timed, plain)]
    assert errors[0] < 0.2 * errors[1]


# --- predictions -----------------------------------------------------------------------------------------------------------


def naively(model, x, horizon, spans=None, known=None, ahead=None):
    """Forecasts of one past from the parts of the network."""
    network = double_precision_copy(model.network_)
    window = torch.from_numpy(
        ((x[-network.conditioning :] - model.scaler_.mean) / model.scaler_.scale).astype(np.float32)
    )
    given = {"known": known, "ahead": ahead}
    spans = torch.ones(network.conditioning, dtype=torch.float64) if spans is None else torch.from_numpy(spans)
    with torch.no_grad():
        found = naive.forecast(network, window.double(), spans, horizon, **given).numpy()
    return found * model.scaler_.scale + model.scaler_.mean


@pytest.mark.parametrize("name", [name for name in VARIANTS if "solver" not in VARIANTS[name]])
def test_a_forecast_is_the_roll_out_of_the_last_window(name):
    X = ragged(name)
    found = fitted(name).predict(X, 6).mean
    for x, row in zip(X, found, strict=True):
        np.testing.assert_allclose(row, naively(fitted(name), x, 6), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("offset", "long"), [(False, 2.5), (True, 1.0)])
def test_a_forecast_with_known_channels_and_an_uneven_clock_is_that_roll_out_too(offset, long):
    times = np.random.default_rng(3).choice([1.0, long], (5, 12)).cumsum(axis=1)
    X = tl.Sequences(RNG.standard_normal((5, 12, 3)), times=times)
    model = tiny(known_channels=[1], blocks=2, offset=offset).fit(X)
    assert model.network_.n_clock == (0 if offset else 2)
    ahead = RNG.standard_normal((5, 4, 1))
    found = model.predict(X, 4, known_covariates=ahead).mean
    mean, scale = model.known_scaler_
    for i, x in enumerate(X):
        known, future = (torch.from_numpy((one - mean) / scale) for one in (x[-3:, 1:2], ahead[i]))
        spans = np.append(1.0, np.diff(times[i])[-2:] / model.step_duration_)
        expected = naively(model, x[:, [0, 2]], 4, spans, known.float().double(), future)
        np.testing.assert_allclose(found[i], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_known", [1, 2])
def test_frames_between_steps_change_none_at_the_steps_with_known_channels_either(n_known):
    """What is known holds for a whole step: of two frames for each, the second is that of the step."""
    X = RNG.standard_normal((3, 12, 1 + n_known))
    model = tiny(known_channels=list(range(1, 1 + n_known)), blocks=2).fit(X)
    ahead = RNG.standard_normal((3, 4, n_known))
    whole = model.predict(X, 4, known_covariates=ahead, substeps=4).mean
    finer = model.predict(X, 4, known_covariates=ahead, substeps=4, frames_per_step=2).mean
    assert finer.shape == (3, 8, 1)
    np.testing.assert_allclose(finer[:, 1::2], whole, rtol=1e-6)


def test_what_is_known_acts_from_its_step_on():
    X = RNG.standard_normal((4, 12, 3))
    for options in ({}, {"offset": True}, {"solver": "gru"}):
        model = tiny(known_channels=[2], **options).fit(X)
        ahead = np.zeros((4, 6, 1))
        plain = model.predict(X, 6, known_covariates=ahead).mean
        ahead[:, 3] = 5.0
        changed = np.abs(model.predict(X, 6, known_covariates=ahead).mean - plain).max(axis=(0, 2))
        assert (changed > 0).tolist() == [False] * 3 + [True] * 3


@pytest.mark.parametrize("name", VARIANTS)
def test_nothing_but_the_last_window_and_no_company_counts(name):
    X, model = ragged(name), fitted(name)
    whole = model.predict(X, 5).mean
    cropped = [x[-model.conditioning :] for x in X]
    np.testing.assert_array_equal(model.predict(cropped, 5).mean, whole)
    np.testing.assert_array_equal(model.predict(X[[2, 0]], 5).mean, whole[[2, 0]])
    for i in range(len(X)):
        np.testing.assert_array_equal(model.predict(X[i : i + 1], 5).mean, whole[i : i + 1])


@pytest.mark.parametrize("name", VARIANTS)
def test_long_futures_in_pieces_are_the_same(name, monkeypatch):
    X, model = ragged(name), fitted(name)
    whole = model.predict(X, 17).mean
    np.testing.assert_array_equal(model.predict(X, 5).mean, whole[:, :5])  # a longer horizon changes no earlier step
    for numbers in (1, 1000):
        monkeypatch.setattr(estimator, "_BLOCK_NUMBERS", numbers)
        monkeypatch.setattr(rollout, "_DECODE_NUMBERS", numbers)
        np.testing.assert_array_equal(model.predict(X, 17).mean, whole)


def test_pieces_are_small_whatever_the_horizon(monkeypatch):
    monkeypatch.setattr(rollout, "_DECODE_NUMBERS", 200)
    model, sizes = tiny().fit(fields("plain")), []
    network = double_precision_copy(model.network_)
    drawn = network.decode
    monkeypatch.setattr(network, "decode", lambda *given: sizes.append(drawn(*given).numel()) or drawn(*given))
    model.predict(fields("plain"), 100)
    assert sum(sizes) == 5 * 100 * 2
    assert max(sizes) <= 200


def test_a_long_sequence_is_reconstructed_in_small_pieces(monkeypatch):
    X = fields("plain", n=1, length=300)
    model = tiny().fit(X)
    whole = model.reconstruct(X).values
    monkeypatch.setattr(rollout, "_DECODE_NUMBERS", 200)
    network, sizes = double_precision_copy(model.network_), []
    drawn, state_of = network.decode, network.encode_state
    monkeypatch.setattr(network, "decode", lambda *given: sizes.append(drawn(*given).numel()) or drawn(*given))
    monkeypatch.setattr(network, "encode_state", lambda *given: sizes.append(given[0].numel()) or state_of(*given))
    np.testing.assert_array_equal(model.reconstruct(X).values, whole)
    assert max(sizes) <= 200
    assert len(sizes) < 20  # and no smaller than that


def test_the_work_is_that_of_the_horizon():
    model, calls = tiny(blocks=2, reencode=False).fit(fields("plain")), []
    for block in double_precision_copy(model.network_).dynamics.blocks:
        block.register_forward_hook(lambda *_: calls.append(1))
    counts = []
    for horizon in (1, 10, 100):
        calls.clear()
        model.predict(fields("plain"), horizon)
        counts.append(len(calls))
    assert counts == [2 * (2 + horizon) for horizon in (1, 10, 100)]  # two to the end of the window


@pytest.mark.parametrize("options", [{}, {"offset": True}, {"output": "sigmoid"}], ids=str)
def test_beyond_the_trained_length_the_state_is_read_off_the_forecast(options):
    X = 1 / (1 + np.exp(-fields("plain")))
    model = tiny(reencode=True, **options).fit(X)
    past, reach = X[:, :6], model.chunk_ - model.conditioning
    found = model.predict(past, 2 * reach + 1).mean
    for begin in (0, reach, 2 * reach):  # content of the past, motion of the past and of what was forecast by then
        moved = np.concatenate([past, found[:, :begin]], axis=1)
        steps = min(reach, found.shape[1] - begin)
        expected = model.swap(past, moved, steps).mean
        np.testing.assert_allclose(found[:, begin : begin + steps], expected, rtol=1e-5, atol=1e-6)
    plain = model.set_params(reencode=False).predict(past, 2 * reach + 1).mean
    np.testing.assert_array_equal(plain[:, :reach], found[:, :reach])
    assert not np.allclose(plain[:, reach:], found[:, reach:], rtol=1e-3)


def test_states_are_renewed_where_that_is_better_on_what_is_learned_from():
    X = fields("plain", length=16)
    model = tiny(chunk=8).fit(X)
    need, reach = model.conditioning, model.chunk_ - model.conditioning
    horizon = 2 * reach
    windows = [(i, t) for i in range(5) for t in range(need, 16 - horizon + 1)]
    truth = np.stack([X[i, t : t + horizon] for i, t in windows])[:, reach:]
    errors = [
        np.mean(
            (model.set_params(reencode=way).predict([X[i, :t] for i, t in windows], horizon).mean[:, reach:] - truth)
            ** 2
        )
        for way in (True, False)
    ]
    close = abs(errors[0] - errors[1]) < 0.05 * max(errors)  # others, which end before the horizon, are looked at too
    assert close or model.reencode_ == (errors[0] <= errors[1])
    assert tiny(chunk=8).fit(X[:, :8]).reencode_  # too short to tell
    assert not tiny(chunk=8, reencode=False).fit(X).reencode_


@pytest.mark.parametrize(("beyond", "expected"), [((0.1, 0.2), True), ((0.2, 0.2), True), ((0.2, 0.1), False)])
def test_renewing_is_judged_beyond_the_trained_length_and_up_to_twice_that(beyond, expected, monkeypatch):
    """Ramps, of which the future is known, and forecasts that are off by so much; nearer ones say the contrary."""
    X = np.arange(40.0)[None, :, None] * np.ones((2, 1, 2))
    model, horizons = tiny(chunk=8).fit(X), []

    def predict(past, request):
        horizon = request.horizon
        horizons.append(horizon)
        off = np.where(
            np.arange(1, horizon + 1) > 5, beyond[0 if model.reencode_ else 1], float(model.reencode_ is expected)
        )
        return (past.lengths[:, None] + np.arange(horizon) + off)[..., None] * np.ones(2), None

    monkeypatch.setattr(model, "_predict_frames", predict)
    assert reencoding.is_reencoding_better(model, tl.Sequences(X)) is expected
    assert horizons == [10, 10]  # 8 − 3 steps were trained
    assert reencoding.is_reencoding_better(model, tl.Sequences(X[:, :9])) is expected
    assert horizons[2:] == [6, 6]
    assert reencoding.is_reencoding_better(model, tl.Sequences(X[:, :8]))  # too short to tell
    assert len(horizons) == 4


@pytest.mark.parametrize(
    ("error", "moved", "expected"),
    [
        (1.2, {True: 1.0, False: 0.01}, True),  # the plain roll-out comes to rest
        (1.2, {True: 1.0, False: 100.0}, True),  # or explodes
        (1.2, {True: 1.0, False: 0.5}, False),  # or is as good as the other
        (1.2, {True: 0.01, False: 0.01}, False),  # both come to rest
        (2.5, {True: 1.0, False: 0.01}, False),  # more than moving at a random phase costs
    ],
)
def test_a_lower_error_of_forecasts_that_come_to_rest_does_not_count(error, moved, expected, monkeypatch):
    """Steps of 1, up and down; long forecasts move by so much, and reencoded ones have this squared error."""
    X = np.where(np.arange(40) % 2, 1.0, 0.0)[None, :, None] * np.ones((3, 1, 2))
    model, horizons = tiny(chunk=8).fit(X), []

    def predict(past, request):
        if request.horizon > 10:
            horizons.append(request.horizon)
            steps = np.arange(request.horizon) % 2 * np.sqrt(moved[model.reencode_])
            return None, (steps[None, :, None] * np.ones((len(past), 1, 2)))[None]
        truth = np.stack([X[0, np.arange(t, t + request.horizon) % 40] for t in past.lengths])
        return truth + np.sqrt(error if model.reencode_ else 1.0), None

    monkeypatch.setattr(model, "_predict_frames", predict)
    assert reencoding.is_reencoding_better(model, tl.Sequences(X)) is expected
    assert not model.reencode_
    assert horizons == ([] if error > 2 else [50, 50])  # ten times the five trained steps


def spots(n, length, size=8, seed=0):
    """Spots that bounce between the sides of a picture."""
    rng = np.random.default_rng(seed)
    start, speed = rng.uniform(0, 2 * size, (n, 1, 2)), rng.choice([-1, 1], (n, 1, 2)) * rng.uniform(0.5, 1, (n, 1, 2))
    place = np.abs((start + speed * np.arange(length)[:, None]) % (2 * (size - 3)) - (size - 3)) + 1
    across = np.exp(-0.5 * np.square(np.arange(size) - place[..., None]))
    return (across[:, :, 1, :, None] * across[:, :, 0, None, :])[:, :, None].astype(np.float32)


def test_forecasts_of_ten_times_the_trained_length_keep_moving():
    """Sequences end three steps after the trained length: whether a roll-out fades later is not seen in them."""
    model = tl.Separation(codec="perceptron", chunk=13, max_steps=400, random_state=0).fit(spots(200, 16))
    truth = spots(40, 85, seed=1)
    forecast = model.predict(truth[:, :5], 80).mean
    assert np.isfinite(forecast).all()
    for part in range(0, 80, 20):  # in every quarter
        found, real = forecast[:, part : part + 20], truth[:, 5 + part : 25 + part]
        assert 0.3 < np.square(np.diff(found, axis=1)).mean() / np.square(np.diff(real, axis=1)).mean() < 3
        assert 0.3 < found.sum() / real.sum() < 3


@pytest.mark.parametrize(("wild", "expected"), [((True,), False), ((False,), True), ((True, False), True)])
def test_a_way_whose_forecasts_blow_up_is_the_worse_one(wild, expected, monkeypatch):
    X = fields("plain", length=20)
    model = tiny(chunk=8).fit(X)
    predict = model._predict_frames

    def maybe(*given):
        if model.reencode_ in wild:
            raise ArithmeticError("the learned equation has blown up")
        return predict(*given)

    monkeypatch.setattr(model, "_predict_frames", maybe)
    assert reencoding.is_reencoding_better(model, tl.Sequences(X)) is expected


def test_time_for_trying_both_ways_is_kept_only_where_both_are_tried():
    X = tl.Sequences(fields("plain"))
    kept = []
    for renewed in (None, True, False):
        model = tiny(reencode=renewed).fit(X)
        kept.append(
            model._closing_steps(model._make_chunk_objective(model.chunk_, model._pack_frames(X), None, None), X)
        )
    assert kept[1] == kept[2]
    reach, chunk, batch = model.chunk_ - 3, model.chunk_, model.trainer_.batch_size
    frames = 2 * reach * 64 + 10 * reach * 8  # forecast in both ways; a frame costs as much as one of a training step
    assert kept[0] - kept[1] == pytest.approx(2 * frames / (batch * chunk))


@pytest.mark.parametrize("n_windows", [20, 64, 65, 100])
def test_whether_to_renew_is_tried_on_64_windows_at_most(n_windows, monkeypatch):
    """A sequence has as many windows as steps after the first three; both ways are tried on the same ones."""
    X = fields("plain", n=1, length=3 + n_windows)
    model, tried = tiny(chunk=8, reencode=False).fit(X), []
    predict = model._predict_frames

    def record(past, request):
        if request.horizon <= 10:  # not the long forecasts of a few of them
            tried.append(past)
        return predict(past, request)

    monkeypatch.setattr(model, "_predict_frames", record)
    reencoding.is_reencoding_better(model, tl.Sequences(X))
    assert len(tried) == 2
    assert len(tried[0]) == n_windows if n_windows <= 64 else 48 <= len(tried[0]) <= 64
    np.testing.assert_array_equal(tried[0].values, tried[1].values)


@pytest.mark.parametrize(("frames", "substeps"), [(2, None), (4, None), (2, 8), (8, 8)])
def test_frames_between_two_steps_leave_those_at_steps_as_they_are(frames, substeps):
    X, model = ragged("four blocks"), fitted("four blocks")
    fine = model.predict(X, 5, frames_per_step=frames, substeps=substeps)
    assert fine.shape == (4, 5 * frames, 2)
    np.testing.assert_array_equal(fine.mean[:, frames - 1 :: frames], model.predict(X, 5, substeps=substeps).mean)


def test_an_exact_solver_gives_the_same_states_however_a_step_is_divided():
    X = ragged("rk4")
    for name, close in (("rk4", 2e-4), ("dopri5", 2e-4)):
        plain = fitted(name).predict(X, 4, **{"substeps": 8} if name == "rk4" else {}).mean
        for frames in (2, 4):
            fine = fitted(name).predict(X, 4, frames_per_step=frames, **{"substeps": 8} if name == "rk4" else {}).mean
            np.testing.assert_allclose(fine[:, frames - 1 :: frames], plain, rtol=close, atol=close)


def test_frames_between_two_steps_have_their_times():
    times = np.datetime64("2024-01-01") + np.arange(12) * np.timedelta64(1, "h")
    X = tl.Sequences(fields("plain"), times=[times] * 5)
    found = tiny(blocks=2).fit(X).predict(X, 2, frames_per_step=2).times[0]
    np.testing.assert_array_equal(found, times[-1] + np.array([30, 60, 90, 120], "m8[m]"))


def test_an_even_clock_is_as_good_as_none():
    X = fields("plain")
    timed = tl.Sequences(X, times=[7 + 0.25 * np.arange(12)] * 5)
    model = tiny().fit(timed)
    assert not model.has_uneven_times_
    np.testing.assert_array_equal(model.predict(timed, 4).mean, fitted("plain").predict(X, 4).mean)
    np.testing.assert_array_equal(model.predict(X, 4).mean, fitted("plain").predict(X, 4).mean)


# --- states, codes, swaps --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_states_are_read_off_windows_and_moved_on_at_the_end(name):
    model, lengths = fitted(name), (12, 4, 7, 9)
    X = tl.Sequences(list(ragged(name)), times=[0.5 * np.arange(n) for n in lengths], labels=["a", "b", "a", "b"])
    found, size, offset = model.states(X), model.conditioning, VARIANTS[name].get("offset", False)
    assert found.lengths.tolist() == [n - size if offset else n for n in lengths]
    assert found.labels.tolist() == X.labels.tolist()
    network, ready = double_precision_copy(model.network_), model.scaler_.transform(X)
    for one, states, times in zip(ready, found, np.split(found.times, found.offsets[1:-1]), strict=True):
        x = torch.from_numpy(np.array(one)).double()
        np.testing.assert_array_equal(times, 0.5 * np.arange(size if offset else 0, len(x)))
        with torch.no_grad():
            read = [network.encode_state(x[None, i : i + size])[0] for i in range(len(x) - size + (0 if offset else 1))]
            if not offset and size > 1:
                read += list(network.dynamics(read[-1][None], torch.ones(1, size - 1, dtype=torch.float64))[0])
        np.testing.assert_allclose(states, torch.stack(read).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_code_is_the_content_of_the_last_window_and_the_last_state(name):
    model, X = fitted(name), ragged(name)
    found, network = model.encode(X), double_precision_copy(model.network_)
    for row, one, states in zip(found, model.scaler_.transform(X), model.states(X), strict=True):
        window = torch.from_numpy(np.array(one[-model.conditioning :])).double()[None]
        with torch.no_grad():
            code, last = network.encode_content(window).code, network.encode_state(window)[0]
        expected = [] if code is None else [code.numpy().ravel()]
        expected.append(last.numpy().ravel() if network.offset else np.asarray(states[-1]).ravel())
        np.testing.assert_allclose(row, np.concatenate(expected), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(model.encode(X[[3, 1]]), found[[3, 1]])


@pytest.mark.parametrize("name", VARIANTS)
def test_a_reconstruction_is_drawn_from_the_first_content_and_all_states(name):
    model, X = fitted(name), ragged(name)
    found, network = model.reconstruct(X), double_precision_copy(model.network_)
    states = model.states(X)
    assert found.lengths.tolist() == states.lengths.tolist()
    assert found.frame == X.frame
    for again, one, y in zip(found, model.scaler_.transform(X), states, strict=True):
        window = torch.from_numpy(np.array(one[: model.conditioning])).double()[None]
        with torch.no_grad():
            drawn = network.decode(network.encode_content(window), torch.from_numpy(np.array(y)).double()[None])[
                0
            ].numpy()
        np.testing.assert_allclose(again, drawn * model.scaler_.scale + model.scaler_.mean, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_swap_with_itself_is_the_forecast(name):
    model, X = fitted(name), ragged(name)
    np.testing.assert_array_equal(model.swap(X, X, 6).mean, model.predict(X, 6).mean)


def test_a_swap_takes_the_content_of_the_one_and_the_motion_of_the_other():
    model, X = fitted("plain"), fields("plain", seed=6)
    a, b = X[:2], X[2:4]
    found = model.swap(a, b, 4)
    network = double_precision_copy(model.network_)
    ready = [
        torch.from_numpy(((x[:, -3:] - model.scaler_.mean) / model.scaler_.scale).astype(np.float32)).double()
        for x in (a, b)
    ]
    with torch.no_grad():
        states = network.dynamics(network.encode_state(ready[1]), torch.ones(2, 6, dtype=torch.float64))[:, 2:]
        drawn = network.decode(network.encode_content(ready[0]), states).numpy()
    np.testing.assert_allclose(found.mean, drawn * model.scaler_.scale + model.scaler_.mean, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found.past.values, b.reshape(-1, 2))
    without = fitted("without content")
    np.testing.assert_array_equal(without.swap(a, b, 4).mean, without.predict(b, 4).mean)


def test_swaps_that_cannot_be_are_refused():
    model, X = fitted("plain"), fields("plain")
    with pytest.raises(ValueError, match="content_of holds 5 sequences and dynamics_of 2: expected equally many"):
        model.swap(X, X[:2], 3)
    with pytest.raises(ValueError, match="n_samples=2: Separation has one future for a content and a motion"):
        model.swap(X, X, 3, n_samples=2)
    with pytest.raises(ValueError, match="horizon=0: expected at least 1"):
        model.swap(X, X, 0)


# --- masks -----------------------------------------------------------------------------------------------------------------


def test_a_perceptron_sees_the_cells_that_are_there_and_no_others():
    field = RNG.standard_normal((5, 12, 1, 3, 4))
    there = np.ones((1, 3, 4), bool)
    there[0, 1], there[0, 0, 2] = False, False
    masked = np.where(there, field, np.nan)
    options = {"codec": "perceptron", "standardize": False, "max_steps": 20}
    found = tiny(**options).fit(masked).predict(masked, 4).mean
    rows = field.reshape(5, 12, 12)[..., there.ravel()]
    np.testing.assert_array_equal(found[..., there], tiny(**options).fit(rows).predict(rows, 4).mean)
    assert np.isnan(found[..., ~there]).all()


@pytest.mark.parametrize("codec", ["dcgan", "vgg", "resnet"])
def test_masked_cells_of_pictures_are_missing_in_answers_and_in_nothing_else(codec):
    field = RNG.standard_normal((4, 9, 2, 6, 5))
    field[..., 0, 2:, :2] = np.nan  # another mask in each channel
    field[..., 1, 0, :] = np.nan
    model = tiny(codec=codec, skips=True).fit(field)
    there = ~np.isnan(field[0, 0])
    found = [model.predict(field, 3).mean, np.stack(list(model.reconstruct(field))), model.swap(field, field, 2).mean]
    for answer in found:
        np.testing.assert_array_equal(~np.isnan(answer), np.broadcast_to(there, answer.shape))
    assert np.isfinite(model.encode(field)).all()
    assert np.isfinite(model.states(field).values).all()
    assert all(np.isfinite(model.history_["loss"]))
    interval = model.calibrate(RNG.standard_normal((12, 9, 2, 6, 5)) + 0 * field[0, 0]).predict(field, 2).interval(0.8)
    np.testing.assert_array_equal(~np.isnan(interval[0]), np.broadcast_to(there, interval[0].shape))


def test_numbers_in_cells_that_were_masked_change_nothing():
    field = RNG.standard_normal((4, 9, 1, 6, 5))
    masked = field.copy()
    masked[..., 2:4, :] = np.nan
    for codec in ("perceptron", "dcgan"):
        model = tiny(codec=codec).fit(masked)
        np.testing.assert_array_equal(model.predict(field, 3).mean, model.predict(masked, 3).mean)


# --- keeping -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VARIANTS)
def test_a_saved_model_forecasts_and_is_calibrated_the_same(name, tmp_path):
    X = fields(name, n=4, length=14, seed=6)
    model = clone(fitted(name)).fit(fields(name)).calibrate(X, horizon=3)
    model.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    one, other = (each.predict(X, 3) for each in (model, again))
    np.testing.assert_array_equal(one.mean, other.mean)
    for a, b in zip(one.interval(0.8), other.interval(0.8), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(fitted(name).predict(X, 3).mean, one.mean)  # a clone learns the same


def test_equal_seeds_learn_the_same_and_others_do_not():
    X = fields("plain")
    found = [tiny(random_state=seed).fit(X).predict(X, 2).mean for seed in (0, 0, 1)]
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


# --- what goes wrong ---------------------------------------------------------------------------------------------------------


def test_an_equation_that_blows_up_says_so():
    X = fields("plain")
    model = tiny(reencode=False).fit(X)
    with torch.no_grad():
        for weight in model.network_.dynamics.parameters():
            weight.mul_(1e4)
    with pytest.raises(ArithmeticError, match=r"sequence \d is not finite before step \d+: .* has blown up"):
        model.predict(X, 300)
    with pytest.raises(ArithmeticError, match=r"is not finite before step"):  # too large for what is answered
        tiny(reencode=False).fit(X).swap(1e30 * X, 1e30 * X, 300)


def test_a_solver_that_blows_up_says_so():
    X = fields("plain")
    model = tiny(solver="dopri5").fit(X)
    with torch.no_grad():
        for weight in model.network_.dynamics.parameters():
            weight.mul_(1e3)
    with pytest.raises(ArithmeticError, match="the solver 'dopri5' gave up .* has blown up"):
        model.predict(X, 300)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda m, X: m.predict(X[:, :2], 3), "past: sequence 0 has 2 time steps: this Separation needs at least 3"),
        (
            lambda m, X: m.predict(X[..., :1], 3),
            r"past has frames of shape \(1,\): this Separation was fitted on \(2,\)",
        ),
        (lambda m, X: m.predict(X, 0), "horizon=0: expected at least 1"),
        (lambda m, X: m.predict(X, -3), "horizon=-3: expected at least 1"),
        (
            lambda m, X: m.predict(X, 1, frames_per_step=2),
            "frames_per_step=2 does not divide the 1 substeps .*substeps=2",
        ),
        (
            lambda m, X: m.predict(X, 1, frames_per_step=3, substeps=4),
            "frames_per_step=3 does not divide the 4 substeps",
        ),
        (lambda m, X: m.predict(X, 2, n_samples=3), r"n_samples=3: .*one future for a past; call calibrate\(X\)"),
        (lambda m, X: m.predict(X, 2).interval(0.8), r"one future has no quantiles: call Separation.calibrate\(X\)"),
        (
            lambda m, X: m.calibrate(X[:, :3]),
            "has 3 time steps, and Separation needs 3 as the past and at least one more",
        ),
        (lambda m, X: m.calibrate(X, horizon=10), "horizon=10: the longest sequence of X allows 9 steps after 3"),
        (lambda m, X: m.states(X[:, :2]), "X: sequence 0 has 2 time steps: expected at least 3"),
        (lambda m, X: m.encode(X[..., :1]), r"X has frames of shape \(1,\)"),
        (lambda m, X: m.reconstruct(np.full_like(X, np.nan)), "X: sequence 0 is missing"),
        (lambda m, X: m.fit(np.full_like(X, np.nan)), "X: every cell of every frame is missing"),
        (lambda m, X: m.fit(np.where(np.arange(12)[:, None] == 4, np.nan, X)), "lacks other cells at time step 4"),
    ],
)
def test_what_cannot_be_asked_is_refused(ask, said):
    with pytest.raises(ValueError, match=said):
        ask(tiny().fit(fields("plain")), fields("plain"))


def test_too_few_windows_for_a_level_say_how_many_are_needed():
    X = fields("plain")
    model = tiny().fit(X).calibrate(X[:1, :11], horizon=3)
    with pytest.raises(ValueError, match="calibrated by 8 windows at step 1, and 9 are needed for the quantile 0.1"):
        model.predict(X, 1).interval(0.8)
    model.predict(X, 1).interval(0.6)
    with pytest.raises(ValueError, match="calibrated for 3 steps and the forecast has 4"):
        model.predict(X, 4).interval(0.5)


def test_a_gru_and_an_offset_have_nothing_between_two_steps():
    X = fields("gru")
    with pytest.raises(ValueError, match="frames_per_step=2: a GRU moves a whole step at a time"):
        fitted("gru").predict(X, 1, frames_per_step=2)
    with pytest.raises(
        ValueError, match="frames_per_step=2: with offset=True the state begins one step after the past"
    ):
        fitted("offset").predict(X, 1, frames_per_step=2, substeps=2)


# --- the torch module ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("horizon", [1, 5])
def test_the_module_forecasts_windows_of_an_even_clock(offset, horizon):
    torch.manual_seed(0)
    network = separation_network(2, conditioning=3, hidden=5, dynamics_hidden=4, blocks=2, offset=offset).double()
    window = torch.randn(4, 3, 2, dtype=torch.float64)
    found = network(window, horizon)
    assert found.requires_grad
    for one, row in zip(window, found, strict=True):
        expected = naive.forecast(network, one, torch.ones(3, dtype=torch.float64), horizon)
        torch.testing.assert_close(row, expected)


@pytest.mark.parametrize("kind", [tl.Separation, tl.SRVP])
def test_data_that_do_not_move_are_learned(kind):
    """There is no movement to compare with, and no deviation to divide by."""
    X = np.full((10, 40, 2), 3.0)
    for seed in range(4):
        model = kind(max_steps=5, conditioning=3, chunk=8, progress=False, random_state=seed).fit(X)
        assert np.isfinite(model.predict(X[:1, :5], 20).mean).all()


@pytest.mark.parametrize("units", [(1.0, 1.0), (1e3, 1.0), (1.0, 1e3), (1e25, 1.0)])
def test_the_units_of_channels_do_not_decide_whether_states_are_inferred_again(units, monkeypatch):
    """Reencoding errs less in one channel than plain roll-outs do in the other."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 40, 2)) * np.array(units)
    model = tiny(chunk=8).fit(X)

    def predict(past, request):
        truth = np.stack([x[t : t + request.horizon] for x, t in zip(past_of, past.lengths, strict=True)])
        off = np.array([0.5, 0.0] if model.reencode_ else [0.0, 0.6]) * X.std(axis=(0, 1))
        return truth + off, None

    windows = reencoding.select_windows(tl.Sequences(X), 3, 10, 64)
    past_of = [np.concatenate([X[i], np.zeros((10, 2))]) for i in windows.item]
    monkeypatch.setattr(model, "_predict_frames", predict)
    assert reencoding.is_reencoding_better(model, tl.Sequences(X))


@pytest.mark.parametrize(("frames", "expected"), [(10, 64), (2**22, 1), (2**17, 32)])
def test_comparisons_of_large_frames_have_fewer_windows(frames, expected):
    model = tiny(chunk=8).fit(np.random.default_rng(0).standard_normal((3, 20, 1)))
    assert reencoding._n_windows(model, frames, 64) == expected


def test_a_convolutional_decoder_begins_at_the_mean_of_valid_cells():
    X = np.random.default_rng(0).uniform(0, 0.2, (4, 10, 1, 8, 8))
    X[..., 2:, :] = np.nan
    model = tl.Separation(codec="dcgan", max_steps=1, trainer=tl.Trainer(learning_rate=1e-9), random_state=0).fit(X)
    bias = model.network_.decoder.stages[-1].bias
    assert float(torch.sigmoid(bias.detach()).mean()) == pytest.approx(0.1, abs=0.01)
