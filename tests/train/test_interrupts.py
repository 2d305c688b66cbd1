"""One Ctrl-C in the middle of a step, a batch or a validation that takes long."""

import signal
import time

import pytest
import torch

from timelike.core import interrupts
from timelike.train import fit
from train.objectives import Contest, Judged, weights

pytestmark = pytest.mark.filterwarnings("ignore:stopped by Ctrl-C")
_HANGS = 300.0  # seconds: however busy the machine, patience of 0.05 s is over by then


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(interrupts, "_GRACE_SECONDS", 0.05)


def press_and_dawdle(seconds=None):
    """Somebody presses Ctrl-C during work that goes on for so long; without a number it ends only by being given up."""
    signal.raise_signal(signal.SIGINT)
    begin = time.monotonic()
    while seconds is None or time.monotonic() < begin + seconds:
        time.sleep(0.005)
        if seconds is None and time.monotonic() > begin + _HANGS:
            raise AssertionError("it was not given up")


class Dawdling(Judged):
    """Takes long at one place: in the loss of a step, in a batch of the second epoch, or in a validation."""

    def __init__(self, where=None, at=0, **options):
        super().__init__(**options)
        self.where, self.at, self.seen = where, at, 0

    def dawdles(self, where):
        self.seen += where == self.where
        if where == self.where and self.seen == self.at:
            press_and_dawdle()

    def batches(self, epoch, rng):
        for batch in super().batches(epoch, rng):
            self.dawdles("batch")
            yield batch

    def loss(self, batch):
        found = super().loss(batch)  # the running means of its normalisation have moved by now
        self.dawdles("step")
        return found

    def validate(self):
        self.dawdles("validation")
        return super().validate()


@pytest.mark.parametrize(("where", "at", "done"), [("step", 9, 8), ("batch", 9, 8), ("validation", 2, 12)])
def test_what_takes_long_is_given_up_and_leaves_no_trace(where, at, done):
    objective, plain = Dawdling(where, at), Judged()
    history = fit(objective, max_epochs=9, random_state=0)
    assert (history.stop_reason, history.n_steps) == ("Ctrl-C", done)
    fit(plain, max_steps=done, random_state=0)
    assert torch.equal(weights(objective.module), weights(plain.module))
    for ours, theirs in zip(objective.module.buffers(), plain.module.buffers(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize(("where", "at"), [("step", 9), ("batch", 9), ("validation", 2)])
@pytest.mark.parametrize("every", [None, 4])
def test_it_can_be_continued_as_if_nothing_had_happened(where, at, every, tmp_path):
    options = {"max_epochs": 4, "patience": 9, "validate_every": every, "random_state": 0}
    whole, again = Judged(), Judged()
    expected = fit(whole, **options)
    assert fit(Dawdling(where, at), checkpoint=tmp_path, **options).stop_reason == "Ctrl-C"
    found = fit(again, checkpoint=tmp_path, **options)
    assert torch.equal(weights(whole.module), weights(again.module))
    assert found.steps("score").tolist() == expected.steps("score").tolist()
    assert found.scores.tolist() == expected.scores.tolist()


def test_a_step_whose_first_update_is_made_is_finished():
    class Slow(Contest):
        def step(self, batch, optimizer_step):
            found = super().step(batch, optimizer_step)
            press_and_dawdle(0.5)
            return found

    history = fit(Slow(), max_steps=5, random_state=0)
    assert (history.stop_reason, history.n_steps) == ("Ctrl-C", 1)


def test_before_the_first_step_is_done_there_is_nothing_to_keep():
    with pytest.raises(KeyboardInterrupt) as caught:
        fit(Dawdling("step", 1), max_epochs=2, random_state=0)
    assert caught.type is KeyboardInterrupt
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_clock_of_a_training_that_is_over_interrupts_nobody(monkeypatch):
    class Last(Judged):
        def validate(self):
            signal.raise_signal(signal.SIGINT)
            return super().validate()

    assert fit(Last(), max_epochs=3, random_state=0).stop_reason == "Ctrl-C"
    time.sleep(0.2)  # four times its patience


def test_a_press_during_the_last_validation_is_told():
    objective = Dawdling("validation", 2)
    history = fit(objective, max_steps=8, random_state=0)  # one after the epoch of six, one at the end
    assert (history.stop_reason, history.n_steps, len(history.scores)) == ("Ctrl-C", 8, 1)
