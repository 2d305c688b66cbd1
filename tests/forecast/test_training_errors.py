"""A forecaster that ends worse than the last frame or the mean says so: errors beside loops, and warnings."""

import warnings

import numpy as np
import pytest

import timelike as tl
from latent_options import separation, srvp
from timelike.forecast import latent_forecaster, training_errors
from timelike.forecast.training_errors import TrainingErrors, measure_training_errors
from timelike.train import NotLearnedWarning

pytestmark = pytest.mark.learn

SIZES = {"hidden": 8, "n_state": 6, "n_content": 4, "batch_size": 16, "random_state": 0, "progress": False}
SRVP = SIZES | {"n_random": 2, "n_code": 6, "motion_hidden": 8}
SEPARATION = SIZES | {"dynamics_hidden": 8}


@pytest.fixture(scope="module")
def swings():
    """Two channels of units that differ by a thousand; in one of them the mean is far from 0."""
    rng = np.random.default_rng(0)
    x = np.sin(np.arange(40)[:, None] / 3 + rng.uniform(0, 6, (25, 1, 2)))
    return x * [1.0, 1000.0] + [7.0, 0.0]


def said(model, X):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X)
    return " ".join(str(one.message) for one in seen if issubclass(one.category, NotLearnedWarning))


# --- the numbers -------------------------------------------------------------------------------------------------------


def test_errors_are_those_of_loops(swings):
    """Of every window there is, in deviations of each channel."""
    X = tl.Sequences([swings[0][:9], swings[1][:7]])
    model = separation(conditioning=3, chunk=5, max_steps=2, **SEPARATION).fit(X)
    found = measure_training_errors(model, X, X)
    every = np.concatenate([x.copy() for x in X])
    mean, deviation = every.mean(axis=0), every.std(axis=0)
    squares = {"model": [], "persistence": [], "mean": []}
    for x in X:
        for origin in range(3, len(x)):
            ahead = model.predict([x[:origin]], 2).mean[0]
            for step in range(min(2, len(x) - origin)):
                truth = x[origin + step]
                for name, one in (("model", ahead[step]), ("persistence", x[origin - 1]), ("mean", mean)):
                    squares[name] += (((one - truth) / deviation) ** 2).tolist()
    assert (found.n_windows, found.horizon) == (6 + 4, 2)
    for name, one in squares.items():
        assert getattr(found, name) == pytest.approx(np.sqrt(np.mean(one)), rel=1e-9)


def test_the_error_of_a_mean_of_few_draws_is_that_of_the_mean_of_all(swings, monkeypatch):
    """Draws around the mean of the data with four times its deviation: their own mean has the error of `Mean`."""
    X = tl.Sequences(swings)
    model = srvp(conditioning=3, chunk=9, max_steps=2, **SRVP).fit(X)
    middle, deviation = swings.mean(axis=(0, 1)), swings.std(axis=(0, 1))

    def futures(self, past, request):
        noise = np.random.default_rng(0).standard_normal((request.n_samples, len(past), request.horizon, 2))
        return None, middle + 4 * deviation * noise

    monkeypatch.setattr(tl.SRVP, "_predict_frames", futures)
    found = measure_training_errors(model, X, X)
    assert found.model == pytest.approx(found.mean, rel=0.3)  # without a correction 2.2 times as much
    assert found.spread == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(
    ("error", "spread", "expected"), [(0.9, 0.01, True), (0.9, 0.5, False), (0.1, 0.001, False), (0.9, None, False)]
)
def test_samples_are_alike_if_they_hardly_differ_where_the_future_is_uncertain(error, spread, expected):
    assert TrainingErrors(error, 1.2, 1.0, None, 5, 3, spread).has_similar_samples() is expected


def test_samples_that_are_alike_are_reported(swings, monkeypatch):
    errors = TrainingErrors(0.9, 1.2, 1.0, None, 5, 3, 0.01)
    monkeypatch.setattr(training_errors, "measure_training_errors", lambda *given: errors)
    text = said(srvp(conditioning=3, chunk=9, max_steps=50, **SRVP), swings)
    assert "the futures sampled by SRVP are alike: over the next 3 steps of 5 windows" in text
    assert "a lower beta" in text


def test_without_random_steps_samples_may_be_alike(swings):
    X = tl.Sequences(swings)
    model = srvp(conditioning=3, chunk=9, max_steps=2, **SRVP | {"n_random": 0}).fit(X)
    assert measure_training_errors(model, X, X).spread is None


def test_channels_that_never_change_do_not_count(swings):
    X = tl.Sequences(np.concatenate([swings[:5], np.full((5, 40, 1), 0.1)], axis=2))
    model = separation(conditioning=3, chunk=6, max_steps=2, **SEPARATION).fit(X)
    assert measure_training_errors(model, X, X).mean == pytest.approx(np.sqrt(2 / 3), rel=0.1)  # as if its error were 0


def test_a_model_that_blows_up_is_worse_than_anything(swings, monkeypatch):
    model = separation(conditioning=3, chunk=6, max_steps=2, **SEPARATION).fit(swings)

    def wild(*_):
        raise ArithmeticError("not finite")

    monkeypatch.setattr(tl.Separation, "_predict_rows", wild)
    assert measure_training_errors(model, tl.Sequences(swings), tl.Sequences(swings)).model == np.inf


