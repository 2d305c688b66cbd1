"""Nearest neighbours as a scikit-learn estimator over Sequences."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import timelike as tl


@pytest.fixture
def data():
    """Two classes that differ in where they peak, from six people, all with timestamps."""
    rng = np.random.default_rng(0)
    items, labels, groups, times = [], [], [], []
    for i in range(36):
        n = int(rng.integers(20, 30))
        peak = 0.3 if i % 2 else 0.7
        items.append(np.exp(-(((np.linspace(0, 1, n) - peak) / 0.1) ** 2)) + rng.normal(0, 0.1, n))
        labels.append("early" if i % 2 else "late")
        groups.append(i // 6)
        times.append(np.cumsum(rng.uniform(0.5, 1.5, n)))
    return tl.Sequences(items, labels=labels, groups=groups, times=times)


def test_votes_are_those_of_scikit_learn_on_the_distance_matrix(data):
    train, test = data[:24], data[24:]
    for k in (1, 3, 5):
        ours = tl.Neighbors(tl.DTW(), k=k).fit(train, train.labels)
        peer = KNeighborsClassifier(k, metric="precomputed").fit(tl.DTW().pairwise(train), train.labels)
        across = tl.DTW().pairwise(test, train)
        np.testing.assert_array_equal(ours.predict(test), peer.predict(across))
        np.testing.assert_allclose(ours.predict_proba(test), peer.predict_proba(across))


def test_labels_come_from_the_sequences_unless_others_are_given(data):
    assert tl.Neighbors().fit(data).score(data, data.labels) == 1
    assert tl.Neighbors().fit(data, np.arange(36)).predict(data).tolist() == list(range(36))
    with pytest.raises(ValueError, match="X carries no labels: give the class"):
        tl.Neighbors().fit(data.replace(labels=None))


def test_an_even_vote_goes_to_the_nearer_class():
    train = tl.Sequences([[0.0], [10.0]], labels=["a", "b"])
    assert tl.Neighbors(k=2).fit(train, train.labels).predict([[6.0], [4.0]]).tolist() == ["b", "a"]


class Recorder(tl.Neighbors):
    """Keeps what cross-validation hands over."""

    seen: list = []  # noqa: RUF012

    def __init__(self, metric="dtw", *, k=1):
        super().__init__(metric, k=k)

    def fit(self, X, y):
        self.seen.append((X, y))
        return super().fit(X, y)


def test_cross_validation_keeps_times_groups_and_labels(data):
    Recorder.seen.clear()
    folds = GroupKFold(3)
    scores = cross_val_score(Recorder(), data, data.labels, groups=data.groups, cv=folds)
    assert len(scores) == 3
    for (part, y), (rows, _) in zip(Recorder.seen, folds.split(data, data.labels, data.groups), strict=True):
        assert part.equals(data[rows])
        assert part.times is not None
        np.testing.assert_array_equal(part.labels, y)
        np.testing.assert_array_equal(part.groups, data.groups[rows])
    predicted = cross_val_predict(tl.Neighbors(), data, data.labels, groups=data.groups, cv=folds)
    assert np.mean(predicted == data.labels) == pytest.approx(np.average(scores, weights=[12, 12, 12]))


def test_grid_search_reaches_the_options_of_the_metric(data):
    grid = {"metric__window": [0.4, 1.0], "metric__root": [True, False], "k": [1, 3]}
    search = GridSearchCV(tl.Neighbors(tl.DTW()), grid, cv=2).fit(data, data.labels)
    assert search.best_score_ > 0.9
    assert search.best_estimator_.metric.window == search.best_params_["metric__window"]
    assert search.best_estimator_.sequences_.equals(data)


def test_it_works_in_a_pipeline_and_can_be_cloned(data):
    steps = make_pipeline(FunctionTransformer(lambda s: s.standardize(per="sequence")), tl.Neighbors(k=3))
    assert steps.fit(data, data.labels).score(data, data.labels) > 0.9
    copy = clone(tl.Neighbors(tl.DTW(window=3), k=2))
    assert copy.get_params() == {"metric": tl.DTW(window=3), "k": 2, "metric__window": 3, "metric__cost": "sqeuclidean", "metric__root": False}  # fmt: skip
    assert tl.Neighbors("dtw").get_params()["metric__window"] is None
    assert tl.Neighbors().set_params(metric__window=4).metric == tl.DTW(window=4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: tl.Neighbors(k=0).fit(s, s.labels), "k=0: expected 1 to 36"),
        (lambda s: tl.Neighbors("cosine").fit(s, s.labels), "metric='cosine': expected a Metric"),
        (lambda s: tl.Neighbors().fit(s, [1, 2]), r"y has shape \(2,\) for 36 sequences"),
        (
            lambda s: tl.Neighbors().set_params(metric__wibble=1),
            "metric has no option 'wibble': DTW has window, cost, root",
        ),
    ],
)
def test_bad_input_is_named(call, words, data):
    with pytest.raises(ValueError, match=words):
        call(data)
