"""What TAP learns from: without labels frames stay as they are, with labels every class is held out."""

import numpy as np
import pytest
import torch

import timelike as tl
from timelike.metric import AlignmentPredictor, Episodes
from toys import trained

SMALL = {"alignment": AlignmentPredictor(n_kernels=2), "max_epochs": 1, "standardize": False, "random_state": 0}


def waves(n_classes, members, channels=2):
    rng = np.random.default_rng(0)
    speed = np.repeat(0.3 + 0.2 * np.arange(n_classes), members)
    phase = rng.uniform(0, 3, (len(speed), 1, channels))
    return np.sin(np.arange(9)[None, :, None] * speed[:, None, None] + phase).astype(np.float32)


@pytest.mark.parametrize("supervision", ["augmentation", "alignment"])
def test_without_labels_frames_are_compared_as_they_are(supervision, tmp_path):
    x = waves(2, 8)
    metric = trained(tl.TAP, supervision=supervision, **SMALL).fit(x)
    lengths = torch.full((1,), 9)
    frames = metric.network_.features(torch.tensor(x[:1]), lengths).values[0, :, :2]
    np.testing.assert_array_equal(frames, x[0])
    plan = metric.align(x[0], x[9])
    apart = np.linalg.norm(x[0][:, None] - x[9][None], axis=-1)
    assert plan.cost == pytest.approx((plan.plan * apart).sum(), rel=1e-5)
    metric.save(tmp_path / "model")
    assert tl.load_model(tmp_path / "model").distance(x[0], x[9]) == metric.distance(x[0], x[9])


def test_a_share_smaller_than_the_classes_still_holds_out_one_of_each():
    x, y = waves(10, 5), np.repeat(np.arange(10), 5)
    metric = trained(tl.TAP, hidden=8, validation=0.1, **SMALL).fit(x, y)
    assert len(metric.history_.scores) == 1


@pytest.mark.parametrize("supervision", ["labels", "augmentation"])
def test_classes_are_asked_for_where_they_are_needed(supervision):
    tags = tl.TAP(supervision=supervision).__sklearn_tags__()
    assert tags.target_tags.required == (supervision == "labels")


HELD = {"hidden": 8, "random_state": 0, "max_epochs": 3, "learning_rate": 1e-2}


def labelled(n_classes, members):
    return tl.Sequences(waves(n_classes, members), labels=np.repeat(np.arange(n_classes), members))


@pytest.mark.parametrize("supervision", ["augmentation", "alignment"])
def test_without_labels_it_is_judged_by_augmentations_of_what_is_held_out(supervision, monkeypatch):
    X = labelled(2, 10)
    metric = trained(tl.TAP, supervision=supervision, **HELD).fit(X)
    assert len(metric.history_.scores) == 3
    assert not metric.history_.higher_is_better
    unjudged = trained(tl.TAP, supervision=supervision, validation=0.0, **HELD).fit(X)
    assert len(unjudged.history_.scores) == 0
    objective = metric._make_objective(metric._standardize(X), None)
    assert set(objective.source_positions) == set(range(20)) - set(objective.held_out)
    assert len(objective.held_out) == 4
    with torch.no_grad():
        expected = np.mean([float(objective.loss(batch)) for batch in objective.validation_batches])
        assert objective.validate() == pytest.approx(expected)
        assert objective.validate() == objective.validate()  # made once and for all


def test_few_shot_tasks_are_judged_by_queries_that_take_no_part():
    X = labelled(3, 12)
    metric = trained(tl.TAP, supervision=Episodes(n_way=3, k_shot=2, n_query=3), **HELD | {"max_epochs": 1}).fit(X)
    assert len(metric.history_.scores) == 1
    assert not metric.history_.higher_is_better
    codes = np.unique(X.labels, return_inverse=True)[1]
    objective = metric._make_objective(metric._standardize(X), codes)
    held, used = set(objective.held_out.tolist()), set(objective.source_positions.tolist())
    assert held | used == set(range(36))
    assert not held & used
    assert np.bincount(codes[objective.source_positions]).min() >= 5  # enough for a task of its own
    for task, n_way in objective.validation_tasks:
        assert n_way == 3
        assert set(task.ids.tolist()) <= held
        kinds = codes[task.ids][np.searchsorted(task["labels"].numpy(), np.arange(3))]
        np.testing.assert_array_equal(codes[task.ids], kinds[task["labels"].numpy()])
    for batch in objective.batches(0, np.random.default_rng(0)):
        assert set(batch.ids.tolist()) <= used
        break


@pytest.mark.parametrize("supervision", ["augmentation", "alignment", "episodes"])
def test_patience_ends_a_training_that_gets_no_better(supervision, monkeypatch):
    from timelike.metric.objectives import episodes, self_supervised

    for kind in (self_supervised.ValidatedSelfSupervisedObjective, episodes.ValidatedEpisodeObjective):
        monkeypatch.setattr(kind, "validate", lambda self: 1.0)
    if supervision == "episodes":
        supervision = Episodes(n_way=2, n_query=2)
    metric = trained(tl.TAP, supervision=supervision, patience=2, **HELD | {"max_epochs": 9})
    assert metric.fit(labelled(2, 12)).history_.stop_reason == "patience"
    assert len(metric.history_["epoch_loss"]) == 3


def test_too_few_sequences_to_hold_some_out_are_all_learned_from_and_it_is_said():
    tasks = trained(tl.TAP, supervision=Episodes(n_way=2, k_shot=2, n_query=2), **HELD | {"max_epochs": 1})
    with pytest.warns(UserWarning, match=r"validation=0.2, but there are fewer than two classes of 5 members"):
        assert len(tasks.fit(labelled(2, 4)).history_.scores) == 0
    alone = trained(tl.TAP, supervision="augmentation", **HELD)
    with pytest.warns(UserWarning, match="fewer than 4 sequences: nothing is held out"):
        assert len(alone.fit(labelled(1, 3)).history_.scores) == 0
    alone.set_params(trainer__validation=0.0).fit(labelled(1, 3))  # which says that it is meant
