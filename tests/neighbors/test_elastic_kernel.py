"""Similarities for support vector machines."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

import timelike as tl


@pytest.fixture
def motions():
    train, _ = tl.load("BasicMotions")
    return train


def test_the_similarity_is_the_exponential_of_the_distance(motions):
    kernel = tl.neighbors.ElasticKernel(tl.DTW(), gamma=0.01).fit(motions[:20])
    expected = np.exp(-0.01 * tl.DTW().pairwise(motions[20:], motions[:20]))
    np.testing.assert_allclose(kernel.transform(motions[20:]), expected, rtol=1e-6)
    np.testing.assert_allclose(kernel.transform(motions[:20]), clone(kernel).fit_transform(motions[:20]), rtol=1e-6)


def test_without_gamma_the_median_distance_decides(motions):
    kernel = tl.neighbors.ElasticKernel().fit(motions)
    distances = tl.DTW().pairwise(motions)
    assert kernel.gamma_ == pytest.approx(1 / np.median(distances[~np.eye(len(motions), dtype=bool)]))
    assert np.diag(kernel.transform(motions)).tolist() == [1.0] * len(motions)


def test_it_serves_a_support_vector_machine_in_a_pipeline(motions):
    model = make_pipeline(tl.neighbors.ElasticKernel("dtw"), SVC(kernel="precomputed"))
    assert cross_val_score(model, motions, motions.labels, cv=4).mean() > 0.8
    grid = {"elastickernel__metric__window": [0.1, 0.5], "elastickernel__gamma": [None, 0.001]}
    search = GridSearchCV(model, grid, cv=2).fit(motions, motions.labels)
    assert search.best_score_ > 0.7
    numbers = make_pipeline(tl.neighbors.ElasticKernel(), SVR(kernel="precomputed")).fit(
        motions, np.arange(len(motions))
    )
    assert numbers.predict(motions).shape == (len(motions),)


def test_degenerate_training_data_still_give_a_finite_kernel():
    for items in ([[1.0, 2.0]], [[1.0]] * 3, [[1.0], [1.0], [1.0], [4.0]]):
        similar = tl.neighbors.ElasticKernel().fit_transform(items)
        assert np.isfinite(similar).all()
        assert similar.min() >= 0


@pytest.mark.parametrize(
    ("gamma", "error"), [(0, ValueError), (-1.0, ValueError), (float("inf"), ValueError), ("x", TypeError)]
)
def test_a_bad_gamma_is_named(gamma, error):
    with pytest.raises(error, match="gamma="):
        tl.neighbors.ElasticKernel(gamma=gamma).fit([[1.0], [2.0]])
