"""How many clusters: inertia and silhouette of each number against fitting by hand, the knee, bad input."""

import numpy as np
import pytest
from sklearn.metrics import silhouette_score
from tests.plotting.contrast import unseen

import timelike as tl

CENTERS = 4


@pytest.fixture(scope="module")
def groups():
    """All of them equally far from each other: the inertia falls along a line, then hardly."""
    rng = np.random.default_rng(0)
    levels = 10 * np.eye(CENTERS)
    return tl.Sequences([levels[i % CENTERS] + rng.standard_normal((rng.integers(4, 8), CENTERS)) for i in range(32)])


@pytest.mark.parametrize(
    "model",
    [tl.KMedoids(random_state=0), tl.KMedoids(metric="msm", random_state=0), tl.KMeans(random_state=0, n_init=3)],
    ids=repr,
)
def test_every_number_is_as_if_fitted_by_hand(groups, model):
    found = tl.cluster.elbow(model, groups, range(1, 7))
    metric = tl.MSM() if model.metric == "msm" else tl.DTW()
    matrix = metric.pairwise(groups)
    for k, inertia, silhouette in zip(*found, strict=True):
        fitted = type(model)(**{**model.get_params(deep=False), "k": int(k)}).fit(groups)
        assert inertia == fitted.inertia_
        if k == 1:
            assert np.isnan(silhouette)
        else:
            expected = silhouette_score(matrix, fitted.labels_, metric="precomputed")
            assert silhouette == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "model", [tl.KMedoids(random_state=0), tl.cluster.Agglomerative(), tl.KMeans(random_state=0, n_init=5)]
)
def test_groups_that_lie_apart_are_counted(groups, model):
    found = tl.cluster.elbow(model, groups, range(1, 9))
    assert (found.knee, found.best) == (CENTERS, CENTERS)
    assert not model.__sklearn_is_fitted__()


def test_without_an_inertia_it_is_that_of_medoids(groups):
    found = tl.cluster.elbow(tl.cluster.Agglomerative(), groups, [2, 5])
    matrix = tl.DTW().pairwise(groups)
    for k, inertia in zip(found.ks, found.inertias, strict=True):
        labels = tl.cluster.Agglomerative(int(k)).fit_predict(groups)
        expected = sum(
            min(matrix[labels == c][:, j].sum() for j in np.flatnonzero(labels == c)) for c in np.unique(labels)
        )
        assert inertia == pytest.approx(expected)


def test_copies_have_no_knee_and_numbers_come_in_order():
    found = tl.cluster.elbow(tl.KMedoids(random_state=0), [[1.0, 2.0]] * 5, [3, 1, 3, 5])
    assert found.ks.tolist() == [1, 3, 5]
    assert found.knee == 1
    assert found.inertias.tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(found.silhouettes[[0, 2]]).all()


def test_both_curves_are_drawn_with_what_they_speak_for(groups):
    figure = tl.cluster.elbow(tl.KMedoids(random_state=0), groups, range(1, 9)).plot()
    inertia, silhouette = figure.axes
    np.testing.assert_array_equal(inertia.lines[0].get_xdata(), np.arange(1, 9))
    assert [text.get_text() for one in figure.axes for text in one.texts] == ["knee: 4", "largest: 4"]
    assert silhouette.get_xlabel() == "clusters"


@pytest.mark.parametrize(
    ("model", "ks", "words"),
    [
        (tl.KMedoids(), [3], "expected at least two numbers"),
        (tl.KMedoids(), [1, 40], "expected at most 32, the number of sequences"),
        (tl.KMedoids(), [0, 3], "ks=0: expected at least 1"),
        (tl.KMedoids(), 5, "ks=5: expected several numbers"),
        (tl.KMedoids(), [1, 2.5], r"ks=\[1, 2.5\]: expected several numbers"),
        (tl.cluster.DBSCAN(), [1, 2], "model=DBSCAN.*expected a clustering with k"),
        ("dtw", [1, 2], "model='dtw': expected a clustering"),
    ],
)
def test_what_cannot_be_counted_is_refused(groups, model, ks, words):
    with pytest.raises((TypeError, ValueError), match=words):
        tl.cluster.elbow(model, groups, ks)


@pytest.mark.parametrize("dark", [False, True])
def test_an_elbow_is_seen_on_light_and_dark(groups, dark):
    figure = tl.cluster.elbow(tl.KMedoids(random_state=0), groups, range(1, 9)).plot(dark=dark)
    assert unseen(figure) == []
    assert figure.get_facecolor()[0] < 0.5 if dark else figure.get_facecolor()[0] == 1
