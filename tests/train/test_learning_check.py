"""A training that has learned nothing says so, and one that takes long says how long."""

import warnings

import numpy as np
import pytest

import timelike as tl
from timelike.train import History, NotLearnedWarning, fit
from timelike.train.budget import Budget
from timelike.train.callbacks import DurationNotice
from timelike.train.learning_check import warn_if_not_learned
from train.objectives import Judged, Line


def history_of(losses, scores=(), higher_is_better=True):
    history = History(higher_is_better=higher_is_better)
    for step, loss in enumerate(losses, 1):
        history.record("loss", step, loss)
    for number, score in enumerate(scores, 1):
        history.record("score", 10 * number, score)
    return history


def complained(history, objective=None):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn_if_not_learned(history, Line() if objective is None else objective)
    assert all(issubclass(one.category, NotLearnedWarning) for one in seen)
    return " ".join(str(one.message) for one in seen)


FALLING = [1 - 0.01 * k for k in range(80)]


def test_a_loss_that_does_not_fall_is_complained_of():
    assert complained(history_of(FALLING)) == ""
    assert "began at 0.245 and ended at 0.965, no lower" in complained(history_of(FALLING[::-1]))
    assert "no lower" in complained(history_of([0.5] * 80))


def test_a_loss_that_is_zero_from_the_start_is_not():
    assert complained(history_of([0.0] * 80)) == ""


@pytest.mark.parametrize(("scores", "higher"), [([0.9, 0.8, 0.7, 0.8], True), ([0.1, 0.2, 0.3, 0.2], False)])
def test_a_score_that_was_best_at_the_first_look_is_complained_of(scores, higher):
    assert "was the first, after step 10 of 80" in complained(history_of(FALLING, scores, higher))
    assert complained(history_of(FALLING, scores[::-1], higher)) == ""
    assert complained(history_of(FALLING, scores[:3], higher)) == ""  # too few looks to say


def test_a_perfect_score_from_the_start_is_not():
    assert complained(history_of(FALLING, [1.0, 1.0, 1.0, 1.0])) == ""


def test_a_few_steps_and_those_that_were_stopped_are_not_judged():
    assert complained(history_of([1.0] * 40)) == ""
    stopped = history_of([1.0] * 80)
    stopped.stop_reason = "Ctrl-C"
    assert complained(stopped) == ""


def test_what_an_objective_has_to_say_comes_first():
    objective = Line()
    objective.owner, objective.failure_reason = "Thing", lambda: "all is the same"
    assert complained(history_of(FALLING), objective) == "Thing has learned little or nothing: all is the same"


class Slow:
    """The moments of a run whose steps take so long."""

    def __init__(self, seconds_per_step):
        self.step, self.epoch, self.pace = 0, 0, seconds_per_step
        self.objective, self.history = Line(), self

    @property
    def seconds(self):
        return self.step * self.pace


def said(pace, capsys, *, max_steps=None, max_epochs=None, max_time=None):
    run = Slow(pace)
    announcement = DurationNotice(Budget(max_steps, max_epochs, max_time, False, None, None))
    announcement.on_train_start(run)
    for step in range(1, 51):
        run.step = step
        announcement.on_step_end(run)
        if step % 10 == 0:
            run.epoch += 1
            announcement.on_epoch_end(run)
    return capsys.readouterr().err


def test_the_start_says_how_long_it_takes_when_that_is_over_ten_seconds(capsys):
    assert said(0.5, capsys, max_steps=100) == "Line: 100 steps, about 50 s; progress=True shows a bar\n"
    assert said(0.5, capsys, max_steps=600) == "Line: 600 steps, about 5 min; progress=True shows a bar\n"
    assert said(0.05, capsys, max_steps=100) == ""
    assert said(0.5, capsys, max_epochs=8) == "Line: 8 epochs, about 40 s; progress=True shows a bar\n"
    assert "as fit max_time=30, about 30 s" in said(0.5, capsys, max_steps=600, max_time=30.0)
    assert "as fit max_time=7200, about 2.0 h" in said(0.5, capsys, max_time=7200.0)
    assert "50000 steps, about 6.9 h" in said(0.5, capsys, max_steps=50000)


def test_a_training_says_it_only_where_nobody_said_no(capsys, monkeypatch):
    monkeypatch.setattr(DurationNotice, "_min_seconds", 0.0)
    monkeypatch.setattr(DurationNotice, "_warmup_seconds", 0.0)
    for progress in (None, False):
        fit(Line(), max_steps=5, progress=progress, random_state=0)
    assert capsys.readouterr().err.count("Line: 5 steps, about ") == 1


def test_a_module_that_answers_the_same_for_all_is_found_out():
    X = np.tile(np.sin(np.arange(30.0)), (24, 1))  # all alike: there is nothing to tell classes apart by
    how = {"hidden": 4, "max_steps": 60, "perturb": False, "random_state": 0}
    with pytest.warns(NotLearnedWarning, match="the distances of all sequences are about 0"):
        tl.SiameseGRU(**how).fit(X, np.arange(24) % 2)


def test_a_training_that_learns_says_nothing():
    assert complained(fit(Judged(), max_steps=100, validate_every=10, random_state=0)) == ""
