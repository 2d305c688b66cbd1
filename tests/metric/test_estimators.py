"""Fitted learned metrics: their methods, what they refuse, how they are saved."""

import numpy as np
import pytest
import torch

import timelike as tl
from timelike import align
from toy_metrics import MAKERS, NETWORKS
from toys import turning

EVERY = pytest.mark.parametrize("name", MAKERS)
BY_GRADIENT = [*NETWORKS, "deep", "elements"]


def evaluate(metric, train, test):
    """1-NN accuracy on sequences not seen, and how much nearer those of one class are, in deviations."""
    found = metric.pairwise(test, train)
    same = test.labels[:, None] == train.labels
    accuracy = np.mean(train.labels[found.argmin(axis=1)] == test.labels)
    return accuracy, (found[~same].mean() - found[same].mean()) / found.std()


@EVERY
def test_sequences_not_seen_are_recognised_well_above_chance(name, fitted, train, test):
    accuracy, apart = evaluate(fitted(name), train, test)
    assert accuracy > 0.75  # chance is 1/3
    assert apart > 0.6


@pytest.mark.parametrize("name", BY_GRADIENT)
def test_training_brings_classes_apart_and_the_loss_down(name, fitted, train, test):
    still = {"learning_rate": 1e-12}
    if name in NETWORKS:
        still |= {"weight_decay": 0.0, "validation": 0.0, "max_epochs": 1}
        losses = fitted(name).history_["epoch_loss"]
        assert losses[-1] < losses[0]
    before = evaluate(MAKERS[name](**still).fit(train), train, test)
    after = evaluate(fitted(name), train, test)
    assert after[1] > before[1] + 0.1
    assert after[0] >= before[0]


@pytest.mark.parametrize(("name", "plain"), [("rvsml", tl.DTW()), ("rvsml-opw", tl.OPW())])
def test_a_linear_map_is_better_than_none(name, plain, fitted, train, test):
    scaled = [
        tl.Sequences.from_packed(s.values / train.values.std(0), s.offsets, labels=s.labels) for s in (train, test)
    ]
    assert evaluate(fitted(name), train, test)[1] > evaluate(plain, *scaled)[1]


@EVERY
def test_distance_pairwise_and_neighbours_agree(name, fitted, train, test):
    metric = fitted(name)
    found = metric.pairwise(test[:4], train[:6])
    loop = [[metric.distance(x, y) for y in train[:6]] for x in test[:4]]
    np.testing.assert_allclose(found, loop, rtol=1e-4, atol=1e-5)
    matches = metric.neighbors(train[:6], test[:4], k=2)
    np.testing.assert_array_equal(matches.ids, np.argsort(found, axis=1, kind="stable")[:, :2])
    np.testing.assert_allclose(matches.distances, np.sort(found, axis=1)[:, :2], rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in MAKERS if name.startswith("tap")])
def test_an_alignment_costs_the_distance_and_has_mass_one(name, fitted, test):
    metric = fitted(name)
    found = metric.align(test[0], test[1])
    assert found.cost == pytest.approx(metric.distance(test[0], test[1]), rel=1e-5, abs=1e-6)
    assert found.plan.shape == (len(test[0]), len(test[1]))
    assert found.plan.sum() == pytest.approx(1, abs=1e-5)
    if name == "tap-paper":  # elsewhere the last frame may have fewer steps, which then have more of its mass
        np.testing.assert_allclose(found.plan.sum(axis=1), 1 / len(test[0]), rtol=1e-4)


def test_the_predicted_plan_times_the_distances_of_frames_is_the_distance(fitted, test):
    metric = fitted("tap-paper")
    found = metric.align(test[0], test[1])
    frames = [metric.network_.features(*metric.scaler_.transform(test[[i]]).to_tensor()).values[0] for i in (0, 1)]
    x, y = (side[:, : metric.network_.transformation.n_outputs].detach().double().numpy() for side in frames)
    between = np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))
    assert (found.plan * between).sum() == pytest.approx(found.cost, rel=1e-5)


@pytest.mark.parametrize("name", ["tap", "aligned", "aligned-opw"])
def test_an_aligned_pair_can_be_drawn(name, fitted, test):
    figure = fitted(name).align(test[0], test[1]).plot()
    assert len(figure.axes) > 0


def test_the_state_of_the_twins_is_told_at_every_time(fitted, test):
    metric = MAKERS["coupled"](sync="last", max_epochs=2).fit(test)
    found = metric.synchronization(test[0], test[1])
    assert found.shape == (max(len(test[0]), len(test[1])),)
    assert found[-1] == pytest.approx(metric.distance(test[0], test[1]), rel=1e-5)
    assert metric.synchronization(test[0], test[0]).max() == 0
    mean = MAKERS["coupled-paper"](sync="mean", max_epochs=2).fit(test)
    found = mean.synchronization(test[0], test[1])
    assert found.mean() == pytest.approx(mean.distance(test[0], test[1]), rel=1e-5)


