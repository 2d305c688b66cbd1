"""Learning rates, beside torch's own schedulers."""

import numpy as np
import pytest
import torch

from timelike.train import Constant, Cosine, History, Plateau, Steps, fit
from train.objectives import Contest, Judged, Line


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


def test_steps_are_torchs_steps():
    history = fit(Line(), max_steps=20, schedule=Steps(every=6, by=0.3), random_state=0)
    expected = torch_rates(lambda o: torch.optim.lr_scheduler.StepLR(o, 6, gamma=0.3), 20)
    np.testing.assert_allclose(history["rate"], expected, rtol=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
def test_plateau_is_torchs_plateau(sign):
    values = sign * np.random.default_rng(0).normal(size=60).round(1)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    mode = "min" if sign == 1 else "max"
    rival = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode, factor=0.5, patience=4, threshold=0.0)
    history = History(higher_is_better=sign == -1)
    for step, value in enumerate(values):
        history.note("score", step, value)
        rival.step(value)
        assert Plateau(patience=5).factor(step, None, history) == optimizer.param_groups[0]["lr"]
    assert optimizer.param_groups[0]["lr"] < 0.1


def test_a_plateau_halves_the_rate_of_a_training():
    history = fit(Judged(rate=1e-9), max_epochs=6, schedule=Plateau(patience=2, watch="loss"), random_state=0)
    assert set(history["rate"].tolist()) <= {1e-9, 0.5e-9, 0.25e-9}
    assert history["rate"][-1] < 1e-9


def test_warmup_rises_to_the_rate():
    history = fit(Line(), max_steps=10, schedule=Cosine(warmup=4), random_state=0)
    np.testing.assert_allclose(history["rate"][:5] / 0.05, [0.2, 0.4, 0.6, 0.8, 1.0])


def test_every_optimiser_can_have_its_own():
    history = fit(Contest(), max_steps=3, schedule={"generator": Constant(), "critic": Steps(every=1, by=0.5)})
    assert history["rate"].tolist() == [0.02] * 3
    assert history["rate_critic"].tolist() == [0.05, 0.025, 0.0125]
    with pytest.raises(ValueError, match="schedule is for 'critic': the optimizers are 'generator', 'critic'"):
        fit(Contest(), max_steps=3, schedule={"critic": Constant()})


def test_a_schedule_complains_before_the_first_step():
    with pytest.raises(ValueError, match="does not know how many steps there will be"):
        fit(Line(), max_epochs=3, schedule=Cosine())
    with pytest.raises(ValueError, match="warmup=9: expected fewer than the 5 steps"):
        fit(Line(), max_steps=5, schedule=Cosine(warmup=9))
    with pytest.raises(ValueError, match="by=0: expected a finite number"):
        Plateau(by=0)
    with pytest.raises(ValueError, match="watch='f1': expected one of 'auto', 'loss', 'score'"):
        Plateau(watch="f1")


def test_a_cosine_stays_where_it_ended():
    assert [Cosine(steps=4, final=0.1).factor(step, None, History()) for step in (4, 5, 6, 8, 20)] == [0.1] * 5
