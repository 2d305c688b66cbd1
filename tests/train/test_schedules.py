"""Learning rates, beside torch's own schedulers."""

import numpy as np
import pytest
import torch

from timelike.train import Constant, Cosine, History, Milestones, OneCycle, Plateau, StepDecay, fit
from train.clock import set_clock
from train.objectives import Contest, Judged, Line


class Slow(Line):
    """So slow that the time is over before the steps are: each takes two thousandths of a second of this clock."""

    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def loss(self, batch):
        self.clock.seconds += 0.002
        return super().loss(batch)


def torch_rates(make, n_steps):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.05)
    scheduler = make(optimizer)
    rates = []
    for _ in range(n_steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def test_cosine_is_torchs_cosine():
    history = fit(Line(), max_steps=20, schedule=Cosine(final=0.1), random_state=0)
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 20, eta_min=0.005), 20)
    np.testing.assert_allclose(history["rate"], expected, rtol=1e-6)


def test_one_cycle_is_torchs_one_cycle():
    history = fit(Line(), max_steps=20, schedule=OneCycle(last=4e-6), random_state=0)
    cycle = {"max_lr": 0.05, "pct_start": 0.3, "div_factor": 25, "final_div_factor": 1e4, "cycle_momentum": False}
    # torch counts to the last step, and its peak is at step 0.3 · 21 − 1
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.OneCycleLR(o, total_steps=21, **cycle), 20)
    factors = [OneCycle(warmup_share=(0.3 * 21 - 1) / 20, last=4e-6).factor(step, 20, History()) for step in range(20)]
    np.testing.assert_allclose(0.05 * np.array(factors), expected, rtol=1e-6)
    assert history["rate"].argmax() == 6
    assert history["rate"].max() == pytest.approx(0.05)
    assert history["rate"][0] == pytest.approx(0.002)


def test_a_cycle_ends_where_the_time_does(monkeypatch):
    slow = Slow(set_clock(monkeypatch))
    history = fit(slow, max_steps=100_000, max_time=0.3, schedule=OneCycle(), random_state=0)
    assert (history.stop_reason, history.n_steps) == ("max_time", 150)
    assert history["rate"][-1] < 0.05 * history["rate"].max()
    assert history["rate"].max() > 0.04


def test_a_cycle_that_knows_no_end_is_refused():
    with pytest.raises(ValueError, match="give it steps, max_steps or max_time"):
        fit(Line(), max_epochs=3, schedule=OneCycle())
    assert fit(Line(), max_epochs=3, schedule=OneCycle(steps=9), random_state=0).stop_reason == "max_epochs"


def test_steps_are_torchs_steps():
    history = fit(Line(), max_steps=20, schedule=StepDecay(every=6, gamma=0.3), random_state=0)
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.StepLR(o, 6, gamma=0.3), 20)
    np.testing.assert_allclose(history["rate"], expected, rtol=1e-6)


def test_milestones_are_torchs_milestones():
    history = fit(Line(), max_steps=20, schedule=Milestones(milestones=(6, 7, 15), gamma=0.3), random_state=0)
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [6, 7, 15], gamma=0.3), 20)
    np.testing.assert_allclose(history["rate"], expected, rtol=1e-6)
    with pytest.raises(TypeError, match="milestones=5: expected a tuple of steps"):
        Milestones(milestones=5)


def test_milestones_may_be_shares_of_all_steps():
    history = fit(Line(), max_steps=20, schedule=Milestones(milestones=(0.3, 0.35, 0.75), gamma=0.3), random_state=0)
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.MultiStepLR(o, [6, 7, 15], gamma=0.3), 20)
    np.testing.assert_allclose(history["rate"], expected, rtol=1e-6)
    with pytest.raises(ValueError, match="needs the number of steps"):
        fit(Line(), max_epochs=3, schedule=Milestones(milestones=(0.5,)))
    for at in ((0.0,), (1.0,), (3, 1.5), (float("nan"),)):
        with pytest.raises(ValueError, match=r"milestones=\(.* fractions between 0 and 1"):
            Milestones(milestones=at)


@pytest.mark.parametrize("sign", [1, -1])
def test_plateau_is_torchs_plateau(sign):
    values = sign * np.random.default_rng(0).normal(size=60).round(1)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    mode = "min" if sign == 1 else "max"
    rival = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode, factor=0.5, patience=4, threshold=0.0)
    history = History(higher_is_better=sign == -1)
    for step, value in enumerate(values):
        history.record("score", step, value)
        rival.step(value)
        assert Plateau(patience=5).factor(step, None, history) == optimizer.param_groups[0]["lr"]
    assert optimizer.param_groups[0]["lr"] < 0.1


