"""How long a learned metric trains: steps, epochs and seconds, and what the papers had."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import timelike as tl
from timelike.metric import losses
from timelike.sequences.augment import Jitter
from timelike.train import NotLearnedWarning, clock
from toys import trained

SMALL = {"hidden": 4, "random_state": 0}


def toy(n=20, length=24):
    rng = np.random.default_rng(0)
    classes = np.arange(n) % 2
    return np.sin(np.arange(length) * (0.3 + 0.3 * classes[:, None])) + 0.1 * rng.standard_normal((n, length)), classes


@pytest.mark.parametrize("kind", [tl.SiameseGRU, tl.CoupledGRU])
def test_the_smallest_set_gets_several_hundred_steps(kind):
    metric = kind(**SMALL).fit(*toy(8, 6))
    assert metric.history_.n_steps == 500
    assert metric.history_.stop_reason == "max_steps"
    assert metric.history_.seconds > 0


def test_more_sequences_get_more_steps_but_not_without_end():
    metric = tl.SiameseGRU()
    for n, steps in ((10, 500), (1200, 2000), (1_000_000, 2000), (420, 700)):
        objective = SimpleNamespace(has_validation=False, n_batches=lambda n=n: n / 12)
        limits = metric._fit_options(objective)
        assert limits["max_steps"] == steps
        assert limits["max_time"] == 120


@pytest.mark.parametrize(
    ("given", "stopped", "steps"),
    [
        ({"max_steps": 7}, "max_steps", 7),
        ({"max_epochs": 3}, "max_epochs", 6),
        ({"max_steps": 4, "max_epochs": 3}, "max_steps", 4),
        ({"max_steps": 40, "max_epochs": 2}, "max_epochs", 4),
    ],
)
def test_the_first_limit_ends_it(given, stopped, steps):
    history = trained(tl.SiameseGRU, **SMALL, **given).fit(*toy()).history_
    assert (history.stop_reason, history.n_steps) == (stopped, steps)


def test_seconds_end_it_too():
    ticks = itertools.count(0.0, 0.01)  # whoever looks at the clock finds it a hundredth of a second later
    with clock.use_clock(lambda: next(ticks)):
        history = tl.SiameseGRU(**SMALL, max_time=9.0, max_steps=100_000).fit(*toy()).history_
    assert history.stop_reason == "max_time"
    assert history.seconds < 9.0
    assert history["rate"][-1] < 0.6 * history["rate"].max()  # the cycle was on its way down, however slow the machine


def test_patience_counts_steps_or_the_epochs_of_a_budget_of_epochs():
    X, y = toy(40)
    worse = {"learning_rate": 1e-9, "validation": 0.3, "perturb": False}  # nothing gets better
    by_steps = trained(tl.SiameseGRU, **SMALL, **worse, max_steps=200, patience=50).fit(X, y).history_
    assert (by_steps.stop_reason, by_steps.n_steps) == ("patience", 60)  # a look every ten steps, the first at ten
    by_epochs = trained(tl.SiameseGRU, **SMALL, **worse, max_epochs=200, patience=5).fit(X, y).history_
    assert (by_epochs.stop_reason, len(by_epochs.scores)) == ("patience", 6)


def test_few_sequences_are_all_learned_from_and_many_are_not():
    X, y = toy(400, 5)
    assert len(tl.SiameseGRU(**SMALL, max_steps=2).fit(X, y).history_.scores) == 2
    assert len(tl.SiameseGRU(**SMALL, max_steps=2).fit(X[:399], y[:399]).history_.scores) == 0
    assert (
        len(tl.SiameseGRU(**SMALL, max_steps=2, trainer=tl.Trainer(validation=0.2)).fit(X[:40], y[:40]).history_.scores)
        == 2
    )


@pytest.mark.parametrize("kind", [tl.SiameseGRU, tl.CoupledGRU, tl.TAP, tl.metric.AlignedFrames])
def test_the_papers_settings_go_by_a_name(kind):
    metric = kind.preset("paper", random_state=0)
    assert (metric.front, metric.max_frames, metric.trainer_.optimizer) == (None, None, "adam")
    assert metric.random_state == 0
    with pytest.raises(ValueError, match="has 'paper'"):
        kind.preset("papre")


def test_the_papers_twins_are_plain_grus():
    network = tl.SiameseGRU.preset("paper", trainer=tl.Trainer(max_epochs=1)).fit(*toy()).network_
    assert {name for name, _ in network.named_parameters()} == {
        f"cells.{kind}_{of}_l0" for kind in ("weight", "bias") for of in ("ih", "hh")
    }
    x = torch.randn(3, 9, 1)
    states, _ = network.cells(x)
    torch.testing.assert_close(network.features(x, torch.tensor([9, 9, 9])).values[:, 0], states[:, -1])


def test_vectors_have_length_one_at_the_defaults():
    metric = tl.SiameseGRU(**SMALL, max_steps=2).fit(*toy())
    distances = metric.pairwise(toy()[0])
    assert distances.max() <= 2 + 1e-6


@pytest.mark.parametrize("kind", [tl.SiameseGRU, tl.CoupledGRU])
@pytest.mark.parametrize("perturb", [False, True, Jitter()])
def test_sequences_may_be_changed_before_a_step(kind, perturb):
    metric = kind(**SMALL, perturb=perturb, max_steps=3).fit(*toy())
    assert np.isfinite(metric.history_.losses).all()
    if perturb is True:
        other = kind(**SMALL, perturb=False, max_steps=3).fit(*toy())
        assert other.history_.losses[0] != metric.history_.losses[0]


def test_long_sequences_cost_no_more_than_short_ones():
    X, y = toy(12, 4000)
    metric = tl.SiameseGRU(**SMALL, max_steps=2).fit(X, y)
    assert metric.time_pool_.factor == pytest.approx(4000 / 256)
    x = metric._standardize(tl.Sequences(X)).to_tensor()[0]
    assert x.shape[1] == 256
    whole = tl.SiameseGRU(**SMALL, max_steps=2, max_frames=None).fit(X, y)
    assert whole._standardize(tl.Sequences(X)).lengths.max() == 4000


def test_an_alignment_is_of_the_steps_that_were_given():
    X, y = toy(12, 100)
    metric = tl.TAP(hidden=8, max_frames=40, max_steps=2, random_state=0).fit(X, y)
    found = metric.align(X[0], X[1, :33])
    assert found.plan.shape == (100, 33)
    assert found.plan.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.plan.sum(axis=1)[:40].sum() / 0.4, 1, atol=0.1)  # every step has the same mass
    coupled = tl.CoupledGRU(**SMALL, max_frames=40, max_steps=2).fit(X, y)
    assert coupled.synchronization(X[0], X[1, :33]).shape == (100,)


def test_the_supervised_contrastive_loss_is_the_published_one():
    torch.manual_seed(0)
    z = torch.nn.functional.normalize(torch.randn(7, 4, dtype=torch.float64), dim=-1)
    labels = torch.tensor([0, 0, 0, 1, 1, 2, 2])
    expected = []
    for i in range(7):  # Khosla et al., equation 2
        others = [a for a in range(7) if a != i]
        total = sum(torch.exp(z[i] @ z[a] / 0.1) for a in others)
        own = [p for p in others if labels[p] == labels[i]]
        expected.append(-sum(torch.log(torch.exp(z[i] @ z[p] / 0.1) / total) for p in own) / len(own))
    found = losses.SupervisedContrastive()(torch.cdist(z, z), labels)
    torch.testing.assert_close(found, torch.stack(expected).mean())


@pytest.mark.parametrize("n_classes", [2, 13])
def test_a_cycle_over_epochs_ends_with_the_last_of_them(n_classes):
    X, _ = toy(26)
    rates = tl.SiameseGRU(**SMALL, trainer=tl.Trainer(max_epochs=6)).fit(X, np.arange(26) % n_classes).history_["rate"]
    assert rates[-1] > 0
    assert rates[-1] < 0.25 * rates.max()


def test_patience_holds_something_out_to_be_patient_about():
    X, y = toy(40)
    assert len(tl.SiameseGRU(**SMALL, max_steps=20, trainer=tl.Trainer(patience=20)).fit(X, y).history_.scores) > 0


def test_a_training_without_time_for_a_second_step_says_so():
    with pytest.warns(NotLearnedWarning, match="made only one step, because max_time was over"):
        tl.SiameseGRU(**SMALL, max_time=1e-9).fit(*toy())


def test_given_pairs_are_perturbed_too():
    X = toy()[0]
    pairs, same = [[0, 2], [0, 1], [1, 3], [2, 5]], [True, False, True, False]
    how = SMALL | {"loss": "contrastive", "max_steps": 2}
    one, other = (tl.SiameseGRU(**how, perturb=perturb).fit_pairs(X, pairs, same) for perturb in (True, False))
    assert one.history_.losses[0] != other.history_.losses[0]


def test_classes_that_the_sequences_do_not_show_are_not_learned_and_it_is_said():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((120, 12)), np.arange(120) % 4
    with pytest.warns(NotLearnedWarning, match="with shuffled labels it would be 0.2"):
        tl.SiameseGRU(**SMALL, max_steps=60, trainer=tl.Trainer(validation=0.3)).fit(X, y)
