"""The metric of a model: what the model compares by, after the preparation steps of a Pipeline."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import timelike as tl
from timelike.align.model_metric import find_metric, split_steps


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    items = [rng.normal(size=(n, 2)).cumsum(axis=0) for n in (9, 12, 7, 15, 11, 8)]
    return tl.Sequences(items, labels=["a", "b", "a", "b", "a", "b"])


def test_the_metric_of_a_pipeline_compares_what_its_steps_make(X):
    model = make_pipeline(tl.prepare.Resample(), tl.prepare.Standardize(), tl.Neighbors("euclidean")).fit(X, X.labels)
    metric, prepared = find_metric(model), model[:-1].transform(X)
    expected = tl.Euclidean().pairwise(prepared)
    np.testing.assert_array_equal(metric.pairwise(X), expected)
    np.testing.assert_array_equal(metric.pairwise(X[:2], X), expected[:2])
    assert metric.distance(X[0], X[3]) == pytest.approx(expected[0, 3])
    for found in (metric.neighbors(X, X[:4], k=3), metric.prepare_gallery(X).neighbors(X[:4], k=3)):
        wanted = tl.Euclidean().neighbors(prepared, prepared[:4], k=3)
        np.testing.assert_array_equal(found.ids, wanted.ids)
        np.testing.assert_allclose(found.distances, wanted.distances)


def test_a_metric_that_is_not_symmetric_stays_so_after_steps(X):
    model = make_pipeline(tl.prepare.Standardize(), tl.GDTW())
    model.steps[0][1].fit(X)
    metric, prepared = find_metric(model), model.steps[0][1].transform(X)
    assert metric.symmetric is tl.GDTW.symmetric is False
    np.testing.assert_allclose(metric.pairwise(X), tl.GDTW().pairwise(prepared))


def test_a_step_may_fill_what_is_missing_and_the_rest_is_refused(X):
    items = [X[i].copy() for i in range(len(X))]
    items[1][3] = np.nan
    gaps = tl.Sequences(items, labels=X.labels)
    filled = make_pipeline(tl.prepare.Interpolate(), tl.Neighbors("dtw")).fit(gaps, gaps.labels)
    assert np.isfinite(find_metric(filled).pairwise(gaps)).all()
    kept = make_pipeline(tl.prepare.Standardize(), tl.Neighbors("dtw")).fit(X, X.labels)
    with pytest.raises(ValueError, match="missing"):
        find_metric(kept).pairwise(gaps)


def test_steps_inside_a_search_of_options_are_found(X):
    search = GridSearchCV(make_pipeline(tl.prepare.Resample(), tl.Neighbors("dtw")), {"neighbors__k": [1]}, cv=2)
    model = search.fit(X, X.labels)
    prepared = model.best_estimator_[:-1].transform(X)
    np.testing.assert_array_equal(find_metric(model).pairwise(X), tl.DTW().pairwise(prepared))


def test_what_compares_nothing_has_no_metric(X):
    windowed = tl.neighbors.WindowedClassifier(tl.Neighbors("dtw"), size=4)
    assert find_metric(windowed) is None
    assert find_metric(make_pipeline(tl.prepare.Standardize(), windowed)) is None
    assert split_steps(windowed) == ((), windowed)
