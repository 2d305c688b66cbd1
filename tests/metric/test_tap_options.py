"""Options of TAP's training and its verbs: each changes what it says, and nothing else."""

import math
from functools import partial

import numpy as np
import pytest
import torch

import timelike as tl
from naive import tap as naive
from timelike.metric import AlignmentPredictor, Episodes, Labels, SelfSupervision
from timelike.metric.losses import Loss
from timelike.sequences.augment import Blur, Merge, RandomCrop, TimeWarp, choose
from timelike.train import Plateau
from toys import trained

ALIGNED = {"hidden": 8, "max_epochs": 2, "validation": 0.0, "random_state": 0}
SMALL = ALIGNED | {"alignment": AlignmentPredictor(n_kernels=2)}
UNLABELLED = {"augmentation": SelfSupervision, "alignment": partial(SelfSupervision, distance_weight=0.0)}
TASKS = partial(Episodes, n_way=2, n_query=2, n_episodes=2)


class Silent(Loss):
    """A loss that never falls."""

    def query_losses(self, pairs):
        return 0 * pairs.distances.sum(1)


@pytest.fixture
def waves():
    rng = np.random.default_rng(0)
    labels = np.arange(16) % 2
    made = [np.sin((1 + k) * np.arange(rng.integers(6, 11))[:, None] / 3 + [0, 1]) for k in labels]
    return tl.Sequences([x + rng.normal(0, 0.1, x.shape) for x in made], labels=labels)


def weights(metric):
    return {name: weight.detach().clone() for name, weight in metric.network_.named_parameters()}


def moved(metric):
    """How far every weight is from where it began."""
    with tl.train.use_seed(metric.random_state):
        before = metric._build_distance_network(2).state_dict()
    return {name: float((now - before[name]).abs().max()) for name, now in weights(metric).items()}


@pytest.mark.parametrize(("weight", "share"), [(2.0, 2.0), ("paper", 1 / 8), (1, 1.0)])
def test_the_loss_of_every_step_has_equation_10_with_its_weight(waves, weight, share):
    supervision = Labels(augment=True, consistency=weight)
    history = trained(tl.TAP, supervision=supervision, batch_size=8, **SMALL).fit(waves).history_
    assert (history["consistency"] > 0).all()
    np.testing.assert_allclose(history["loss"], history["metric"] + share * history["consistency"], rtol=1e-5)


def test_without_its_weight_or_without_augmentation_there_is_no_equation_10(waves):
    for supervision in (Labels(augment=True, consistency=0), Labels(augment=False), "labels"):
        history = trained(tl.TAP, supervision=supervision, **SMALL).fit(waves).history_
        np.testing.assert_array_equal(history["loss"], history["metric"])
        assert "consistency" not in history.names


def test_a_weight_is_a_number_or_the_papers_and_may_not_change_in_a_pause(waves, tmp_path):
    for wrong in ("authors", -1.0, True):
        with pytest.raises((TypeError, ValueError), match=r"consistency=.*: expected a"):
            Labels(consistency=wrong)
    trained(tl.TAP, checkpoint=tmp_path, **SMALL).fit(waves)
    with pytest.raises(ValueError, match="another consistency, 'paper' there and 0.5 here"):
        trained(tl.TAP, checkpoint=tmp_path, supervision=Labels(consistency=0.5), **SMALL).fit(waves)


@pytest.mark.parametrize("augment", [Merge(even=True), RandomCrop(), choose([Blur(), TimeWarp()])])
@pytest.mark.parametrize("word", ["labels", *UNLABELLED])
def test_the_augmentation_that_is_given_is_the_one_that_is_learned_from(waves, augment, word, tmp_path):
    supervision = UNLABELLED.get(word, Labels)(augment=augment)
    metric = trained(tl.TAP, supervision=supervision, **SMALL).fit(waves)
    codes = None if word in UNLABELLED else waves.labels
    assert metric._make_objective(metric._standardize(waves), codes).augmentation == augment
    usual = trained(tl.TAP, supervision=word, **SMALL).fit(waves)
    assert not np.array_equal(usual.history_["loss"], metric.history_["loss"])
    metric.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    assert again.supervision == supervision
    np.testing.assert_array_equal(again.pairwise(waves), metric.pairwise(waves))


def test_what_is_no_augmentation_or_none_where_there_must_be_one_is_refused():
    metric = tl.TAP(supervision=Labels(augment=Merge())).set_params(supervision__augment__even=True)
    assert metric.supervision.augment == Merge(even=True)
    with pytest.raises(TypeError, match=r"augment='merge': expected True, False, or an augmentation of timelike"):
        Labels(augment="merge")
    for make in UNLABELLED.values():
        with pytest.raises(ValueError, match="augment=False leaves nothing to learn from"):
            make(augment=False)


@pytest.mark.parametrize("kind", [tl.TAP, tl.metric.AlignedFrames])
def test_an_epoch_has_as_many_tasks_as_it_is_told(waves, kind):
    assert trained(kind, supervision=TASKS(n_episodes=3), **ALIGNED).fit(waves).history_.n_steps == 6