@pytest.mark.parametrize(
    ("errors", "alike", "words"),
    [
        ((0.5, 0.6, 1.0), None, None),
        ((0.5, 0.495, 1.0), None, None),  # too near to be called worse
        ((0.5, 0.4, 1.0), None, "its error is 0.5 standard deviations, that of Persistence 0.4 and that of Mean 1"),
        ((1.1, 1.4, 1.0), None, "its error is 1.1 standard deviations, that of Persistence 1.4 and that of Mean 1"),
        ((np.inf, 1.4, 1.0), None, "its error is inf standard deviations"),
        ((0.5, 0.6, 1.0), (0.778, 0.84), "its SSIM is 0.778 and that of the mean frame 0.84"),
        ((0.5, 0.6, 1.0), (0.84, 0.778), None),
    ],
)
def test_worse_than_the_last_frame_or_the_mean_is_a_complaint(errors, alike, words):
    found = TrainingErrors(*errors, alike, 10, 5).failure_reason()
    assert (found is None) if words is None else found.startswith(words)


# --- the warning -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "how"), [(srvp, SRVP), (separation, SEPARATION)])
def test_a_training_that_came_nowhere_says_so(kind, how, swings):
    words = said(kind(learning_rate=1e-9, max_steps=50, **how), swings)
    assert "has learned little or nothing" in words
    assert "windows of the training sequences its error is" in words
    assert "that of Persistence" in words
    assert "give it more time (max_time, max_steps)" in words


def test_one_that_learned_says_nothing(swings):
    assert said(tl.Separation(max_steps=80, random_state=0, progress=False), swings) == ""


def test_a_few_steps_are_judged_only_where_time_was_over(swings):
    assert said(separation(learning_rate=1e-9, max_steps=10, **SEPARATION), swings) == ""
    words = said(separation(learning_rate=1e-9, max_time=1e-9, **SEPARATION), swings)
    assert "made only one step" in words
    assert "its error is" in words


def test_clips_that_came_out_worse_than_the_mean_frame_are_told_of():
    """Bars that stand still behind little noise: the mean frame is what every picture looks like."""
    rng = np.random.default_rng(0)
    clips = np.clip(
        np.tile([0.1, 0.9, 0.9, 0.1], 3)[None, None, None, None] + 0.02 * rng.standard_normal((20, 8, 1, 12, 12)), 0, 1
    )
    how = SRVP | {"conditioning": 2, "filters": 2, "learning_rate": 1e-9, "max_steps": 50}
    words = said(srvp(**how), clips)
    assert "SRVP has learned little or nothing" in words
    assert "6 steps of" in words


def test_what_is_only_learned_by_heart_is_told_of_too(swings, monkeypatch):
    """Errors on what was held out are looked at where those on the rest are small."""
    asked = []

    def errors(model, learned, sequences):
        asked.append(len(sequences))
        return TrainingErrors(0.1 if len(asked) == 1 else 2.0, 0.5, 1.0, None, 10, 5)

    monkeypatch.setattr("timelike.forecast.training_errors.measure_training_errors", errors)
    words = said(separation(validation=0.2, max_steps=50, **SEPARATION), swings)
    assert asked == [20, 5]
    assert "windows of held-out sequences its error is 2 standard deviations" in words


def test_warnings_come_from_the_line_that_fits(swings):
    with pytest.warns(NotLearnedWarning) as seen:
        separation(learning_rate=1e-9, max_steps=50, **SEPARATION).fit(swings)
    assert {one.filename for one in seen} == {__file__}


# --- long conditioning -------------------------------------------------------------------------------------------------


def hourly(days, rng):
    """A load of about 55 with a day and a week in it, and what the calendar says."""
    hour = np.arange(24 * days)
    day, week = 2 * np.pi * hour / 24, 2 * np.pi * hour / 168
    free = (hour // 24) % 7 >= 5
    load = 55 + 10 * np.sin(day) + 4 * np.sin(2 * day) - 8 * free + rng.standard_normal(len(hour))
    return np.column_stack([load, np.sin(day), np.cos(day), np.sin(week), np.cos(week), free])


@pytest.mark.parametrize("offset", [False, True])
def test_states_do_not_explode_over_a_week_of_conditioning(offset):
    """Before the first update the loss is that of a short window, not of 12 digits."""
    X = hourly(30, np.random.default_rng(0))
    known = list(range(1, 6))
    short, long = (
        tl.Separation(conditioning=size, known_channels=known, offset=offset, max_steps=1, random_state=0).fit([X])
        for size in (5, 168)
    )
    assert long.history_.losses[0] < 3 * short.history_.losses[0]


def test_the_gain_of_a_usual_chunk_is_as_given_and_that_of_a_longer_one_divided(monkeypatch):
    model = tl.Separation()
    for chunk, offset, expected in ((25, False, 0.6), (193, False, 0.3), (198, True, 0.3), (30, True, 0.6)):
        model.chunk_, model.offset = chunk, offset  # of five conditioning frames
        assert model._scaled_gain(0.6) == pytest.approx(expected)


def test_a_week_of_conditioning_learns_within_a_few_steps():
    X = hourly(40, np.random.default_rng(0))
    sizes = {"hidden": 32, "dynamics_hidden": 32, "n_content": 8, "n_state": 8, "batch_size": 32}
    model = separation(conditioning=168, known_channels=list(range(1, 6)), max_steps=60, random_state=0, **sizes)
    assert said(model, [X]) == ""
    errors = measure_training_errors(model, tl.Sequences([X]), tl.Sequences([X]))
    assert errors.model < 0.75 * min(errors.persistence, errors.mean)


def test_errors_are_asked_for_once_the_model_can_answer(swings, monkeypatch):
    """States of Separation are renewed or not by then."""
    seen = []
    monkeypatch.setattr(latent_forecaster, "warn_if_no_better", lambda model, *_: seen.append(model.reencode_))
    separation(max_steps=2, **SEPARATION).fit(swings)
    assert len(seen) == 1
