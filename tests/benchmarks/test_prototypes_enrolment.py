"""The programs about enrolled classes and about other people: what they compute beside the library, and their pages."""

import numpy as np
import pytest
from benchmarks.papers.prototypes import enrolment, shift
from sklearn.metrics import recall_score
from sklearn.neighbors import NearestCentroid

import timelike as tl


def test_the_nearest_mean_is_scikit_learns():
    rng = np.random.default_rng(0)
    vectors, asked, classes = rng.standard_normal((40, 5)), rng.standard_normal((60, 5)), rng.permutation(40) % 4
    expected = NearestCentroid().fit(vectors, classes).predict(asked)
    assert enrolment.nearest_mean(vectors, classes, asked).tolist() == expected.tolist()


def test_shares_of_known_and_new_classes_are_recalls():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(6), 10)
    said = np.where(rng.random(60) < 0.3, rng.integers(0, 6, 60), truth)
    found = enrolment.shares(said, truth, np.array([0, 2, 5]))
    recalls = recall_score(truth, said, average=None)
    assert found["known"] == pytest.approx(recalls[[0, 2, 5]].mean())
    assert found["new"] == pytest.approx(recalls[[1, 3, 4]].mean())
    assert found["all"] == pytest.approx(recalls.mean())


@pytest.mark.parametrize("method", ["1-NN DTW", "Whitened Rocket", "Discriminant, open"])
def test_a_class_that_was_only_enrolled_is_found(method):
    rng, y = np.random.default_rng(0), np.repeat(np.arange(5), 10)
    X = np.sin(np.arange(60) / np.geomspace(1, 9, 5)[y][:, None] + 0.3 * rng.standard_normal((50, 1)))
    train, asked, truth = tl.Sequences(X[::2], labels=y[::2]), tl.Sequences(X[1::2]), y[1::2]
    said = enrolment.predicted(method, train, y[::2] == 4, asked, seed=0)
    assert (said[truth == 4] == 4).all()
    assert (said == truth).mean() > 0.9


def test_nobody_left_out_is_learned_from_and_no_window_is_on_both_sides():
    groups, labels = np.repeat(np.arange(6), 20), np.tile(np.arange(2), 60)
    every = tl.Sequences(np.arange(120.0)[:, None], groups=groups, labels=labels)
    train, same, shifted = shift.parted(every, np.array([1, 4]), 3, 0)
    assert set(train.groups.tolist()) == set(same.groups.tolist()) == {0, 2, 3, 5}
    assert set(shifted.groups.tolist()) == {1, 4}
    assert not set(train.values.ravel().tolist()) & set(same.values.ravel().tolist())
    assert len(train) == len(same) == 4 * 2 * 3
    assert np.unique(np.column_stack([train.groups, train.labels]), axis=0, return_counts=True)[1].tolist() == [3] * 8


def test_the_page_of_enrolled_classes_says_what_was_missed():
    row = {"dataset": "JapaneseVowels", "method": "Prototypes", "seed": 0, "known": 0.98, "new": 0.7, "all": 0.91}
    rows = {"a": row | {"closed": 0.99, "seconds": 1.0}}
    assert "missed: new" in enrolment.Enrolment.of_rows(rows).body()
    rows["a"]["new"] = 0.8
    assert "all are reached" in enrolment.Enrolment.of_rows(rows).body()


def test_the_page_of_other_people_compares_on_the_same_folds_only():
    plain = {"method": "dense alone", "seed": 0, "shifted": 0.8, "same": 0.9, "seconds": 1.0}
    network = {"method": "network", "seed": 0, "shifted": 0.84, "same": 0.9, "seconds": 1.0}
    heads = {"shifted dense": 0.79, "same dense": 0.9}
    rows = {"a": plain | {"dataset": "fold 0"}, "b": network | heads | {"dataset": "fold 0"}}
    rows["c"] = network | heads | {"dataset": "fold 1", "shifted": 0.1}
    page = shift.Shift.of_rows(rows).body()
    assert "network, similarity (SIM) +4.0 points, better in 1 of 1" in page
    assert "network, dense head (DOL) -1.0 points, better in 0 of 1" in page
