"""Examples of neighbours: the nearest by the metric, right and wrong ones apart, with their alignments."""

import numpy as np
import pytest

import timelike as tl
from timelike.neighbors import neighbor_examples


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    labels = np.array(["a", "b", "c"])[np.arange(30) % 3]
    values = rng.normal(size=(30, 12)).cumsum(axis=1) + (np.arange(30) % 3)[:, None]
    return tl.Sequences(values, labels=labels, ids=[f"s{i}" for i in range(30)])


def test_examples_are_the_nearest_others_and_their_answers_the_classes_of_these(X):
    found = neighbor_examples(tl.DTW(), X, n=30)
    distances = tl.DTW().pairwise(X) + np.diag([np.inf] * len(X))
    nearest = distances.argmin(axis=1)
    right = X.labels[nearest] == X.labels
    assert 0 < right.sum() < 30
    assert len(found.right) == right.sum()
    assert len(found.wrong) == found.n_wrong == (~right).sum()
    for one in (*found.right, *found.wrong):
        query = X.ids.tolist().index(one.query)
        assert one.neighbor == X.ids[nearest[query]]
        assert one.distance == pytest.approx(distances[query].min())
        assert one.is_right == right[query]
        assert one.alignment.cost == pytest.approx(one.distance)
    assert [one.distance for one in found.wrong] == sorted(one.distance for one in found.wrong)


def test_right_examples_are_of_several_classes(X):
    every = {one.label for one in neighbor_examples(tl.DTW(), X, n=30).right}
    assert len(every) > 1
    assert {one.label for one in neighbor_examples(tl.DTW(), X, n=3).right} == every


def test_answers_of_a_classifier_decide_what_is_wrong(X):
    answers = X.labels.copy()
    answers[[3, 7]] = "c", "a"
    found = neighbor_examples(tl.Rocket(n_features=84, random_state=0).fit(X), X, answers=answers, n=5)
    assert {one.query for one in found.wrong} == {"s3", "s7"}
    assert all(str(one.answer) in one.caption for one in found.wrong)
    assert found.aligned_by == "DTW(window=0.2)"


def test_neighbours_may_come_from_elsewhere(X):
    found = neighbor_examples(tl.DTW(), X[20:], gallery=X[:20], n=10)
    ids = tl.DTW().neighbors(X[:20], X[20:], 1).ids[:, 0]
    expected = {f"s{20 + i}": f"s{j}" for i, j in enumerate(ids)}
    assert {one.query: one.neighbor for one in (*found.right, *found.wrong)} == expected


def test_without_labels_nothing_is_right_or_wrong(X):
    found = neighbor_examples(tl.DTW(), X.replace(labels=None, class_names=None), n=2)
    assert (found.right, found.wrong) == ((), ())
    assert [one.is_right for one in found.unlabelled] == [None, None]
    html = found._repr_html_()
    assert html.count("<figure>") == 2
    assert "answers" not in html


def test_the_channel_that_moves_most_for_what_it_does_is_drawn():
    rng = np.random.default_rng(0)
    values = np.stack([1000 * rng.normal(size=(6, 20)), 0.01 * rng.normal(size=(6, 20))], axis=2)
    values[2, :, 1] *= 10
    X = tl.Sequences(values, channel_names=["large", "small"])
    found = neighbor_examples(tl.Euclidean(), X, n=6)
    drawn = {one.query: one.plot().axes[0].get_ylabel() for one in found.unlabelled}
    assert drawn["sequence 2"] == "small"


def test_missing_values_and_very_long_sequences_do_not_prevent_a_report(X):
    gaps = X.values.copy()
    gaps[5] = np.nan
    holes = tl.Sequences(gaps.reshape(30, 12), labels=X.labels)
    encoder = tl.encode.StatisticsEncoder().fit(holes)
    found = neighbor_examples(encoder, holes, n=30)
    drawn = [one for one in found.right if one.alignment is not None]
    assert len(drawn) >= len(found.right) - 1  # one has no values
    assert all(np.isfinite(one.alignment.cost) for one in drawn)
    empty = tl.Sequences(np.stack([X.values.reshape(30, 12), np.full((30, 12), np.nan)], axis=2), labels=X.labels)
    statistics = tl.encode.StatisticsEncoder().fit(empty)
    assert {one.channel for one in neighbor_examples(statistics, empty).right} == {0}
    long = tl.Sequences(np.zeros((3, 2001)) + np.arange(3)[:, None])
    (one, *_) = neighbor_examples(tl.Euclidean(), long).unlabelled
    assert one.alignment is None
    assert "<figure" not in one._repr_html_()
    with pytest.raises(ValueError, match="too long, or lack too much"):
        one.plot()


def test_labels_that_are_numbers_are_neither_right_nor_wrong(X):
    found = neighbor_examples(tl.DTW(), X.replace(labels=np.linspace(0, 1, len(X)), class_names=None), n=3)
    assert (found.right, found.wrong) == ((), ())
    assert [one.is_right for one in found.unlabelled] == [None, None, None]
    assert all("(label 0." in one.caption and "class" not in one.caption for one in found.unlabelled)