def test_states_are_drawn_for_every_pair_by_class(fitted, test):
    metric = fitted("coupled")
    groups = np.where(test.labels == test.labels[0], "alike", "other")
    figure = metric.plot_synchronization(test[0], test, groups)
    lines = figure.axes[0].lines
    order = np.argsort(groups, kind="stable")
    assert len(lines) == len(test)
    for line, item in zip(lines, order, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), metric.synchronization(test[0], test[int(item)]))
    assert [words.get_text() for words in figure.legends[0].get_texts()] == ["alike", "other"]
    assert len(metric.plot_synchronization(test[0], test[:4]).axes[0].lines) == 4  # by their own labels
    with pytest.raises(ValueError, match="y has shape"):
        metric.plot_synchronization(test[0], test, [1, 2])


def test_lyapunov_the_mean_gate_and_the_norm_of_the_coupling_are_told(fitted):
    metric = fitted("coupled")
    assert metric.lyapunov_exponent(steps=50) == metric.lyapunov_exponent(steps=50)
    gates, norms = metric.history_["coupling"], metric.history_["coupling_norm"]
    assert len(gates) == len(norms) == metric.history_.n_steps
    assert gates[0] == pytest.approx(1 / (1 + np.exp(2)), abs=0.05)  # W_hc is small at first, and the bias is −2
    assert ((gates > 0) & (gates < 1)).all()
    assert norms[0] > 0


@pytest.mark.parametrize("variant", ["cnn_large", "cnn_deep"])
def test_other_sizes_of_tap_learn(variant, train, test):
    metric = MAKERS["tap"](variant=variant, max_epochs=4).fit(train)
    assert evaluate(metric, train, test)[0] > 0.7


@pytest.mark.parametrize("aligner", ["tcot", "sinkhorn", tl.OT(), tl.nn.SoftDTW(gamma=0.5), tl.nn.OPW()])
def test_any_aligner_with_a_gradient_takes_the_place_of_tap(aligner, train, test):
    metric = MAKERS["aligned"](aligner=aligner, max_epochs=6).fit(train)
    assert evaluate(metric, train, test)[0] > 0.6
    assert metric.symmetric
    assert isinstance(metric, align.Aligner)


def test_a_distance_network_of_the_users_own_compares():
    class Means(tl.metric.DistanceNetwork):
        def features(self, x, lengths):
            return tl.metric.Features(x.mean(1, keepdim=True), lengths)

        def pair_distances(self, x, y):
            return (x.values - y.values).norm(dim=(1, 2))

    x, y = torch.randn(2, 3, 5, 2)
    torch.testing.assert_close(Means()(x, y), (x.mean(1) - y.mean(1)).norm(dim=1))


def test_an_aligner_given_as_a_value_has_its_options():
    layer = tl.nn.AlignedFramesNetwork(2, aligner=tl.SoftDTW(gamma=0.3, window=4, divergence=True), hidden=2).aligner
    assert (layer.gamma, layer.window, layer.divergence) == (0.3, 4, True)
    assert tl.nn.AlignedFramesNetwork(2, aligner=tl.OPW(deviation=2.0), hidden=2).aligner.aligner == tl.OPW(
        deviation=2.0
    )


def test_a_module_that_is_given_is_not_changed_by_training(train):
    own = tl.nn.TAP(4, transform=False, n_kernels=2)
    before = [p.detach().clone() for p in own.parameters()]
    metric = MAKERS["aligned"](aligner=own, max_epochs=1).fit(train)
    assert all((a == b).all() for a, b in zip(before, own.parameters(), strict=True))
    learned = metric.network_.aligner.parameters()
    assert any((a != b).any() for a, b in zip(before, learned, strict=True))


@pytest.mark.parametrize("supervision", ["augmentation", "alignment"])
def test_alignments_are_learned_without_classes(supervision):
    bare = turning(24, 0).replace(labels=None)
    metric = MAKERS["tap"](supervision=supervision, max_epochs=10, learning_rate=1e-2, schedule="constant").fit(bare)
    losses = metric.history_["epoch_loss"]
    assert losses[-1] < 0.95 * losses[0]
    assert not hasattr(metric, "classes_")
    assert metric.pairwise(bare[:3]).shape == (3, 3)


def test_few_shot_tasks_are_learned_from(train, test):
    metric = MAKERS["tap"](supervision=tl.metric.Episodes(n_way=3, k_shot=2, n_query=3), max_epochs=1).fit(train)
    assert metric.history_.n_steps == 100
    assert evaluate(metric, train, test)[0] > 0.75
