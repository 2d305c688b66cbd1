"""Fits that repeat, fail, pause, continue and stop."""

import math
import signal

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_score

import timelike as tl
from timelike.metric.objectives import supervised
from timelike.train import DivergenceError, loop as training_loop
from toy_metrics import MAKERS
from toys import turning

SHORT = {"max_epochs": 2}
FITS = ["siamese", "coupled", "tap", "deep", "elements"]


def short(name, **more):
    return MAKERS[name](**({"max_steps": 3} if name == "elements" else SHORT) | more)


def weights(metric):
    return torch.cat([p.detach().flatten() for p in metric.network_.parameters()])


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("seed", [lambda: 3, lambda: np.int64(3), lambda: np.random.default_rng(3)])
def test_a_seed_or_a_generator_repeats_the_whole_fit(name, seed, train):
    one, two = (weights(short(name, random_state=seed()).fit(train)) for _ in range(2))
    assert torch.equal(one, two)
    assert not torch.equal(one, weights(short(name, random_state=4).fit(train)))


def test_the_global_generators_are_left_alone(train):
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    expected = torch.rand(1), np.random.rand()  # noqa: NPY002
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    short("siamese").fit(train)
    assert (torch.rand(1), np.random.rand()) == expected  # noqa: NPY002


@pytest.mark.parametrize("name", ["siamese", "tap", "rvsml", "deep", "elements"])
def test_a_fit_that_fails_leaves_everything_as_it_was(name, train, monkeypatch):
    metric = MAKERS[name]() if name == "rvsml" else short(name)
    broken = turning(12, 5).replace(labels=[7] * 12)
    with pytest.raises(ValueError, match="one class"):
        metric.fit(broken)
    assert vars(metric) == vars(MAKERS[name]() if name == "rvsml" else short(name))
    metric.fit(train)
    before = dict(vars(metric))
    with pytest.raises(ValueError, match="one class"):
        metric.fit(broken)

    def stop(*args, **kwargs):
        raise RuntimeError("no")

    monkeypatch.setattr("timelike.train.loop.fit", stop)
    with pytest.raises(RuntimeError):
        metric.fit(np.zeros((6, 5, 1)), [0, 1] * 3)
    assert vars(metric) == before


def test_fitting_again_forgets_what_was_learned_before(train):
    metric = short("tap").fit(train)
    again = short("tap").fit(np.ones((8, 4, 1)), [0, 1] * 4)
    metric.fit(np.ones((8, 4, 1)), [0, 1] * 4)
    assert torch.equal(weights(metric), weights(again))
    assert metric.classes_.tolist() == [0, 1]
    assert metric.n_features_in_ == 4
    metric.set_params(supervision="augmentation").fit(train)
    assert not hasattr(metric, "classes_")
    assert not hasattr(metric, "n_features_in_")


@pytest.mark.parametrize("name", ["siamese", "coupled", "tap"])
def test_pairs_are_enough_to_learn_from(name, train, test):
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, len(train), (150, 2))
    same = train.labels[pairs[:, 0]] == train.labels[pairs[:, 1]]
    metric = MAKERS[name](loss="contrastive", max_epochs=8).fit_pairs(train, pairs, same)
    found = metric.pairwise(test, train)
    assert np.mean(train.labels[found.argmin(axis=1)] == test.labels) > 0.75
    assert not hasattr(metric, "classes_")
    assert metric.history_["epoch_loss"][-1] < metric.history_["epoch_loss"][0]


@pytest.mark.parametrize("name", ["siamese", "tap"])
def test_a_training_that_paused_ends_as_one_that_did_not(name, train, tmp_path):
    # a cycle over twice as many epochs is another one from the start
    whole = short(name, max_epochs=4, schedule="plateau").fit(train)
    short(name, schedule="plateau", checkpoint=tmp_path / "kept").fit(train)
    continued = short(name, max_epochs=4, schedule="plateau", checkpoint=tmp_path / "kept").fit(train)
    assert torch.equal(weights(whole), weights(continued))
    np.testing.assert_array_equal(whole.history_.scores, continued.history_.scores)


