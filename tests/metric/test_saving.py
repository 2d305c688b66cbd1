"""Learned metrics saved, copied, and inside other estimators."""

import copy
import json
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import timelike as tl
from timelike.metric import losses
from toy_metrics import MAKERS

EVERY = pytest.mark.parametrize("name", MAKERS)


@EVERY
def test_a_model_comes_back_from_its_folder_with_the_same_numbers(name, fitted, test, tmp_path):
    metric = fitted(name)
    metric.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    assert type(again) is type(metric)
    np.testing.assert_array_equal(again.pairwise(test[:6]), metric.pairwise(test[:6]))
    assert again.classes_.tolist() == metric.classes_.tolist()
    assert again.symmetric == metric.symmetric
    mine, theirs = metric.get_params(), again.get_params()
    assert {key: repr(value) for key, value in theirs.items()} == {key: repr(value) for key, value in mine.items()}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("siamese", {"loss": losses.Triplet(margin=0.3), "random_state": np.random.default_rng(0)}),
        ("aligned", {"loss": losses.Lifted(margin=0.2), "aligner": tl.OPW(deviation=2.0)}),
        ("aligned", {"aligner": tl.SoftDTW(gamma=0.2), "n_outputs": 3}),
        ("rvsml", {"aligner": tl.DTW(window=0.5, band="slanted")}),
        ("elements", {"loss": losses.Binomial(), "aligner": tl.OPW(), "max_steps": 2}),
        ("deep", {"aligner": tl.OPW(deviation=2.0), "max_epochs": 1}),
    ],
)
def test_losses_and_aligners_with_options_are_kept(name, options, train, test, tmp_path):
    short = {"max_epochs": 1} if name in ("siamese", "aligned") else {}
    metric = MAKERS[name](**short | options).fit(train)
    metric.save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.pairwise(test[:4]), metric.pairwise(test[:4]))
    fields = ("random_state", "max_epochs")
    assert again.random_state is (None if "random_state" in options else metric.random_state)
    assert again.trainer == metric.trainer
    for key in options.keys() - set(fields):
        assert getattr(again, key) == options[key]


def test_a_module_as_aligner_is_refused_with_the_value_to_use_instead(train, tmp_path):
    metric = MAKERS["aligned"](aligner=tl.nn.SoftDTW(gamma=0.2), max_epochs=1).fit(train)
    with pytest.raises(TypeError, match=r"aligner is a SoftDTW.*tl\.SoftDTW"):
        metric.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_model_without_classes_is_kept_too(train, tmp_path):
    metric = MAKERS["tap"](supervision="alignment", max_epochs=1).fit(train)
    metric.save(tmp_path / "model")
    assert not hasattr(tl.load_model(tmp_path / "model"), "classes_")
    assert json.loads((tmp_path / "model" / "config.json").read_text())["method"] == "TAP"


def test_diagnostics_work_on_a_loaded_model(fitted, test, tmp_path):
    fitted("coupled").save(tmp_path / "model")
    again = tl.load_model(tmp_path / "model")
    np.testing.assert_array_equal(
        again.synchronization(test[0], test[1]), fitted("coupled").synchronization(test[0], test[1])
    )
    assert again.lyapunov_exponent(steps=20) == fitted("coupled").lyapunov_exponent(steps=20)


def test_neighbours_fit_a_metric_that_has_learned_nothing_and_keep_one_that_has(fitted, train, test):
    learned = fitted("siamese")
    kept = tl.Neighbors(learned).fit(train).metric_
    np.testing.assert_array_equal(kept.pairwise(test[:5]), learned.pairwise(test[:5]))
    model = tl.Neighbors(MAKERS["siamese"]()).fit(train)
    assert model.score(test, test.labels) > 0.75
    assert not hasattr(model.metric, "network_")


@pytest.mark.parametrize("name", ["siamese", "tap", "rvsml"])
def test_cross_validation_fits_a_metric_in_every_fold(name, train):
    short = {} if name == "rvsml" else {"max_epochs": 4}
    scores = cross_val_score(tl.Neighbors(MAKERS[name](**short)), train, train.labels, cv=2)
    assert scores.mean() > 0.6


def test_options_of_a_metric_are_searched(train):
    search = GridSearchCV(tl.Neighbors(MAKERS["siamese"](max_epochs=1)), {"metric__hidden": [2, 6]}, cv=2)
    assert search.fit(train, train.labels).best_params_["metric__hidden"] in (2, 6)


