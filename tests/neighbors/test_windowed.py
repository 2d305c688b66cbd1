"""A classifier of windows: votes against a loop, short sequences, grids, folders, bad input."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import timelike as tl


def recordings(lengths, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(len(lengths)) % 2
    periods = np.where(labels, 5.0, 9.0)
    values = [np.sin(2 * np.pi * (np.arange(n) + rng.uniform(0, 9)) / p) for n, p in zip(lengths, periods, strict=True)]
    return tl.Sequences(values, labels=np.array(["slow", "fast"])[labels])


@pytest.fixture(scope="module")
def train():
    return recordings([40, 37, 52, 41, 8, 30, 3, 9])


def windows_of(x, size, step):
    return [x[begin : begin + size] for begin in range(0, len(x) - size + 1, step)] or [x]


@pytest.mark.parametrize(("size", "step"), [(10, 5), (10, 1), (7, None), (1, 2), (60, 3)])
def test_the_answer_is_the_mean_over_the_windows_of_a_loop(train, size, step):
    taken = step or max(1, size // 2)
    pairs = [(w, label) for x, label in zip(train, train.labels, strict=True) for w in windows_of(x, size, taken)]
    peer = tl.Neighbors("dtw", k=3).fit([w for w, _ in pairs], [label for _, label in pairs])
    asked = recordings([33, 4, 10, 61, 1], seed=1)
    expected = [peer.predict_proba(windows_of(x, size, taken)).mean(axis=0) for x in asked]
    model = tl.neighbors.WindowedClassifier(tl.Neighbors("dtw", k=3), size=size, step=step).fit(train)
    np.testing.assert_allclose(model.predict_proba(asked), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(asked), model.classes_[np.argmax(np.round(expected, 12), axis=1)])


def test_a_classifier_without_probabilities_votes_with_its_answers(train):
    class Answers(tl.Neighbors):
        @property
        def predict_proba(self):
            raise AttributeError

    model = tl.neighbors.WindowedClassifier(Answers("dtw"), size=8).fit(train)
    long = train[train.lengths >= 8]
    asked = model.estimator_.predict(long[:1].windows(8, 4))
    expected = [(asked == one).mean() for one in model.classes_]
    np.testing.assert_allclose(model.predict_proba(long[:1])[0], expected)


def test_it_is_cross_validated_by_sequences_and_its_options_are_searched(train):
    X = recordings([30] * 12)
    model = tl.neighbors.WindowedClassifier(make_pipeline(tl.prepare.Standardize(), tl.Neighbors("dtw")), size=10)
    assert cross_val_score(model, X, X.labels, cv=3).min() > 0.7
    grid = {"size": [8, 12], "estimator__neighbors__k": [1, 3]}
    found = GridSearchCV(model, grid, cv=3).fit(X, X.labels)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    voters = GridSearchCV(
        tl.neighbors.WindowedClassifier(tl.Neighbors(), size=8), {"estimator__n_neighbors": [1, 3]}, cv=3
    )
    assert voters.fit(X, X.labels).best_estimator_.estimator_.k in (1, 3)


def test_the_classifier_that_was_given_learns_nothing(train):
    inner = tl.Neighbors("dtw")
    model = tl.neighbors.WindowedClassifier(inner, size=5).fit(train)
    assert not inner.__sklearn_is_fitted__()
    assert clone(model).estimator is not inner
    fitted = tl.Neighbors("dtw").fit([[0.0], [1.0]], ["slow", "other"])
    assert tl.neighbors.WindowedClassifier(fitted, size=5).fit(train).estimator_.classes_.tolist() == ["fast", "slow"]


def test_a_pipeline_inside_comes_back_from_a_folder(train, tmp_path):
    model = tl.neighbors.WindowedClassifier(
        make_pipeline(tl.prepare.Standardize(), tl.Neighbors("dtw")), size=9, step=3
    ).fit(train)
    model.save(tmp_path / "model")
    asked = recordings([33, 4, 20], seed=3)
    np.testing.assert_array_equal(tl.load_model(tmp_path / "model").predict_proba(asked), model.predict_proba(asked))


def test_gaps_may_come_where_the_classifier_fills_them(train):
    values = [np.array(x) for x in train]
    values[0][3] = np.nan
    gappy = tl.Sequences(values, labels=train.labels)
    with pytest.raises(ValueError, match="sequence 0 is missing"):
        tl.neighbors.WindowedClassifier(tl.Neighbors("dtw"), size=9).fit(gappy)
    filled = make_pipeline(tl.prepare.Interpolate(), tl.Neighbors("dtw"))
    assert tl.neighbors.WindowedClassifier(filled, size=9).fit(gappy).predict(gappy).shape == (8,)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (tl.neighbors.WindowedClassifier("dtw", size=5), TypeError, "estimator='dtw': expected a classifier"),
        (tl.neighbors.WindowedClassifier(tl.Neighbors, size=5), TypeError, "estimator=.*expected a classifier"),
        (tl.neighbors.WindowedClassifier(tl.Neighbors(), size=0), ValueError, "size=0: expected at least 1"),
        (tl.neighbors.WindowedClassifier(tl.Neighbors(), size=5, step=0), ValueError, "step=0: expected at least 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(train, model, error, words):
    with pytest.raises(error, match=words):
        model.fit(train)


def test_numbers_are_no_classes(train):
    with pytest.raises(ValueError, match=r"y holds 0.5: expected classes"):
        tl.neighbors.WindowedClassifier(tl.Neighbors(), size=5).fit(train, np.arange(8) / 2)