def test_without_a_seed_a_training_continues_with_the_same_sequences_held_out(train, tmp_path):
    short("siamese", checkpoint=tmp_path / "kept", random_state=None).fit(train)
    again = short("siamese", checkpoint=tmp_path / "kept", random_state=None, max_epochs=3).fit(train)
    assert len(again.history_["epoch_loss"]) == 3


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"hidden": 9}, "hidden, 8 there and 9 here"),
        ({"loss": tl.metric.losses.Triplet(margin=0.3)}, "loss"),
        ({"n_per_class": 4}, "n_per_class, 6 there and 4 here"),
        ({"validation": 0.5}, "other held-out sequences"),
        ({"validation": 0.0}, "other held-out sequences"),
        ({"standardize": False}, "standardize"),
        ({"cell": "lstm"}, "cell"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(change, word, train, tmp_path):
    short("siamese", checkpoint=tmp_path / "kept").fit(train)
    with pytest.raises(ValueError, match=f"{word}.*: .*give another folder, or remove this one") as caught:
        short("siamese", checkpoint=tmp_path / "kept", **change).fit(train)
    assert "resume" not in str(caught.value)  # which no estimator takes


def test_a_checkpoint_of_other_sequences_or_classes_is_refused(train, tmp_path):
    short("tap", checkpoint=tmp_path / "kept").fit(train)
    with pytest.raises(ValueError, match="kept has other sequences: it belongs"):
        short("tap", checkpoint=tmp_path / "kept").fit(turning(36, 8))
    with pytest.raises(ValueError, match="kept has other labels: it belongs"):
        short("tap", checkpoint=tmp_path / "kept").fit(train, np.arange(36) % 2)
    with pytest.raises(ValueError, match="another supervision, labels there and pairs here"):
        short("tap", checkpoint=tmp_path / "kept", loss="contrastive").fit_pairs(train, [[0, 1], [0, 3]], [0, 1])


def test_the_learning_rate_and_the_length_may_change_in_a_pause(train, tmp_path):
    short("siamese", checkpoint=tmp_path / "kept").fit(train)
    changed = {"learning_rate": 1e-4, "max_epochs": 3, "patience": 7}
    assert len(short("siamese", checkpoint=tmp_path / "kept", **changed).fit(train).history_["epoch_loss"]) == 3


def held(metric, sequences):
    codes = np.unique(sequences.labels, return_inverse=True)[1]
    return metric._validation_positions(sequences, codes, np.random.default_rng(0))


def test_the_share_held_out_is_of_every_class(train):
    chosen = held(tl.SiameseGRU(trainer=tl.Trainer(validation=0.25)), train)
    assert np.unique(train.labels[chosen], return_counts=True)[1].tolist() == [3, 3, 3]


@pytest.mark.parametrize("validation", [0.01, 0.9])
def test_extreme_shares_leave_two_of_every_class_and_take_one(validation, train):
    chosen = held(tl.SiameseGRU(trainer=tl.Trainer(validation=validation)), train)
    assert np.unique(train.labels[chosen], return_counts=True)[1].min() >= 1
    assert np.unique(np.delete(train.labels, chosen), return_counts=True)[1].min() >= 2


def test_many_small_classes_are_no_failure_and_small_ones_are_kept_whole():
    labels = np.r_[np.repeat(np.arange(30), 4), 30, 31, 31]
    chosen = held(
        tl.SiameseGRU(trainer=tl.Trainer(validation=0.2)), tl.Sequences(np.zeros((len(labels), 2)), labels=labels)
    )
    assert sorted(labels[chosen].tolist()) == list(range(30))


def test_groups_are_held_out_whole_unless_a_class_would_be_gone(train):
    groups = np.repeat(np.arange(6), 6)
    chosen = held(tl.SiameseGRU(trainer=tl.Trainer(validation=0.2)), train.replace(groups=groups))
    assert not set(groups[chosen]) & set(np.delete(groups, chosen))
    own = train.replace(groups=np.unique(train.labels, return_inverse=True)[1])  # one group for each class
    assert set(np.delete(train.labels, held(tl.SiameseGRU(trainer=tl.Trainer(validation=0.2)), own))) == set(
        train.labels
    )


def test_the_best_weights_are_kept_with_and_without_patience(train, monkeypatch):
    scores = iter([0.1, 0.9, 0.5, 0.2] * 3)
    seen = []
    monkeypatch.setattr(
        supervised.ValidatedSupervisedObjective,
        "validate",
        lambda self: seen.append(weights_of(self.module)) or next(scores),
    )
    metric = short("siamese", max_epochs=4, patience=None).fit(train)
    assert torch.equal(weights(metric), seen[1])
    assert len(seen) == 4
    metric = short("siamese", max_epochs=4, patience=1).fit(train)
    assert torch.equal(weights(metric), seen[5])
    assert metric.history_.stop_reason == "patience"


def weights_of(module):
    return torch.cat([p.detach().flatten() for p in module.parameters()]).clone()


@pytest.mark.parametrize("name", FITS)
def test_a_bar_has_the_name_of_the_estimator_and_shows_how_far_it_is(name, train, capsys):
    metric = short(name, progress=True).fit(train)
    shown = capsys.readouterr().err
    assert f"{type(metric).__name__}: 100%" in shown
    assert ("3/3" if name == "elements" else "2/2") in shown
    assert "loss=" in shown


class Breaking(tl.metric.losses.Triplet):
    def __call__(self, distances, labels, gallery_labels=None, *, valid=None):
        return distances.sum() * torch.nan


def test_a_training_that_diverges_names_the_sequences_as_they_were_given(train):
    metric = MAKERS["siamese"](loss=Breaking())
    held_out = metric._validation_positions(train, np.unique(train.labels, return_inverse=True)[1], metric._rng())
    with pytest.raises(DivergenceError, match="in the batch of the sequences .*lower the learning rate") as caught:
        metric.fit(train)
    assert set(caught.value.ids) <= set(range(36)) - set(held_out.tolist())
    assert max(caught.value.ids) > 36 - len(held_out)  # so they are not counted among those that are left
    assert "gradient_clip" not in str(caught.value)  # which `fit` of train takes as an argument, and no metric


@pytest.mark.parametrize("name", ["elements", "deep"])
def test_where_frames_are_learned_from_it_is_their_sequences_that_are_named(name, train):
    with pytest.raises(DivergenceError, match="in the batch of the sequences") as caught:
        short(name, learning_rate=1e20).fit(train)
    assert max(caught.value.ids) < len(train)
    assert len(set(caught.value.ids)) == len(caught.value.ids)


def test_a_last_step_that_diverges_is_noticed_too(train):
    with pytest.raises(
        DivergenceError, match=r"frames of the sequence 0 after step \d+, the last: lower the learning rate"
    ):
        MAKERS["deep"](learning_rate=1e25, max_epochs=1).fit(train[:12])  # whose frames make one batch


def test_pairs_that_diverge_are_called_pairs(train):
    class Nowhere(tl.metric.losses.Contrastive):
        def pair_loss(self, distances, same):
            return distances.sum() * torch.nan

    with pytest.raises(DivergenceError, match="in the batch of the pairs [01], [01]:"):
        MAKERS["siamese"](loss=Nowhere()).fit_pairs(train, [[0, 1], [0, 3]], [0, 1])


def test_a_checkpoint_that_is_further_than_asked_for_is_kept_with_a_warning(train, tmp_path):
    first = short("siamese", checkpoint=tmp_path / "kept").fit(train)
    with pytest.warns(
        UserWarning, match="max_epochs=1, but the checkpoint has been trained for 2 epochs.*another folder"
    ):
        again = short("siamese", checkpoint=tmp_path / "kept", max_epochs=1).fit(train)
    assert torch.equal(weights(first), weights(again))


def test_the_rate_is_halved_after_ten_epochs_without_a_smaller_loss(train):
    metric = MAKERS["siamese-paper"](max_epochs=40, patience=math.inf, learning_rate=3e-4).fit(train)
    history, optimizer = metric.history_, torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=3e-4)
    rival = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=9, threshold=0.0, eps=0.0)
    expected, each = [], history.n_steps // 40
    for losses in history["loss"].reshape(40, each):
        expected += [optimizer.param_groups[0]["lr"]] * each
        rival.step(losses.mean())
    np.testing.assert_allclose(history["rate"], expected)
    assert expected[-1] < 3e-4