def test_dual_says_whether_both_directions_are_learned_from(waves):
    for make in (partial(Labels, augment=True), TASKS, *UNLABELLED.values()):
        both, one = (
            trained(tl.TAP, supervision=make(dual=dual), **SMALL).fit(waves).history_["loss"][0]
            for dual in (True, False)
        )
        assert both != one


@pytest.mark.parametrize("supervision", UNLABELLED)
def test_frames_are_learned_from_augmentations_only_where_joint_is_asked_for(waves, supervision, tmp_path):
    alone = trained(tl.TAP, supervision=supervision, **SMALL).fit(waves)
    assert not any(name.startswith("transformation.") for name in weights(alone))
    joint = trained(tl.TAP, supervision=UNLABELLED[supervision](joint=True), **SMALL).fit(waves)
    steps = moved(joint)
    assert all(step > 0 for name, step in steps.items() if name.endswith("weight"))
    assert any(name.startswith("transformation.") for name in steps)
    joint.save(tmp_path / "model")
    np.testing.assert_array_equal(tl.load_model(tmp_path / "model").pairwise(waves), joint.pairwise(waves))
    with pytest.raises(ValueError, match=r"joint=False.* was .*joint=True.* when this TAP was fitted"):
        joint.set_params(supervision__joint=False).save(tmp_path / "other")


@pytest.mark.parametrize("supervision", [Labels(joint=False), TASKS(joint=False)])
def test_without_joint_classes_teach_the_alignment_alone(waves, supervision):
    metric = trained(tl.TAP, supervision=supervision, standardize=False, **SMALL).fit(waves)
    assert all(name.startswith("scores.") for name in weights(metric))
    plan = metric.align(waves[0], waves[1])
    apart = naive.distances(waves[0], waves[1])
    assert plan.cost == pytest.approx((plan.plan * apart).sum(), rel=1e-5)


def test_a_short_clip_keeps_weights_where_they_are_and_none_does_not(waves):
    options = ALIGNED | {"weight_decay": 0.0, "learning_rate": 1e-3, "schedule": "constant"}
    for kind in (tl.TAP, tl.metric.AlignedFrames):
        far, near = (
            max(moved(trained(kind, gradient_clip=clip, **options).fit(waves)).values()) for clip in (math.inf, 1e-12)
        )
        assert far > 1e-3  # Adam makes a step of the rate of any gradient …
        assert near < 1e-5  # … that is above the 1e-8 in its denominator


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [(Plateau(patience=2, monitor="loss"), [1, 1, 1, 0.5, 0.5, 0.25]), ("plateau", [1] * 6), ("constant", [1] * 6)],
)
def test_the_rate_is_halved_after_as_many_epochs_without_progress_as_it_is_told(waves, schedule, expected):
    options = SMALL | {"max_epochs": 6, "learning_rate": 1e-3, "schedule": schedule}
    metric = trained(tl.TAP, loss=Silent(), batch_size=16, n_per_class=8, **options).fit(waves)
    rates = metric.history_["rate"]
    assert len(rates) == 6
    np.testing.assert_allclose(rates, 1e-3 * np.array(expected))


def test_norm_ratios_are_those_of_g_and_the_distances_of_every_pair(waves):
    metric = trained(tl.TAP, supervision="augmentation", standardize=False, **SMALL).fit(waves)
    layers = [
        (layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy())
        for layer in metric.network_.scores.layers
    ]
    found = metric.norm_ratio(waves[:3], waves[5:7])
    for i in range(3):
        for j in range(2):
            table = naive.distances(waves[i], waves[5 + j])
            expected = np.linalg.norm(naive.correction(table, layers)) / np.linalg.norm(table)
            assert found[i, j] == pytest.approx(expected, rel=1e-4)
    np.testing.assert_array_equal(metric.norm_ratio(waves)[:3, 5:7], found)
    with pytest.raises(ValueError, match=r"X has frames of shape \(2,\) and Y of \(3,\)"):
        metric.norm_ratio(waves, np.zeros((1, 4, 3)))


@pytest.mark.parametrize("kind", [tl.TAP, tl.metric.AlignedFrames])
def test_mean_pooled_is_the_mean_of_the_frames_of_each_sequence_alone(waves, kind):
    metric = kind(hidden=8, front=None, max_steps=1, random_state=0).fit(waves)
    mean, scale = waves.values.mean(0), waves.values.std(0)
    perceptron = [layer for layer in metric.network_.transformation.perceptron if isinstance(layer, torch.nn.Linear)]
    for x, found in zip(waves, metric.pool_frames(waves), strict=True):
        frames = (x - mean) / scale
        for number, layer in enumerate(perceptron):
            frames = frames @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()
            frames = np.maximum(frames, 0) if number < 2 else frames
        frames = frames / np.linalg.norm(frames, axis=1, keepdims=True)
        np.testing.assert_allclose(found, frames.mean(0), rtol=1e-4, atol=1e-6)