@pytest.mark.parametrize("name", ["coupled", "tap-symmetric", "elements"])
def test_learned_distances_cluster_and_make_kernels(name, fitted, train):
    medoids = tl.KMedoids(3, metric=fitted(name), random_state=0).fit(train)
    together = medoids.labels_[:, None] == medoids.labels_
    assert np.mean(together == (train.labels[:, None] == train.labels)) > 0.8
    model = make_pipeline(tl.neighbors.ElasticKernel(fitted(name)), SVC(kernel="precomputed")).fit(train, train.labels)
    assert model.score(train, train.labels) > 0.8


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("siamese", {"hidden": 5}),
        ("coupled", {"sync": "last"}),
        ("tap", {"alignment": tl.metric.AlignmentPredictor(symmetrize=True)}),
        ("tap", {"normalize": False}),
        ("rvsml", {"aligner": "opw"}),
        ("deep", {"hidden": 5}),
    ],
)
def test_a_parameter_that_was_set_after_the_fit_is_not_saved(name, changed, fitted, tmp_path):
    metric = copy.deepcopy(fitted(name))
    (option,) = changed
    before = getattr(metric, option)
    metric.set_params(**changed)
    was = re.escape(repr(before))
    with pytest.raises(ValueError, match=rf"{option}=.* was {was} when .* set_params\({option}={was}\)"):
        metric.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    metric.set_params(**{option: before}).save(tmp_path / "model")
    with pytest.raises(ValueError, match="when this"):
        tl.load_model(tmp_path / "model").set_params(**changed).save(tmp_path / "other")


def test_what_only_training_depends_on_may_be_set_before_saving(fitted, tmp_path):
    copy.deepcopy(fitted("siamese")).set_params(trainer__learning_rate=0.5, loss="lifted").save(tmp_path / "model")


def test_a_loss_of_your_own_is_not_saved_and_the_way_out_works(train, tmp_path):
    class Gap(tl.metric.losses.Loss):
        def query_losses(self, pairs):
            return (pairs.largest_positive - pairs.smallest_negative)[:, 0]

    metric = tl.SiameseGRU(hidden=3, loss=Gap(), trainer=tl.Trainer(max_epochs=1), random_state=0).fit(train)
    with pytest.raises(TypeError, match="loss is a Gap"):
        metric.save(tmp_path / "model")
    metric.set_params(loss="triplet").save(tmp_path / "model")


def test_options_of_values_are_parameters():
    metric = tl.metric.AlignedFrames(aligner=tl.SoftDTW(gamma=0.5), loss=tl.metric.losses.Triplet(margin=0.3))
    assert metric.get_params()["aligner__gamma"] == 0.5
    metric.set_params(aligner__gamma=0.1, loss__margin=0.2)
    assert (metric.aligner.gamma, metric.loss.margin) == (0.1, 0.2)
    with pytest.raises(ValueError, match="aligner has no option 'delta': SoftDTW has gamma"):
        metric.set_params(aligner__delta=1)
    with pytest.raises(ValueError, match="loss='supervised-contrastive' is a word"):
        tl.TAP().set_params(loss__margin=1.0)
    assert clone(metric).get_params()["loss__margin"] == 0.2
    neighbors = tl.Neighbors(metric).set_params(metric__aligner__gamma=0.7)
    assert neighbors.metric.aligner.gamma == 0.7


@pytest.mark.parametrize("name", ["siamese", "coupled", "tap", "deep"])
def test_a_distance_makes_no_copy_of_the_network(name, fitted, test, monkeypatch):
    from timelike.train import double_precision

    metric = fitted(name)
    first = metric.distance(test[0], test[1])

    def refuse(*_):
        raise AssertionError("the network was copied")

    monkeypatch.setattr(double_precision.copy, "deepcopy", refuse)
    assert metric.distance(test[0], test[1]) == first


@pytest.mark.parametrize("name", ["siamese", "coupled", "tap", "deep"])
def test_weights_that_change_count_at_once(name, train, test):
    metric = MAKERS[name](max_epochs=1).fit(train)
    before = metric.distance(test[0], test[1])
    weight = next(p for n, p in metric.network_.named_parameters() if "weight" in n)
    weight.data.mul_(3.0)  # torch counts no change made in this way
    assert metric.distance(test[0], test[1]) != before
    weight.data.div_(3.0)
    assert metric.distance(test[0], test[1]) == pytest.approx(before, rel=1e-4)