def torch_plateau(values, rate, *, patience):
    """The rate after each value, lower being better."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)
    rival = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=patience - 1, threshold=0.0, eps=0.0
    )
    rates = []
    for value in values:
        rival.step(value)
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("watch", ["loss", "auto"])
def test_a_plateau_of_the_loss_is_torchs_whatever_the_scores_do(watch, higher_is_better):
    losses = np.random.default_rng(1).normal(size=60).round(1) - np.linspace(0, 8, 60)
    history, found = History(higher_is_better=higher_is_better), []
    for epoch, loss in enumerate(losses):
        history.record("epoch_loss", epoch, loss)
        if watch == "loss":
            history.record("score", epoch, epoch if higher_is_better else -epoch)  # better every time
        found.append(Plateau(patience=4, monitor=watch).factor(epoch, None, history))
    expected = torch_plateau(losses, 1.0, patience=4)
    assert found == expected
    assert 0.5**10 < expected[-1] < 0.5  # it fell, and not always
    if watch == "loss":
        assert Plateau(patience=4).factor(60, None, history) == 1.0  # by itself it looks at the scores


def test_the_loss_that_a_plateau_of_a_training_watches_is_the_mean_of_an_epoch():
    class Ever(Judged):
        higher_is_better = True

        def validate(self):
            return super().validate() * 0 + float(self.module[1].num_batches_tracked)  # better every time

    history = fit(Ever(rate=0.02), max_epochs=25, schedule=Plateau(patience=2, monitor="loss"), random_state=0)
    by_epoch = history["loss"].reshape(25, 6).mean(axis=1)
    np.testing.assert_allclose(history["epoch_loss"], by_epoch)
    expected = [0.02, *torch_plateau(by_epoch, 0.02, patience=2)[:-1]]
    np.testing.assert_allclose(history["rate"].reshape(25, 6), np.repeat(expected, 6).reshape(25, 6))
    assert 0.02 * 0.5**10 < expected[-1] < 0.02


def test_a_plateau_halves_the_rate_of_a_training():
    history = fit(Judged(rate=1e-9), max_epochs=6, schedule=Plateau(patience=2, monitor="loss"), random_state=0)
    assert set(history["rate"].tolist()) <= {1e-9, 0.5e-9, 0.25e-9}
    assert history["rate"][-1] < 1e-9


def test_warmup_rises_to_the_rate():
    history = fit(Line(), max_steps=10, schedule=Cosine(warmup=4), random_state=0)
    np.testing.assert_allclose(history["rate"][:5] / 0.05, [0.2, 0.4, 0.6, 0.8, 1.0])


def test_every_optimiser_can_have_its_own():
    history = fit(Contest(), max_steps=3, schedule={"generator": Constant(), "critic": StepDecay(every=1, gamma=0.5)})
    assert history["rate"].tolist() == [0.02] * 3
    assert history["rate_critic"].tolist() == [0.05, 0.025, 0.0125]
    with pytest.raises(ValueError, match="schedule is for 'critic': the optimizers are 'generator', 'critic'"):
        fit(Contest(), max_steps=3, schedule={"critic": Constant()})


def test_a_schedule_complains_before_the_first_step():
    with pytest.raises(ValueError, match="needs the number of steps"):
        fit(Line(), max_epochs=3, schedule=Cosine())
    with pytest.raises(ValueError, match="warmup=9: expected fewer than the 5 steps"):
        fit(Line(), max_steps=5, schedule=Cosine(warmup=9))
    with pytest.raises(ValueError, match="gamma=0: expected a finite number"):
        Plateau(gamma=0)
    with pytest.raises(ValueError, match="monitor='f1': expected one of 'auto', 'loss', 'score'"):
        Plateau(monitor="f1")


def test_a_cosine_stays_where_it_ended():
    assert [Cosine(steps=4, final=0.1).factor(step, None, History()) for step in (4, 5, 6, 8, 20)] == [0.1] * 5


class Stumbling(Line):
    """The first step takes long, as it does where libraries are still loading."""

    def __init__(self, clock, pause, **more):
        super().__init__(**more)
        self.clock, self.pause = clock, pause

    def loss(self, batch):
        self.clock.seconds += self.pause
        self.pause = 1e-4
        return super().loss(batch)


def test_a_slow_first_step_changes_no_rate_of_a_training_that_time_does_not_end(monkeypatch):
    clock = set_clock(monkeypatch)
    found = [
        fit(Stumbling(clock, pause), max_steps=40, max_time=20, schedule=OneCycle(), random_state=0)
        for pause in (1e-4, 0.6)
    ]
    np.testing.assert_array_equal(found[0]["rate"], found[1]["rate"])
    assert found[1].stop_reason == "max_steps"
