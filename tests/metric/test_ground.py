"""Ground metrics: RVSML against its sums, its deep version, and frames as samples of their class."""

import numpy as np
import pytest
import torch

import timelike as tl
from naive import rvsml
from timelike import metric as metrics
from timelike.metric.ground import base
from timelike.metric.ground.rvsml import VirtualSequences
from toy_metrics import MAKERS
from toys import turning


@pytest.fixture
def tiny():
    some = turning(9, 3)
    kinds = np.unique(some.labels, return_inverse=True)[1]
    return some, kinds, [np.asarray(x) for x in some]


@pytest.mark.parametrize(("aligner", "ridge"), [("dtw", None), ("dtw", 0.1), ("opw", None), ("opw", 0.1)])
def test_the_map_is_that_of_the_plain_sums(aligner, ridge, tiny):
    some, kinds, plain = tiny
    metric = metrics.RVSML(aligner=aligner, n_virtual_frames=3, regularization=ridge, max_steps=30, standardize=False)
    metric.fit(some)
    used = {"dtw": 5e-4, "opw": 5e-5}[aligner] if ridge is None else ridge
    plan_of = rvsml.dtw_plan if aligner == "dtw" else lambda x, v: tl.OPW().align(x, v).plan
    expected, errors = rvsml.learned(plain, kinds, 3, used * 9, len(metric.errors_), plan_of)
    # a channel of float32 goes in, so the plain sums agree to its digits
    np.testing.assert_allclose(metric.errors_, errors, rtol=1e-4)
    np.testing.assert_allclose(metric.network_.weight.detach().numpy(), expected, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("aligner", ["dtw", "opw", tl.DTW(cost="euclidean"), tl.Sinkhorn()])
def test_what_is_minimised_never_rises(aligner, train):
    errors = metrics.RVSML(aligner=aligner, max_steps=15).fit(train).errors_
    assert len(errors) >= 1
    assert (np.diff(errors) <= 0).all()


def test_a_turn_is_made_as_often_as_asked_at_most(train):
    assert len(metrics.RVSML(max_steps=1).fit(train).errors_) == 1


@pytest.mark.parametrize("name", ["rvsml", "rvsml-opw", "deep"])
def test_mapped_frames_are_near_the_virtual_frames_of_their_class(name, fitted, train):
    mapped = fitted(name).transform_frames(train)
    assert mapped.frame == (9,)
    kinds = np.repeat(np.unique(train.labels, return_inverse=True)[1], train.lengths)
    along = mapped.values.reshape(-1, 3, 3).sum(-1)  # how much lies along the frames of each class
    assert np.mean(along.argmax(axis=1) == kinds) > 0.6  # chance is 1/3


def test_the_first_alignment_is_even():
    virtual = VirtualSequences(tl.Sequences(np.zeros((1, 6, 1))), np.array([0]), 3)
    np.testing.assert_array_equal(virtual.weights, np.eye(3)[[0, 0, 1, 1, 2, 2]])
    np.testing.assert_array_equal(virtual.targets(), virtual.weights)


def test_the_error_is_the_sum_over_steps_and_frames():
    rng = np.random.default_rng(0)
    some = tl.Sequences([rng.standard_normal((4, 2)), rng.standard_normal((5, 2))])
    virtual = VirtualSequences(some, np.array([1, 0]), 2)
    virtual.weights = rng.random((9, 2))
    mapped = rng.standard_normal((9, 4))
    expected = sum(
        virtual.weights[i, j] * ((mapped[i] - virtual.class_frames(virtual.step_classes[i])[j]) ** 2).sum()
        for i in range(9)
        for j in range(2)
    )
    assert virtual.error(mapped) == pytest.approx(expected)


def test_distances_are_those_of_the_aligner_on_mapped_sequences(fitted, test):
    for name, aligner in (("rvsml", tl.DTW()), ("rvsml-opw", tl.OPW()), ("elements", tl.DTW()), ("deep", tl.DTW())):
        metric = fitted(name)
        expected = aligner.pairwise(metric.transform_frames(test[:5]))
        np.testing.assert_allclose(metric.pairwise(test[:5]), expected, rtol=1e-5, atol=1e-6)


def test_frames_of_an_element_wise_metric_have_length_one(fitted, test):
    np.testing.assert_allclose(np.linalg.norm(fitted("elements").transform_frames(test).values, axis=1), 1, rtol=1e-5)


def test_frames_of_several_axes_are_flattened():
    X = np.random.default_rng(0).standard_normal((8, 5, 2, 3))
    for name, short in (("rvsml", {}), ("deep", {"max_epochs": 1}), ("elements", {"max_steps": 2})):
        metric = MAKERS[name](**short).fit(X, [0, 1] * 4)
        assert metric.pairwise(X).shape == (8, 8)


def test_maps_of_long_collections_are_made_a_part_at_a_time(fitted, test, monkeypatch):
    whole = fitted("deep").transform_frames(test).values
    monkeypatch.setattr(base, "_BLOCK_STEPS", 7)
    np.testing.assert_allclose(fitted("deep").transform_frames(test).values, whole, rtol=1e-4, atol=1e-5)
    assert not any(p.grad is not None and torch.any(p.grad != 0) for p in fitted("deep").network_.parameters())


def test_a_training_that_has_settled_is_returned_as_it_is(train, tmp_path):
    first = metrics.RVSML(trainer=tl.Trainer(checkpoint=tmp_path / "kept")).fit(train)
    for _ in range(3):
        again = metrics.RVSML(trainer=tl.Trainer(checkpoint=tmp_path / "kept")).fit(train)
        assert again.history_.n_steps == first.history_.n_steps
        np.testing.assert_array_equal(again.errors_, first.errors_)
        assert torch.equal(again.network_.weight, first.network_.weight)
    assert first.history_.stop_reason == "nothing more to gain"


@pytest.mark.parametrize("precision", ["bf16-true", "64-true"])
def test_the_precision_of_the_loop_does_not_touch_the_regression(precision, train):
    plain, other = (
        metrics.RVSML(trainer=tl.Trainer(precision=one)).fit(train).network_.weight for one in ("32-true", precision)
    )
    assert torch.equal(plain, other)


@pytest.mark.parametrize("name", ["rvsml", "elements"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_n_jobs_is_the_number_of_threads_that_frames_are_mapped_with(name, jobs, fitted, test, monkeypatch):
    monkeypatch.setattr(tl.native, "cpu_count", lambda: 4)
    metric, seen = fitted(name), []
    real = base.apply_to_frames
    monkeypatch.setattr(base, "apply_to_frames", lambda *given: seen.append(torch.get_num_threads()) or real(*given))
    metric.pairwise(test, n_jobs=jobs)
    assert seen == [jobs]


def test_an_aligner_set_after_fit_changes_no_distance(train, test):
    metric = metrics.RVSML(n_virtual_frames=3).fit(train)
    before = metric.pairwise(test[:4])
    np.testing.assert_array_equal(metric.set_params(aligner="opw").pairwise(test[:4]), before)


def test_what_is_mapped_has_neither_the_names_nor_the_clock_of_what_came_in():
    rng = np.random.default_rng(0)
    times = [np.cumsum(rng.uniform(0.1, 2, 8)) for _ in range(6)]
    X = tl.Sequences(rng.normal(size=(6, 8, 3)), times=times, labels=[0, 1] * 3, channel_names=("a", "b", "c"))
    metric = metrics.RVSML(n_virtual_frames=2, aligner=tl.GDTW()).fit(X)
    mapped = metric.transform_frames(X)
    assert mapped.channel_names is None
    assert mapped.times is None
    np.testing.assert_allclose(metric.pairwise(X), tl.GDTW().pairwise(mapped), rtol=1e-5)