def test_pressing_ctrl_c_twice_stops_a_search_too(train, monkeypatch):
    fits = []

    def pressed(self, batch):  # by an impatient user, once in every training
        if self.pressed != fits[-1]:
            self.pressed = fits[-1]
            signal.raise_signal(signal.SIGINT)
        return plain(self, batch)

    def counted(*args, **kwargs):
        fits.append(len(fits))
        return begin(*args, **kwargs)

    plain, begin = supervised.ValidatedSupervisedObjective.loss, training_loop.fit
    monkeypatch.setattr(
        "timelike.core.interrupts._DOUBLE_PRESS_SECONDS", 300.0
    )  # seconds between two presses, on however busy a machine
    monkeypatch.setattr("timelike.core.interrupts._last_interrupt", -math.inf)  # another test may have pressed it
    monkeypatch.setattr(supervised.ValidatedSupervisedObjective, "pressed", None, raising=False)
    monkeypatch.setattr(supervised.ValidatedSupervisedObjective, "loss", pressed)
    monkeypatch.setattr(training_loop, "fit", counted)
    with (
        pytest.warns(UserWarning, match="press it twice to stop the calling program too"),
        pytest.raises(KeyboardInterrupt),
    ):
        cross_val_score(tl.Neighbors(MAKERS["siamese"](max_epochs=30, patience=None)), train, train.labels, cv=5)
    assert len(fits) == 2


def test_ctrl_c_stops_the_training_and_keeps_what_there_is(train, monkeypatch):
    metric = MAKERS["siamese"](max_epochs=10_000, patience=None)
    losses, plain = [], supervised.ValidatedSupervisedObjective.loss

    def pressed(self, batch):
        losses.append(batch)
        if len(losses) == 9:
            signal.raise_signal(signal.SIGINT)
        return plain(self, batch)

    monkeypatch.setattr(supervised.ValidatedSupervisedObjective, "loss", pressed)
    with pytest.warns(UserWarning, match="Ctrl-C"):
        metric.fit(train)
    assert metric.history_.stop_reason == "Ctrl-C"
    assert np.isfinite(metric.pairwise(train[:3])).all()


@pytest.mark.parametrize("score", ["average_precision", "loss"])
def test_training_is_validated_by_the_precision_or_the_loss_of_those_held_out(score, train):
    classes, held_out = np.asarray(train.labels), np.arange(0, len(train), 4)
    codes = np.unique(classes, return_inverse=True)[1]
    network, loss = MAKERS["siamese"]().fit(train).network_, tl.metric.losses.Triplet()
    ready = tl.Sequences([np.asarray(one, np.float32) for one in train])
    objective = supervised.ValidatedSupervisedObjective(
        network, ready, codes, held_out, loss, np.random.default_rng(0), score=score
    )
    others = np.setdiff1d(np.arange(len(train)), held_out)
    with torch.no_grad():
        sides = [network.features(*ready[ids].to_tensor()) for ids in (held_out, others)]
        apart = network.distance_matrix(*sides).numpy()
    each = []
    for q, row in zip(held_out, apart, strict=True):
        same = codes[others] == codes[q]
        if score == "average_precision":
            each.append(average_precision_score(same, -row))
        else:  # equation 4 of Su and Wen
            near, far = row[same], row[~same]
            each.append(np.maximum(near - far.min() + 0.1, 0).sum() + np.maximum(near.max() + 0.1 - far, 0).sum())
    np.testing.assert_allclose(objective.validate(), np.mean(each), rtol=1e-5)
    assert objective.higher_is_better == (score == "average_precision")


def test_the_weights_with_the_smallest_held_out_loss_are_kept(train):
    common = {"max_epochs": 6, "learning_rate": 0.1, "schedule": "constant"}
    by_loss, by_search = (short("siamese", validation_score=score, **common).fit(train) for score in ("loss", None))
    assert not by_loss.history_.higher_is_better
    assert by_search.history_.higher_is_better
    assert len(by_loss.history_.scores) == 6
    codes = np.unique(train.labels, return_inverse=True)[1]
    objective = by_loss._make_objective(by_loss._standardize(train), codes)
    assert objective.validate() == pytest.approx(by_loss.history_.scores.min(), rel=1e-5)


@pytest.mark.parametrize("rate", [1e12, 1e20])
def test_a_network_that_diverges_just_before_its_validation_says_so(rate, train):
    with pytest.raises(DivergenceError, match="lower the learning rate"):
        MAKERS["tap"](learning_rate=rate, batch_size=36, n_per_class=None, max_epochs=2).fit(train)
